/* Second derivatives of the constraints by coloured differences. */
#include "project/second.h"

#include <math.h>
#include <string.h>

/* Displacement of the differences relative to the largest position, where Phi is not quadratic:
 * extrapolated central differences have truncation and rounding near 1e-12 there. */
#define STEP 1e-3

static vin_status no_memory(vini_object *object) {
  return vini_fail(object, VIN_ERR_NO_MEMORY, "no memory for second derivatives");
}

/* Row-wise copy of the compressed pattern. */
static vin_status build_rows(vini_second *s, vini_object *object) {
  const vin_context *context = &object->context;
  vin_csc a = vin_sparse_view(s->pattern);
  size_t entries = (size_t)a.start[a.cols], m = (size_t)a.rows;
  s->row_start = vini_alloc(context, m + 1, sizeof *s->row_start);
  s->first = vini_alloc(context, m + 1, sizeof *s->first);
  s->col = vini_alloc(context, entries, sizeof *s->col);
  s->slot = vini_alloc(context, entries, sizeof *s->slot);
  s->place = vini_alloc(context, entries, sizeof *s->place);
  vin_int *fill = vini_alloc(context, m, sizeof *fill);
  bool complete = s->row_start != NULL && s->first != NULL && s->col != NULL && s->slot != NULL &&
                  s->place != NULL && fill != NULL;
  for (size_t k = 0; complete && k < entries; k++) s->row_start[a.row[k] + 1]++;
  for (size_t i = 0; complete && i < m; i++) {
    int64_t length = s->row_start[i + 1];
    s->first[i + 1] = s->first[i] + length * length;
    s->row_start[i + 1] += s->row_start[i];
  }
  for (vin_int j = 0; complete && j < a.cols; j++) {
    for (vin_int k = a.start[j]; k < a.start[j + 1]; k++) {
      vin_int i = a.row[k];
      s->place[k] = fill[i]++;
      s->col[s->row_start[i] + s->place[k]] = j;
      s->slot[s->row_start[i] + s->place[k]] = k;
    }
  }
  vini_free(context, fill);
  if (!complete) return no_memory(object);
  if (s->first[m] <= INT32_MAX) return VIN_OK;
  return vini_fail(
      object, VIN_ERR_TOO_LARGE,
      "the constraints have %lld second derivatives: some depend on too many positions",
      (long long)s->first[m]);
}

vin_status vini_second_create(vini_second *s, vini_object *object, const vin_system *system) {
  const vin_context *context = &object->context;
  memset(s, 0, sizeof *s);
  s->system = system;
  vin_triplets pattern = system->desc.jacobian_pattern;
  vin_status status =
      vin_sparse_create(&s->pattern, context, system->m, system->n, pattern, VIN_STORAGE_GENERAL);
  if (status != VIN_OK) return vini_fail(object, status, "%s", vin_sparse_error(s->pattern));
  VINI_TRY(build_rows(s, object));
  VINI_TRY(vini_colouring_create(&s->colouring, object, vin_sparse_view(s->pattern)));
  size_t n = (size_t)system->n, m = (size_t)system->m, entries = (size_t)s->row_start[m];
  s->d = vini_alloc(context, (size_t)s->first[m], sizeof *s->d);
  s->rate = vini_alloc(context, entries, sizeof *s->rate);
  s->moved = vini_alloc(context, n, sizeof *s->moved);
  s->values = vini_alloc(context, (size_t)pattern.count, sizeof *s->values);
  s->base = vini_alloc(context, entries, sizeof *s->base);
  s->high = vini_alloc(context, entries, sizeof *s->high);
  s->rate_base = vini_alloc(context, m, sizeof *s->rate_base);
  s->rate_high = vini_alloc(context, m, sizeof *s->rate_high);
  bool complete = s->d != NULL && s->rate != NULL && s->moved != NULL && s->values != NULL &&
                  s->base != NULL && s->high != NULL && s->rate_base != NULL &&
                  s->rate_high != NULL;
  return complete ? VIN_OK : no_memory(object);
}

void vini_second_destroy(vini_second *s, const vin_context *context) {
  vin_sparse_destroy(s->pattern);
  vini_colouring_destroy(&s->colouring, context);
  void *owned[] = {s->row_start, s->first,  s->col,  s->slot, s->place,     s->d,        s->rate,
                   s->moved,     s->values, s->base, s->high, s->rate_base, s->rate_high};
  for (size_t k = 0; k < sizeof owned / sizeof *owned; k++) vini_free(context, owned[k]);
  memset(s, 0, sizeof *s);
}

/* Compressed Phi_p and Phi_t at (t, moved). */
static vin_status evaluate(vini_second *s, vini_object *object, double t, double *values,
                           double *rate) {
  s->evaluations++;
  VINI_TRY(vini_eval_jacobian(s->system, object, t, s->moved, s->values));
  VINI_TRY(vini_eval_constraint_rate(s->system, object, t, s->moved, rate));
  vini_sparse_scatter(s->pattern, s->values);
  vin_csc a = vin_sparse_view(s->pattern);
  memcpy(values, a.value, (size_t)a.start[a.cols] * sizeof *values);
  return VIN_OK;
}

