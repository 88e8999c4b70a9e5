/* ldlt_levels - the kernel of ldlt_levels_kernel.c as a backend: life cycle, verdict. */
#include "linsys/flush.h"
#include "linsys/ldlt_common.h"
#include "linsys/ldlt_levels_kernel.h"

#include <float.h>
#include <string.h>

static vin_int unknown_at(const vini_level_plan *plan, vin_int position) {
  for (vin_int k = 0; k < plan->batch_count; k++) {
    const vini_level_batch *batch = &plan->batch[k];
    const vin_int at = position - batch->position;
    if (at < VINI_LEVEL_LANES * plan->kind[batch->kind].pivots)
      return plan->index[batch->index + at];
  }
  return -1;
}

static vin_status breakdown(const vini_levels *x) {
  return vini_ldlt_breakdown(x->object, unknown_at(&x->plan, x->failed), x->failed_pivot,
                             x->scale[x->failed]);
}

/* Factorises, and solves for one or two (b2 not NULL) right-hand sides where b is not NULL: the forward
 * substitution follows the elimination batch by batch, while L is in the cache. */
static vin_status factor(vini_levels *x, const double *a, double *b, double *b2) {
  const vini_level_batch *batch = x->plan.batch;
  const unsigned before = vini_flush_begin();
  x->failed = -1;
  x->factored = true;
  for (vin_int k = 0; k < x->plan.batch_count && x->factored; k++) {
    x->factored = x->eliminate(x, batch + k, a);
    if (b != NULL && x->factored) x->forward(x, batch + k, b, b2);
  }
  for (vin_int k = x->plan.batch_count - 1; b != NULL && x->factored && k >= 0; k--)
    x->backward(x, batch + k, b, b2);
  if (x->factored) x->survey(x);
  vini_flush_end(before);
  return x->factored ? VIN_OK : breakdown(x);
}

static vin_status levels_factor(vini_backend *backend, const vin_sparse *matrix) {
  return factor((vini_levels *)backend, matrix->value, NULL, NULL);
}

/* Takes no load: there is no reach. */
static vin_status levels_factor_solve(vini_backend *backend, const vin_sparse *matrix, double *b,
                                      double *b2, vin_status (*load)(void *user, vin_int block),
                                      void *user) {
  (void)load, (void)user;
  return factor((vini_levels *)backend, matrix->value, b, b2);
}

/* One or two (b2 not NULL) right-hand sides. */
static void substitute(const vini_levels *x, double *b, double *b2) {
  const vini_level_batch *batch = x->plan.batch;
  for (vin_int k = 0; k < x->plan.batch_count; k++) x->forward(x, batch + k, b, b2);
  for (vin_int k = x->plan.batch_count - 1; k >= 0; k--) x->backward(x, batch + k, b, b2);
}

static vin_status levels_solve(vini_backend *backend, vin_int count, double *b) {
  const vini_levels *x = (const vini_levels *)backend;
  if (!x->factored) return vini_ldlt_unfactored(x->object);
  const size_t n = (size_t)x->plan.n;
  const unsigned before = vini_flush_begin();
  for (; count >= 2; count -= 2, b += 2 * n) substitute(x, b, b + n);
  if (count == 1) substitute(x, b, NULL);
  vini_flush_end(before);
  return VIN_OK;
}

static bool levels_pivots(const vini_backend *backend, double *d, double *scale) {
  const vini_levels *x = (const vini_levels *)backend;
  const vini_level_plan *plan = &x->plan;
  if (!x->factored) return false;
  for (vin_int k = 0; k < plan->batch_count; k++) {
    const vini_level_batch *batch = &plan->batch[k];
    const vin_int numbers = VINI_LEVEL_LANES * plan->kind[batch->kind].pivots;
    for (vin_int e = 0; e < numbers; e++) {
      if (e % VINI_LEVEL_LANES >= batch->count) continue;
      d[plan->index[batch->index + e]] = 1 / x->inverse[batch->position + e];
      scale[plan->index[batch->index + e]] = x->scale[batch->position + e];
    }
  }
  return true;
}

