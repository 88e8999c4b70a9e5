/* ida.c - SUNDIALS IDA (variable step and order BDF) with KLU and the exact sparse Jacobian, on the
 * equations of nodes joined by rods. Unknowns: p, v, lambda, and mu for GGL.
 *
 *   index1   p' - v = 0                    M v' + J' lambda - f = 0    J v' + |dv|^2 = 0
 *   ggl      p' - v + J' mu = 0            M v' + J' lambda - f = 0    phi = 0,  J v = 0
 *
 * With d the vector along a rod: phi = (|d|^2 - 1) / 2, the row of J is (-d, d), and |dv|^2 is the
 * curvature term. */
#include "peer.h"

#include <ida/ida.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdlib.h>
#include <string.h>
#include <sundials/sundials_version.h>
#include <sunlinsol/sunlinsol_klu.h>
#include <sunmatrix/sunmatrix_sparse.h>

const char *const peer_name = "ida";
const char *const peer_variants[] = {"index1", "ggl", NULL};

/* KLU's numbers. Measured: COLAMD, the default of SUNDIALS, costs 1.3 to 1.5 times as much as AMD,
 * except for GGL on a net, where AMD costs 10 times as much as COLAMD. */
enum { ORDERING_AMD = 0, ORDERING_COLAMD = 1 };

/* Chosen so that the error on the chain is about that of vincula at h = 1e-3. */
static const double relative_tolerance = 1e-6, absolute_tolerance = 1e-7;

typedef struct simulation {
  const peer_problem *problem;
  int ggl;
  int *first;     /* nodes: index of the first coordinate in p, -1 for a fixed node */
  int n, m, size; /* size = 2 n + m or 2 n + 2 m */
  double *x, *u;  /* positions and velocities of all nodes */
  sunindextype *row, *col, *slot; /* triplets in the order of walk_jacobian(), their places */
  int64_t count, entries;
  double t;
  SUNContext context;
  N_Vector y, yp, id;
  SUNMatrix matrix;
  SUNLinearSolver solver;
  void *ida;
} simulation;

const char *peer_version(void) {
  static char version[32];
  SUNDIALSGetVersion(version, sizeof version);
  return version;
}

/* ---- equations ---------------------------------------------------------------------------- */

static void spread(const simulation *s, const double *free_values, const double *fixed_values,
                   double *all) {
  for (int i = 0; i < s->problem->nodes; i++)
    for (int d = 0; d < 3; d++)
      all[3 * i + d] = s->first[i] >= 0 ? free_values[s->first[i] + d]
                       : fixed_values   ? fixed_values[3 * i + d]
                                        : 0.0;
}

/* Adds what rod r contributes to the residual of p' and v'. */
static void add_forces(const simulation *s, int r, const double *d, const double *y,
                       const double *yp, double *res) {
  const peer_problem *problem = s->problem;
  int n = s->n, ends[2] = {s->first[problem->rod[r][0]], s->first[problem->rod[r][1]]};
  double lambda = y[2 * n + r], mu = s->ggl ? y[2 * n + s->m + r] : 0.0;
  double mass = problem->rod_mass;
  for (int e = 0; e < 2; e++) {
    int here = ends[e], there = ends[1 - e];
    double sign = e ? 1.0 : -1.0;
    if (here < 0) continue;
    for (int k = 0; k < 3; k++) {
      double other = there < 0 ? 0.0 : yp[n + there + k];
      res[here + k] += sign * d[k] * mu;
      res[n + here + k] += sign * d[k] * lambda + mass / 6.0 * (2.0 * yp[n + here + k] + other) -
                           0.5 * mass * problem->gravity[k];
    }
  }
}

