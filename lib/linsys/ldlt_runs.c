/* ldlt_runs - finds the runs of a chain in the list of fronts and cuts the elimination into blocks; frees
 * a plan. See ldlt_front.h. */
#include "linsys/ldlt_common.h"
#include "linsys/ldlt_front.h"

#include <string.h>

/* Shorter runs are not worth their bookkeeping. */
#define LEAST_RUN 8
/* Links of a block: with their part of the matrix, of the panels and of a caller's vectors about 1 kB
 * each, a fraction of a second level cache. */
#define BLOCK_LINKS 256

static vin_int entries_of(const vini_front *front) {
  return front->entry_end - front->entry;
}

/* Is front f such that it continues a chain that its child f - 1 belongs to? */
static bool continues(const vini_front_plan *plan, vin_int f) {
  const vini_front *front = &plan->front[f];
  return f > 0 && front->kind != VINI_FRONT_ANY && front->child == f - 1;
}

static vini_nodes find_nodes(const vin_int *entry) {
  const bool here_first = entry[1] < entry[2];
  for (vin_int i = 0; i < 9; i++) {
    const vin_int place = i % 3 == 0 || here_first ? i : i / 3 * 3 + 3 - i % 3;
    if (entry[i] != entry[0] + place) return VINI_NODES_ANYWHERE;
  }
  return here_first ? VINI_NODES_HERE_FIRST : VINI_NODES_NEXT_FIRST;
}

/* The run that begins at f, with the steps to f + 1 (which must continue f). false: the steps are not
 * those of a node. */
static bool begin_run(const vini_front_plan *plan, vin_int f, vini_front_run *run) {
  const vini_front *front = &plan->front[f], *next = front + 1;
  const vin_int *unknown = plan->order + front->first, *to = plan->order + next->first;
  const vin_int *source = plan->source + front->entry, *moved = plan->source + next->entry;
  const vin_int entries = entries_of(front);
  memset(run, 0, sizeof *run);
  run->kind = front->kind;
  run->first = front->first;
  run->node = unknown[0];
  run->node_step = to[0] - unknown[0];
  run->rod = unknown[3];
  run->rod_step = to[3] - unknown[3];
  for (vin_int e = 0; e < entries; e++) run->entry[e] = source[e];
  if (run->kind == VINI_FRONT_POINT) run->nodes = find_nodes(source);
  run->entry_step = moved[0] - source[0];
  run->last_step = moved[entries - 1] - source[entries - 1];
  return unknown[1] == unknown[0] + 1 && unknown[2] == unknown[0] + 2;
}

/* Is front f the run's first one, moved on by `count` steps? */
static bool follows(const vini_front_plan *plan, vin_int f, const vini_front_run *run,
                    int64_t count) {
  const vini_front *front = &plan->front[f];
  const vin_int *unknown = plan->order + front->first, *source = plan->source + front->entry;
  const vin_int last = entries_of(front) - 1;
  bool same = front->kind == run->kind && front->first == run->first + 4 * count;
  for (int i = 0; i < 3; i++) same = same && unknown[i] == run->node + i + count * run->node_step;
  same = same && unknown[3] == run->rod + count * run->rod_step;
  for (vin_int e = 0; e < last; e++) {
    same = same && source[e] == run->entry[e] + count * run->entry_step;
  }
  return same && source[last] == run->entry[last] + count * run->last_step;
}

/* Fronts of the run that begins at f; the front after the last one continues it. 0: none. */
static vin_int measure_run(const vini_front_plan *plan, vin_int f, vini_front_run *run) {
  if (!continues(plan, f) || f + 1 >= plan->front_count || !continues(plan, f + 1)) return 0;
  if (plan->front[f + 1].kind != plan->front[f].kind || !begin_run(plan, f, run)) return 0;
  vin_int end = f + 1;
  while (end < plan->front_count && continues(plan, end) && follows(plan, end, run, end - f)) end++;
  run->count = end - 1 - f;
  if (run->kind == VINI_FRONT_POINT) run->count -= run->count % 4; /* they go by fours */
  return run->count >= LEAST_RUN ? run->count : 0;
}

/* Calls measure_run along the list: to count the runs (run = NULL) or to store them, with `kept`
 * set for the fronts outside. */
static vin_int list_runs(const vini_front_plan *plan, vini_front_run *run, bool *kept) {
  vin_int runs = 0;
  for (vin_int f = 0; f < plan->front_count;) {
    vini_front_run found;
    const vin_int count = measure_run(plan, f, &found);
    if (count > 0 && run != NULL) {
      found.child = f - 1;
      found.before = f + count;
      run[runs] = found;
    }
    runs += count > 0;
    for (vin_int i = 0; kept != NULL && i <= count; i++) kept[f + i] = i == count;
    f += count + 1;
  }
  return runs;
}

/* A smaller copy in place of an array that has shrunk; the old one stays when memory is out. */
static void *shrink(const vin_context *context, void *array, int64_t count, size_t size) {
  void *copy = vini_copy(context, array, (size_t)count, size);
  if (copy == NULL) return array;
  vini_free(context, array);
  return copy;
}

