/* Order studies: runs, errors, verdicts. The table is in study_table.c, systems in study_system.c. */
#include "study/study.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* An error of so many roundings of the largest number in the solution is rounding. */
#define ROUNDING (200 * DBL_EPSILON)

enum { LEVELS_LEAST = 3, LEVELS_MOST = 24, LEVELS_DEFAULT = 4 };

vin_study_options vin_study_options_default(void) {
  return (vin_study_options){.struct_size = sizeof(vin_study_options),
                             .levels = LEVELS_DEFAULT,
                             .looseness = 100,
                             .dominated = 0.1};
}

static vin_status check_options(vin_study *study) {
  const vin_study_options *o = &study->options;
  vini_object *object = &study->object;
  if (!(isfinite(o->step) && o->step > 0)) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "study: step is %g s, must be finite and > 0",
                     o->step);
  }
  if (o->levels < LEVELS_LEAST || o->levels > LEVELS_MOST) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "study: levels is %d, must be in %d..%d", o->levels,
                     LEVELS_LEAST, LEVELS_MOST);
  }
  if (!(o->looseness == 0 || (isfinite(o->looseness) && o->looseness > 1))) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "study: looseness is %g, must be 0 or above 1",
                     o->looseness);
  }
  if (!(o->dominated > 0 && o->dominated <= 1)) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "study: dominated is %g, must be in 0..1",
                     o->dominated);
  }
  return VIN_OK;
}

static vin_status check_quantities(vin_study *study, int count, const vin_study_quantity *given) {
  vini_object *object = &study->object;
  if (count < 1 || count > VINI_STUDY_QUANTITIES || given == NULL) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "study: %d quantities, must be 1..%d", count,
                     VINI_STUDY_QUANTITIES);
  }
  for (int q = 0; q < count; q++) {
    if (given[q].name == NULL || given[q].count < 1 ||
        (given[q].kind != VIN_STUDY_SOLUTION && given[q].kind != VIN_STUDY_RESIDUAL)) {
      return vini_fail(object, VIN_ERR_BAD_INPUT,
                       "study: quantity %d needs a name, a count > 0 (it is %d) and a kind", q,
                       (int)given[q].count);
    }
    vini_study_quantity *own = &study->quantity[q];
    vini_fail_text(own->name, sizeof own->name, VIN_OK, "%s", given[q].name);
    own->first = study->total;
    own->count = given[q].count;
    own->residual = given[q].kind == VIN_STUDY_RESIDUAL;
    own->reference = study->solution_total;
    study->total += (size_t)given[q].count;
    if (!own->residual) study->solution_total += (size_t)given[q].count;
  }
  study->quantities = count;
  return VIN_OK;
}

