/* vin_recorder: rows, columns and their names, CSV, failures to write, and to grow. */
#include "base/base.h"
#include "test_sim_support.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static vin_recorder *record(vin_sim *sim, const vin_recorder_options *options) {
  vin_recorder *recorder = NULL;
  vin_status status = vin_recorder_create(&recorder, sim, options);
  cr_assert_eq(status, VIN_OK, "%s", vin_recorder_error(recorder));
  return recorder;
}

static bool exists(const char *path) {
  struct stat info;
  return lstat(path, &info) == 0;
}

/* ---- rows and columns -------------------------------------------------------------------- */

Test(recorder, rows_hold_state_and_report) {
  pendulum data = sound();
  vin_options options = step_options(0.01);
  vin_sim *sim = pendulum_sim(&data, &options);
  vin_recorder *recorder = record(sim, NULL);
  cr_assert_eq(vin_recorder_rows(recorder), 1); /* the start */
  cr_assert_eq(vin_recorder_columns(recorder), 6 + 2 + 2);
  cr_assert_eq(vin_sim_run(sim, 0.5), VIN_OK);
  cr_assert_eq(vin_recorder_rows(recorder), 51);
  vin_report report = vin_sim_report(sim);
  vin_state_view view = vin_sim_state(sim);
  const double expected[] = {0.5, report.energy, report.energy - report.energy_start,
                             report.position_residual, report.velocity_residual};
  for (vin_int k = 0; k < 5; k++) cr_assert_eq(vin_recorder_value(recorder, 50, k), expected[k]);
  cr_assert_leq(vin_recorder_value(recorder, 50, 5), 1e-13);
  for (vin_int k = 0; k < 2; k++) {
    cr_assert_eq(vin_recorder_value(recorder, 50, 6 + k), view.p[k]);
    cr_assert_eq(vin_recorder_value(recorder, 50, 8 + k), view.v[k]);
  }
  cr_assert_eq(vin_recorder_value(recorder, 0, 6), 1);
  cr_assert(isnan(vin_recorder_value(recorder, 51, 0)));
  cr_assert(isnan(vin_recorder_value(recorder, -1, 0)));
  cr_assert(isnan(vin_recorder_value(recorder, 0, 10)));
  vin_recorder_destroy(recorder);
  vin_sim_destroy(sim);
}

Test(recorder, interval_and_chosen_positions) {
  pendulum data = sound();
  vin_options options = step_options(0.01);
  vin_sim *sim = pendulum_sim(&data, &options);
  vin_recorder_options choice = vin_recorder_options_default();
  const vin_int vertical = 1;
  choice.interval = 0.1;
  choice.positions = &vertical;
  choice.position_count = 1;
  choice.velocities = 0;
  vin_recorder *recorder = record(sim, &choice);
  cr_assert_eq(vin_recorder_columns(recorder), 7);
  cr_assert_eq(vin_sim_run(sim, 1.05), VIN_OK);
  cr_assert_eq(vin_recorder_rows(recorder), 11);
  for (int k = 0; k <= 10; k++)
    cr_assert_float_eq(vin_recorder_value(recorder, k, 0), 0.1 * k, 1e-12);
  /* set back in time, the grid starts anew */
  cr_assert_eq(vin_sim_set_state(sim, 0.5, level, rest), VIN_OK);
  cr_assert_eq(vin_sim_run(sim, 0.7), VIN_OK);
  cr_assert_eq(vin_recorder_rows(recorder), 13);
  vin_recorder_destroy(recorder);
  vin_sim_destroy(sim);
}

