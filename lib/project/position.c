/* Position projection: min 1/2 |p - p~|_W^2 subject to Phi(p, t) = 0.
 *
 * Feasibility first: damped Gauss-Newton steps, the solution of
 *     [ W   J'   ] [ d  ]   [   0  ]          d = -W^-1 J' (J W^-1 J' + c)^-1 Phi,
 *     [ J  -c I  ] [ mu ] = [ -Phi ]
 * with c = 0 (Newton) as long as |Phi| falls and c > 0 (Levenberg-Marquardt) where it does not
 * or where J loses rank. A point with J' Phi = 0 and Phi != 0 is infeasible. Then slides along
 * the constraints, [ W  J'; J  0 ] [ d; mu ] = [ W (p~ - p); 0 ], to the nearest point. */
#include "project/project.h"

#include "kkt/kkt.h"
#include "project/minimise.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* J' Phi below this fraction of |J'| |Phi|: a stationary point of |Phi|^2. */
#define STATIONARY 1e-9
/* The same after the last iteration, where it decides between infeasible and not converged. */
#define NEARLY_STATIONARY 1e-3
/* Least decrease of |Phi|^2, relative to what the linearised constraints promise, for a step to be
 * accepted; below LOW_GAIN the damping is raised, above HIGH_GAIN lowered (Levenberg-Marquardt with
 * gain ratio: Nocedal, Wright, Numerical Optimization, 2006, chapter 4 and 10.3). */
#define LEAST_GAIN 1e-4
#define LOW_GAIN 0.25
#define HIGH_GAIN 0.75
/* First damping, relative to the largest |J|^2 in the metric's units, and its limits. */
#define FIRST_DAMPING 1e-4
#define LEAST_DAMPING 1e-14
#define LARGEST_DAMPING 1e8
/* Where no step gains any more, |Phi| may be this many times the estimate of its rounding. */
#define FLOOR_SLACK 16

/* Slides along the constraints to the nearest point; found when one is below rounding of p,
 * given up when SLIDE_PATIENCE of them in turn have neither become shorter nor gained 1 %, or
 * SLIDE_CUTS shortenings of one have not brought p nearer. */
#define SLIDES 60
#define SLIDE_PATIENCE 6
#define SLIDE_CUTS 10
#define SLIDE_TOLERANCE 1e-14
/* A slide may not lose more than this fraction of the squared distance to rounding. */
#define SLIDE_SLACK 1e-13

typedef struct search {
  vin_projector *self;
  double t;
  double *p, *d, *trial, *force; /* n */
  double *base, *slide;          /* n: where a slide starts, its direction */
  int polished;
  double *phi, *phi_trial, *mu, *right, *floor; /* m */
  double damping, damping_scale;
  int iterations;
  bool stationary;
} search;

/* |Phi_c| <= max(tolerance, slack * floor_c) for all c */
static bool within(const search *s, double slack) {
  for (vin_int c = 0; c < s->self->m; c++) {
    double limit = vini_max(s->self->options.position_tolerance, slack * s->floor[c]);
    if (!(fabs(s->phi[c]) <= limit)) return false;
  }
  return true;
}

/* Is |Phi_c| small compared with the positions it is made of, too? */
static bool sharp(const search *s) {
  for (vin_int c = 0; c < s->self->m; c++) {
    double limit = s->self->options.position_tolerance * vini_min(1, VINI_SHARPNESS * s->floor[c]);
    if (!(fabs(s->phi[c]) <= vini_max(limit, s->floor[c]))) return false;
  }
  return true;
}

/* Within the tolerance, and with a sharp residual or VINI_POLISHES steps after it. */
static bool converged(search *s) {
  return sharp(s) || (s->polished >= VINI_POLISHES && within(s, 1));
}

static vin_status evaluate(search *s, const double *p, double *phi) {
  s->self->constraint_evaluations++;
  return vini_eval_constraint(s->self->system, &s->self->object, s->t, p, phi);
}

