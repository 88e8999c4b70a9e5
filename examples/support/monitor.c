/* monitor.c - watches a simulation: drifts, progress, records. */
#define _XOPEN_SOURCE 700
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { SAMPLES = 200, RECORDS = 400 };

/* vin_sim_report() may factorise; what it costs is counted apart, so that the result shows the
 * work of the simulation alone. */
static void sample(ex_monitor *monitor) {
  double begin = ex_clock();
  vin_solver_stats before = vin_sim_get_stats(monitor->sim).solver;
  vin_report report = vin_sim_report(monitor->sim);
  vin_solver_stats after = vin_sim_get_stats(monitor->sim).solver;

  ex_result *result = &monitor->result;
  double change = fabs(report.energy - report.energy_start);
  result->energy_start = report.energy_start;
  result->steps = report.steps;
  result->energy_drift = isnan(change) ? NAN : fmax(result->energy_drift, change);
  result->constraint_max = fmax(result->constraint_max, report.position_residual);
  result->hidden_max = fmax(result->hidden_max, report.velocity_residual);
  monitor->sampling.symbolic += after.symbolic - before.symbolic;
  monitor->sampling.numeric += after.numeric - before.numeric;
  monitor->sampling.solves += after.solves - before.solves;
  monitor->sampling_s += ex_clock() - begin;
}

static int observe(void *user, const vin_state_view *state) {
  (void)state; /* the report is about the same state */
  sample(user);
  return 0;
}

static int show_progress(void *user, double done) {
  const ex_monitor *monitor = user;
  fprintf(stderr, "\r%s: %3.0f %%", monitor->options->program, 100.0 * done);
  return 0;
}

vin_status ex_monitor_start(ex_monitor *monitor, vin_sim *sim, vin_recorder_options record) {
  const ex_options *options = monitor->options;
  monitor->sim = sim;
  monitor->result.setup_s = ex_clock() - options->started;
  monitor->result.error = NAN;

  int64_t steps = (int64_t)fmin(options->end / options->sim.step, 1e18);
  vin_status status =
      vin_sim_add_observer(sim, steps > SAMPLES ? steps / SAMPLES : 1, observe, monitor);
  if (status == VIN_OK && (options->csv || options->plot)) {
    if (record.interval <= 0.0) record.interval = options->end / RECORDS;
    status = vin_recorder_create(&monitor->recorder, sim, &record);
  }
  if (isatty(STDERR_FILENO)) vin_sim_set_progress(sim, show_progress, monitor);
  sample(monitor);
  monitor->sampling_s = 0.0; /* the clock starts after this first one */
  monitor->start_s = ex_clock();
  return status;
}

static void complete(ex_monitor *monitor) {
  ex_result *result = &monitor->result;
  const ex_options *options = monitor->options;
  result->wall_s = ex_clock() - monitor->start_s - monitor->sampling_s;
  sample(monitor);

  vin_stats stats = vin_sim_get_stats(monitor->sim);
  vin_state_view state = vin_sim_state(monitor->sim);
  result->n = state.n;
  result->m = state.m;
  result->t = state.t;
  result->h = options->sim.step;
  result->failures = stats.failures;
  result->method = vin_method_name(options->sim.method);
  if (options->sim.method != VIN_METHOD_RATTLE)
    result->projection = vin_projection_name(options->sim.projection);
  result->solver = vin_solver_name(vin_kkt_get_info(vin_sim_kkt(monitor->sim)).solver);
  result->symbolic = stats.solver.symbolic - monitor->sampling.symbolic;
  result->numeric = stats.solver.numeric - monitor->sampling.numeric;
  result->solves = stats.solver.solves - monitor->sampling.solves;
}

vin_status ex_monitor_finish(ex_monitor *monitor, vin_plot_options plot) {
  complete(monitor);
  monitor->completed = 1;

  vin_status status = VIN_OK;
  if (monitor->options->csv)
    status = vin_recorder_write_csv(monitor->recorder, monitor->options->csv);
  if (status == VIN_OK && monitor->options->plot)
    status = vin_recorder_plot(monitor->recorder, monitor->options->plot, &plot);
  return status;
}

int ex_monitor_conclude(ex_monitor *monitor, vin_status status, const vin_sim *sim) {
  int failed;
  if (isatty(STDERR_FILENO)) fprintf(stderr, "\r%60s\r", ""); /* wipes the progress line */
  if (status == VIN_OK) {
    failed = ex_print(monitor->options, &monitor->result);
  } else {
    /* the computation went well and only a file could not be written: its results are not lost */
    ex_options without_files = *monitor->options;
    without_files.csv = without_files.plot = NULL;
    if (monitor->completed) ex_print(&without_files, &monitor->result);
    const char *text = monitor->recorder ? vin_recorder_error(monitor->recorder) : "";
    failed = ex_fail(monitor->options, status, *text ? text : vin_sim_error(sim));
  }
  vin_recorder_destroy(monitor->recorder);
  monitor->recorder = NULL;
  return failed;
}
