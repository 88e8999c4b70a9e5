/* small_problem - minimisation problems of a few unknowns with full patterns, given densely. */
#ifndef TEST_SMALL_PROBLEM_H
#define TEST_SMALL_PROBLEM_H

#include "vincula/vincula.h"

#include <stdbool.h>

enum { MOST = 5 }; /* unknowns */

/* A small problem with full patterns, whose derivatives of c and F are given densely, row by row. */
typedef struct small {
  vin_int n, m;
  double start[MOST], best, solution[MOST]; /* solution[0] NaN: not unique */
  double (*value)(const double *x);
  void (*gradient)(const double *x, double *g);
  void (*hessian)(const double *x, double h[MOST][MOST]);
  void (*constraint)(const double *x, double *c);
  void (*jacobian)(const double *x, double a[MOST][MOST]);
  void (*second)(const double *x, const double *l, double h[MOST][MOST]);
  int calls, fail_call, fail_code; /* of constraint; code 0: NaN */
} small;

/* Callbacks of the objective, for descriptions that are made otherwise. */
int small_value(void *user, const double *y, double *value);
int small_gradient(void *user, const double *y, double *g);

/* The description, with or without second derivatives of c. Its patterns are shared: one description at a
 * time. */
vin_minimise_desc small_describe(small *s, bool exact);

#endif
