/* kkt - internal side. */
#ifndef VINI_KKT_H
#define VINI_KKT_H

#include "base/base.h"
#include "kkt/check.h"
#include "kkt/places.h"
#include "kkt/plan.h"
#include "linsys/linsys.h"
#include "sparse/sparse.h"
#include "vincula/kkt.h"

/* One part of K: its triplets with their state. */
typedef struct vini_part {
  const char *name; /* for messages: "H", "J", "C" */
  vin_int count;
  vini_places places;
  bool distinct; /* no two of its triplets share a place: values are stored, not added */
  bool known;    /* values have been given */
} vini_part;

/* A factorisation that is kept (reuse.c). */
typedef struct vini_reuse {
  double ratio;       /* sweeps for the price of a factorisation, predicted */
  double contraction; /* of the first sweep of the last iteration, per update; 0: not measured */
  vin_int age;        /* updates since the factorisation; 0: it is of the present values */
  int pause;          /* updates that factorise at once */
  double *correction; /* 4 (n + m): corrections and right-hand sides of two columns; or NULL */
} vini_reuse;

/* What became of right-hand sides that were handed to a factorisation. */
typedef enum vini_right { VINI_RIGHT_INTACT, VINI_RIGHT_SPOILED, VINI_RIGHT_SOLVED } vini_right;

/* Coordinates, constraint rows, entries of J (these ranges end before *_end). */
typedef struct vini_span {
  vin_int coordinate, coordinate_end, row, row_end, entry, entry_end;
} vini_span;

/* Values of J and right-hand sides that are made when the factorisation asks for them (feed.c). load:
 * brings j's entries of the rows of the span (it sets entry, entry_end), which ascend, and the span's
 * part of the right-hand sides. */
typedef struct vini_feed {
  vin_status (*load)(void *user, vini_span *span);
  void *user;
  const double *j;
  /* the kkt's: */
  vini_span loaded;
  bool empty;  /* nothing is loaded yet */
  bool failed; /* load failed, with a text of its own */
} vini_feed;

/* What the least pivot ratio gave reason to ask, and was answered well: in a long chain that ratio is one of its
 * length and stays, and the questions cost as much as a solve. They are not asked again before the ratio
 * has changed by a factor of 2, or VINI_CALM factorisations or solutions have passed. */
typedef struct vini_calm {
  double ratio;
  int left;
} vini_calm;
enum { VINI_CALM = 64 };

/* Was the question answered well at (nearly) this ratio? Counts. */
static inline bool vini_calm_still(vini_calm *calm, double ratio) {
  if (calm->left == 0 || ratio < 0.5 * calm->ratio || ratio > 2 * calm->ratio) return false;
  calm->left--;
  return true;
}

struct vin_kkt {
  vini_object object;
  vin_kkt_options options;
  vin_int n, m;
  vin_sparse *k; /* symmetric lower, n + m: [H J'; J -C], every diagonal entry declared */
  vini_part h, j, c;
  vini_plan plan;
  vini_backend *swift;    /* ldlt in the recursive order; NULL: not for this pattern */
  int swift_failures;     /* so far; too many and it is not tried any more */
  vini_backend *primary;  /* of options.solver (AUTO: ldlt); beside swift made when first needed */
  vini_backend *fallback; /* umfpack, made when first needed (AUTO only) */
  vini_backend *rank;     /* ldlt that finds dependent rows; primary itself where that is ldlt */
  vini_backend *active;   /* that made the present factorisation; NULL: there is none */
  unsigned char *droppable; /* n + m: the multipliers */
  unsigned char *dropped;   /* m */
  bool any_dropped;         /* some of them are set */
  vin_int *dropped_rows;    /* dropped_count, ascending */
  vin_int dropped_count;
  double *pivot, *pivot_scale; /* n + m; the second stands behind the first */
  double *z;                   /* columns x (n + m): solutions until they are accepted */
  bool lent;                   /* z is not the kkt's own */
  double *b, *r, *s;           /* n + m each; s stands behind r */
  vin_int columns;
  vini_check *check; /* of solutions */
  double *stash;     /* values of K that a modified factorisation replaced */
  /* rank-revealing QR: allocated when first needed, like stash */
  double *row_scale;     /* m: powers of two that bring the rows of J to size 1 */
  unsigned char *agreed; /* m: the last dropped set of ldlt that the QR agreed to */
  vini_calm noise,
      settled;     /* no noise was found; solutions were settled without a sweep that gained */
  bool scaled;     /* the present factorisation is of the matrix scaled by row_scale */
  bool small_kept; /* rows that look like rounding beside the others are taken seriously */
  bool revealed;   /* the QR of the present values has been done, with rank_tolerance */
  double rank_tolerance; /* of the next one: distance of a row of length 1 from the others' span */
  double force_residual, constraint_residual, min_pivot_ratio;
  int refinements;
  /* right-hand sides (size n + m each, second may be NULL) that the next factorisation may solve on
   * the way; NULL: none */
  double *first, *second;
  vini_right right; /* what became of them */
  vini_feed *feed;  /* of values that have not come yet, or NULL */
  vini_reuse reuse;
  vin_solver_stats stats;
  char description[640];
};

