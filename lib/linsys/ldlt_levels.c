/* ldlt_levels - the kernel of ldlt_levels_kernel.c as a backend: life cycle, verdict. */
#include "linsys/flush.h"
#include "linsys/ldlt_levels_kernel.h"
#include "linsys/linsys.h"

#include <float.h>
#include <string.h>

enum { LINE = 8 }; /* numbers in a line of the cache */

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
  return vini_fail(x->object, VIN_SINGULAR,
                   "ldlt: the pivot of unknown %d is %g after cancellation of terms of size %g",
                   (int)unknown_at(&x->plan, x->failed), x->failed_pivot, x->scale[x->failed]);
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
  if (!x->factored) {
    return vini_fail(x->object, VIN_ERR_BAD_STATE, "ldlt: solve without a factorisation");
  }
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

static int64_t round_up(int64_t numbers) {
  return (numbers + LINE - 1) / LINE * LINE;
}

/* Numbers of `memory`. */
static int64_t numbers_held(const vini_level_plan *plan) {
  return round_up(plan->value_count) + round_up(plan->buffer_count) +
         2 * round_up(plan->positions) + LINE;
}

static void levels_info(const vini_backend *backend, vini_factor_info *info) {
  const vini_levels *x = (const vini_levels *)backend;
  const vini_level_plan *plan = &x->plan;
  const bool known = x->factored, any = known && x->largest > 0;
  *info = (vini_factor_info){
      .nnz_factor = plan->nnz,
      .flops = plan->flops,
      .bytes = (int64_t)sizeof *x + numbers_held(plan) * (int64_t)sizeof(double) +
               (plan->index_count + plan->source_count) * (int64_t)sizeof(vin_int) +
               plan->round_count * (int64_t)sizeof *plan->round +
               plan->batch_count * (int64_t)sizeof *plan->batch +
               plan->kind_count * (int64_t)sizeof *plan->kind,
      .negative = known ? x->negative : -1,
      .zero = known ? 0 : -1,
      .rcond = any ? x->smallest / x->largest : -1,
      .min_pivot_ratio = any && x->cancellation > 0 ? 1 / x->cancellation : -1};
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
    return vini_fail(x->object, VIN_ERR_NO_MEMORY, "ldlt: no memory for L, %lld numbers",
                     (long long)plan->value_count);
  }
  double *next = x->memory;
  while ((uintptr_t)next % (LINE * sizeof *next) != 0) next++;
  x->value = next;
  x->buffer = x->value + round_up(plan->value_count);
  x->inverse = x->buffer + round_up(plan->buffer_count);
  x->scale = x->inverse + round_up(plan->positions);
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
