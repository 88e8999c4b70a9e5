/* vin_recorder_plot: pictures come out whole, the script goes or stays, names do no harm. */
#include "test_sim_support.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool gnuplot_is_there(void) {
  return system("gnuplot -d -e 'exit' >/dev/null 2>&1") == 0;
}

static bool exists(const char *path) {
  struct stat info;
  return lstat(path, &info) == 0;
}

/* Size of a PNG in pixels from its header; 0 x 0 when it is none. */
static void png_size(const char *path, unsigned size[2]) {
  unsigned char head[24] = {0};
  size[0] = size[1] = 0;
  FILE *stream = fopen(path, "rb");
  if (!stream) return;
  if (fread(head, 1, sizeof head, stream) == sizeof head && memcmp(head + 1, "PNG", 3) == 0)
    for (int k = 0; k < 8; k++) size[k / 4] = size[k / 4] << 8 | head[16 + k];
  fclose(stream);
}

/* Plots to a scratch file called `name` and looks at the result. */
static void expect_picture(vin_recorder *recorder, const vin_plot_options *options,
                           const char *name) {
  char path[256], script[300];
  test_scratch_path(path, sizeof path, name);
  snprintf(script, sizeof script, "%s.gp", path);
  unlink(path);
  vin_status status = vin_recorder_plot(recorder, path, options);
  cr_assert_eq(status, VIN_OK, "%s", vin_recorder_error(recorder));
  unsigned size[2];
  png_size(path, size);
  cr_assert_eq(size[0], 1200);
  cr_assert_eq(size[1], 800);
  cr_assert(!exists(script));
  unlink(path);
}

/* A recorder of a chain that has swung for half a second. */
static vin_recorder *recorded_chain(vin_sim **sim, int rods) {
  vin_model *model = chain_model(NULL, rods);
  vin_options options = step_options(5e-3);
  cr_assert_eq(vin_sim_create(sim, model, &options), VIN_OK, "%s", vin_sim_error(*sim));
  vin_model_destroy(model);
  vin_recorder *recorder = NULL;
  cr_assert_eq(vin_recorder_create(&recorder, *sim, NULL), VIN_OK);
  cr_assert_eq(vin_sim_run(*sim, 0.5), VIN_OK, "%s", vin_sim_error(*sim));
  return recorder;
}

Test(plot, paths_and_shapes_of_few_and_many_nodes) {
  if (!gnuplot_is_there()) cr_skip_test("gnuplot is not installed");
  const int rods[] = {1, 3, 30};
  for (int k = 0; k < 6; k++) {
    vin_sim *sim = NULL;
    vin_recorder *recorder = recorded_chain(&sim, rods[k / 2]);
    vin_plot_options options = vin_plot_options_default();
    options.kind = k % 2 ? VIN_PLOT_SHAPES : VIN_PLOT_PATHS;
    expect_picture(recorder, &options, "chain.png");
    vin_recorder_destroy(recorder);
    vin_sim_destroy(sim);
  }
}

/* What gnuplot or a shell would act on if a title or path were not quoted. */
Test(plot, special_characters_do_no_harm) {
  if (!gnuplot_is_there()) cr_skip_test("gnuplot is not installed");
  char mark[256], title[600];
  test_scratch_path(mark, sizeof mark, "mark");
  snprintf(title, sizeof title, "it's \"x\" `touch %s` ' ; system('touch %s') # \\ {a}_b\nnew",
           mark, mark);
  vin_sim *sim = NULL;
  vin_recorder *recorder = recorded_chain(&sim, 2);
  vin_plot_options options = vin_plot_options_default();
  options.title = title;
  expect_picture(recorder, &options, "it's a 'name' $(x) `y` \"z\".png");
  cr_assert(!exists(mark));
  cr_assert_eq(vin_recorder_plot(recorder, "a\nb.png", NULL), VIN_ERR_BAD_INPUT);
  /* relative paths that mean something to gnuplot */
  char directory[256];
  test_scratch_path(directory, sizeof directory, "plots");
  cr_assert_eq(mkdir(directory, 0777), 0);
  cr_assert_eq(chdir(directory), 0);
  const char *const names[] = {"|touch mark", "~x", "-x", "< x"};
  for (int k = 0; k < 4; k++) {
    cr_assert_eq(vin_recorder_plot(recorder, names[k], NULL), VIN_OK, "%s",
                 vin_recorder_error(recorder));
    cr_assert(exists(names[k]));
    cr_assert(!exists("mark"));
    unlink(names[k]);
  }
  cr_assert_eq(chdir("/"), 0);
  cr_assert_eq(rmdir(directory), 0);
  vin_recorder_destroy(recorder);
  vin_sim_destroy(sim);
}