/* A longer interval than the steps' own must not drift: 0.03 is no multiple of 0.02. */
Test(recorder, interval_between_steps_takes_the_next_step) {
  pendulum data = sound();
  vin_options options = step_options(0.02);
  vin_sim *sim = pendulum_sim(&data, &options);
  vin_recorder_options choice = vin_recorder_options_default();
  choice.interval = 0.03;
  vin_recorder *recorder = record(sim, &choice);
  cr_assert_eq(vin_sim_run(sim, 0.12), VIN_OK);
  const double expected[] = {0, 0.04, 0.06, 0.1, 0.12};
  cr_assert_eq(vin_recorder_rows(recorder), 5);
  for (int k = 0; k < 5; k++)
    cr_assert_float_eq(vin_recorder_value(recorder, k, 0), expected[k], 1e-12);
  vin_recorder_destroy(recorder);
  vin_sim_destroy(sim);
}

Test(recorder, wrong_options_are_refused) {
  pendulum data = sound();
  vin_sim *sim = pendulum_sim(&data, NULL);
  const vin_int outside = 2;
  vin_recorder_options wrong[4];
  for (int k = 0; k < 4; k++) wrong[k] = vin_recorder_options_default();
  wrong[0].interval = NAN;
  wrong[1].interval = -1;
  wrong[2].positions = &outside;
  wrong[2].position_count = 1;
  wrong[3].struct_size = 0;
  for (int k = 0; k < 4; k++) {
    vin_recorder *recorder = NULL;
    cr_assert_eq(vin_recorder_create(&recorder, sim, &wrong[k]), VIN_ERR_BAD_INPUT);
    cr_assert_neq(vin_recorder_error(recorder)[0], '\0');
    cr_assert_eq(vin_recorder_write_csv(recorder, "unused"), VIN_ERR_BAD_STATE);
    cr_assert_eq(vin_recorder_plot(recorder, "unused", NULL), VIN_ERR_BAD_STATE);
    vin_recorder_destroy(recorder);
  }
  vin_recorder *recorder = NULL;
  cr_assert_eq(vin_recorder_create(&recorder, NULL, NULL), VIN_ERR_BAD_INPUT);
  vin_recorder_destroy(recorder);
  cr_assert_eq(vin_recorder_rows(NULL), 0);
  cr_assert_eq(vin_sim_step(sim), VIN_OK); /* no observer was left behind */
  vin_sim_destroy(sim);
}

Test(recorder, any_order_of_destruction) {
  pendulum data = sound();
  vin_options options = step_options(0.01);
  vin_sim *sim = pendulum_sim(&data, &options);
  vin_recorder *first = record(sim, NULL), *second = record(sim, NULL);
  cr_assert_eq(vin_sim_step(sim), VIN_OK);
  vin_recorder_destroy(first);
  cr_assert_eq(vin_sim_step(sim), VIN_OK);
  vin_sim_destroy(sim);
  cr_assert_eq(vin_recorder_rows(second), 3);
  char path[256];
  test_scratch_path(path, sizeof path, "orphan.csv");
  cr_assert_eq(vin_recorder_write_csv(second, path), VIN_OK, "%s", vin_recorder_error(second));
  unlink(path);
  vin_recorder_destroy(second);
}

/* A run must not go on unrecorded: every allocation of recording fails once. */
Test(recorder, no_memory_ends_the_run) {
  for (int64_t k = 1;; k++) {
    test_allocator allocator = {0};
    vin_context context = test_context(&allocator);
    pendulum data = sound();
    vin_system *system = pendulum_system(NULL, &data);
    vin_options options = step_options(0.01);
    vin_sim *sim = NULL;
    cr_assert_eq(vin_sim_create_from_system(&sim, &context, system, level, rest, &options), VIN_OK);
    vin_system_destroy(system);
    allocator.fail_at = allocator.calls + k;
    vin_recorder *recorder = NULL;
    vin_status status = vin_recorder_create(&recorder, sim, NULL);
    if (status != VIN_OK) cr_assert_eq(status, VIN_ERR_NO_MEMORY);
    if (status == VIN_OK) status = vin_sim_run(sim, 1);
    bool failed = allocator.calls >= allocator.fail_at;
    if (!failed) cr_assert_eq(status, VIN_OK);
    if (failed && status == VIN_INTERRUPTED) {
      cr_assert(strstr(vin_sim_error(sim), "no memory"), "%s", vin_sim_error(sim));
      cr_assert(strstr(vin_recorder_error(recorder), "no memory"));
    }
    cr_assert(!failed || status != VIN_OK);
    vin_recorder_destroy(recorder);
    vin_sim_destroy(sim);
    cr_assert_eq(allocator.live, 0);
    if (!failed) break;
  }
}

