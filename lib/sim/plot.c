/* Drawing: writes a gnuplot script, runs gnuplot on it and looks whether a whole PNG came out. */
#include "sim/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

vin_plot_options vin_plot_options_default(void) {
  return (vin_plot_options){
      .struct_size = sizeof(vin_plot_options), .dimension = 3, .horizontal = 0, .vertical = 2};
}

static vin_status check_options(vin_recorder *recorder, const vin_plot_options *o) {
  vini_object *object = &recorder->object;
  if (o->kind != VIN_PLOT_PATHS && o->kind != VIN_PLOT_SHAPES)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "plot: kind %d is unknown", (int)o->kind);
  if (o->dimension != 2 && o->dimension != 3)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "plot: dimension is %d, must be 2 or 3",
                     o->dimension);
  if (o->horizontal < 0 || o->horizontal >= o->dimension || o->vertical < 0 ||
      o->vertical >= o->dimension || o->horizontal == o->vertical)
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "plot: horizontal %d and vertical %d must be two different numbers in 0..%d",
                     o->horizontal, o->vertical, o->dimension - 1);
  if (recorder->count == 0 || recorder->count % o->dimension != 0)
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "plot: %d recorded positions are not a number of nodes with %d each",
                     (int)recorder->count, o->dimension);
  return VIN_OK;
}

/* A path as gnuplot takes it literally: a leading '|', '~' or '-' would mean something to it. */
static vin_status make_path(vini_object *object, const char *path, char out[PATH_MAX]) {
  for (const char *c = path; *c; c++)
    if ((unsigned char)*c < ' ')
      return vini_fail(object, VIN_ERR_BAD_INPUT, "plot: the path contains a control character");
  const char *prefix = path[0] == '/' ? "" : "./";
  /* room for ".gp" too */
  if (path[0] == '\0' || strlen(prefix) + strlen(path) + sizeof ".gp" > PATH_MAX)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "plot: the path is %s",
                     path[0] == '\0' ? "empty" : "too long");
  snprintf(out, PATH_MAX, "%s%s", prefix, path);
  return VIN_OK;
}

/* Runs "gnuplot -d <script>" (-d: without the user's own settings), silent, no shell in between.
 * Returns 0, an errno, or -1 when gnuplot ran and failed. */
static int run_gnuplot(char *script) {
  char program[] = "gnuplot", defaults[] = "-d";
  char *arguments[] = {program, defaults, script, NULL};
  posix_spawn_file_actions_t actions;
  int code = posix_spawn_file_actions_init(&actions);
  if (code != 0) return code;
  for (int k = 0; k <= 2 && code == 0; k++)
    code =
        posix_spawn_file_actions_addopen(&actions, k, "/dev/null", k == 0 ? O_RDONLY : O_WRONLY, 0);
  pid_t child = -1;
  if (code == 0) code = posix_spawnp(&child, program, &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0) return code;
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return 0; /* the caller ignores SIGCHLD: the picture itself must tell */
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
  return WIFEXITED(status) && WEXITSTATUS(status) == 127 ? ENOENT : -1; /* 127: could not be run */
}

/* gnuplot does not notice a full disk: a regular file must begin and end as a PNG does. */
static bool is_whole_png(const char *path) {
  static const unsigned char head[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  static const unsigned char tail[8] = {'I', 'E', 'N', 'D', 0xAE, 0x42, 0x60, 0x82};
  struct stat info;
  if (stat(path, &info) != 0) return false;
  if (!S_ISREG(info.st_mode)) return true;
  FILE *stream = fopen(path, "rbe");
  if (!stream) return false;
  unsigned char bytes[8];
  bool whole = fread(bytes, 1, 8, stream) == 8 && memcmp(bytes, head, 8) == 0 &&
               fseek(stream, -8, SEEK_END) == 0 && fread(bytes, 1, 8, stream) == 8 &&
               memcmp(bytes, tail, 8) == 0;
  fclose(stream);
  return whole;
}

static vin_status draw(vin_recorder *recorder, const char *path, char *script) {
  vini_object *object = &recorder->object;
  struct stat info;
  int code = run_gnuplot(script);
  if (code > 0)
    return vini_fail(object, VIN_ERR_IO,
                     "the program gnuplot cannot be run: %s; the script is kept as '%s'",
                     strerror(code), script);
  if (code < 0 || !is_whole_png(path))
    return vini_fail(object, VIN_ERR_IO,
                     "gnuplot did not write '%s'; run 'gnuplot %s' to see why: the script is kept",
                     path, script);
  if (lstat(script, &info) == 0 && S_ISREG(info.st_mode)) unlink(script);
  return VIN_OK;
}

vin_status vin_recorder_plot(vin_recorder *recorder, const char *path,
                             const vin_plot_options *options) {
  VINI_TRY(vini_ready(recorder ? &recorder->object : NULL));
  vini_object *object = &recorder->object;
  vin_plot_options own = vin_plot_options_default();
  if (!path) return vini_fail(object, VIN_ERR_BAD_INPUT, "plot: the path is NULL");
  if (!vini_options_copy(&own, sizeof own, options))
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "plot: struct_size is wrong; start from vin_plot_options_default()");
  VINI_TRY(check_options(recorder, &own));
  char picture[PATH_MAX], script[PATH_MAX + sizeof ".gp"];
  VINI_TRY(make_path(object, path, picture));
  snprintf(script, sizeof script, "%s.gp", picture);
  vini_file file;
  VINI_TRY(vini_file_open(&file, object, script));
  vini_plot_script(recorder, file.stream, picture, &own);
  VINI_TRY(vini_file_close(&file, object, VIN_OK));
  return draw(recorder, picture, script);
}