/* One record, no motion, no energy, exact zeros on the logarithmic axis, times far from zero. */
Test(plot, degenerate_records_are_drawn) {
  if (!gnuplot_is_there()) cr_skip_test("gnuplot is not installed");
  for (int k = 0; k < 8; k++) {
    pendulum data = sound();
    data.no_potential = k & 1;
    vin_options options = step_options(1e-2);
    options.start_time = k & 2 ? 1e6 : 0;
    vin_sim *sim = pendulum_sim(&data, &options);
    vin_recorder *recorder = NULL;
    cr_assert_eq(vin_recorder_create(&recorder, sim, NULL), VIN_OK);
    if (k & 4) cr_assert_eq(vin_sim_step(sim), VIN_OK);
    vin_plot_options plot = vin_plot_options_default();
    plot.dimension = 2;
    plot.vertical = 1;
    expect_picture(recorder, &plot, "degenerate.png");
    plot.kind = VIN_PLOT_SHAPES;
    expect_picture(recorder, &plot, "degenerate.png");
    vin_recorder_destroy(recorder);
    vin_sim_destroy(sim);
  }
}

Test(plot, wrong_options_are_refused) {
  vin_sim *sim = NULL;
  vin_recorder *recorder = recorded_chain(&sim, 2);
  vin_plot_options wrong[7];
  for (int k = 0; k < 7; k++) wrong[k] = vin_plot_options_default();
  wrong[0].kind = (vin_plot_kind)5;
  wrong[1].dimension = 4;
  wrong[2].horizontal = 3;
  wrong[3].vertical = -1;
  wrong[4].vertical = 0;  /* as horizontal */
  wrong[5].dimension = 2; /* vertical is 2 by default */
  wrong[6].struct_size = 1;
  for (int k = 0; k < 7; k++) {
    cr_assert_eq(vin_recorder_plot(recorder, "unused.png", &wrong[k]), VIN_ERR_BAD_INPUT);
    cr_assert_neq(vin_recorder_error(recorder)[0], '\0');
  }
  cr_assert_eq(vin_recorder_plot(recorder, NULL, NULL), VIN_ERR_BAD_INPUT);
  cr_assert_eq(vin_recorder_plot(recorder, "", NULL), VIN_ERR_BAD_INPUT);
  cr_assert(!exists("unused.png.gp"));
  vin_recorder_destroy(recorder);
  vin_sim_destroy(sim);
}

Test(plot, script_stays_when_gnuplot_is_missing) {
  vin_sim *sim = NULL;
  vin_recorder *recorder = recorded_chain(&sim, 2);
  char path[256], script[300];
  test_scratch_path(path, sizeof path, "missing.png");
  snprintf(script, sizeof script, "%s.gp", path);
  setenv("PATH", "", 1);
  cr_assert_eq(vin_recorder_plot(recorder, path, NULL), VIN_ERR_IO);
  cr_assert(strstr(vin_recorder_error(recorder), "gnuplot"), "%s", vin_recorder_error(recorder));
  cr_assert(strstr(vin_recorder_error(recorder), script), "%s", vin_recorder_error(recorder));
  cr_assert(exists(script));
  cr_assert(!exists(path));
  unlink(script);
  vin_recorder_destroy(recorder);
  vin_sim_destroy(sim);
}

/* The picture's directory vanishes from gnuplot's view: it is a file. */
Test(plot, picture_that_cannot_be_written_is_an_error) {
  if (!gnuplot_is_there()) cr_skip_test("gnuplot is not installed");
  vin_sim *sim = NULL;
  vin_recorder *recorder = recorded_chain(&sim, 2);
  cr_assert_eq(vin_recorder_plot(recorder, "/nonexistent/a.png", NULL), VIN_ERR_IO);
  char path[256], script[300];
  test_scratch_path(path, sizeof path, "directory.png");
  snprintf(script, sizeof script, "%s.gp", path);
  cr_assert_eq(mkdir(path, 0777), 0); /* gnuplot cannot write to a directory */
  cr_assert_eq(vin_recorder_plot(recorder, path, NULL), VIN_ERR_IO, "%s",
               vin_recorder_error(recorder));
  cr_assert(exists(script));
  unlink(script);
  rmdir(path);
  vin_recorder_destroy(recorder);
  vin_sim_destroy(sim);
}