static double norm2(const double *x, vin_int count) {
  double scale = vini_max_abs(x, count), sum = 0;
  if (scale == 0) return 0;
  for (vin_int i = 0; i < count; i++) sum += (x[i] / scale) * (x[i] / scale);
  return scale * sqrt(sum);
}

/* |J' Phi| relative to what it would be without cancellation. */
static double stationarity(search *s) {
  vin_projector *self = s->self;
  double *gradient = s->force, *scale = s->trial;
  const double *jacobian = vini_projector_free_jacobian(self);
  memset(gradient, 0, (size_t)self->n * sizeof *gradient);
  memset(scale, 0, (size_t)self->n * sizeof *scale);
  for (vin_int k = 0; k < self->jacobian.count; k++) {
    double term = jacobian[k] * s->phi[self->jacobian.row[k]];
    gradient[self->jacobian.col[k]] += term;
    scale[self->jacobian.col[k]] += fabs(term);
  }
  double largest = vini_max_abs(scale, self->n);
  return largest > 0 ? vini_max_abs(gradient, self->n) / largest : 0;
}

/* One step with the present damping: d, and trial = p + d. */
static vin_status solve_step(search *s) {
  vin_projector *self = s->self;
  VINI_TRY(vini_projector_factor_metric(self, VINI_LEVEL_POSITION, s->damping));
  memset(s->force, 0, (size_t)self->n * sizeof *s->force);
  for (vin_int c = 0; c < self->m; c++) s->right[c] = -s->phi[c];
  VINI_TRY(vini_projector_solve(self, 1, s->force, s->right, s->d, s->mu));
  for (vin_int i = 0; i < self->n; i++) s->trial[i] = s->p[i] + s->d[i];
  return VIN_OK;
}

static void raise_damping(search *s, double factor) {
  s->damping = s->damping > 0 ? factor * s->damping : FIRST_DAMPING * s->damping_scale;
}

static void lower_damping(search *s) {
  s->damping /= 10;
  if (s->damping < LEAST_DAMPING * s->damping_scale) s->damping = 0;
}

/* (|Phi|^2 - |Phi_trial|^2) / (|Phi|^2 - |Phi + J d|^2) */
static double gain(search *s) {
  vin_projector *self = s->self;
  double *linear = s->right; /* free after the solve */
  memcpy(linear, s->phi, (size_t)self->m * sizeof *linear);
  vini_projector_add_jacobian(self, 1, s->d, linear);
  double before = norm2(s->phi, self->m), after = norm2(s->phi_trial, self->m);
  double promised = norm2(linear, self->m);
  /* relative to before, so that nothing overflows */
  double a = after / before, b = promised / before;
  return (1 - a) * (1 + a) / vini_max((1 - b) * (1 + b), DBL_MIN);
}

/* Largest J W^-1 J' on the diagonal, roughly: |J|^2 / W. */
static double damping_scale(const vin_projector *self) {
  double largest = 0;
  const double *weight = self->metric_values[VINI_LEVEL_POSITION];
  const double *jacobian = vini_projector_free_jacobian(self);
  if (weight == NULL) weight = self->mass_values;
  for (vin_int k = 0; k < self->jacobian.count; k++) {
    double j = jacobian[k], w = weight[self->diagonal[self->jacobian.col[k]]];
    if (w > 0) largest = vini_max(largest, j * j / w);
  }
  return largest > 0 ? largest : 1;
}

