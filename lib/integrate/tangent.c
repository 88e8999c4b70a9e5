/* Values of F_p, F_v, G_p, G_v: the force's from its callbacks where it has them, the rest by
 * differences, one evaluation (two when central) for each group of columns that share no row.
 * Differences of M a, Phi_p' lambda and Phi_p a are exact but for rounding where M is constant and
 * Phi quadratic. Newton's method needs no more: an error of 1e-8 in the matrix is the contraction
 * that is left. */
#include "integrate/tangent_pattern.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Displacements relative to the size of the variable: where truncation and rounding balance. */
#define STEP_ONE_SIDED 1.5e-8 /* eps^(1/2) */
#define STEP_CENTRAL 6e-6     /* eps^(1/3) */

typedef enum direction { BY_POSITION, BY_VELOCITY } direction;

typedef struct point {
  double t;
  const double *p, *v, *a, *lambda;
  unsigned wanted;
} point;

static size_t *sizes(const vini_tangent *self, size_t *size) {
  const vin_system_desc *desc = &self->system->desc;
  size_t n = (size_t)self->n, m = (size_t)self->m, nf = (size_t)self->f->start[self->n],
         ng = (size_t)self->g->start[self->n];
  size_t forces = (size_t)vini_max_int(desc->force_p_pattern.count, desc->force_v_pattern.count);
  const size_t all[] = {nf,
                        nf,
                        ng,
                        ng,
                        n,
                        n,
                        n,
                        m,
                        n,
                        m,
                        (size_t)desc->mass_pattern.count,
                        (size_t)desc->jacobian_pattern.count,
                        forces,
                        vini_curvature_work(self->system)};
  memcpy(size, all, sizeof all);
  return size;
}

static vin_status allocate(vini_tangent *self) {
  double **vector[] = {
      &self->f_p,     &self->f_v,           &self->g_p, &self->g_v, &self->x,    &self->step,
      &self->base_f,  &self->base_g,        &self->fd,  &self->gd,  &self->mass, &self->jacobian,
      &self->tangent, &self->curvature_work};
  enum { COUNT = sizeof vector / sizeof *vector };
  size_t size[COUNT], total = 0;
  sizes(self, size);
  for (int k = 0; k < COUNT; k++) total += size[k];
  self->memory = vini_alloc(&self->object->context, total, sizeof(double));
  if (self->memory == NULL) {
    return vini_fail(self->object, VIN_ERR_NO_MEMORY, "no memory for the tangents of %d positions",
                     (int)self->n);
  }
  double *next = self->memory;
  for (int k = 0; k < COUNT; k++) {
    *vector[k] = next;
    next += size[k];
  }
  return VIN_OK;
}

vin_status vini_tangent_create(vini_tangent *self, vini_object *object, const vin_system *system,
                               vin_stats *stats) {
  const vin_system_desc *desc = &system->desc;
  *self = (vini_tangent){.object = object, .system = system, .stats = stats};
  self->n = system->n;
  self->m = system->m;
  self->force_v_at = desc->force_p_pattern.count;
  self->mass_varies = !(desc->flags & VIN_MASS_CONSTANT);
  self->force_differs_p = desc->force_p == NULL;
  self->force_differs_v = desc->force_v == NULL && !(desc->flags & VIN_FORCE_VELOCITY_FREE);
  VINI_TRY(vini_tangent_pattern(&self->f, object, system));
  vin_status status = vin_sparse_create(&self->g, &object->context, self->m, self->n,
                                        desc->jacobian_pattern, VIN_STORAGE_GENERAL);
  if (status != VIN_OK) return vini_fail(object, status, "%s", vin_sparse_error(self->g));
  VINI_TRY(vini_colouring_create(&self->colouring, object, vin_sparse_view(self->f)));
  return allocate(self);
}

void vini_tangent_destroy(vini_tangent *self, const vin_context *context) {
  vini_colouring_destroy(&self->colouring, context);
  vin_sparse_destroy(self->f);
  vin_sparse_destroy(self->g);
  vini_free(context, self->memory);
  *self = (vini_tangent){0};
}

