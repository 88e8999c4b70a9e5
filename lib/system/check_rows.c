/* The checker's part on callbacks for rows: each row alone against the callbacks for all of them. */
#include "system/system.h"

#include <math.h>
#include <stdio.h>

typedef struct row_checker {
  const vin_system *system;
  vin_derivative_check *check;
  double t;
  double *point;              /* n: NaN, but for what a row's pattern names */
  double *phi, *values, *row; /* m; entries; entries: of all rows, of one */
} row_checker;

static void compare(row_checker *c, const char *function, vin_int row, double given,
                    double expected) {
  vin_derivative_check *check = c->check;
  if (given == expected || check->wrong++ > 0) return;
  char name[64];
  check->function = function;
  check->row = row;
  check->given = given;
  check->expected = expected;
  check->error = HUGE_VAL;
  vin_system_constraint_name(c->system, row, name, sizeof name);
  vini_fail_text(check->text, sizeof check->text, VIN_CHECK_FAILED,
                 "%s of %s (row %d), from the positions alone that the pattern names: %.9g "
                 "instead of %.9g",
                 function, name, (int)row, given, expected);
}

/* Row r has the entries begin .. end - 1. */
static void check_row(row_checker *c, vin_int r, vin_int begin, vin_int end) {
  const vin_system_desc *d = &c->system->desc;
  double phi = NAN;
  if (d->constraint_rows != NULL) {
    d->constraint_rows(d->user, c->t, c->point, r, r + 1, &phi);
    compare(c, "constraint_rows", r, phi, c->phi[r]);
  }
  if (d->jacobian_rows == NULL) return;
  for (vin_int k = begin; k < end; k++) c->row[k - begin] = NAN;
  d->jacobian_rows(d->user, c->t, c->point, r, r + 1, c->row);
  for (vin_int k = begin; k < end; k++)
    compare(c, "jacobian_rows", r, c->row[k - begin], c->values[k]);
}

static vin_status run(row_checker *c, vini_object *local, const double *p) {
  const vin_system *s = c->system;
  const vin_triplets *j = &s->desc.jacobian_pattern;
  VINI_TRY(vini_eval_constraint(s, local, c->t, p, c->phi));
  VINI_TRY(vini_eval_jacobian(s, local, c->t, p, c->values));
  for (vin_int i = 0; i < s->n; i++) c->point[i] = NAN;
  for (vin_int r = 0, begin = 0, end = 0; r < s->m; r++, begin = end) {
    for (; end < j->count && j->row[end] == r; end++) c->point[j->col[end]] = p[j->col[end]];
    check_row(c, r, begin, end);
    for (vin_int k = begin; k < end; k++) c->point[j->col[k]] = NAN;
  }
  return VIN_OK;
}

vin_status vini_system_check_rows(const vin_system *system, vini_object *local, double t,
                                  const double *p, vin_derivative_check *check) {
  const vin_system_desc *d = &system->desc;
  if (d->constraint_rows == NULL && d->jacobian_rows == NULL) return VIN_OK;
  const size_t n = (size_t)system->n, m = (size_t)system->m;
  const size_t entries = (size_t)d->jacobian_pattern.count;
  double *memory = vini_alloc(&system->object.context, n + m + 2 * entries, sizeof *memory);
  if (memory == NULL) return vini_fail(local, VIN_ERR_NO_MEMORY, "no memory to check rows");
  row_checker c = {system, check, t, memory, memory + n, memory + n + m, memory + n + m + entries};
  vin_status status = run(&c, local, p);
  vini_free(&system->object.context, memory);
  return status;
}
