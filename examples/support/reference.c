/* reference.c - reference solutions from tests/reference, and the clock. */
#define _XOPEN_SOURCE 700
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A row is the one asked for when its time agrees to rounding. */
static const double TIME_TOLERANCE = 1e-9;

double ex_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The build says where the files are; without it they are found from this source file. */
static void reference_path(char *path, size_t size, const char *file) {
#ifdef EX_REFERENCE_DIR
  snprintf(path, size, "%s/%s", EX_REFERENCE_DIR, file);
#else
  const char *here = __FILE__, *slash = strrchr(here, '/');
  snprintf(path, size, "%.*s/../../tests/reference/%s", slash ? (int)(slash - here) : 1,
           slash ? here : ".", file);
#endif
}

/* Reads "t,value,value,..." when t is the wanted one. */
static int parse_row(const char *line, double t, int count, double *values) {
  char *rest = NULL;
  double row_time = strtod(line, &rest);
  if (rest == line || fabs(row_time - t) > TIME_TOLERANCE * fmax(1.0, fabs(t))) return 0;
  for (int k = 0; k < count; k++) {
    if (*rest != ',') return 0;
    const char *text = rest + 1;
    values[k] = strtod(text, &rest);
    if (rest == text) return 0;
  }
  return 1;
}

int ex_reference_row(const char *file, double t, int count, double *values) {
  char path[4096];
  reference_path(path, sizeof path, file);
  FILE *stream = fopen(path, "r");
  if (!stream) return 0;
  char *line = NULL;
  size_t size = 0;
  int found = 0;
  while (!found && getline(&line, &size, stream) > 0) found = parse_row(line, t, count, values);
  free(line);
  fclose(stream);
  return found;
}

double ex_reference_error(const char *file, const vin_state_view *state, int state_dimension,
                          int file_dimension) {
  int nodes = state->n / state_dimension, count = nodes * file_dimension;
  double *row = malloc(2 * (size_t)count * sizeof *row), error = NAN;
  if (row && ex_reference_row(file, state->t, 2 * count, row)) {
    error = 0.0;
    for (int i = 0; i < nodes; i++) {
      for (int d = 0; d < state_dimension; d++) {
        int k = i * state_dimension + d, r = i * file_dimension + d, given = d < file_dimension;
        error = fmax(error, fabs(state->p[k] - (given ? row[r] : 0.0)));
        error = fmax(error, fabs(state->v[k] - (given ? row[count + r] : 0.0)));
      }
    }
  }
  free(row);
  return error;
}
