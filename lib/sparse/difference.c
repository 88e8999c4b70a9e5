/* difference - theory (D1): the parabola through x and two displaced points of each column, all
 * columns of one colour at once.
 *
 * The parabola also gives the second derivative, and with it an estimate of what the third one
 * adds: as large as that of a power (F''/size) or of an exponential function (F''^2/F'), whichever
 * is larger, but not more than the parabola itself bends. Rounding is that of the terms of F, which
 * at a root are much larger than F. */
#include "sparse/difference.h"

#include <float.h>
#include <math.h>
#include <string.h>

vin_status vini_differences_create(vini_differences *d, vini_object *object, vin_csc pattern,
                                   const vini_colouring *colouring, double noise,
                                   const double *typical) {
  size_t rows = (size_t)pattern.rows, cols = (size_t)pattern.cols;
  size_t entries = (size_t)pattern.start[pattern.cols];
  *d = (vini_differences){.pattern = pattern, .colouring = colouring, .typical = typical};
  d->noise = noise > DBL_EPSILON ? noise : DBL_EPSILON;
  double *next = d->memory =
      vini_alloc(&object->context, 3 * cols + 4 * rows + entries, sizeof *d->memory);
  if (!next) return vini_fail(object, VIN_ERR_NO_MEMORY, "no memory for differences");
  d->x = next, next += cols;
  d->step_a = next, next += cols;
  d->step_b = next, next += cols;
  d->a = next, next += rows;
  d->b = next, next += rows;
  d->terms = next, next += rows;
  d->scale = next, next += rows;
  d->error = next;
  return VIN_OK;
}

void vini_differences_destroy(vini_differences *d, const vin_context *context) {
  vini_free(context, d->memory);
  *d = (vini_differences){0};
}

static double size_of(const vini_differences *d, const double *x, vin_int j) {
  return vini_max(fabs(x[j]), d->typical ? d->typical[j] : 1.0);
}

/* F with the columns of a group displaced by `factor` steps; step[j] := what was added indeed. */
static vin_status displace(vini_differences *d, vini_difference_function f, void *self,
                           const double *x, vin_int group, double factor, double *step,
                           double *out) {
  const vin_int *start = d->colouring->start, *column = d->colouring->column;
  double relative = cbrt(d->noise);
  for (vin_int k = start[group]; k < start[group + 1]; k++) {
    vin_int j = column[k];
    volatile double moved = x[j] + factor * relative * size_of(d, x, j); /* as it is stored */
    d->x[j] = moved;
    step[j] = moved - x[j];
  }
  vin_status status = f(self, d->x, out);
  for (vin_int k = start[group]; k < start[group + 1]; k++) d->x[column[k]] = x[column[k]];
  return status;
}

/* Two points for a group: both sides, or one side twice where the other is outside of F's domain. */
static vin_status displace_twice(vini_differences *d, vini_difference_function f, void *self,
                                 const double *x, vin_int group, int64_t *evaluations) {
  *evaluations += 2;
  vin_status up = displace(d, f, self, x, group, 1, d->step_a, d->a);
  if (up < 0) return up;
  vin_status down = displace(d, f, self, x, group, -1, d->step_b, d->b);
  if (down < 0 || (up == VIN_OK && down == VIN_OK)) return down;
  if (up != VIN_OK && down != VIN_OK) return up;
  ++*evaluations;
  if (up == VIN_OK) return displace(d, f, self, x, group, 2, d->step_b, d->b);
  return displace(d, f, self, x, group, -2, d->step_a, d->a);
}

static void columns_of_group(vini_differences *d, const double *x, const double *f0, vin_int group,
                             double *values) {
  const vin_csc *p = &d->pattern;
  for (vin_int k = d->colouring->start[group]; k < d->colouring->start[group + 1]; k++) {
    vin_int j = d->colouring->column[k];
    double a = d->step_a[j], b = d->step_b[j], step = vini_min(fabs(a), fabs(b));
    double size = size_of(d, x, j);
    for (vin_int q = p->start[j]; q < p->start[j + 1]; q++) {
      vin_int i = p->row[q];
      double slope_a = (d->a[i] - f0[i]) / a, slope_b = (d->b[i] - f0[i]) / b;
      double bend = 2 * fabs((slope_b - slope_a) / (b - a));
      values[q] = slope_a + (slope_b - slope_a) * (-a / (b - a));
      double slope = fabs(values[q]);
      double third = vini_max(bend / size, slope > 0 ? bend * bend / slope : HUGE_VAL);
      d->error[q] = bend > 0 ? vini_min(step * bend, step * step / 3 * third) : 0;
      d->scale[i] = vini_max(d->scale[i], slope);
      d->terms[i] += slope * fabs(x[j]);
    }
  }
}

static void judge(const vini_differences *d, const double *x, vini_difference_report *report) {
  const vin_csc *p = &d->pattern;
  *report = (vini_difference_report){.row = -1, .col = -1};
  for (vin_int j = 0; j < p->cols; j++) {
    double step = cbrt(d->noise) * size_of(d, x, j);
    for (vin_int q = p->start[j]; q < p->start[j + 1]; q++) {
      vin_int i = p->row[q];
      double error = (d->error[q] + d->noise * d->terms[i] / step) / d->scale[i];
      if (!(error > report->relative_error)) continue; /* 0/0: a row of zeros is exact */
      *report = (vini_difference_report){.relative_error = error, .row = i, .col = j};
    }
  }
}

vin_status vini_differences_jacobian(vini_differences *d, vini_difference_function f, void *self,
                                     const double *x, const double *f0, double *values,
                                     vini_difference_report *report, int64_t *evaluations) {
  size_t rows = (size_t)d->pattern.rows;
  memcpy(d->x, x, (size_t)d->pattern.cols * sizeof *x);
  memset(d->scale, 0, rows * sizeof *d->scale);
  for (size_t i = 0; i < rows; i++) d->terms[i] = fabs(f0[i]);
  for (vin_int g = 0; g < d->colouring->groups; g++) {
    VINI_TRY(displace_twice(d, f, self, x, g, evaluations));
    columns_of_group(d, x, f0, g, values);
  }
  judge(d, x, report);
  return VIN_OK;
}