static vin_status allocate(vin_study *study) {
  const vin_context *context = &study->object.context;
  size_t levels = (size_t)study->options.levels;
  study->level = vini_alloc(context, levels, sizeof *study->level);
  study->y = vini_alloc(context, (levels + 1) * study->total, sizeof(double));
  study->table = vini_alloc(context, VINI_STUDY_TABLE_SIZE(levels), 1);
  if (study->level != NULL && study->y != NULL && study->table != NULL) return VIN_OK;
  return vini_fail(&study->object, VIN_ERR_NO_MEMORY, "no memory for a study of %d levels",
                   study->options.levels);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static double *result(const vin_study *study, int level) {
  return study->y + (size_t)level * study->total;
}

/* max |x_i - y_i|, y NULL: 0; a NaN stays. */
static double distance(size_t count, const double *x, const double *y) {
  double largest = 0;
  for (size_t i = 0; i < count; i++) {
    double d = fabs(x[i] - (y == NULL ? 0 : y[i]));
    if (!(d <= largest)) largest = d;
  }
  return largest;
}

/* What other tolerances change, by quantity, times `scale`, where that is more than what is known. A run
 * that fails with them says nothing. */
static vin_status compare(vin_study *study, int k, double factor, double scale,
                          vin_study_solve solve, void *user) {
  vini_study_level *level = &study->level[k];
  double *other = result(study, study->options.levels);
  char text[VINI_TEXT_SIZE] = "";
  vin_status status = solve(user, level->step, factor, other, text, sizeof text);
  if (status < VIN_OK) return vini_fail(&study->object, status, "%s", text);
  if (status != VIN_OK) return VIN_OK;
  for (int q = 0; q < study->quantities; q++) {
    const vini_study_quantity *x = &study->quantity[q];
    double change = distance((size_t)x->count, other + x->first, result(study, k) + x->first);
    double *known = &level->entry[q].solver_error;
    if (!(change * scale <= *known)) *known = change * scale;
  }
  return VIN_OK;
}

/* Tighter tolerances change a result by its whole error, where the solver can meet them; looser ones by
 * some times that, where its iterations do not end at the same number all the same. */
static vin_status measure_solver(vin_study *study, int k, vin_study_solve solve, void *user) {
  double looseness = study->options.looseness;
  for (int q = 0; q < study->quantities; q++) study->level[k].entry[q].solver_error = NAN;
  if (looseness == 0) return VIN_OK;
  VINI_TRY(compare(study, k, 1 / looseness, 1, solve, user));
  return compare(study, k, looseness, 1 / looseness, solve, user);
}

static vin_status run_level(vin_study *study, int k, vin_study_solve solve, void *user) {
  vini_study_level *level = &study->level[k];
  level->step = ldexp(study->options.step, -k);
  vin_status status =
      solve(user, level->step, 1, result(study, k), level->text, sizeof level->text);
  if (status < VIN_OK) return vini_fail(&study->object, status, "%s", level->text);
  level->done = status == VIN_OK;
  if (level->done && vini_first_nonfinite(result(study, k), (int64_t)study->total) >= 0) {
    level->done = false;
    vini_fail_text(level->text, sizeof level->text, VIN_OK, "the result is not finite");
  }
  if (!level->done) return VIN_OK;
  level->text[0] = '\0';
  study->done++;
  return measure_solver(study, k, solve, user);
}

/* ---- judgement --------------------------------------------------------------------------------- */

/* Largest number in the solution at a level: rounding is relative to it. */
static double size_of(const vin_study *study, int k) {
  double size = 0;
  for (int q = 0; q < study->quantities; q++) {
    const vini_study_quantity *x = &study->quantity[q];
    if (!x->residual) {
      size = vini_max(size, distance((size_t)x->count, result(study, k) + x->first, NULL));
    }
  }
  return size;
}

/* NaN: nothing to compare with. */
static double error_of(const vin_study *study, int k, const vini_study_quantity *x) {
  const double *y = result(study, k) + x->first;
  if (x->residual) return distance((size_t)x->count, y, NULL);
  if (study->options.reference != NULL) {
    return distance((size_t)x->count, y, study->options.reference + x->reference);
  }
  if (k + 1 == study->options.levels || !study->level[k + 1].done) return NAN;
  return distance((size_t)x->count, y, result(study, k + 1) + x->first);
}

static vin_study_verdict judge(const vin_study *study, const vin_study_entry *entry, double size) {
  if (isnan(entry->error)) return VIN_STUDY_MISSING;
  if (entry->error <= ROUNDING * size) return VIN_STUDY_ROUNDING;
  if (entry->solver_error > study->options.dominated * entry->error) return VIN_STUDY_SOLVER;
  return VIN_STUDY_OK;
}

static void judge_level(vin_study *study, int k) {
  vini_study_level *level = &study->level[k];
  double size = level->done ? size_of(study, k) : 0;
  for (int q = 0; q < study->quantities; q++) {
    vin_study_entry *entry = &level->entry[q];
    entry->error = level->done ? error_of(study, k, &study->quantity[q]) : NAN;
    entry->order = NAN;
    if (!level->done) entry->solver_error = NAN;
    entry->verdict = judge(study, entry, size);
    const vin_study_entry *coarser = k > 0 ? &study->level[k - 1].entry[q] : NULL;
    if (coarser != NULL && coarser->verdict == VIN_STUDY_OK && entry->verdict == VIN_STUDY_OK) {
      entry->order = log2(coarser->error / entry->error);
    }
  }
}

static vin_status run(vin_study *study, vin_study_solve solve, void *user) {
  for (int k = 0; k < study->options.levels; k++) VINI_TRY(run_level(study, k, solve, user));
  for (int k = 0; k < study->options.levels; k++) judge_level(study, k);
  study->options.reference = NULL; /* was borrowed */
  vini_study_write_table(study);
  if (study->done >= 2) return VIN_OK;
  const char *why = "";
  for (int k = 0; k < study->options.levels; k++) {
    if (study->level[k].text[0] != '\0') why = study->level[k].text;
  }
  return vini_fail(&study->object, VIN_NOT_CONVERGED,
                   "study: %d of %d step lengths gave a result; the shortest that failed: %s",
                   study->done, study->options.levels, why);
}

vin_status vin_study_create(vin_study **study, const vin_context *context, int quantity_count,
                            const vin_study_quantity *quantities, vin_study_solve solve, void *user,
                            const vin_study_options *options) {
  VINI_TRY(vini_object_begin((void **)study, context, sizeof **study));
  vin_study *self = *study;
  self->options = vin_study_options_default();
  vin_status status = VIN_OK;
  if (!vini_options_copy(&self->options, sizeof self->options, options)) {
    status = vini_fail(&self->object, VIN_ERR_BAD_INPUT,
                       "study: struct_size of the options is wrong: start from "
                       "vin_study_options_default()");
  } else if (solve == NULL) {
    status = vini_fail(&self->object, VIN_ERR_BAD_INPUT, "study: solve is NULL");
  }
  if (status == VIN_OK) status = check_options(self);
  if (status == VIN_OK) status = check_quantities(self, quantity_count, quantities);
  if (status == VIN_OK) status = allocate(self);
  if (status == VIN_OK) status = run(self, solve, user);
  vini_free(&self->object.context, self->y);
  self->y = NULL;
  self->object.created = status;
  return status;
}

void vin_study_destroy(vin_study *study) {
  if (study == NULL) return;
  const vin_context *context = &study->object.context;
  vini_free(context, study->level);
  vini_free(context, study->y);
  vini_free(context, study->table);
  vini_object_destroy(&study->object);
}

/* ---- results ----------------------------------------------------------------------------------- */

const char *vin_study_error(const vin_study *study) {
  return vini_text(study == NULL ? NULL : &study->object);
}

/* The levels stay readable where all ran but too few gave a result. */
static const vini_study_level *level_of(const vin_study *study, int level) {
  if (study == NULL || study->level == NULL || level < 0 || level >= study->options.levels) {
    return NULL;
  }
  return &study->level[level];
}

vin_study_entry vin_study_get(const vin_study *study, int level, int quantity) {
  const vini_study_level *x = level_of(study, level);
  if (x == NULL || quantity < 0 || quantity >= study->quantities) {
    return (vin_study_entry){NAN, NAN, NAN, VIN_STUDY_MISSING};
  }
  return x->entry[quantity];
}

double vin_study_step(const vin_study *study, int level) {
  const vini_study_level *x = level_of(study, level);
  return x == NULL ? NAN : x->step;
}

const char *vin_study_failure(const vin_study *study, int level) {
  const vini_study_level *x = level_of(study, level);
  return x == NULL ? "" : x->text;
}

double vin_study_order(const vin_study *study, int quantity) {
  for (int k = study == NULL ? -1 : study->options.levels - 1; k >= 0; k--) {
    vin_study_entry entry = vin_study_get(study, k, quantity);
    if (!isnan(entry.order)) return entry.order;
  }
  return NAN;
}

const char *vin_study_table(const vin_study *study) {
  return study == NULL || study->table == NULL ? "" : study->table;
}