/* D += weight (high - base) for the columns of a group, each the one cause of its rows' changes. */
static void add_changes(vini_second *s, vin_int group, double weight, const double *base,
                        const double *rate_base) {
  vin_csc a = vin_sparse_view(s->pattern);
  const vini_colouring *colours = &s->colouring;
  for (vin_int g = colours->start[group]; g < colours->start[group + 1]; g++) {
    vin_int column = colours->column[g];
    for (vin_int k = a.start[column]; k < a.start[column + 1]; k++) {
      vin_int i = a.row[k], from = s->row_start[i], length = s->row_start[i + 1] - from;
      double *block = s->d + s->first[i] + s->place[k];
      for (vin_int j = 0; j < length; j++) {
        vin_int slot = s->slot[from + j];
        block[(int64_t)j * length] += weight * (s->high[slot] - base[slot]);
      }
      s->rate[from + s->place[k]] += weight * (s->rate_high[i] - rate_base[i]);
    }
  }
}

static vin_status add_difference(vini_second *s, vini_object *object, double t, const double *p,
                                 vin_int group, double step, double weight) {
  const vini_colouring *colours = &s->colouring;
  memcpy(s->moved, p, (size_t)s->system->n * sizeof *p);
  for (vin_int g = colours->start[group]; g < colours->start[group + 1]; g++) {
    s->moved[colours->column[g]] += step;
  }
  VINI_TRY(evaluate(s, object, t, s->high, s->rate_high));
  add_changes(s, group, weight, s->base, s->rate_base);
  return VIN_OK;
}

vin_status vini_second_evaluate(vini_second *s, vini_object *object, double t, const double *p) {
  if (s->known && s->t == t) return VIN_OK;
  vin_int m = s->system->m, n = s->system->n;
  bool quadratic = (s->system->desc.flags & VIN_CONSTRAINT_QUADRATIC) != 0;
  double size = vini_max_abs(p, n), step = size > 0 ? size : 1;
  s->known = false;
  memset(s->d, 0, (size_t)s->first[m] * sizeof *s->d);
  memset(s->rate, 0, (size_t)s->row_start[m] * sizeof *s->rate);
  memcpy(s->moved, p, (size_t)n * sizeof *p);
  VINI_TRY(evaluate(s, object, t, s->base, s->rate_base));
  for (vin_int g = 0; g < s->colouring.groups; g++) {
    if (quadratic) {
      VINI_TRY(add_difference(s, object, t, p, g, step, 1 / step));
      continue;
    }
    /* (4 D(h/2) - D(h)) / 3 of central differences D; what is subtracted in each cancels */
    double h = STEP * step;
    VINI_TRY(add_difference(s, object, t, p, g, 0.5 * h, 4 / (3 * h)));
    VINI_TRY(add_difference(s, object, t, p, g, -0.5 * h, -4 / (3 * h)));
    VINI_TRY(add_difference(s, object, t, p, g, h, -1 / (6 * h)));
    VINI_TRY(add_difference(s, object, t, p, g, -h, 1 / (6 * h)));
  }
  s->known = quadratic;
  s->t = t;
  return VIN_OK;
}

vin_int vini_second_entries(const vini_second *s) {
  return s->row_start[s->system->m];
}

int64_t vini_second_full_count(const vini_second *s) {
  return s->first[s->system->m];
}

int64_t vini_second_lower_count(const vini_second *s) {
  return (vini_second_full_count(s) + vini_second_entries(s)) / 2;
}

/* One pattern or its values: every pair of places (j, k) of each row, k <= j only if lower. */
static void walk(const vini_second *s, bool lower, const double *weight, vin_int *row, vin_int *col,
                 double *values) {
  int64_t at = 0;
  for (vin_int i = 0; i < s->system->m; i++) {
    vin_int from = s->row_start[i], length = s->row_start[i + 1] - from;
    const double *block = s->d + s->first[i];
    for (vin_int j = 0; j < length; j++) {
      for (vin_int k = 0; k < (lower ? j + 1 : length); k++, at++) {
        if (row != NULL) row[at] = s->col[from + j], col[at] = s->col[from + k];
        if (row != NULL) continue;
        double both = block[(int64_t)j * length + k] + block[(int64_t)k * length + j];
        values[at] = 0.5 * weight[i] * both;
      }
    }
  }
}

void vini_second_lower_pattern(const vini_second *s, vin_int *row, vin_int *col) {
  walk(s, true, NULL, row, col, NULL);
}

void vini_second_full_pattern(const vini_second *s, vin_int *row, vin_int *col) {
  walk(s, false, NULL, row, col, NULL);
}

void vini_second_lower(const vini_second *s, const double *weight, double *values) {
  walk(s, true, weight, NULL, NULL, values);
}

void vini_second_full(const vini_second *s, const double *weight, double *values) {
  walk(s, false, weight, NULL, NULL, values);
}

void vini_second_rate_pattern(const vini_second *s, vin_int *row, vin_int *col) {
  for (vin_int i = 0; i < s->system->m; i++) {
    for (vin_int k = s->row_start[i]; k < s->row_start[i + 1]; k++) row[k] = i, col[k] = s->col[k];
  }
}

void vini_second_rate(const vini_second *s, const double *v, double *values) {
  for (vin_int i = 0; i < s->system->m; i++) {
    vin_int from = s->row_start[i], length = s->row_start[i + 1] - from;
    const double *block = s->d + s->first[i];
    for (vin_int k = 0; k < length; k++) {
      double sum = s->rate[from + k];
      for (vin_int j = 0; j < length; j++) {
        sum += block[(int64_t)j * length + k] * v[s->col[from + j]];
      }
      values[from + k] = sum;
    }
  }
}