static int residual(double t, N_Vector yv, N_Vector ypv, N_Vector resv, void *self) {
  (void)t;
  simulation *s = self;
  const peer_problem *problem = s->problem;
  const double *y = N_VGetArrayPointer(yv), *yp = N_VGetArrayPointer(ypv);
  double *res = N_VGetArrayPointer(resv);
  int n = s->n;
  spread(s, y, problem->position, s->x);
  spread(s, y + n, NULL, s->u);
  for (int i = 0; i < n; i++) {
    res[i] = yp[i] - y[n + i];
    res[n + i] = problem->node_mass * (yp[n + i] - problem->gravity[i % 3]);
  }
  for (int r = 0; r < s->m; r++) {
    int near = problem->rod[r][0], far = problem->rod[r][1];
    double d[3], length2 = 0.0, rate = 0.0, curvature = 0.0, acceleration = 0.0;
    for (int k = 0; k < 3; k++) {
      double du = s->u[3 * far + k] - s->u[3 * near + k];
      d[k] = s->x[3 * far + k] - s->x[3 * near + k];
      length2 += d[k] * d[k];
      rate += d[k] * du;
      curvature += du * du;
      if (s->first[near] >= 0) acceleration -= d[k] * yp[n + s->first[near] + k];
      if (s->first[far] >= 0) acceleration += d[k] * yp[n + s->first[far] + k];
    }
    add_forces(s, r, d, y, yp, res);
    res[2 * n + r] = s->ggl ? 0.5 * (length2 - 1.0) : acceleration + curvature;
    if (s->ggl) res[2 * n + s->m + r] = rate;
  }
  return 0;
}

/* ---- Jacobian dF/dy + cj dF/dy' ----------------------------------------------------------- */

/* Receives the entries in a fixed order: patterns and values cannot disagree. */
typedef struct walker {
  simulation *s;
  double *values; /* NULL: record the pattern; else values of the compressed matrix */
  int64_t count;
} walker;

static void put(walker *w, int row, int col, double value) {
  if (w->values) {
    w->values[w->s->slot[w->count]] += value;
  } else if (w->s->row) {
    w->s->row[w->count] = row;
    w->s->col[w->count] = col;
  }
  w->count++;
}

/* The two ends of rod r: blocks of the mass matrix, of J' lambda and J' mu. */
static void walk_ends(walker *w, int r, const double *d, double lambda, double mu, double cj) {
  const simulation *s = w->s;
  int n = s->n, l = 2 * n + r, g = 2 * n + s->m + r;
  double mass = s->problem->rod_mass;
  int ends[2] = {s->first[s->problem->rod[r][0]], s->first[s->problem->rod[r][1]]};
  for (int e = 0; e < 2; e++) {
    for (int k = 0; k < 3 && ends[e] >= 0; k++) {
      int i = ends[e] + k;
      put(w, n + i, l, e ? d[k] : -d[k]);
      if (s->ggl) put(w, i, g, e ? d[k] : -d[k]);
      for (int f = 0; f < 2; f++) {
        if (ends[f] < 0) continue;
        double sign = e == f ? 1.0 : -1.0;
        put(w, n + i, ends[f] + k, sign * lambda);
        if (s->ggl) put(w, i, ends[f] + k, sign * mu);
        if (mass > 0.0) put(w, n + i, n + ends[f] + k, cj * mass / (e == f ? 3.0 : 6.0));
      }
    }
  }
}

/* The constraint rows of rod r. */
static void walk_rows(walker *w, int r, const double *d, const double *du, const double *da,
                      double cj) {
  const simulation *s = w->s;
  int n = s->n, l = 2 * n + r, g = 2 * n + s->m + r;
  for (int e = 0; e < 2; e++) {
    int first = s->first[s->problem->rod[r][e]];
    double sign = e ? 1.0 : -1.0;
    for (int k = 0; k < 3 && first >= 0; k++) {
      if (s->ggl) {
        put(w, l, first + k, sign * d[k]);
        put(w, g, first + k, sign * du[k]);
        put(w, g, n + first + k, sign * d[k]);
      } else {
        put(w, l, first + k, sign * da[k]);
        put(w, l, n + first + k, sign * (cj * d[k] + 2.0 * du[k]));
      }
    }
  }
}

static void walk_jacobian(walker *w, const double *y, const double *yp, double cj) {
  simulation *s = w->s;
  const peer_problem *problem = s->problem;
  int n = s->n;
  spread(s, y, problem->position, s->x);
  spread(s, y + n, NULL, s->u);
  for (int i = 0; i < n; i++) {
    put(w, i, i, cj);
    put(w, i, n + i, -1.0);
    put(w, n + i, n + i, cj * problem->node_mass);
  }
  for (int r = 0; r < s->m; r++) {
    int near = problem->rod[r][0], far = problem->rod[r][1];
    double d[3], du[3], da[3];
    for (int k = 0; k < 3; k++) {
      d[k] = s->x[3 * far + k] - s->x[3 * near + k];
      du[k] = s->u[3 * far + k] - s->u[3 * near + k];
      da[k] = (s->first[far] >= 0 ? yp[n + s->first[far] + k] : 0.0) -
              (s->first[near] >= 0 ? yp[n + s->first[near] + k] : 0.0);
    }
    walk_ends(w, r, d, y[2 * n + r], s->ggl ? y[2 * n + s->m + r] : 0.0, cj);
    walk_rows(w, r, d, du, da, cj);
  }
}