/* The part of F that depends on M, and of F and G that depends on p through Phi_p. */
static void add_products(vini_tangent *self, const point *at, direction by, double *f, double *g) {
  vin_triplets mass = self->system->desc.mass_pattern, j = self->system->desc.jacobian_pattern;
  for (vin_int k = 0; k < mass.count && self->mass_varies; k++) {
    f[mass.row[k]] += self->mass[k] * at->a[mass.col[k]];
    if (mass.row[k] != mass.col[k]) f[mass.col[k]] += self->mass[k] * at->a[mass.row[k]];
  }
  if (by == BY_VELOCITY) return;
  for (vin_int k = 0; k < j.count; k++) f[j.col[k]] += self->jacobian[k] * at->lambda[j.row[k]];
  if (!(at->wanted & VINI_TANGENT_G)) return;
  for (vin_int k = 0; k < j.count; k++) g[j.row[k]] += self->jacobian[k] * at->a[j.col[k]];
}

/* What changes with p (or v) of F and G, without the force where its tangent is given. */
static vin_status functions(vini_tangent *self, const point *at, direction by, const double *p,
                            const double *v, double *f, double *g) {
  const vin_system *system = self->system;
  memset(f, 0, (size_t)self->n * sizeof *f);
  memset(g, 0, (size_t)self->m * sizeof *g);
  if (by == BY_POSITION ? self->force_differs_p : self->force_differs_v) {
    self->stats->force_evaluations++;
    VINI_TRY(vini_eval_force(system, self->object, at->t, p, v, f));
    for (vin_int i = 0; i < self->n; i++) f[i] = -f[i];
  }
  if (self->mass_varies) {
    VINI_TRY(vini_eval_mass(system, self->object, at->t, p, v, self->mass));
  }
  if (at->wanted & VINI_TANGENT_G) {
    VINI_TRY(vini_eval_curvature(system, self->object, at->t, p, v, g, self->curvature_work));
  }
  if (by == BY_POSITION && self->m > 0) {
    self->stats->jacobian_evaluations++;
    VINI_TRY(vini_eval_jacobian(system, self->object, at->t, p, self->jacobian));
  }
  add_products(self, at, by, f, g);
  return VIN_OK;
}

static bool nothing_differs(const vini_tangent *self, const point *at, direction by) {
  if (self->mass_varies || (self->m > 0 && (at->wanted & VINI_TANGENT_G))) return false;
  return by == BY_POSITION ? !self->force_differs_p && self->m == 0 : !self->force_differs_v;
}

/* x := the point with the columns of the group displaced by sign * step. */
static void displace(vini_tangent *self, const double *from, vin_int group, double sign) {
  const vini_colouring *c = &self->colouring;
  memcpy(self->x, from, (size_t)self->n * sizeof *self->x);
  for (vin_int k = c->start[group]; k < c->start[group + 1]; k++) {
    self->x[c->column[k]] += sign * self->step[c->column[k]];
  }
}

/* Entry (i, j) += weight * y[i] / step[j] for the columns j of the group. */
static void distribute(vini_tangent *self, const vin_sparse *pattern, vin_int group, double weight,
                       const double *y, double *value) {
  const vini_colouring *c = &self->colouring;
  for (vin_int q = c->start[group]; q < c->start[group + 1]; q++) {
    vin_int j = c->column[q];
    double factor = weight / self->step[j];
    for (vin_int k = pattern->start[j]; k < pattern->start[j + 1]; k++) {
      value[k] += factor * y[pattern->row[k]];
    }
  }
}

static void subtract(vin_int count, const double *y, double *x) {
  for (vin_int i = 0; i < count; i++) x[i] -= y[i];
}