/* One accepted step towards the constraints, raising the damping until |Phi| falls. */
static vin_status feasibility_step(search *s) {
  vin_projector *self = s->self;
  while (s->iterations < self->options.max_iterations) {
    s->iterations++;
    self->newton_steps++;
    vin_status status = solve_step(s);
    if (status < 0) return status;
    if (status == VIN_OK) status = evaluate(s, s->trial, s->phi_trial);
    if (status < 0) return status;
    double ratio = status == VIN_OK ? gain(s) : 0;
    if (ratio >= LEAST_GAIN) {
      memcpy(s->p, s->trial, (size_t)self->n * sizeof *s->p);
      memcpy(s->phi, s->phi_trial, (size_t)self->m * sizeof *s->phi);
      if (ratio > HIGH_GAIN) lower_damping(s);
      if (ratio < LOW_GAIN && s->damping > 0) raise_damping(s, 4);
      return VIN_OK;
    }
    if (within(s, 1)) { /* polishing: rounding of lengths that the positions do not show */
      s->polished = VINI_POLISHES;
      return VIN_OK;
    }
    raise_damping(s, 10);
    if (s->damping > LARGEST_DAMPING * s->damping_scale) {
      s->stationary = true; /* not even a short step along the gradient helps */
      return VIN_OK;
    }
  }
  return VIN_OK;
}

static vin_status approach(search *s) {
  vin_projector *self = s->self;
  VINI_TRY(evaluate(s, s->p, s->phi));
  for (;;) {
    VINI_TRY(vini_projector_jacobian(self, s->t, s->p));
    vini_projector_floor(self, s->p, s->floor);
    if (converged(s)) return VIN_OK;
    if (within(s, 1)) s->polished++;
    if (s->damping_scale == 0) s->damping_scale = damping_scale(self);
    double slope = stationarity(s);
    if (slope <= STATIONARY) s->stationary = !within(s, 1);
    if (s->iterations >= self->options.max_iterations && slope <= NEARLY_STATIONARY) {
      s->stationary = true;
    }
    if (s->stationary || s->iterations >= self->options.max_iterations) return VIN_OK;
    double before = norm2(s->phi, self->m);
    VINI_TRY(feasibility_step(s));
    /* rounding of large positions can end above the floor's estimate: no more to gain then */
    bool still = norm2(s->phi, self->m) == before && s->polished < VINI_POLISHES;
    if (still && !s->stationary) s->iterations = self->options.max_iterations;
  }
}

/* Reaches the constraints, or a stationary point, or the limit. */
static vin_status find_feasible(search *s) {
  s->polished = 0;
  VINI_TRY(approach(s));
  s->polished = VINI_POLISHES; /* no more to gain */
  return VIN_OK;
}

/* s->force := W x */
static void weigh(search *s, const double *x) {
  vini_projector_weigh(s->self, VINI_LEVEL_POSITION, x, s->force);
}

/* x' s->force */
static double with_force(const search *s, const double *x) {
  double sum = 0;
  for (vin_int i = 0; i < s->self->n; i++) sum += x[i] * s->force[i];
  return sum;
}

/* |p - start|_W^2 */
static double distance(search *s, const double *start) {
  for (vin_int i = 0; i < s->self->n; i++) s->d[i] = s->p[i] - start[i];
  weigh(s, s->d);
  return with_force(s, s->d);
}

/* s->d := the part of start - p along the constraints:
 * [ W  J'; J  0 ] [ d; mu ] = [ W (start - p); 0 ] */
static vin_status tangent(search *s, const double *start) {
  vin_projector *self = s->self;
  VINI_TRY(vini_projector_factor_metric(self, VINI_LEVEL_POSITION, 0));
  for (vin_int i = 0; i < self->n; i++) s->d[i] = start[i] - s->p[i];
  weigh(s, s->d);
  memset(s->right, 0, (size_t)self->m * sizeof *s->right);
  return vini_projector_solve(self, 1, s->force, s->right, s->d, s->mu);
}

/* Back onto the constraints, counted apart from the limit of max_iterations. */
static vin_status return_to_constraints(search *s) {
  int before = s->iterations;
  s->iterations = 0;
  s->damping = 0;
  s->stationary = false;
  vin_status status = find_feasible(s);
  s->iterations += before;
  return status;
}

