/* ldlt_fronts - the kernel of ldlt_kernel.c as a backend: life cycle, verdict. */
#include "linsys/flush.h"
#include "linsys/ldlt_common.h"
#include "linsys/ldlt_kernel.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The kernel is taken when at least this part of the columns is in fronts that it is made for. */
#define LEAST_PART 0.9

static vin_status breakdown(vini_fronts *x) {
  const vin_int column = x->tally.failed;
  return vini_ldlt_breakdown(x->object, x->plan.order[column], x->tally.failed_pivot,
                             x->tally.failed_scale);
}

typedef vin_status (*loader)(void *user, vin_int block);

/* Eliminates block by block, with the forward substitution of b, b2 (NULL: none, one). load is foreign code
 * and has the thread's own arithmetic. */
static vin_status eliminate(vini_fronts *x, const double *a, double *b, double *b2, loader load,
                            void *user) {
  const vini_front_block *block = x->plan.block;
  vin_status status = VIN_OK;
  unsigned before = vini_flush_begin();
  x->factored = true;
  for (vin_int k = 0; k < x->plan.block_count && x->factored; k++) {
    if (load != NULL) {
      vini_flush_end(before);
      status = load(user, k);
      before = vini_flush_begin();
    }
    x->factored = status == VIN_OK && x->eliminate(x, block + k, a, b, b2);
  }
  vini_flush_end(before);
  if (x->factored) return VIN_OK;
  return status != VIN_OK ? status : breakdown(x);
}

/* Factorises, and solves for one or two (b2 not NULL) right-hand sides where b is not NULL. */
static vin_status factor(vini_fronts *x, const double *a, double *b, double *b2, loader load,
                         void *user) {
  if (x->tally.dropped > 0) memset(x->dropped, 0, (size_t)x->plan.n);
  x->tally = (vini_tally){.failed = -1, .least = DBL_MAX};
  VINI_TRY(eliminate(x, a, b, b2, load, user));
  const unsigned before = vini_flush_begin();
  for (vin_int k = x->plan.block_count - 1; b != NULL && k >= 0; k--) {
    x->backward(x, x->plan.block + k, b, b2);
  }
  vini_flush_end(before);
  return VIN_OK;
}

static vin_status fronts_factor(vini_backend *backend, const vin_sparse *matrix) {
  return factor((vini_fronts *)backend, matrix->value, NULL, NULL, NULL, NULL);
}

static vin_status fronts_factor_solve(vini_backend *backend, const vin_sparse *matrix, double *b,
                                      double *b2, loader load, void *user) {
  return factor((vini_fronts *)backend, matrix->value, b, b2, load, user);
}

static void include(vin_int range[4], vin_int split, int64_t unknown) {
  vin_int *part = unknown < split ? range : range + 2;
  part[0] = vini_min_int(part[0], (vin_int)unknown);
  part[1] = vini_max_int(part[1], (vin_int)unknown + 1);
}

/* The pivots of a block's fronts and the rows below them: entries of the matrix have no others, and
 * forward substitution writes to no others. */
static void fronts_reach(const vini_backend *backend, vin_int block, vin_int split,
                         vin_int range[4]) {
  const vini_front_plan *plan = &((const vini_fronts *)backend)->plan;
  const vini_front_block *b = plan->block + block;
  range[0] = range[2] = plan->n;
  range[1] = range[3] = 0;
  const vin_int ends[2] = {b->link,
                           b->link_end}; /* the next link's unknowns are the last one's rows */
  for (int k = 0; b->run >= 0 && k < 2; k++) {
    const vini_front_run *run = plan->run + b->run;
    const int64_t node = run->node + ends[k] * run->node_step;
    include(range, split, node);
    include(range, split, node + 2);
    include(range, split, run->rod + ends[k] * run->rod_step);
  }
  for (vin_int f = b->front; f < b->front_end; f++) {
    const vini_front *front = plan->front + f;
    for (vin_int i = 0; i < front->pivots; i++)
      include(range, split, plan->order[front->first + i]);
    for (vin_int i = 0; i < front->rows; i++) include(range, split, plan->row[front->row + i]);
  }
  for (int part = 0; part < 4; part += 2) {
    if (range[part] > range[part + 1]) range[part] = range[part + 1] = part == 0 ? 0 : split;
  }
}

/* One or two (b2 not NULL) right-hand sides. */
static void substitute(vini_fronts *x, double *b, double *b2) {
  const vini_front_block *block = x->plan.block;
  for (vin_int k = 0; k < x->plan.block_count; k++) x->forward(x, block + k, b, b2);
  for (vin_int k = x->plan.block_count - 1; k >= 0; k--) x->backward(x, block + k, b, b2);
}

static vin_status fronts_solve(vini_backend *backend, vin_int count, double *b) {
  vini_fronts *x = (vini_fronts *)backend;
  if (!x->factored) return vini_ldlt_unfactored(x->object);
  const size_t n = (size_t)x->plan.n;
  const unsigned before = vini_flush_begin();
  for (; count >= 2; count -= 2, b += 2 * n) substitute(x, b, b + n);
  if (count == 1) substitute(x, b, NULL);
  vini_flush_end(before);
  return VIN_OK;
}

