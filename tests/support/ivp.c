/* ivp - what the problems share: storage, reference files, the measure of errors. */
#include "ivp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  bool (*make)(ivp_problem *p, const char *directory);
} makers[] = {{"transistor", ivp_transistor}, {"charge-pump", ivp_charge_pump},
              {"water-tube", ivp_water_tube}, {"crank", ivp_crank},
              {"fekete", ivp_fekete},         {"andrews", ivp_andrews},
              {"andrews-2", ivp_andrews_2},   {"andrews-1", ivp_andrews_1},
              {"caraxis", ivp_caraxis},       {"caraxis-2", ivp_caraxis_2},
              {"caraxis-1", ivp_caraxis_1}};
enum { PROBLEMS = sizeof makers / sizeof *makers };

const char *const ivp_names[] = {"transistor", "charge-pump", "water-tube", "crank",
                                 "fekete",     "andrews",     "andrews-2",  "andrews-1",
                                 "caraxis",    "caraxis-2",   "caraxis-1",  NULL};

ivp_problem *ivp_create(const char *name, const char *directory) {
  for (int k = 0; k < PROBLEMS; k++) {
    if (strcmp(makers[k].name, name) != 0) continue;
    ivp_problem *p = calloc(1, sizeof *p);
    if (p == NULL) return NULL;
    p->name = makers[k].name;
    if (makers[k].make(p, directory)) return p;
    ivp_destroy(p);
    return NULL;
  }
  return NULL;
}

void ivp_destroy(ivp_problem *p) {
  if (p == NULL) return;
  free(p->mass_row), free(p->mass_col), free(p->mass_value);
  free(p->jacobian_row), free(p->jacobian_col);
  free(p->variable_index), free(p->y0), free(p->reference), free(p->scored), free(p->typical);
  free(p);
}

bool ivp_size(ivp_problem *p, vin_int n) {
  size_t size = (size_t)n;
  p->n = n;
  p->time_scale = 1;
  p->variable_index = calloc(size, sizeof *p->variable_index);
  p->y0 = calloc(size, sizeof *p->y0);
  p->reference = calloc(size, sizeof *p->reference);
  p->scored = calloc(size, sizeof *p->scored);
  p->typical = calloc(size, sizeof *p->typical);
  if (!p->variable_index || !p->y0 || !p->reference || !p->scored || !p->typical) return false;
  for (vin_int i = 0; i < n; i++) {
    p->variable_index[i] = 1;
    p->typical[i] = 1;
    p->reference[i] = NAN;
  }
  return true;
}

/* Room for one more, doubling; these arrays are small, so that no memory ends the program. */
static void *grow(void *array, vin_int count, size_t size) {
  if (count > 0 && (count & (count - 1)) != 0) return array;
  void *larger = realloc(array, (count == 0 ? 1 : 2 * (size_t)count) * size);
  if (larger == NULL) {
    fprintf(stderr, "ivp: no memory\n");
    abort();
  }
  return larger;
}

void ivp_mass(ivp_problem *p, vin_int row, vin_int col, double value) {
  vin_int k = p->mass_count;
  p->mass_row = grow(p->mass_row, k, sizeof *p->mass_row);
  p->mass_col = grow(p->mass_col, k, sizeof *p->mass_col);
  p->mass_value = grow(p->mass_value, k, sizeof *p->mass_value);
  p->mass_row[k] = row, p->mass_col[k] = col, p->mass_value[k] = value;
  p->mass_count = k + 1;
}

void ivp_depends(ivp_problem *p, vin_int row, vin_int col) {
  vin_int k = p->jacobian_count;
  p->jacobian_row = grow(p->jacobian_row, k, sizeof *p->jacobian_row);
  p->jacobian_col = grow(p->jacobian_col, k, sizeof *p->jacobian_col);
  p->jacobian_row[k] = row, p->jacobian_col[k] = col;
  p->jacobian_count = k + 1;
}

static FILE *open_reference(const char *directory, const char *file) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", directory, file);
  return fopen(path, "r");
}

bool ivp_read_components(ivp_problem *p, const char *directory, const char *file) {
  FILE *in = open_reference(directory, file);
  if (in == NULL) return false;
  char line[256], *at;
  while (fgets(line, sizeof line, in) != NULL) {
    long k = strtol(line, &at, 10);
    if (at != line && *at == ',' && k >= 1 && k <= p->n) p->reference[k - 1] = strtod(at + 1, NULL);
  }
  fclose(in);
  return true;
}

bool ivp_read_row(const char *directory, const char *file, double t, vin_int from, vin_int count,
                  double *values) {
  static char line[16384];
  FILE *in = open_reference(directory, file);
  if (in == NULL) return false;
  bool found = false;
  while (!found && fgets(line, sizeof line, in) != NULL) {
    char *at = line;
    if (line[0] == '#' || line[0] == 't' || strtod(line, &at) != t || at == line) continue;
    for (vin_int k = 0; k < from + count && *at == ','; k++) {
      double value = strtod(at + 1, &at);
      if (k >= from) values[k - from] = value;
    }
    found = true;
  }
  fclose(in);
  return found;
}

double ivp_error(const ivp_problem *p, const double *y, vin_int count) {
  double largest = 0;
  for (vin_int i = 0; i < count; i++) {
    if (!p->scored[i]) continue;
    double error = fabs(y[i] / p->reference[i] - 1);
    if (!(error <= largest)) largest = error; /* a NaN stays */
  }
  return largest;
}