static vin_status difference(vini_tangent *self, const point *at, direction by, double *value_f,
                             double *value_g) {
  if (nothing_differs(self, at, by)) return VIN_OK;
  bool central = (at->wanted & VINI_TANGENT_CENTRAL) != 0, velocity = by == BY_VELOCITY;
  const double *from = velocity ? at->v : at->p, *p = velocity ? at->p : self->x,
               *v = velocity ? self->x : at->v;
  if (!central) {
    VINI_TRY(functions(self, at, by, at->p, at->v, self->base_f, self->base_g));
  }
  for (vin_int group = 0; group < self->colouring.groups; group++) {
    if (central) {
      displace(self, from, group, -1);
      VINI_TRY(functions(self, at, by, p, v, self->base_f, self->base_g));
    }
    displace(self, from, group, 1);
    VINI_TRY(functions(self, at, by, p, v, self->fd, self->gd));
    subtract(self->n, self->base_f, self->fd);
    subtract(self->m, self->base_g, self->gd);
    double weight = central ? 0.5 : 1;
    distribute(self, self->f, group, weight, self->fd, value_f);
    if (at->wanted & VINI_TANGENT_G) {
      distribute(self, self->g, group, weight, self->gd, value_g);
    }
  }
  return VIN_OK;
}

/* step[j] := a displacement that x[j] can hold exactly; `typical` is its least size. */
static void choose_steps(vini_tangent *self, const double *x, double typical, unsigned wanted) {
  double relative = wanted & VINI_TANGENT_CENTRAL ? STEP_CENTRAL : STEP_ONE_SIDED;
  for (vin_int i = 0; i < self->n; i++) {
    volatile double moved = x[i] + relative * vini_max(fabs(x[i]), typical);
    self->step[i] = moved - x[i];
  }
}

/* Tangents of the force by callback: F has -f. */
static vin_status add_force(vini_tangent *self, const point *at) {
  const vin_system *system = self->system;
  const vin_system_desc *desc = &system->desc;
  const vin_int *slot = self->f->slot;
  if (desc->force_p != NULL) {
    VINI_TRY(vini_eval_force_p(system, self->object, at->t, at->p, at->v, self->tangent));
    for (vin_int k = 0; k < desc->force_p_pattern.count; k++) {
      self->f_p[slot[k]] -= self->tangent[k];
    }
  }
  if (desc->force_v == NULL) return VIN_OK;
  VINI_TRY(vini_eval_force_v(system, self->object, at->t, at->p, at->v, self->tangent));
  for (vin_int k = 0; k < desc->force_v_pattern.count; k++) {
    self->f_v[slot[self->force_v_at + k]] -= self->tangent[k];
  }
  return VIN_OK;
}

/* Sizes so small that a displacement of them would be rounded away stand for 0. */
#define LEAST_SIZE 1e-250

static double positive(double x) {
  return x > LEAST_SIZE ? x : 1;
}

vin_status vini_tangent_evaluate(vini_tangent *self, double t, const double *p, const double *v,
                                 const double *a, const double *lambda, double h, unsigned wanted) {
  point at = {.t = t, .p = p, .v = v, .a = a, .lambda = lambda, .wanted = wanted};
  size_t nf = (size_t)self->f->start[self->n], ng = (size_t)self->g->start[self->n];
  memset(self->f_p, 0, 2 * (nf + ng) * sizeof *self->f_p); /* f_p, f_v, g_p, g_v are neighbours */
  /* Lengths and angles of size 1 have their own scale, smaller machines the size of their
   * largest coordinate; velocities at rest that which a step would give them. */
  double size = positive(vini_min(1, vini_max_abs(p, self->n)));
  double speed = vini_max(vini_max_abs(v, self->n), fabs(h) * vini_max_abs(a, self->n));
  choose_steps(self, p, size, wanted);
  VINI_TRY(difference(self, &at, BY_POSITION, self->f_p, self->g_p));
  choose_steps(self, v, positive(speed), wanted);
  VINI_TRY(difference(self, &at, BY_VELOCITY, self->f_v, self->g_v));
  return add_force(self, &at);
}

void vini_tangent_subtract(const vin_sparse *pattern, const double *value, double factor,
                           const double *x, const unsigned char *skip, double *y) {
  for (vin_int j = 0; j < pattern->cols; j++) {
    for (vin_int k = pattern->start[j]; k < pattern->start[j + 1]; k++) {
      vin_int i = pattern->row[k];
      if (skip == NULL || !skip[i]) y[i] -= factor * value[k] * x[j];
    }
  }
}
