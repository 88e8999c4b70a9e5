/* kkt_truth - what is true of a small saddle-point system, by elimination with complete pivoting in
 * arithmetic of 113 bits on the dense matrix, scaled by powers of two: rank, null vectors, consistency,
 * solution, and how far rounding in the rows may move it. Nothing here is shared with the library. */
#ifndef KKT_TRUTH_H
#define KKT_TRUTH_H

#include "test_kkt_support.h"

/* Systems up to this n + m. */
enum { TRUTH_MOST = 64 };

typedef struct kkt_truth {
  vin_int size, rank;
  bool unique;          /* x is determined: no null vector has a part in x */
  bool consistent;      /* there is a solution */
  double inconsistency; /* of the worst row that depends on the others, relative to its terms */
  double smallest;      /* pivot, of the largest, of the scaled matrix; null pivots not counted */
  double z[TRUTH_MOST]; /* a solution with the multipliers of `free` rows 0 */
  double bound[TRUTH_MOST]; /* |K^-1| (|K| |z| + |b|): error per relative error in the rows */
  int exponent[TRUTH_MOST]; /* binary; unknown i times 2^-exponent[i] is one of the scaled system */
  bool free[TRUTH_MOST];    /* unknowns that null vectors leave free */
} kkt_truth;

/* Of p without the rows that skip (m, or NULL) marks: their multipliers are 0. A pivot below 2^-98 of the
 * largest one is 0. */
void kkt_truth_of(kkt_truth *truth, const problem *p, const unsigned char *skip);

/* |J_i x - C_i lambda - g_i| relative to the sum of the magnitudes of its terms, and 1.4e-7 of what x of
 * `size` in the scaled system would make it. */
double kkt_truth_missed(const problem *p, const kkt_truth *truth, double size, vin_int row);

#endif
