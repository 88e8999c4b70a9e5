/* Runs over the problems, and the references they are compared with. */
#include "problems.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *demand(size_t count, size_t size) {
  void *memory = calloc(count + 1, size);
  cr_assert_not_null(memory);
  return memory;
}

vin_state test_state(const test_mechanism *x) {
  vin_state state = {.p = demand((size_t)x->n, sizeof(double)),
                     .v = demand((size_t)x->n, sizeof(double)),
                     .lambda = demand((size_t)x->m, sizeof(double))};
  memcpy(state.p, x->p, (size_t)x->n * sizeof(double));
  memcpy(state.v, x->v, (size_t)x->n * sizeof(double));
  return state;
}

void test_state_free(vin_state *state) {
  free(state->p);
  free(state->v);
  free(state->lambda);
  *state = (vin_state){0};
}

void test_state_copy(const test_mechanism *x, vin_state *to, const vin_state *from) {
  to->t = from->t;
  memcpy(to->p, from->p, (size_t)x->n * sizeof(double));
  memcpy(to->v, from->v, (size_t)x->n * sizeof(double));
  memcpy(to->lambda, from->lambda, (size_t)x->m * sizeof(double));
}

bool test_state_same(const test_mechanism *x, const vin_state *a, const vin_state *b) {
  return memcmp(&a->t, &b->t, sizeof a->t) == 0 &&
         memcmp(a->p, b->p, (size_t)x->n * sizeof(double)) == 0 &&
         memcmp(a->v, b->v, (size_t)x->n * sizeof(double)) == 0 &&
         memcmp(a->lambda, b->lambda, (size_t)x->m * sizeof(double)) == 0;
}

vin_options test_method(vin_method method, vin_projection projection) {
  vin_options options = vin_options_default();
  options.method = method;
  options.projection = projection;
  return options;
}

vin_integrator *test_integrator(const test_mechanism *x, const vin_options *options) {
  vin_integrator *integrator = NULL;
  vin_status status = vin_integrator_create(&integrator, NULL, x->system, options);
  cr_assert_eq(status, VIN_OK, "%s", vin_integrator_error(integrator));
  return integrator;
}

vin_status test_advance(vin_integrator *integrator, const test_mechanism *x, vin_state *state,
                        double h, long steps) {
  vin_state other = test_state(x);
  vin_status status = VIN_OK;
  for (long k = 0; k < steps && status == VIN_OK; k++) {
    status = vin_integrator_step(integrator, state, h, &other);
    if (status != VIN_OK) break;
    vin_state kept = *state;
    *state = other;
    other = kept;
  }
  test_state_free(&other);
  return status;
}

vin_state test_run(const test_mechanism *x, const vin_options *options, double t_end, long steps) {
  vin_integrator *integrator = test_integrator(x, options);
  vin_state state = test_state(x);
  vin_status status = test_advance(integrator, x, &state, t_end / (double)steps, steps);
  cr_assert_eq(status, VIN_OK, "%s", vin_integrator_error(integrator));
  vin_integrator_destroy(integrator);
  return state;
}

void test_reference(const char *file, double t, int count, double *row) {
  static char line[65536]; /* the chain of 50 links fills 6 kB a line */
  char path[512];
  snprintf(path, sizeof path, "%s/%s", VINCULA_TEST_DATA, file);
  FILE *in = fopen(path, "r");
  cr_assert_not_null(in, "%s", path);
  bool found = false;
  while (!found && fgets(line, sizeof line, in) != NULL) {
    char *at = line;
    if (line[0] == '#' || line[0] == 't' || strtod(line, &at) != t || at == line) continue;
    for (int k = 0; k < count; k++) {
      cr_assert_eq(*at, ',', "%s: t = %g has %d values, %d wanted", path, t, k, count);
      row[k] = strtod(at + 1, &at);
    }
    found = true;
  }
  fclose(in);
  cr_assert(found, "%s has no row t = %g", path, t);
}