/* Closes the gaps that the fronts of runs leave. number: front -> new number. */
static void close_gaps(vini_front_plan *plan, vin_int *parent, const bool *kept, vin_int *number) {
  vin_int fronts = 0, rows = 0, entries = 0;
  for (vin_int f = 0; f < plan->front_count; f++) number[f] = kept[f] ? fronts++ : fronts;
  for (vin_int f = 0; f < plan->front_count; f++) {
    if (!kept[f]) continue;
    vini_front front = plan->front[f];
    for (vin_int i = 0; i < front.rows; i++) {
      plan->row[rows + i] = plan->row[front.row + i];
      plan->rel[rows + i] = plan->rel[front.row + i];
    }
    const vin_int count = entries_of(&front);
    for (vin_int e = 0; e < count; e++) {
      plan->source[entries + e] = plan->source[front.entry + e];
      plan->place[entries + e] = plan->place[front.entry + e];
    }
    front.row = rows;
    front.entry = entries;
    front.entry_end = entries += count;
    rows += front.rows;
    /* where a run comes between, its number is that of the front behind it, and the one before is
     * its child */
    const vin_int child = front.child >= 0 && kept[front.child] ? number[front.child]
                          : front.child >= 0                    ? number[f] - 1
                                                                : -1;
    front.child = child;
    if (front.sibling >= 0) front.sibling = number[front.sibling];
    parent[number[f]] = parent[f] < 0 ? -1 : number[parent[f]];
    plan->front[number[f]] = front;
  }
  for (vin_int r = 0; r < plan->run_count; r++) {
    plan->run[r].before = number[plan->run[r].before];
    plan->run[r].child = number[plan->run[r].child];
  }
  plan->front_count = fronts;
  plan->row_count = rows;
  plan->entry_count = entries;
}

/* Cuts the list; block = NULL only counts. */
static vin_int list_blocks(const vini_front_plan *plan, vini_front_block *block) {
  vin_int blocks = 0, front = 0;
  for (vin_int r = 0; r <= plan->run_count; r++) {
    const bool tail = r == plan->run_count;
    const vin_int end = tail ? plan->front_count : plan->run[r].before;
    /* the fronts before run r end the block of the run before it */
    if (blocks == 0 && end > front) {
      if (block != NULL) block[0] = (vini_front_block){.run = -1, .front = front};
      blocks++;
    }
    if (block != NULL && blocks > 0) block[blocks - 1].front_end = end;
    front = end;
    for (vin_int link = 0; !tail && link < plan->run[r].count; link += BLOCK_LINKS) {
      const vin_int link_end = vini_min_int(link + BLOCK_LINKS, plan->run[r].count);
      if (block != NULL) block[blocks] = (vini_front_block){r, link, link_end, front, front};
      blocks++;
    }
  }
  return blocks;
}

static bool make_blocks(const vin_context *context, vini_front_plan *plan) {
  plan->block_count = list_blocks(plan, NULL);
  plan->block = vini_alloc(context, (size_t)plan->block_count, sizeof *plan->block);
  if (plan->block == NULL) return false;
  list_blocks(plan, plan->block);
  return true;
}

/* Panels: those of runs, then those of the fronts outside. */
static void place_panels(vini_front_plan *plan) {
  int64_t at = 1; /* vectors may write over the number before a front's panel */
  for (vin_int r = 0; r < plan->run_count; r++) {
    vini_front_run *run = &plan->run[r];
    run->panel = at = vini_whole_lines(at);
    run->panel_step = run->kind == VINI_FRONT_ROD ? VINI_ROD_SIZE : VINI_POINT_NUMBERS;
    at += run->count * run->panel_step;
  }
  for (vin_int f = 0; f < plan->front_count; f++) {
    vini_front *front = &plan->front[f];
    front->panel = ++at;
    at = vini_front_inverse(front) + front->pivots;
  }
  plan->value_count = at;
}

static bool compress(const vin_context *context, vini_front_plan *plan, vin_int *parent) {
  plan->run_count = list_runs(plan, NULL, NULL);
  if (plan->run_count == 0) return make_blocks(context, plan);
  bool *kept = vini_alloc(context, (size_t)plan->front_count, sizeof *kept);
  vin_int *number = vini_alloc(context, (size_t)plan->front_count, sizeof *number);
  plan->run = vini_alloc(context, (size_t)plan->run_count, sizeof *plan->run);
  const bool complete = kept != NULL && number != NULL && plan->run != NULL;
  if (complete) {
    list_runs(plan, plan->run, kept);
    close_gaps(plan, parent, kept, number);
    plan->front = shrink(context, plan->front, plan->front_count, sizeof *plan->front);
    plan->row = shrink(context, plan->row, plan->row_count, sizeof *plan->row);
    plan->rel = shrink(context, plan->rel, plan->row_count, sizeof *plan->rel);
    plan->source = shrink(context, plan->source, plan->entry_count, sizeof *plan->source);
    plan->place = shrink(context, plan->place, plan->entry_count, sizeof *plan->place);
  }
  vini_free(context, kept);
  vini_free(context, number);
  return complete && make_blocks(context, plan);
}

bool vini_front_plan_compress(const vin_context *context, vini_front_plan *plan, vin_int *parent) {
  if (!compress(context, plan, parent)) return false;
  place_panels(plan);
  return true;
}

void vini_front_plan_clear(const vin_context *context, vini_front_plan *plan) {
  vini_free(context, plan->front);
  vini_free(context, plan->run);
  vini_free(context, plan->block);
  vini_free(context, plan->order);
  vini_free(context, plan->row);
  vini_free(context, plan->rel);
  vini_free(context, plan->source);
  vini_free(context, plan->place);
  memset(plan, 0, sizeof *plan);
}