/* ---- CSV --------------------------------------------------------------------------------- */

static void expect_round_trip(vin_recorder *recorder, const char *path) {
  cr_assert_eq(vin_recorder_write_csv(recorder, path), VIN_OK, "%s", vin_recorder_error(recorder));
  FILE *stream = fopen(path, "r");
  cr_assert_not_null(stream);
  static char line[4096];
  cr_assert_not_null(fgets(line, sizeof line, stream));
  cr_assert_str_eq(line, "t,energy,energy_drift,position_residual,velocity_residual,dae_residual,"
                         "position 0,position 1,v_position 0,v_position 1\n");
  int64_t row = 0;
  for (; fgets(line, sizeof line, stream); row++) {
    char *at = line;
    for (vin_int k = 0; k < vin_recorder_columns(recorder); k++) {
      double value = vini_parse_number(at, &at), expected = vin_recorder_value(recorder, row, k);
      cr_assert(value == expected || (isnan(value) && isnan(expected)), "row %d column %d",
                (int)row, (int)k);
      cr_assert_eq(*at, k + 1 < vin_recorder_columns(recorder) ? ',' : '\n');
      at++;
    }
  }
  cr_assert_eq(row, vin_recorder_rows(recorder));
  fclose(stream);
  unlink(path);
}

/* A locale with decimal commas: an installed one, or one that localedef makes in `directory`. */
static bool use_comma_locale(const char *directory) {
  const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8"};
  for (int k = 0; k < 4; k++)
    if (setlocale(LC_NUMERIC, names[k])) return localeconv()->decimal_point[0] == ',';
  char command[600];
  snprintf(command, sizeof command,
           "mkdir -p %s && localedef -i de_DE -f UTF-8 %s/comma >/dev/null 2>&1", directory,
           directory);
  if (system(command) != 0 && !exists(directory)) return false;
  setenv("LOCPATH", directory, 1);
  return setlocale(LC_NUMERIC, "comma") && localeconv()->decimal_point[0] == ',';
}

Test(recorder, csv_reads_back_as_the_same_numbers) {
  for (int k = 0; k < 2; k++) {
    pendulum data = sound();
    data.no_potential = k; /* energies are NaN then */
    vin_options options = step_options(0.01);
    vin_sim *sim = pendulum_sim(&data, &options);
    vin_recorder *recorder = record(sim, NULL);
    cr_assert_eq(vin_sim_run(sim, 0.3), VIN_OK);
    char path[256];
    expect_round_trip(recorder, test_scratch_path(path, sizeof path, "trip.csv"));
    vin_recorder_destroy(recorder);
    vin_sim_destroy(sim);
  }
}

Test(recorder, csv_does_not_depend_on_the_locale) {
  char directory[256], path[256];
  test_scratch_path(directory, sizeof directory, "locale");
  if (!use_comma_locale(directory)) cr_skip_test("there is no locale with decimal commas");
  pendulum data = sound();
  vin_options options = step_options(0.01);
  vin_sim *sim = pendulum_sim(&data, &options);
  vin_recorder *recorder = record(sim, NULL);
  cr_assert_eq(vin_sim_run(sim, 0.3), VIN_OK);
  expect_round_trip(recorder, test_scratch_path(path, sizeof path, "comma.csv"));
  cr_assert_eq(vin_sim_run(sim, 0.25), VIN_ERR_BAD_INPUT);
  cr_assert(strstr(vin_sim_error(sim), "0.25 s"), "%s", vin_sim_error(sim));
  vin_recorder_destroy(recorder);
  vin_sim_destroy(sim);
  char command[600];
  snprintf(command, sizeof command, "rm -rf '%s'", directory);
  cr_assert_eq(system(command), 0);
}

