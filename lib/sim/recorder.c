/* The recorder: an observer that appends one row per record. */
#include "sim/recorder.h"

#include <math.h>
#include <string.h>

vin_recorder_options vin_recorder_options_default(void) {
  return (vin_recorder_options){.struct_size = sizeof(vin_recorder_options), .velocities = 1};
}

/* ---- rows -------------------------------------------------------------------------------- */

/* Room for one more row, by doubling: n rows are moved at most once each on average. */
static vin_status reserve(vin_recorder *recorder) {
  enum { FIRST_ROWS = 16 };
  if (recorder->row_count < recorder->row_capacity) return VIN_OK;
  const vin_context *context = &recorder->object.context;
  int64_t capacity = recorder->row_capacity > 0 ? 2 * recorder->row_capacity : FIRST_ROWS;
  size_t row_size = (size_t)recorder->columns * sizeof *recorder->rows;
  double *rows = vini_alloc(context, (size_t)capacity, row_size);
  if (!rows)
    return vini_fail(&recorder->object, VIN_ERR_NO_MEMORY,
                     "recorder: no memory for %lld records of %d numbers", (long long)capacity,
                     (int)recorder->columns);
  if (recorder->row_count > 0) memcpy(rows, recorder->rows, (size_t)recorder->row_count * row_size);
  vini_free(context, recorder->rows);
  recorder->rows = rows;
  recorder->row_capacity = capacity;
  return VIN_OK;
}

static vin_status append(vin_recorder *recorder, const vin_state *state) {
  VINI_TRY(reserve(recorder));
  vin_sim *sim = recorder->sim;
  vin_report report =
      state == sim->accepted ? vin_sim_report(sim) : vini_sim_report_at(sim, state, false);
  double *row = recorder->rows + recorder->row_count * recorder->columns;
  row[VINI_RECORD_TIME] = state->t;
  row[VINI_RECORD_ENERGY] = report.energy;
  row[VINI_RECORD_ENERGY_DRIFT] = report.energy - report.energy_start;
  row[VINI_RECORD_POSITION_RESIDUAL] = report.position_residual;
  row[VINI_RECORD_VELOCITY_RESIDUAL] = report.velocity_residual;
  row[VINI_RECORD_DAE_RESIDUAL] = report.dae_residual;
  double *values = row + VINI_RECORD_HISTORIES;
  for (vin_int k = 0; k < recorder->count; k++) *values++ = state->p[recorder->index[k]];
  for (vin_int k = 0; recorder->options.velocities && k < recorder->count; k++)
    *values++ = state->v[recorder->index[k]];
  recorder->row_count++;
  /* NaN loses both comparisons */
  if (fabs(report.energy_start) > recorder->energy_scale)
    recorder->energy_scale = fabs(report.energy_start);
  if (report.kinetic > recorder->energy_scale) recorder->energy_scale = report.kinetic;
  return VIN_OK;
}

/* Of an interval: as vin_sim_run() compares times. */
static const double rounding = 1e-9;

static void restart_grid(vin_recorder *recorder, double t) {
  if (recorder->row_count > 0 && t < vini_record(recorder, recorder->row_count - 1, 0)) {
    recorder->grid_start = t; /* the state was set back in time */
    recorder->grid_count = 0;
  }
}

/* Is a record due at time t? Moves on to the first grid time after t. */
static bool is_due(vin_recorder *recorder, double t) {
  double interval = recorder->options.interval;
  if (interval == 0) return true;
  restart_grid(recorder, t);
  double passed = floor((t - recorder->grid_start) / interval + rounding);
  if (!(passed >= (double)recorder->grid_count)) return false;
  /* an interval of a billionth of the steps: every step is due anyway */
  passed = vini_min(passed, (double)(INT64_MAX / 2));
  recorder->grid_count = (int64_t)passed + 1;
  return true;
}

/* The grid times up to the present, each by interpolation unless it is the present. */
static vin_status append_grid(vin_recorder *recorder) {
  vin_sim *sim = recorder->sim;
  const vin_state *now = sim->accepted;
  double interval = recorder->options.interval;
  restart_grid(recorder, now->t);
  for (;;) {
    double t = recorder->grid_start + (double)recorder->grid_count * interval;
    if (t > now->t + rounding * interval) return VIN_OK;
    const vin_state *state = now;
    if (t < now->t - rounding * interval && sim->previous && t >= sim->previous->t) {
      vin_status status = vin_sim_interpolate(sim, t, recorder->between.p, recorder->between.v);
      if (status != VIN_OK) return vini_fail(&recorder->object, status, "%s", sim->object.text);
      recorder->between.t = t;
      state = &recorder->between;
    }
    VINI_TRY(append(recorder, state));
    recorder->grid_count++;
  }
}

static int observe(void *user, const vin_state_view *state) {
  vin_recorder *recorder = user;
  if (recorder->between.p) return append_grid(recorder) != VIN_OK;
  return is_due(recorder, state->t) && append(recorder, recorder->sim->accepted) != VIN_OK;
}

static void sim_is_gone(void *user) {
  ((vin_recorder *)user)->sim = NULL;
}

/* ---- creation ---------------------------------------------------------------------------- */