static int jacobian(double t, double cj, N_Vector y, N_Vector yp, N_Vector res, SUNMatrix matrix,
                    void *self, N_Vector t1, N_Vector t2, N_Vector t3) {
  (void)t, (void)res, (void)t1, (void)t2, (void)t3;
  simulation *s = self;
  walker w = {.s = s, .values = SUNSparseMatrix_Data(matrix)};
  sunindextype *start = SUNSparseMatrix_IndexPointers(matrix);
  sunindextype *rows = SUNSparseMatrix_IndexValues(matrix);
  memset(w.values, 0, (size_t)s->entries * sizeof *w.values);
  memset(start, 0, ((size_t)s->size + 1) * sizeof *start); /* IDA may have emptied the pattern */
  for (int64_t k = 0; k < s->count; k++) {
    start[s->col[k] + 1] =
        s->slot[k] + 1 > start[s->col[k] + 1] ? s->slot[k] + 1 : start[s->col[k] + 1];
    rows[s->slot[k]] = s->row[k];
  }
  walk_jacobian(&w, N_VGetArrayPointer(y), N_VGetArrayPointer(yp), cj);
  return 0;
}

typedef struct key {
  sunindextype col, row;
  int64_t triplet;
} key;

static int compare(const void *a, const void *b) {
  const key *p = a, *q = b;
  if (p->col != q->col) return p->col < q->col ? -1 : 1;
  return p->row < q->row ? -1 : p->row > q->row;
}

/* Records the pattern and finds the place of each triplet in the compressed columns. */
static int analyse(simulation *s, const double *y, const double *yp) {
  walker w = {.s = s};
  walk_jacobian(&w, y, yp, 1.0); /* counts */
  size_t count = (size_t)w.count;
  key *keys = malloc(count * sizeof *keys);
  s->count = w.count;
  s->row = malloc(count * sizeof *s->row);
  s->col = malloc(count * sizeof *s->col);
  s->slot = malloc(count * sizeof *s->slot);
  if (!keys || !s->row || !s->col || !s->slot) {
    free(keys);
    return 0;
  }
  w.count = 0;
  walk_jacobian(&w, y, yp, 1.0);
  for (size_t k = 0; k < count; k++) keys[k] = (key){s->col[k], s->row[k], (int64_t)k};
  qsort(keys, count, sizeof *keys, compare);
  s->entries = 0;
  for (size_t k = 0; k < count; k++) {
    if (k == 0 || compare(&keys[k - 1], &keys[k])) s->entries++;
    s->slot[keys[k].triplet] = s->entries - 1;
  }
  free(keys);
  return 1;
}

/* ---- the interface ------------------------------------------------------------------------ */

void peer_destroy(void *self) {
  simulation *s = self;
  if (!s) return;
  if (s->ida) IDAFree(&s->ida);
  if (s->solver) SUNLinSolFree(s->solver);
  if (s->matrix) SUNMatDestroy(s->matrix);
  if (s->y) N_VDestroy(s->y);
  if (s->yp) N_VDestroy(s->yp);
  if (s->id) N_VDestroy(s->id);
  if (s->context) SUNContext_Free(&s->context);
  free(s->first);
  free(s->x);
  free(s->u);
  free(s->row);
  free(s->col);
  free(s->slot);
  free(s);
}

static void number_nodes(simulation *s) {
  for (int i = 0; i < s->problem->nodes; i++) {
    s->first[i] = s->problem->fixed[i] ? -1 : s->n;
    if (!s->problem->fixed[i]) s->n += 3;
  }
  s->m = s->problem->rods;
  s->size = 2 * s->n + (s->ggl ? 2 : 1) * s->m;
}