/* Numbers of `memory`. */
static int64_t numbers_held(const vini_level_plan *plan) {
  return vini_whole_lines(plan->value_count) + vini_whole_lines(plan->buffer_count) +
         2 * vini_whole_lines(plan->positions) + VINI_LINE;
}

static int64_t bytes_held(const vini_levels *x) {
  const vini_level_plan *plan = &x->plan;
  return (int64_t)sizeof *x + numbers_held(plan) * (int64_t)sizeof(double) +
         (plan->index_count + plan->source_count) * (int64_t)sizeof(vin_int) +
         plan->round_count * (int64_t)sizeof *plan->round +
         plan->batch_count * (int64_t)sizeof *plan->batch +
         plan->kind_count * (int64_t)sizeof *plan->kind;
}

static void levels_info(const vini_backend *backend, vini_factor_info *info) {
  const vini_levels *x = (const vini_levels *)backend;
  vini_ldlt_tell(&(vini_ldlt_verdict){.factored = x->factored,
                                      .negative = x->negative,
                                      .smallest = x->smallest,
                                      .largest = x->largest,
                                      .ratio = 1 / x->cancellation},
                 info);
  info->nnz_factor = x->plan.nnz;
  info->flops = x->plan.flops;
  info->bytes = bytes_held(x);
}

static const char *levels_describe(const vini_backend *backend) {
  (void)backend;
  return "ldlt, static order without pivoting, four like bodies of a height at once";
}

static void levels_destroy(vini_backend *backend) {
  vini_levels *x = (vini_levels *)backend;
  if (x == NULL) return;
  const vin_context context = x->object->context;
  vini_level_plan_clear(&context, &x->plan);
  vini_free(&context, x->memory);
  vini_free(&context, x);
}

static const vini_backend_vtable levels_table = {.solver = VIN_SOLVER_LDLT,
                                                 .factor = levels_factor,
                                                 .solve = levels_solve,
                                                 .factor_solve = levels_factor_solve,
                                                 .pivots = levels_pivots,
                                                 .info = levels_info,
                                                 .describe = levels_describe,
                                                 .destroy = levels_destroy};

static vin_status allocate(vini_levels *x) {
  const vini_level_plan *plan = &x->plan;
  x->memory = vini_alloc(&x->object->context, (size_t)numbers_held(plan), sizeof(double));
  if (x->memory == NULL) {
    return vini_ldlt_no_memory(x->object, plan->value_count);
  }
  x->value = vini_first_line(x->memory);
  x->buffer = x->value + vini_whole_lines(plan->value_count);
  x->inverse = x->buffer + vini_whole_lines(plan->buffer_count);
  x->scale = x->inverse + vini_whole_lines(plan->positions);
  return VIN_OK;
}

vin_status vini_levels_create(vini_backend **backend, vini_object *object, const vin_sparse *matrix,
                              const vin_int *order, const vin_int *member, double threshold,
                              double *cost) {
  *backend = NULL;
  vini_levels *x = vini_alloc(&object->context, 1, sizeof *x);
  if (x == NULL) return vini_fail(object, VIN_ERR_NO_MEMORY, "ldlt: no memory");
  x->backend.table = &levels_table;
  x->object = object;
  x->threshold = threshold;
  bool fits = false;
  vin_status status = vini_level_plan_build(object, &x->plan, matrix, order, member, &fits);
  if (status == VIN_OK && fits) {
    status = allocate(x);
    vini_levels_choose_kernel(x, false);
    *cost = x->plan.lane_flops;
    if (status == VIN_OK) *backend = &x->backend;
  }
  if (*backend == NULL) levels_destroy(&x->backend);
  return status;
}

bool vini_is_levels(const vini_backend *backend) {
  return backend->table == &levels_table;
}