static vin_status check_options(vin_recorder *recorder, vin_int n) {
  const vin_recorder_options *o = &recorder->options;
  vini_object *object = &recorder->object;
  if (!isfinite(o->interval) || o->interval < 0)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "interval is %s s, must be finite and >= 0",
                     VINI_SIM_NUMBER(o->interval));
  if (!o->positions) return VIN_OK;
  if (o->position_count < 0)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "position_count is %d, must be >= 0",
                     (int)o->position_count);
  for (vin_int k = 0; k < o->position_count; k++)
    if (o->positions[k] < 0 || o->positions[k] >= n)
      return vini_fail(object, VIN_ERR_BAD_INPUT, "positions[%d] is %d, must be 0..%d", (int)k,
                       (int)o->positions[k], (int)n - 1);
  return VIN_OK;
}

static vin_status choose_columns(vin_recorder *recorder, vin_int n) {
  const vin_recorder_options *o = &recorder->options;
  recorder->count = o->positions ? o->position_count : n;
  int64_t columns =
      VINI_RECORD_HISTORIES + (int64_t)recorder->count * (recorder->options.velocities ? 2 : 1);
  if (columns > INT32_MAX)
    return vini_fail(&recorder->object, VIN_ERR_TOO_LARGE, "%lld columns are too many",
                     (long long)columns);
  recorder->columns = (vin_int)columns;
  recorder->index =
      vini_alloc(&recorder->object.context, (size_t)recorder->count, sizeof *recorder->index);
  if (!recorder->index)
    return vini_fail(&recorder->object, VIN_ERR_NO_MEMORY, "no memory for %d indices",
                     (int)recorder->count);
  for (vin_int k = 0; k < recorder->count; k++)
    recorder->index[k] = o->positions ? o->positions[k] : k;
  recorder->options.positions = NULL; /* was borrowed */
  return VIN_OK;
}

static vin_status prepare_interpolation(vin_recorder *recorder, vin_sim *sim) {
  if (!recorder->options.interpolate || recorder->options.interval == 0) return VIN_OK;
  const vin_context *context = &recorder->object.context;
  recorder->between.p = vini_alloc(context, (size_t)sim->n, sizeof(double));
  recorder->between.v = vini_alloc(context, (size_t)sim->n, sizeof(double));
  vin_status status = vini_integrator_keep_dense(sim->integrator);
  if (recorder->between.p && recorder->between.v && status == VIN_OK) return VIN_OK;
  return vini_fail(&recorder->object, VIN_ERR_NO_MEMORY, "no memory to interpolate %d positions",
                   (int)sim->n);
}

static vin_status build(vin_recorder *recorder, vin_sim *sim) {
  VINI_TRY(check_options(recorder, sim->n));
  VINI_TRY(prepare_interpolation(recorder, sim));
  recorder->system = vin_system_retain(sim->system);
  VINI_TRY(choose_columns(recorder, sim->n));
  vin_state_view now = vin_sim_state(sim);
  recorder->sim = sim;
  recorder->grid_start = now.t;
  recorder->grid_count = 1;
  vin_status status = append(recorder, sim->accepted);
  vini_observer observer = {.every = 1,
                            .call = observe,
                            .user = recorder,
                            .gone = sim_is_gone,
                            .source = &recorder->object};
  if (status == VIN_OK) {
    status = vini_sim_attach(sim, observer);
    if (status != VIN_OK) vini_fail(&recorder->object, status, "%s", sim->object.text);
  }
  if (status != VIN_OK) recorder->sim = NULL; /* not attached: nothing to detach later */
  return status;
}

vin_status vin_recorder_create(vin_recorder **recorder, vin_sim *sim,
                               const vin_recorder_options *options) {
  VINI_TRY(
      vini_object_begin((void **)recorder, sim ? &sim->object.context : NULL, sizeof **recorder));
  vini_object *object = &(*recorder)->object;
  vin_status status;
  (*recorder)->options = vin_recorder_options_default();
  if (!sim)
    status = vini_fail(object, VIN_ERR_BAD_INPUT, "the sim is NULL");
  else if (vini_ready(&sim->object) != VIN_OK)
    status = vini_fail(object, VIN_ERR_BAD_STATE, "the sim was not created: %s", sim->object.text);
  else if (!vini_options_copy(&(*recorder)->options, sizeof(vin_recorder_options), options))
    status = vini_fail(object, VIN_ERR_BAD_INPUT,
                       "options: struct_size is wrong; start from vin_recorder_options_default()");
  else
    status = build(*recorder, sim);
  object->created = status;
  return status;
}

void vin_recorder_destroy(vin_recorder *recorder) {
  if (!recorder) return;
  if (recorder->sim) vini_sim_detach(recorder->sim, recorder);
  vini_free(&recorder->object.context, recorder->index);
  vini_free(&recorder->object.context, recorder->between.p);
  vini_free(&recorder->object.context, recorder->between.v);
  vini_free(&recorder->object.context, recorder->rows);
  vin_system_destroy(recorder->system);
  vini_object_destroy(&recorder->object);
}

const char *vin_recorder_error(const vin_recorder *recorder) {
  return vini_text(recorder ? &recorder->object : NULL);
}

int64_t vin_recorder_rows(const vin_recorder *recorder) {
  return recorder ? recorder->row_count : 0;
}

vin_int vin_recorder_columns(const vin_recorder *recorder) {
  return recorder ? recorder->columns : 0;
}

double vin_recorder_value(const vin_recorder *recorder, int64_t row, vin_int column) {
  bool exists = recorder && row >= 0 && row < recorder->row_count && column >= 0 &&
                column < recorder->columns;
  return exists ? vini_record(recorder, row, column) : NAN;
}