/* What a verdict is made of (factor.c, policy.c, rank.c). */
/* Below this estimate of UMFPACK's reciprocal condition the rows are searched for dependence:
 * duplicated rows give 1e-17, regular systems with mass ratios of 1e10 stay above or are
 * cleared. */
#define VINI_SUSPICIOUS_RCOND 1e-13
/* Above this estimate no row is dependent: one that is leaves VINI_LEAST_DISTANCE at most. */
#define VINI_REGULAR_RCOND 1e-8
/* A multiplier's pivot so much smaller than the largest one belongs to a row that is zero to rounding
 * (its entries are 1e-13 of the others'); mass ratios up to 1e16 stay above. */
#define VINI_NEGLIGIBLE_PIVOT 1e-26
/* The same of the entries. */
#define VINI_NEGLIGIBLE_ROW 1e-13
/* Distance of a constraint row of length 1 from the span of the others, below which a QR calls it
 * dependent when the wider tolerance, that of ldlt's pivots (which are quadratic in it), leads to
 * contradictions. Rounding of the QR reaches 1e-13 with 1e5 rows; from a row that is 1e-10 away the
 * solution still has six digits. */
#define VINI_LEAST_DISTANCE 1e-10

/* factor.c: one factorisation of the present values by a backend, and its verdict with dependent rows in
 * `dropped`; with UMFPACK, rows are searched at or below an estimate of the reciprocal condition. */
vin_status vini_kkt_factor_by(vin_kkt *kkt, vini_backend *backend);
vin_status vini_kkt_factor_umfpack(vin_kkt *kkt, vini_backend *umfpack, double suspicious);
/* The last way: dependent rows by a rank-revealing QR, the others by UMFPACK with every row scaled.
 * VIN_ERR_UNSUPPORTED: there is no QR. kept: UMFPACK holds a factorisation with all rows, which serves
 * when none is dependent. */
vin_status vini_kkt_factor_revealed(vin_kkt *kkt, vini_backend *umfpack, bool kept);
/* The factorisation alone, with what is to be solved on the way. */
vin_status vini_kkt_factor_with(vin_kkt *kkt, vini_backend *backend);
void vini_kkt_forget_dropped(vin_kkt *kkt);

/* policy.c: agreed := dropped; distance of a row within which a QR calls it dependent at first. */
vin_status vini_kkt_remember_dropped(vin_kkt *kkt);
double vini_kkt_rank_tolerance(const vin_kkt *kkt);

/* policy.c: factorises the present values of K and judges the factorisation. */
vin_status vini_kkt_factor_values(vin_kkt *kkt);
/* Factorises the present values the next, more careful way after a solution was refused: UMFPACK in
 * ldlt's place, then a rank-revealing QR. VIN_ERR_UNSUPPORTED: there is none left. */
vin_status vini_kkt_factor_next(vin_kkt *kkt, const char *reason);
/* modify.c: keeps K's values aside and takes them back; replaces the dropped rows by zero and their diagonal by
 * `diagonal`; K := S K S, S = diag(1, row_scale). */
vin_status vini_kkt_stash_values(vin_kkt *kkt);
void vini_kkt_restore_values(vin_kkt *kkt);
void vini_kkt_blank_rows(vin_kkt *kkt, double diagonal);
void vini_kkt_scale_constraints(vin_kkt *kkt);
/* Lists the rows that `dropped` marks. */
void vini_kkt_collect_dropped(vin_kkt *kkt);

/* rank.c: marks the dependent rows of the present values in `dropped`, sets row_scale. On failure
 * none is marked. VIN_ERR_UNSUPPORTED (without text): not in this build. */
vin_status vini_kkt_reveal_rank(vin_kkt *kkt);
/* rank.c: largest |d|/S_kk among multipliers' pivots of the wrong sign, which only rounding can make; 0
 * also where H is not positive definite. */