/* p := base + length slide, back on the constraints, shortened until that is nearer to start. */
static vin_status take_slide(search *s, const double *start, double *length, double *square,
                             bool *taken) {
  vin_projector *self = s->self;
  *taken = false;
  for (int cut = 0; cut < SLIDE_CUTS; cut++, *length /= 4) {
    for (vin_int i = 0; i < self->n; i++) s->p[i] = s->base[i] + *length * s->slide[i];
    vin_status status = return_to_constraints(s);
    if (status < 0) return status;
    if (status != VIN_OK || !converged(s)) continue;
    double reached = distance(s, start);
    if (!(reached <= *square * (1 + SLIDE_SLACK))) continue;
    *square = reached;
    *taken = true;
    return VIN_OK;
  }
  memcpy(s->p, s->base, (size_t)self->n * sizeof *s->p);
  return return_to_constraints(s);
}

/* Steepest descent of |p - start|_W along the constraints, with the step length of Barzilai and
 * Borwein (IMA J. Numer. Anal. 8, 1988): 1 where the constraints are flat, and what their curvature
 * times the distance asks for elsewhere. Every point on the way lies on the constraints. */
static vin_status find_nearest(search *s, const double *start) {
  vin_projector *self = s->self;
  double length = 1, square = distance(s, start), least = HUGE_VAL, last = HUGE_VAL;
  int waited = 0;
  for (int slide = 0; slide < SLIDES; slide++) {
    VINI_TRY(tangent(s, start));
    double size = vini_max_abs(s->d, self->n);
    if (size <= SLIDE_TOLERANCE * vini_max_abs(s->p, self->n)) return VIN_OK;
    waited = size < 0.5 * least || square < 0.99 * last ? 0 : waited + 1;
    last = square;
    if (waited > SLIDE_PATIENCE) return VIN_OK;
    least = vini_min(least, size);
    if (slide > 0) { /* s's / s'y with s = length slide and y = slide - d, in the metric */
      weigh(s, s->slide);
      double whole = with_force(s, s->slide), change = whole - with_force(s, s->d);
      length *= change > 0 ? whole / change : 4; /* < 0: still going away from a farthest point */
    }
    memcpy(s->slide, s->d, (size_t)self->n * sizeof *s->slide);
    memcpy(s->base, s->p, (size_t)self->n * sizeof *s->base);
    bool taken;
    VINI_TRY(take_slide(s, start, &length, &square, &taken));
    if (!taken) return VIN_OK;
  }
  return VIN_OK;
}

void vini_report_start(const vin_projector *self, const double *phi,
                       vin_projection_report *report) {
  report->most_moved = -1;
  for (vin_int c = 0; c < self->m; c++) {
    if (report->most_moved >= 0 && !(fabs(phi[c]) > report->position_before)) continue;
    report->position_before = fabs(phi[c]);
    report->most_moved = c;
  }
  if (report->most_moved >= 0) {
    vin_system_constraint_name(self->system, report->most_moved, report->most_moved_name,
                               sizeof report->most_moved_name);
  }
}

void vini_report_end(const vin_projector *self, const double *phi, vin_projection_report *report) {
  report->position_after = vini_max_abs(phi, self->m);
  report->gap_max = report->gap_sum = 0;
  report->worst = -1;
  for (vin_int c = 0; c < self->m; c++) {
    double gap = fabs(vini_constraint_gap(self->system, c, phi[c]));
    report->gap_sum += gap;
    if (report->worst >= 0 && !(gap > report->gap_max)) continue;
    report->gap_max = gap;
    report->worst = c;
  }
  if (report->worst >= 0) {
    vin_system_constraint_name(self->system, report->worst, report->worst_name,
                               sizeof report->worst_name);
  }
}

static void report_end(const search *s, const double *start, vin_projection_report *report) {
  const vin_projector *self = s->self;
  vini_report_end(self, s->phi, report);
  report->iterations = s->iterations;
  for (vin_int i = 0; i < self->n; i++) {
    double moved = fabs(s->p[i] - start[i]);
    report->position_correction = vini_max(report->position_correction, moved);
  }
  report->dropped = vin_kkt_dropped(self->kkt, NULL);
}