static void set_start(simulation *s) {
  double *y = N_VGetArrayPointer(s->y), *yp = N_VGetArrayPointer(s->yp);
  double *id = N_VGetArrayPointer(s->id);
  N_VConst(0.0, s->y);
  N_VConst(0.0, s->yp);
  for (int i = 0; i < s->size; i++) id[i] = i < 2 * s->n; /* 1: differential */
  for (int i = 0; i < s->problem->nodes; i++) {
    for (int d = 0; d < 3 && s->first[i] >= 0; d++) {
      y[s->first[i] + d] = s->problem->position[3 * i + d];
      y[s->n + s->first[i] + d] = yp[s->first[i] + d] = s->problem->velocity[3 * i + d];
    }
  }
}

static int check(int status, const char *what) {
  if (status < 0) peer_fail("%s: %s", what, IDAGetReturnFlagName(status));
  return status >= 0;
}

/* Errors come back as values. */
static void on_error(int code, const char *module, const char *function, char *message,
                     void *self) {
  (void)self;
  if (code < 0) peer_fail("%s %s: %s", module, function, message);
}

static int start_solver(simulation *s) {
  s->matrix = SUNSparseMatrix(s->size, s->size, s->entries, CSC_MAT, s->context);
  s->solver = s->matrix ? SUNLinSol_KLU(s->y, s->matrix, s->context) : NULL;
  s->ida = IDACreate(s->context);
  if (!s->solver || !s->ida) return 0;
  IDASetErrHandlerFn(s->ida, on_error, s);
  if (!check(IDAInit(s->ida, residual, 0.0, s->y, s->yp), "IDAInit")) return 0;
  IDASStolerances(s->ida, relative_tolerance, absolute_tolerance);
  IDASetUserData(s->ida, s);
  IDASetId(s->ida, s->id);
  IDASetMaxNumSteps(s->ida, -1);
  IDASetSuppressAlg(s->ida, 1); /* multipliers out of the error test: up to 8 times fewer steps */
  int colamd = s->ggl && s->problem->kind == PEER_NET;
  SUNLinSol_KLUSetOrdering(s->solver, colamd ? ORDERING_COLAMD : ORDERING_AMD);
  if (!check(IDASetLinearSolver(s->ida, s->solver, s->matrix), "IDASetLinearSolver")) return 0;
  if (!check(IDASetJacFn(s->ida, jacobian), "IDASetJacFn")) return 0;
  if (s->ggl) return 1; /* index 2: IDACalcIC does not apply, the first steps are small */
  if (!check(IDACalcIC(s->ida, IDA_YA_YDP_INIT, s->problem->h), "IDACalcIC")) return 0;
  return check(IDAGetConsistentIC(s->ida, s->y, s->yp), "IDAGetConsistentIC");
}

void *peer_create(const peer_problem *problem) {
  simulation *s = calloc(1, sizeof *s);
  size_t coordinates = 3 * (size_t)problem->nodes;
  if (!s) return peer_fail("out of memory");
  s->problem = problem;
  s->ggl = !strcmp(problem->variant, "ggl");
  s->first = calloc((size_t)problem->nodes, sizeof *s->first);
  s->x = calloc(coordinates, sizeof *s->x);
  s->u = calloc(coordinates, sizeof *s->u);
  if (!s->first || !s->x || !s->u || SUNContext_Create(NULL, &s->context)) goto failed;
  number_nodes(s);
  s->y = N_VNew_Serial(s->size, s->context);
  s->yp = N_VNew_Serial(s->size, s->context);
  s->id = N_VNew_Serial(s->size, s->context);
  if (!s->y || !s->yp || !s->id) goto failed;
  set_start(s);
  if (!analyse(s, N_VGetArrayPointer(s->y), N_VGetArrayPointer(s->yp))) goto failed;
  if (start_solver(s)) return s;
failed:
  peer_destroy(s);
  return peer_fail("could not create the solver: out of memory");
}

/* The state at the end is interpolated, so that the steps remain IDA's own. */
int64_t peer_advance(void *self, int steps) {
  simulation *s = self;
  long before, after;
  double end = s->t + steps * s->problem->h;
  IDAGetNumSteps(s->ida, &before);
  if (!check(IDASolve(s->ida, end, &s->t, s->y, s->yp, IDA_NORMAL), "IDASolve")) return -1;
  IDAGetNumSteps(s->ida, &after);
  return after - before;
}

void peer_state(void *self, peer_rod_state *states) {
  simulation *s = self;
  const double *y = N_VGetArrayPointer(s->y);
  spread(s, y, s->problem->position, s->x);
  spread(s, y + s->n, NULL, s->u);
  peer_rods_from_nodes(s->problem, s->x, s->u, states);
}