/* Names come from users. */
Test(recorder, csv_names_are_quoted) {
  vin_model *model = vin_model_create(NULL);
  vin_node anchor = vin_model_add_node(model, &(vin_node_desc){.fixed = 1});
  vin_node end = vin_model_add_node(
      model, &(vin_node_desc){.position = {1, 0, 0}, .mass = 1, .name = "a,\"b\"\nc"});
  vin_model_add_rod(model, &(vin_rod_desc){.a = anchor, .b = end});
  vin_sim *sim = NULL;
  cr_assert_eq(vin_sim_create(&sim, model, NULL), VIN_OK, "%s", vin_sim_error(sim));
  vin_model_destroy(model);
  vin_recorder *recorder = record(sim, NULL);
  char path[256], line[1024];
  test_scratch_path(path, sizeof path, "names.csv");
  cr_assert_eq(vin_recorder_write_csv(recorder, path), VIN_OK);
  FILE *stream = fopen(path, "r");
  cr_assert_not_null(stream);
  cr_assert_not_null(fgets(line, sizeof line, stream));
  cr_assert(strstr(line, "a,\"\"b\"\" c"), "%s", line);
  cr_assert(strstr(line, ",\"x["), "%s", line);
  cr_assert(strstr(line, ",\"vz["), "%s", line);
  cr_assert_not_null(
      fgets(line, sizeof line, stream)); /* the first record, not the rest of a name */
  cr_assert_eq(strncmp(line, "0,", 2), 0);
  fclose(stream);
  unlink(path);
  vin_recorder_destroy(recorder);
  vin_sim_destroy(sim);
}

/* ---- write errors ------------------------------------------------------------------------ */

Test(recorder, full_disk_is_an_error) {
  pendulum data = sound();
  vin_options options = step_options(0.01);
  vin_sim *sim = pendulum_sim(&data, &options);
  vin_recorder *recorder = record(sim, NULL);
  for (int k = 0; k < 2; k++) { /* few bytes, found at the end; many, found at once */
    cr_assert_eq(vin_recorder_write_csv(recorder, "/dev/full"), VIN_ERR_IO);
    cr_assert(strstr(vin_recorder_error(recorder), "/dev/full"));
    cr_assert(exists("/dev/full"));
    cr_assert_eq(vin_sim_run(sim, 3), VIN_OK);
  }
  cr_assert_eq(vin_recorder_write_csv(recorder, "/nonexistent/a.csv"), VIN_ERR_IO);
  cr_assert(strstr(vin_recorder_error(recorder), "/nonexistent/a.csv"));
  cr_assert_eq(vin_recorder_write_csv(recorder, NULL), VIN_ERR_BAD_INPUT);
  vin_recorder_destroy(recorder);
  vin_sim_destroy(sim);
}

/* A link to a device that is always full is neither removed nor replaced. */
Test(recorder, only_own_files_are_removed) {
  pendulum data = sound();
  vin_sim *sim = pendulum_sim(&data, NULL);
  vin_recorder *recorder = record(sim, NULL);
  char path[256];
  test_scratch_path(path, sizeof path, "link.csv");
  unlink(path);
  cr_assert_eq(symlink("/dev/full", path), 0);
  cr_assert_eq(vin_recorder_write_csv(recorder, path), VIN_ERR_IO);
  cr_assert(exists(path));
  cr_assert(exists("/dev/full"));
  unlink(path);
  vin_recorder_destroy(recorder);
  vin_sim_destroy(sim);
}
