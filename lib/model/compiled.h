/* compiled - what a model becomes: structure-of-arrays data that is const after compilation, and
 * the functions that evaluate it. Any number of threads may evaluate at once: only outputs are
 * written.
 *
 * Each kind of matrix entry has ONE walk function over a sink. Its mode is a compile-time constant:
 * counting and pattern mode visit the entries without reading positions, value mode is a tight loop
 * that fills values in the same order. So a pattern cannot disagree with its values. */
#ifndef VINI_COMPILED_H
#define VINI_COMPILED_H

#include "base/base.h"
#include "vincula/system.h"

#define VINI_INLINE static inline __attribute__((always_inline))

/* Three coordinates live at a place k: p + k when k >= 0 (a free node), fixed + ~k otherwise. */
typedef struct vini_compiled {
  vin_context context;
  int64_t bytes; /* held by this struct and its arrays */
  vin_int free_nodes, rods, springs;

  double *fixed;    /* coordinates of fixed nodes, m */
  double *diagonal; /* free nodes: diagonal of M, point mass + m/3 of each slender rod, kg */
  double *weight;   /* free nodes: what uniform gravity pulls, point mass + m/2 of each rod, kg;
                       the same array as diagonal when all rods are massless */
  double *point;    /* free nodes: point mass, kg, for central gravity; the same array as diagonal
                       when all rods are massless, unused when mu = 0 */

  vin_int *rod_a, *rod_b; /* places */
  double *rod_length;     /* m */
  double *rod_mass;       /* kg; NULL when all rods are massless */

  vin_int *spring_a, *spring_b; /* places */
  double *stiffness, *spring_length, *damping;

  double gravity[3];      /* m/s^2 */
  double fixed_potential; /* J: the share of rod ends at fixed nodes in uniform gravity */
  double mu, centre[3];   /* m^3/s^2, m; mu = 0: no central gravity */

  vin_int *node_number;          /* free nodes: number in the model */
  vin_int *node_name, *rod_name; /* start in names or -1; NULL: all are unnamed */
  char *names;
} vini_compiled;

/* Callbacks; user is a vini_compiled. */
int vini_model_mass(void *user, double t, const double *p, const double *v, double *values);
int vini_model_force(void *user, double t, const double *p, const double *v, double *f);
int vini_model_constraint(void *user, double t, const double *p, double *phi);
int vini_model_jacobian(void *user, double t, const double *p, double *values);
int vini_model_constraint_rows(void *user, double t, const double *p, vin_int first, vin_int end,
                               double *phi);
int vini_model_jacobian_rows(void *user, double t, const double *p, vin_int first, vin_int end,
                             double *values);
int vini_model_curvature(void *user, double t, const double *p, const double *v, double *a);
int vini_model_potential(void *user, double t, const double *p, double *energy);
int vini_model_momentum(void *user, double t, const double *p, const double *v, double *linear,
                        double *angular);
int vini_model_force_p(void *user, double t, const double *p, const double *v, double *values);
int vini_model_force_v(void *user, double t, const double *p, const double *v, double *values);
void vini_model_position_name(void *user, vin_int index, char *text, size_t size);
void vini_model_constraint_name(void *user, vin_int row, char *text, size_t size);
double vini_model_constraint_gap(void *user, vin_int row, double phi);
void vini_model_release(void *user);

/* Patterns in the order of the values; row = NULL only counts. Each returns the number of entries.
 */
typedef int64_t (*vini_pattern)(const vini_compiled *c, vin_int *row, vin_int *col);
int64_t vini_mass_pattern(const vini_compiled *c, vin_int *row, vin_int *col);
int64_t vini_jacobian_pattern(const vini_compiled *c, vin_int *row, vin_int *col);
int64_t vini_force_p_pattern(const vini_compiled *c, vin_int *row, vin_int *col);
int64_t vini_force_v_pattern(const vini_compiled *c, vin_int *row, vin_int *col);

/* ---- central gravity, central.c -----------------------------------------------------------------
 */

/* Adds the forces to f, or the energy to *energy; false: a mass is at the centre. */
bool vini_central_force(const vini_compiled *c, const double *p, double *f);
bool vini_central_potential(const vini_compiled *c, const double *p, double *energy);
/* Free node or rod with a mass point at the centre in the position p; -1: none. */
void vini_central_find(const vini_compiled *c, const double *p, vin_int *node, vin_int *rod);
/* Its part of df/dp; one of row (pattern), values, or none (count) is given. */
int64_t vini_central_tangent(const vini_compiled *c, const double *p, vin_int *row, vin_int *col,
                             double *values);

/* ---- the sink of the walk functions -------------------------------------------------------------
 */

typedef enum vini_mode { VINI_COUNT, VINI_PATTERN, VINI_VALUES } vini_mode;

typedef struct vini_sink {
  vin_int *row, *col;
  double *value;
  int64_t count;
} vini_sink;

VINI_INLINE void vini_emit(vini_mode mode, vini_sink *sink, vin_int row, vin_int col,
                           double value) {
  if (mode == VINI_PATTERN) {
    sink->row[sink->count] = row;
    sink->col[sink->count] = col;
  }
  if (mode == VINI_VALUES) sink->value[sink->count] = value;
  sink->count++;
}

/* sign times a 3 x 3 block; nothing when one of its places is fixed. */
VINI_INLINE void vini_emit_block(vini_mode mode, vini_sink *sink, vin_int row, vin_int col,
                                 double sign, const double block[9]) {
  if (row < 0 || col < 0) return;
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++) {
      vini_emit(mode, sink, row + i, col + j, mode == VINI_VALUES ? sign * block[3 * i + j] : 0.0);
    }
  }
}

/* ---- coordinates --------------------------------------------------------------------------------
 */

VINI_INLINE const double *vini_at(const vini_compiled *c, const double *p, vin_int place) {
  /* one selected address instead of two code paths */
  return place >= 0 ? p + place : c->fixed + ~place;
}

static const double vini_zero[3] = {0.0, 0.0, 0.0};

VINI_INLINE const double *vini_velocity_at(const double *v, vin_int place) {
  return place >= 0 ? v + place : vini_zero;
}

VINI_INLINE void vini_difference(const double *a, const double *b, double d[3]) {
  for (int i = 0; i < 3; i++) d[i] = b[i] - a[i];
}

VINI_INLINE double vini_dot(const double *a, const double *b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

VINI_INLINE void vini_add_scaled(double *f, vin_int place, double factor, const double d[3]) {
  if (place < 0) return;
  for (int i = 0; i < 3; i++) f[place + i] += factor * d[i];
}

/* A compensated sum (Knuth's two-sum): energies and momenta of a million links are compared between
 * steps, and plain summation would bury their drift. */
typedef struct vini_sum {
  double value, rest;
} vini_sum;

VINI_INLINE void vini_sum_add(vini_sum *sum, double x) {
  const double total = sum->value + x, part = total - sum->value;
  sum->rest += (sum->value - (total - part)) + (x - part);
  sum->value = total;
}

#endif
