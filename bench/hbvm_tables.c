/* hbvm_tables.c - the four tables of the paper on HBVM(k,s), beside the printed numbers. */
#include "hbvm_tables.h"
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 128 };
/* Rounding level: what a number that should vanish may reach. */
static const double rounding = 1e-13;

static const char notes[] =
    "L. Brugnano, G. Gurioli, F. Iavernaro, E. B. Weinmueller: Line integral solution of "
    "Hamiltonian\n"
    "systems with holonomic constraints (2018). Tables: 1 planar pendulum, 2 conical pendulum, 3 "
    "modified\n"
    "pendulum, 4 tethered satellites. n: h = 0.1 / 2^n; in table 2 steps a period.\n"
    "  e_s, e_lambda  error of (q, p) and of the multiplier;  e_H, e_g, e_hc  of the Hamiltonian, "
    "the\n"
    "                 constraints and the hidden constraints\n"
    "  rel            (ours - paper) / paper\n"
    "  verdict        agrees: within the last digits and rounding of the printed number; rounding: "
    "both\n"
    "                 are rounding (ours <= 1e-13; 1e-11 for the multiplier, a second difference)\n"
    "Exit status 1 when a number does neither.\n";

static int agrees(const hbvm_row *row, int quantity, double ours, const char **verdict) {
  double fair = hbvm_fair(row, quantity), paper = row->printed[quantity];
  *verdict = "DIFFERS";
  if (fair > 0) {
    if (!(fabs(ours - paper) <= fair * paper)) return 0;
    *verdict = "agrees";
    return 1;
  }
  double limit = quantity == HBVM_E_H || quantity == HBVM_E_G ? rounding : 1e-11;
  if (!(ours <= limit)) return 0;
  *verdict = "rounding";
  return 1;
}

int main(int argc, char **argv) {
  int table = 0, finest = 100, json = 0, differ = 0, count, shown = 0;
  const bench_option options[] = {
      {"--table", "1 to 4; 0: all", .whole = &table, .least = 0, .most = 4},
      {"--finest", "largest n", .whole = &finest, .least = 0, .most = 1000},
      {"--json", "one JSON object per line", .flag = &json},
      {0}};
  bench_parse("hbvm_tables", "energy-conserving methods against their paper", notes, options, argc,
              argv);
  static hbvm_row rows[ROWS];
  count = hbvm_read(BENCH_REFERENCE_DIR, ROWS, rows);
  if (count <= 0) bench_fail(BENCH_REFERENCE_DIR "/hbvm/tables.csv", "cannot be read");
  for (int k = 0; k < count; k++) {
    const hbvm_row *row = rows + k;
    char text[512];
    double ours[HBVM_QUANTITIES];
    if ((table != 0 && row->table != table) || row->n > finest) continue;
    if (hbvm_compute(row->table, row->s, row->n, ours, text, sizeof text) != 0) {
      bench_fail("hbvm_tables", text);
    }
    for (int quantity = 0; quantity < HBVM_QUANTITIES; quantity++) {
      const char *verdict;
      double paper = row->printed[quantity];
      differ += !agrees(row, quantity, ours[quantity], &verdict);
      shown++;
      const bench_field fields[] = {
          {"table", "table", BENCH_WHOLE, 5, .whole = row->table},
          {"s", "s", BENCH_WHOLE, 2, .whole = row->s},
          {"n", "n", BENCH_WHOLE, 4, .whole = row->n},
          {"quantity", "quantity", BENCH_WORD, -9, .word = hbvm_quantities[quantity]},
          {"paper", "paper", BENCH_REAL, 11, .real = paper},
          {"ours", "ours", BENCH_REAL, 11, .real = ours[quantity]},
          {"rel", "rel", BENCH_REAL, 10, .real = (ours[quantity] - paper) / paper},
          {"verdict", "verdict", BENCH_WORD, -8, .word = verdict},
      };
      bench_print(json, fields, sizeof fields / sizeof *fields);
    }
  }
  if (!json) printf("%d numbers, %d differ\n", shown, differ);
  return differ ? EXIT_FAILURE : EXIT_SUCCESS;
}