static vin_status report_start(search *s, vin_projection_report *report) {
  VINI_TRY(evaluate(s, s->p, s->phi));
  vini_report_start(s->self, s->phi, report);
  return VIN_OK;
}

/* A row that no coordinate changes, or only fixed ones; VIN_OK: it is not that. */
static vin_status blame_row(const search *s) {
  vin_projector *self = s->self;
  double tolerance = self->options.position_tolerance;
  vin_int row = vini_projector_without_freedom(self, s->phi, s->floor, tolerance);
  if (row < 0) return VIN_OK;
  char name[96];
  vin_system_constraint_name(self->system, row, name, sizeof name);
  double gap = vini_constraint_gap(self->system, row, s->phi[row]);
  if (self->fixed == NULL) {
    return vini_fail(
        &self->object, VIN_INFEASIBLE,
        "%s is off by %.6g and no coordinate changes it here: its row of the Jacobian is "
        "zero (t = %g)",
        name, gap, s->t);
  }
  return vini_fail(&self->object, VIN_INFEASIBLE,
                   "%s cannot be met by the free coordinates: it is off by %.6g, and all "
                   "coordinates in it are fixed or without effect (t = %g)",
                   name, gap, s->t);
}

static vin_status conclude(const search *s, const vin_projection_report *r) {
  if (within(s, FLOOR_SLACK)) return VIN_OK;
  vini_object *object = &s->self->object;
  if (s->stationary) {
    VINI_TRY(blame_row(s));
    return vini_fail(object, VIN_INFEASIBLE,
                     "the constraints can't be satisfied near the start%s: %s is off by %.6g, all "
                     "together by %.6g, after %d iterations (t = %g)",
                     s->self->fixed != NULL ? " by the free coordinates" : "", r->worst_name,
                     r->gap_max, r->gap_sum, s->iterations, s->t);
  }
  return vini_fail(object, VIN_NOT_CONVERGED,
                   "the position projection stopped after %d iterations; %s is still off by %.6g "
                   "(max |Phi| %.3g, t = %g)",
                   s->iterations, r->worst_name, r->gap_max, r->position_after, s->t);
}

static vin_status run(search *s, const double *start, bool nearest, vin_projection_report *report) {
  VINI_TRY(report_start(s, report));
  VINI_TRY(find_feasible(s));
  if (nearest && s->iterations > 0 && converged(s)) VINI_TRY(find_nearest(s, start));
  report_end(s, start, report);
  return conclude(s, report);
}

vin_status vini_projector_position(vin_projector *self, double t, double *p, bool nearest,
                                   vin_projection_report *report) {
  if (self->m == 0) return VIN_OK;
  search s = {.self = self,
              .t = t,
              .p = self->vn[0],
              .d = self->vn[1],
              .trial = self->vn[2],
              .force = self->vn[3],
              .base = self->vn[5],
              .slide = self->vn[6],
              .phi = self->vm[0],
              .phi_trial = self->vm[1],
              .mu = self->vm[2],
              .right = self->vm[3],
              .floor = self->vm[4]};
  memcpy(s.p, p, (size_t)self->n * sizeof *p);
  memset(self->vn[4], 0, (size_t)self->n * sizeof *p);
  VINI_TRY(vini_projector_mass(self, t, p, self->vn[4]));
  /* far from the constraints dependent rows do not agree: the end decides, not each step */
  double tolerance = self->kkt->options.contradiction_tolerance;
  self->kkt->options.contradiction_tolerance = HUGE_VAL;
  vin_status status = run(&s, p, nearest, report);
  self->kkt->options.contradiction_tolerance = tolerance;
  if (status == VIN_OK) memcpy(p, s.p, (size_t)self->n * sizeof *p);
  return status;
}
