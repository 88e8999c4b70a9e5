/* ldlt_lanes - the kernel of ldlt_lanes_kernel.c as a backend: life cycle, verdict. */
#include "linsys/flush.h"
#include "linsys/ldlt_common.h"
#include "linsys/ldlt_lanes_kernel.h"

#include <float.h>
#include <math.h>
#include <string.h>

static vin_status lanes_factor(vini_backend *backend, const vin_sparse *matrix) {
  vini_lanes *x = (vini_lanes *)backend;
  if (x->tally.dropped > 0) memset(x->dropped, 0, (size_t)x->plan.n);
  x->tally = (vini_lanes_tally){.failed = -1, .smallest = DBL_MAX};
  const unsigned before = vini_flush_begin();
  x->factored = x->eliminate(x, matrix->value);
  vini_flush_end(before);
  if (x->factored) return VIN_OK;
  const vin_int position = x->tally.failed;
  return vini_ldlt_breakdown(x->object, x->plan.unknown[position], x->tally.failed_pivot,
                             x->scale[position]);
}

static vin_status lanes_solve(vini_backend *backend, vin_int count, double *b) {
  vini_lanes *x = (vini_lanes *)backend;
  if (!x->factored) return vini_ldlt_unfactored(x->object);
  const size_t n = (size_t)x->plan.n;
  const unsigned before = vini_flush_begin();
  for (; count >= 2; count -= 2, b += 2 * n) x->substitute_two(x, b, b + n);
  if (count == 1) x->substitute_one(x, b);
  vini_flush_end(before);
  return VIN_OK;
}

static bool lanes_pivots(const vini_backend *backend, double *d, double *scale) {
  const vini_lanes *x = (const vini_lanes *)backend;
  if (x->factored)
    vini_ldlt_spread_pivots(x->plan.positions, x->plan.unknown, x->inverse, x->scale, d, scale);
  return x->factored;
}

/* Numbers of `memory`. */
static int64_t numbers_held(const vini_lane_plan *plan) {
  return vini_whole_lines(plan->value_count) + vini_whole_lines(plan->buffer_count) +
         vini_whole_lines(vini_lanes_work(plan)) + 4 * vini_whole_lines(plan->positions) +
         VINI_LINE;
}

static int64_t bytes_held(const vini_lanes *x) {
  const vini_lane_plan *plan = &x->plan;
  const int64_t indices = plan->index_count + plan->source_count + plan->rel_count +
                          2 * plan->front_entry_count + plan->positions + plan->batch_count +
                          plan->front_count;
  return (int64_t)sizeof *x + numbers_held(plan) * (int64_t)sizeof(double) +
         indices * (int64_t)sizeof(vin_int) + plan->code_count * (int64_t)sizeof(uint16_t) +
         plan->batch_count * (int64_t)sizeof(vini_batch) +
         plan->front_count * (int64_t)sizeof(vini_lane_front) +
         plan->child_count * (int64_t)sizeof(vini_lane_child) + plan->positions + plan->n;
}

static void lanes_info(const vini_backend *backend, vini_factor_info *info) {
  const vini_lanes *x = (const vini_lanes *)backend;
  vini_ldlt_tell(&(vini_ldlt_verdict){.factored = x->factored,
                                      .negative = x->tally.negative,
                                      .dropped = x->tally.dropped,
                                      .smallest = x->tally.smallest,
                                      .largest = x->tally.largest,
                                      .ratio = 1 / x->tally.cancellation},
                 info);
  info->nnz_factor = x->plan.nnz;
  info->flops = x->plan.flops;
  info->bytes = bytes_held(x);
}

static const char *lanes_describe(const vini_backend *backend) {
  (void)backend;
  return "ldlt, static order without pivoting, four like bodies at once, dense fronts above";
}

static void lanes_destroy(vini_backend *backend) {
  vini_lanes *x = (vini_lanes *)backend;
  if (x == NULL) return;
  const vin_context context = x->object->context;
  vini_lane_plan_clear(&context, &x->plan);
  vini_free(&context, x->memory);
  vini_free(&context, x->droppable);
  vini_free(&context, x->dropped);
  vini_free(&context, x);
}

static const vini_backend_vtable lanes_table = {.solver = VIN_SOLVER_LDLT,
                                                .factor = lanes_factor,
                                                .solve = lanes_solve,
                                                .pivots = lanes_pivots,
                                                .info = lanes_info,
                                                .describe = lanes_describe,
                                                .destroy = lanes_destroy};

bool vini_is_lanes(const vini_backend *backend) {
  return backend->table == &lanes_table;
}

static vin_status allocate(vini_lanes *x) {
  const vin_context *context = &x->object->context;
  const vini_lane_plan *plan = &x->plan;
  x->memory = vini_alloc(context, (size_t)numbers_held(plan), sizeof(double));
  x->droppable = vini_alloc(context, (size_t)plan->positions, 1);
  x->dropped = vini_alloc(context, (size_t)plan->n, 1);
  if (x->memory == NULL || x->droppable == NULL || x->dropped == NULL) {
    return vini_ldlt_no_memory(x->object, plan->value_count);
  }
  x->value = vini_first_line(x->memory);
  x->buffer = x->value + vini_whole_lines(plan->value_count);
  x->work = x->buffer + vini_whole_lines(plan->buffer_count);
  x->inverse = x->work + vini_whole_lines(vini_lanes_work(plan));
  x->scale = x->inverse + vini_whole_lines(plan->positions);
  x->forward[0] = x->scale + vini_whole_lines(plan->positions);
  x->forward[1] = x->forward[0] + vini_whole_lines(plan->positions);
  return VIN_OK;
}

vin_status vini_lanes_create(vini_backend **backend, vini_object *object, const vin_sparse *matrix,
                             const vin_int *order) {
  *backend = NULL;
  vini_lanes *x = vini_alloc(&object->context, 1, sizeof *x);
  if (x == NULL) return vini_fail(object, VIN_ERR_NO_MEMORY, "ldlt: no memory");
  x->backend.table = &lanes_table;
  x->object = object;
  bool fits = false;
  vin_status status = vini_lane_plan_build(object, &x->plan, matrix, order, &fits);
  if (status == VIN_OK && fits) {
    status = allocate(x);
    vini_lanes_choose_kernel(x, false);
    if (status == VIN_OK) *backend = &x->backend;
  }
  if (*backend == NULL) lanes_destroy(&x->backend);
  return status;
}

void vini_lanes_set_drop(vini_backend *backend, const unsigned char *droppable, double threshold) {
  vini_lanes *x = (vini_lanes *)backend;
  for (vin_int k = 0; k < x->plan.positions; k++) {
    const vin_int unknown = x->plan.unknown[k];
    x->droppable[k] = droppable != NULL && unknown >= 0 ? droppable[unknown] : 0;
  }
  x->threshold = droppable != NULL ? threshold : 0;
}

const unsigned char *vini_lanes_dropped(const vini_backend *backend) {
  return ((const vini_lanes *)backend)->dropped;
}