double vini_kkt_noise(vin_kkt *kkt, const vini_backend *ldlt);
/* rank.c: were rows left out that are small beside the others, but too small for rounding; and are the
 * accelerations that their right-hand side (kkt->b, of the solution that was refused) asks for of the
 * others' size? */
bool vini_kkt_dropped_small(const vin_kkt *kkt);
bool vini_kkt_needs_small_rows(const vin_kkt *kkt);
/* rank.c: VIN_SINGULAR when what a row makes of x is lost to underflow, so that no residual tells. */
vin_status vini_kkt_check_sizes(vin_kkt *kkt);
/* rank.c: largest entry of row i, of the largest of all. */
double vini_kkt_row_size(const vin_kkt *kkt, vin_int i);
/* rank.c: VIN_SINGULAR when a row was dropped because J H^-1 J' underflows. */
vin_status vini_kkt_check_range(vin_kkt *kkt, const vini_backend *ldlt);

/* Makes the solver of the Schur-type order where the recursive one has been enough so far. */
vin_status vini_kkt_need_primary(vin_kkt *kkt);

/* vin_kkt_factor() for values that are known to be finite. */
vin_status vini_kkt_factor_finite(vin_kkt *kkt, const double *h, const double *j, const double *c);

/* Values into K: checked, and (finite ones) stored without a factorisation. */
vin_status vini_kkt_check_values(vin_kkt *kkt, const double *h, const double *j, const double *c);
vin_status vini_kkt_set_values(vin_kkt *kkt, const double *h, const double *j, const double *c);

/* reuse.c: predicted costs, once; vin_kkt_update() for finite values; solves with a kept matrix. */
void vini_kkt_set_costs(vin_kkt *kkt);
vin_status vini_kkt_update_finite(vin_kkt *kkt, const double *h, const double *j, const double *c);
/* The same followed by vini_kkt_solve_plain() with count (1 or 2) right-hand sides, in one pass where the
 * solver can do that. Unless *right is VINI_RIGHT_SOLVED, vini_kkt_solve_plain() is left to the caller,
 * with z filled again where it is VINI_RIGHT_SPOILED. */
vin_status vini_kkt_update_solve(vin_kkt *kkt, const double *h, const double *j, const double *c,
                                 vin_int count, double *z, vini_right *right);
/* The same with J and z from a feed (load, user and j are set) that vini_kkt_takes_feed(). */
vin_status vini_kkt_update_solve_fed(vin_kkt *kkt, const double *h, vini_feed *feed, vin_int count,
                                     double *z, vini_right *right);
vin_status vini_kkt_solve_kept(vin_kkt *kkt, vin_int count, double *z);

/* feed.c: what block `block` of the elimination needs, and all that has not come. */
bool vini_kkt_takes_feed(const vin_kkt *kkt);
vin_status vini_kkt_feed_block(void *user, vin_int block);
vin_status vini_kkt_feed_rest(vin_kkt *kkt);

/* solve.c: z := K0^-1 z with the factorisation as it is; r := b - K z, s := |K| |z| + |b|. */
vin_status vini_kkt_apply_inverse(vin_kkt *kkt, vin_int count, double *z);
void vini_kkt_residual(const vin_kkt *kkt, const double *b, const double *z, double *r, double *s);

/* determined.c. Largest force whose rounding is a scale for bodies at rest; of kkt->b and its solution z. */
double vini_kkt_credible_force(const vin_kkt *kkt, const double *z);
/* Does the present factorisation give reason to doubt that the solution is determined? */
bool vini_kkt_doubtful(const vin_kkt *kkt);
/* VIN_SINGULAR: an error in the rows, relative to their terms (or a rounding, if that is more), moves z; s of
 * vini_kkt_residual() is in kkt->s, kkt->r is overwritten. */
vin_status vini_kkt_check_determined(vin_kkt *kkt, const double *z, double error);

/* In place on count stacked vectors of n + m, without refinement or check, for callers whose own
 * iteration verifies the result. Dropped multipliers become 0. */
vin_status vini_kkt_solve_plain(vin_kkt *kkt, vin_int count, double *z);

/* From here on one solution is kept in z (n + m), which the caller owns, in place of memory of its own. */
void vini_kkt_lend(vin_kkt *kkt, double *z);

/* Name of constraint row i for messages. */
void vini_kkt_constraint_name(const vin_kkt *kkt, vin_int i, char *text, size_t size);

#endif
