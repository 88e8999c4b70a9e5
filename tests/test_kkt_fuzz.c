/* test_kkt_fuzz - systems of every kind (kkt_cases.h), each answer of each solver judged by an exact
 * reference (kkt_truth.h). The promise: never accepted wrongly. A refusal is a fault only where the system is
 * well away from a singular one, and these are few. */
#include "kkt_cases.h"
#include "linsys/linsys.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#if LDBL_MANT_DIG < 113 && !defined(__SIZEOF_FLOAT128__)
#define EXACT 0 /* null vectors can't be told from rounding with 64 bits */
#else
#define EXACT 1
#endif

/* seconds in release; some hundred of them have dependent rows, and a hundred are singular */
enum { SEEDS = 1500 };

static void judge_all(vin_solver solver, vin_order order, int count[ANSWER_COUNT]) {
  memset(count, 0, ANSWER_COUNT * sizeof *count);
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    char text[256];
    kkt_case c = kkt_case_make(seed);
    const answer a = kkt_case_judge(&c, solver, order, text);
    count[a]++;
    /* without a rank-revealing QR, rows whose pivots are noise of large mass ratios are not told: the
     * solution is right, and its multipliers are some of many */
    const bool known = a == ANSWER_UNNAMED && !vini_rank_available();
    cr_expect(a <= ANSWER_REFUSED || known, "%s, seed %d (%s): %s: %s", vin_solver_name(solver),
              (int)seed, c.kind, answer_names[a], text);
    kkt_case_free(&c);
  }
}

/* Refused although regular: with UMFPACK and a QR behind it (AUTO) rows at 1e-6 of each other whose scaled
 * matrix UMFPACK calls singular; otherwise what the pivot threshold of 1e-11 costs where masses differ by
 * 1e6 and more, or rows are nearly dependent. */
static void check(vin_solver solver, vin_order order, int most_refused) {
  int count[ANSWER_COUNT];
  if (!EXACT) cr_skip_test("no arithmetic of 113 bits");
  if (!vin_solver_available(solver))
    cr_skip_test("%s is not in this build", vin_solver_name(solver));
  judge_all(solver, order, count);
  cr_expect_geq(count[ANSWER_RIGHT], SEEDS * 9 / 10);
  if (vini_rank_available() && vin_solver_available(VIN_SOLVER_UMFPACK)) {
    cr_expect_leq(count[ANSWER_REFUSED], most_refused, "%s: %d refused", vin_solver_name(solver),
                  count[ANSWER_REFUSED]);
  }
}

Test(kkt_fuzz, automatic) {
  check(VIN_SOLVER_AUTO, VIN_ORDER_AUTO, SEEDS / 200);
}

Test(kkt_fuzz, recursive_order) {
  check(VIN_SOLVER_AUTO, VIN_ORDER_RECURSIVE, SEEDS / 200);
}

Test(kkt_fuzz, ldlt) {
  check(VIN_SOLVER_LDLT, VIN_ORDER_SCHUR, SEEDS / 40);
}

Test(kkt_fuzz, cholmod) {
  check(VIN_SOLVER_CHOLMOD, VIN_ORDER_SCHUR, SEEDS / 40);
}

Test(kkt_fuzz, umfpack) {
  check(VIN_SOLVER_UMFPACK, VIN_ORDER_SCHUR, SEEDS / 200);
}

/* Rows down to the smallest numbers: subnormal entries have few digits, and multipliers may be beyond the
 * range of doubles. Right or refused. */
Test(kkt_fuzz, subnormal_rows) {
  enum { FEW = 150 };
  if (!EXACT) cr_skip_test("no arithmetic of 113 bits");
  EACH_SOLVER(solver) {
    for (uint64_t seed = 0; seed < FEW; seed++) {
      char text[256];
      kkt_case c = kkt_case_make(SEEDS + seed);
      for (vin_int e = 0; e < c.p.j.count; e++) {
        c.p.j.value[e] = ldexp(c.p.j.value[e], c.p.j.row[e] % 2 ? -1060 : -900);
      }
      const answer a = kkt_case_judge(&c, solver, VIN_ORDER_AUTO, text);
      cr_expect(a <= ANSWER_REFUSED || a == ANSWER_UNNAMED, "%s, seed %d (%s): %s: %s",
                vin_solver_name(solver), (int)seed, c.kind, answer_names[a], text);
      kkt_case_free(&c);
    }
  }
}

/* The reference itself, on a system that is solved by hand: two masses 1 and 4 on one rod, x = (3, 3) from
 * f = (3, 12) and lambda = 0; the rod twice: one multiplier is free; no mass and no rod: x is not unique. */
Test(kkt_fuzz, reference) {
  kkt_truth truth;
  problem p = problem_make(2, 1);
  for (vin_int i = 0; i < 2; i++) entries_add(&p.h, i, i, i ? 4 : 1);
  for (vin_int i = 0; i < 2; i++) entries_add(&p.j, 0, i, i ? 1 : -1);
  p.f[0] = 3, p.f[1] = 12;
  kkt_truth_of(&truth, &p, NULL);
  cr_expect(truth.unique && truth.consistent && truth.rank == 3);
  cr_expect_float_eq(truth.z[0], 3, 1e-15);
  cr_expect_float_eq(truth.z[1], 3, 1e-15);
  cr_expect_float_eq(truth.z[2], 0, 1e-15);
  problem_duplicate(&p, 0, -3);
  kkt_truth_of(&truth, &p, NULL);
  cr_expect(truth.unique && truth.consistent && truth.rank == 3);
  p.g[1] = 1;
  kkt_truth_of(&truth, &p, NULL);
  cr_expect(truth.unique && !truth.consistent);
  const unsigned char skip[] = {1, 1};
  p.h.value[1] = 0;
  kkt_truth_of(&truth, &p, skip);
  cr_expect(!truth.unique && truth.rank == 3);
  problem_free(&p);
}
