# table.awk - results.jsonl of bench/peers/run.sh -> one Markdown table: minima over the rounds, ratios
# to vincula within the same case, failures, and the targets of the project.

function field(key,    rest) {
  if (!match($0, "\"" key "\": *(\"[^\"]*\"|[^,}]*)")) return ""
  rest = substr($0, RSTART, RLENGTH)
  sub(/^"[a-z_]+": */, "", rest)
  gsub(/"/, "", rest)
  return rest == "null" ? "" : rest
}

function number(value, format) { return value == "" ? "–" : sprintf(format, value) }

function cost(group, peer) { return (group, peer) in least ? least[group, peer] : "" }

function row(group, peer,    key, ratio, time) {
  key = group SUBSEP peer
  if (!(key in least) || status[key] != "ok") {
    printf "| %s | %s | | | | | | | | %s |\n", group, peer, status[key]
    return
  }
  ratio = cost(group, base) == "" ? "" : least[key] / least[group, base]
  time = least[key]
  printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", group, peer, order[peer],
    number(reached[key], "%g"), steps[key], number(time, "%.0f"), number(ratio, "%.2f"),
    number(drift[key], "%.0e"), number(gap[key], "%.0e"), number(error[key], "%.1e")
}

function target(text, group, peer, wanted,    ratio) {
  if (cost(group, peer) == "" || cost(group, base) == "") return
  ratio = least[group, peer] / least[group, base]
  printf "%s: %.2f times faster, target %.1f: %s\n", text, ratio, wanted,
    (ratio >= wanted ? "met" : "missed")
}

BEGIN {
  base = "vincula rattle"
  order["vincula rattle"] = order["simbody verlet"] = 2
  order["bullet multibody"] = order["simbody euler"] = order["ode quick20"] = 1
  order["ode step"] = order["mujoco euler"] = 1
  order["mujoco rk4"] = 4
  order["simbody rk-merson"] = "4, variable h"
  order["ida index1"] = order["ida ggl"] = "1–5, variable h"
}

{
  peer = field("peer") " " field("variant")
  sub(/ $/, "", peer)
  group = field("case") " " field("bodies")
  key = group SUBSEP peer
  if (!(group in seen)) groups[++group_count] = group
  seen[group] = 1
  if (!(key in status)) {
    peers[group, ++peer_count[group]] = peer
    status[key] = "ok"
  }
  if (field("version") != "") version[field("peer")] = field("version")
  if (field("status") != "ok") status[key] = field("status")
  time = field("ns_per_body_step")
  if (time != "" && (!(key in least) || time + 0 < least[key])) least[key] = time + 0
  reached[key] = field("t")
  steps[key] = field("steps")
  drift[key] = field("energy_drift")
  gap[key] = field("constraint_max")
  error[key] = field("error")
}

END {
  if (!group_count) exit 1
  printf "Versions:"
  for (name in version) printf " %s %s;", name, version[name]
  printf "\n\n| case | peer | order | to t, s | own steps | ns | ratio | energy drift | gap, m | error, m |\n"
  printf "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n"
  for (g = 1; g <= group_count; g++)
    for (p = 1; p <= peer_count[groups[g]]; p++) row(groups[g], peers[groups[g], p])

  printf "\nns: CPU time per body and per h = 1 ms of simulated time, least of all rounds; ratio: to\n"
  printf "vincula in the same case, above 1 vincula is faster. Error: position, at t. Energy drift: largest change relative to the\n"
  printf "largest kinetic energy. Only ratios of one run count.\n\n"
  target("Chain of 1000 rods, against Bullet's btMultiBody", "chain 1000", "bullet multibody", 4.5)
  target("Chain of 1000 rods, against Simbody's tree (euler)", "chain 1000", "simbody euler", 9)
  target("Net 30 x 30, against ODE QuickStep 20", "net 900", "ode quick20", 2)
}