static bool fronts_pivots(const vini_backend *backend, double *d, double *scale) {
  const vini_fronts *x = (const vini_fronts *)backend;
  if (!x->factored) return false;
  vini_fronts_pivots(x, d, scale);
  return true;
}

static const vin_int *fronts_order(const vini_backend *backend) {
  return ((const vini_fronts *)backend)->plan.order;
}

static int64_t bytes_held(const vini_fronts *x) {
  const vini_front_plan *plan = &x->plan;
  const int64_t numbers =
      plan->value_count + plan->buffer_count + plan->n + 2 * (int64_t)plan->max_front;
  const int64_t indices = 2 * plan->row_count + 2 * plan->entry_count + plan->n;
  return (int64_t)sizeof *x + numbers * (int64_t)sizeof(double) +
         indices * (int64_t)sizeof(vin_int) + 2 * (int64_t)plan->n +
         plan->front_count * (int64_t)sizeof(vini_front) +
         plan->run_count * (int64_t)sizeof(vini_front_run) +
         plan->block_count * (int64_t)sizeof(vini_front_block);
}

static void fronts_info(const vini_backend *backend, vini_factor_info *info) {
  const vini_fronts *x = (const vini_fronts *)backend;
  vini_ldlt_tell(&(vini_ldlt_verdict){.factored = x->factored,
                                      .negative = x->tally.negative,
                                      .dropped = x->tally.dropped,
                                      .smallest = x->tally.least,
                                      .largest = x->tally.most,
                                      .ratio = 1 / x->tally.cancellation},
                 info);
  info->nnz_factor = x->plan.nnz;
  info->flops = x->plan.flops;
  info->bytes = bytes_held(x);
}

static const char *fronts_describe(const vini_backend *backend) {
  (void)backend;
  return "ldlt, static order without pivoting, unrolled fronts of a chain";
}

static void fronts_destroy(vini_backend *backend) {
  vini_fronts *x = (vini_fronts *)backend;
  if (x == NULL) return;
  const vin_context context = x->object->context;
  vini_front_plan_clear(&context, &x->plan);
  void *owned[] = {x->memory, x->buffer, x->work, x->lost, x->dropped, x->droppable};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) vini_free(&context, owned[i]);
  vini_free(&context, x);
}

static const vini_backend_vtable fronts_table = {.solver = VIN_SOLVER_LDLT,
                                                 .factor = fronts_factor,
                                                 .solve = fronts_solve,
                                                 .factor_solve = fronts_factor_solve,
                                                 .reach = fronts_reach,
                                                 .pivots = fronts_pivots,
                                                 .order = fronts_order,
                                                 .info = fronts_info,
                                                 .describe = fronts_describe,
                                                 .destroy = fronts_destroy};

bool vini_is_fronts(const vini_backend *backend) {
  return backend->table == &fronts_table;
}

/* A point of a chain, with massless or massive rods. */
static bool wanted(vin_int pivots, vin_int rows) {
  return pivots == 4 && (rows == 1 || rows == 4);
}

static vin_status allocate(vini_fronts *x) {
  const vin_context *context = &x->object->context;
  const vini_front_plan *plan = &x->plan;
  const size_t n = (size_t)plan->n;
  x->memory = vini_alloc(context, (size_t)plan->value_count + VINI_LINE, sizeof(double));
  x->buffer = vini_alloc(context, (size_t)plan->buffer_count, sizeof(double));
  x->work = vini_alloc(context, 2 * (size_t)plan->max_front, sizeof(double));
  x->lost = vini_alloc(context, n, sizeof(double));
  x->droppable = vini_alloc(context, n, 1);
  x->dropped = vini_alloc(context, n, 1);
  if (x->memory == NULL || x->buffer == NULL || x->work == NULL || x->lost == NULL ||
      x->droppable == NULL || x->dropped == NULL) {
    return vini_ldlt_no_memory(x->object, plan->value_count);
  }
  x->value = vini_first_line(x->memory);
  return VIN_OK;
}

vin_status vini_fronts_create(vini_backend **backend, vini_object *object, const vin_sparse *matrix,
                              const vin_int *order) {
  *backend = NULL;
  vini_fronts *x = vini_alloc(&object->context, 1, sizeof *x);
  if (x == NULL) return vini_fail(object, VIN_ERR_NO_MEMORY, "ldlt: no memory");
  x->backend.table = &fronts_table;
  x->object = object;
  bool fits = false;
  vin_status status =
      vini_front_plan_build(object, &x->plan, matrix, order, wanted, LEAST_PART, &fits);
  if (status == VIN_OK && fits) {
    status = allocate(x);
    vini_fronts_choose_kernel(x, false);
    if (status == VIN_OK) *backend = &x->backend;
  }
  if (*backend == NULL) fronts_destroy(&x->backend);
  return status;
}

void vini_fronts_set_drop(vini_backend *backend, const unsigned char *droppable, double threshold) {
  vini_fronts *x = (vini_fronts *)backend;
  for (vin_int k = 0; k < x->plan.n; k++) {
    x->droppable[k] = droppable != NULL ? droppable[x->plan.order[k]] : 0;
  }
  x->threshold = droppable != NULL ? threshold : 0;
}

const unsigned char *vini_fronts_dropped(const vini_backend *backend) {
  return ((const vini_fronts *)backend)->dropped;
}
