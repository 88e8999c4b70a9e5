/* ldlt - the library's own LDL' without pivoting as a backend: life cycle, values, verdict.
 *
 * For a matrix whose leading blocks in the given order are regular (theory 2.1). Everything that does
 * not depend on values is done at creation (ldlt_plan.h); factor() and solve() neither allocate nor
 * search. Chains of points go to the unrolled kernel of ldlt_fronts.c instead, mechanisms of like bodies
 * to ldlt_lanes.c. */
#include "linsys/flush.h"
#include "linsys/ldlt_common.h"
#include "linsys/ldlt_lanes_kernel.h"
#include "linsys/ldlt_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static vin_status ldlt_factor(vini_backend *backend, const vin_sparse *matrix) {
  vini_ldlt *ldlt = (vini_ldlt *)backend;
  const vini_ldlt_plan *plan = &ldlt->plan;
  memset(ldlt->value, 0, (size_t)plan->value_count * sizeof *ldlt->value);
  for (int64_t p = 0; p < plan->a_count; p++) ldlt->value[plan->map[p]] = matrix->value[p];
  for (vin_int k = 0; k < plan->n; k++) { /* a stored diagonal is the first entry of its column */
    const vin_int p = matrix->start[k];
    const bool stored = p < matrix->start[k + 1] && matrix->row[p] == k;
    const double d = stored ? matrix->value[p] : 0.0;
    ldlt->pivot[k] = (vini_ldlt_pivot){.d = d, .scale = fabs(d)};
  }
  if (ldlt->dropped_count) memset(ldlt->dropped, 0, (size_t)plan->n * sizeof *ldlt->dropped);
  ldlt->dropped_count = ldlt->negative = 0;
  ldlt->failed = -1;
  ldlt->min_ratio = ldlt->min_pivot = INFINITY;
  ldlt->max_pivot = 0.0;
  const unsigned before = vini_flush_begin();
  ldlt->factored = vini_ldlt_eliminate(ldlt);
  vini_flush_end(before);
  if (ldlt->factored) return VIN_OK;
  const vini_ldlt_pivot *bad = &ldlt->pivot[ldlt->failed];
  return vini_ldlt_breakdown(ldlt->object, ldlt->failed, bad->d, bad->scale);
}

static vin_status ldlt_solve(vini_backend *backend, vin_int count, double *x) {
  const vini_ldlt *ldlt = (const vini_ldlt *)backend;
  if (!ldlt->factored) return vini_ldlt_unfactored(ldlt->object);
  const unsigned before = vini_flush_begin();
  vini_ldlt_substitute(ldlt, count, x);
  vini_flush_end(before);
  return VIN_OK;
}

static bool ldlt_pivots(const vini_backend *backend, double *d, double *scale) {
  const vini_ldlt *ldlt = (const vini_ldlt *)backend;
  if (!ldlt->factored) return false;
  for (vin_int k = 0; k < ldlt->plan.n; k++) {
    d[k] = ldlt->pivot[k].d;
    scale[k] = ldlt->pivot[k].scale;
  }
  return true;
}

static int64_t bytes_held(const vini_ldlt *ldlt) {
  const vini_ldlt_plan *plan = &ldlt->plan;
  const int64_t per_unknown = (int64_t)(sizeof(vini_ldlt_pivot) + sizeof(double) + 1);
  const int64_t indices = plan->index_count + plan->target_count + plan->a_count;
  return (int64_t)sizeof *ldlt + plan->n * per_unknown + indices * (int64_t)sizeof(vin_int) +
         plan->panel_count * (int64_t)sizeof(vini_ldlt_panel) +
         (plan->value_count + 2 * (int64_t)plan->max_below) * (int64_t)sizeof(double);
}

static void ldlt_info(const vini_backend *backend, vini_factor_info *info) {
  const vini_ldlt *ldlt = (const vini_ldlt *)backend;
  vini_ldlt_tell(&(vini_ldlt_verdict){.factored = ldlt->factored,
                                      .negative = ldlt->negative,
                                      .dropped = ldlt->dropped_count,
                                      .smallest = ldlt->min_pivot,
                                      .largest = ldlt->max_pivot,
                                      .ratio = ldlt->min_ratio},
                 info);
  info->nnz_factor = ldlt->plan.nnz;
  info->flops = ldlt->plan.flops;
  info->bytes = bytes_held(ldlt);
}

static const char *ldlt_describe(const vini_backend *backend) {
  (void)backend;
  return "ldlt, static order without pivoting, right-looking by panels";
}

static void ldlt_destroy(vini_backend *backend) {
  vini_ldlt *ldlt = (vini_ldlt *)backend;
  if (!ldlt) return;
  const vin_context context = ldlt->object->context;
  vini_ldlt_plan_clear(&context, &ldlt->plan);
  vini_free(&context, ldlt->value);
  vini_free(&context, ldlt->pivot);
  vini_free(&context, ldlt->inverse);
  vini_free(&context, ldlt->buffer);
  vini_free(&context, ldlt->dropped);
  vini_free(&context, ldlt);
}

static const vini_backend_vtable ldlt_table = {.solver = VIN_SOLVER_LDLT,
                                               .factor = ldlt_factor,
                                               .solve = ldlt_solve,
                                               .pivots = ldlt_pivots,
                                               .info = ldlt_info,
                                               .describe = ldlt_describe,
                                               .destroy = ldlt_destroy};

/* Fill-reducing order of the whole matrix, for callers that have none: AMD on its graph. */
static vin_status choose_order(vini_object *object, const vin_sparse *matrix, vin_int *order) {
  const vin_context *context = &object->context;
  const vin_int n = matrix->cols;
  const size_t entries = (size_t)matrix->start[n];
  vin_int *start = vini_alloc(context, (size_t)n + 2, sizeof *start);
  vin_int *neighbour = vini_alloc(context, 2 * entries, sizeof *neighbour);
  vin_status status = VIN_ERR_NO_MEMORY;
  if (start && neighbour) {
    /* counts two places ahead, so that filling leaves start[j] .. start[j + 1] - 1 behind */
    for (vin_int j = 0; j < n; j++)
      for (vin_int p = matrix->start[j]; p < matrix->start[j + 1]; p++)
        if (matrix->row[p] != j) {
          start[j + 2]++;
          start[matrix->row[p] + 2]++;
        }
    for (vin_int k = 1; k <= n; k++) start[k + 1] += start[k];
    for (vin_int j = 0; j < n; j++)
      for (vin_int p = matrix->start[j]; p < matrix->start[j + 1]; p++)
        if (matrix->row[p] != j) {
          neighbour[start[j + 1]++] = matrix->row[p];
          neighbour[start[matrix->row[p] + 1]++] = j;
        }
    status = vini_order_amd(object, n, start, neighbour, order);
  } else {
    vini_fail(object, status, "ldlt: no memory to order %d unknowns", (int)n);
  }
  vini_free(context, start);
  vini_free(context, neighbour);
  return status;
}

static vin_status build(vini_object *object, vini_ldlt *ldlt, const vin_sparse *matrix,
                        const vin_int *order) {
  const vin_context *context = &object->context;
  vini_ldlt_plan *plan = &ldlt->plan;
  const size_t n = (size_t)matrix->cols;
  VINI_TRY(vini_ldlt_plan_build(object, plan, matrix, order));
  ldlt->value = vini_alloc(context, (size_t)plan->value_count, sizeof *ldlt->value);
  ldlt->pivot = vini_alloc(context, n, sizeof *ldlt->pivot);
  ldlt->inverse = vini_alloc(context, n, sizeof *ldlt->inverse);
  ldlt->buffer = vini_alloc(context, 2 * (size_t)plan->max_below, sizeof *ldlt->buffer);
  ldlt->dropped = vini_alloc(context, n, sizeof *ldlt->dropped);
  if (!ldlt->value || !ldlt->pivot || !ldlt->inverse || !ldlt->buffer || !ldlt->dropped)
    return vini_ldlt_no_memory(object, plan->value_count);
  return VIN_OK;
}

vin_status vini_ldlt_create(vini_backend **backend, vini_object *object, const vin_sparse *matrix,
                            const vin_int *order) {
  const vin_context *context = &object->context;
  *backend = NULL;
  if (matrix->storage != VIN_STORAGE_SYMMETRIC_LOWER)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "ldlt: the matrix must be in symmetric storage");
  vini_ldlt *ldlt = vini_alloc(context, 1, sizeof *ldlt);
  vin_int *chosen = order ? NULL : vini_alloc(context, (size_t)matrix->cols, sizeof *chosen);
  vin_status status = VIN_OK;
  if (!ldlt || (!order && !chosen))
    status =
        vini_fail(object, VIN_ERR_NO_MEMORY, "ldlt: no memory for %d unknowns", (int)matrix->cols);
  if (status == VIN_OK) {
    ldlt->backend.table = &ldlt_table;
    ldlt->object = object;
    ldlt->wide = vini_choose_wide_kernel(false);
    if (!order) status = choose_order(object, matrix, chosen);
    if (!order) order = chosen;
    if (status == VIN_OK) status = vini_fronts_create(backend, object, matrix, order);
    if (status == VIN_OK && *backend == NULL)
      status = vini_lanes_create(backend, object, matrix, order);
    if (status == VIN_OK && *backend == NULL) status = build(object, ldlt, matrix, order);
    if (status != VIN_OK || *backend != NULL) ldlt_destroy(&ldlt->backend);
  } else {
    vini_free(context, ldlt);
  }
  vini_free(context, chosen);
  if (status == VIN_OK && *backend == NULL) *backend = &ldlt->backend;
  return status;
}

void vini_ldlt_set_drop(vini_backend *backend, const unsigned char *droppable, double threshold) {
  if (vini_is_fronts(backend)) {
    vini_fronts_set_drop(backend, droppable, threshold);
    return;
  }
  if (vini_is_lanes(backend)) {
    vini_lanes_set_drop(backend, droppable, threshold);
    return;
  }
  vini_ldlt *ldlt = (vini_ldlt *)backend;
  ldlt->droppable = droppable;
  ldlt->threshold = droppable ? threshold : 0.0;
}

const unsigned char *vini_ldlt_dropped(const vini_backend *backend) {
  if (vini_is_fronts(backend)) return vini_fronts_dropped(backend);
  if (vini_is_lanes(backend)) return vini_lanes_dropped(backend);
  return ((const vini_ldlt *)backend)->dropped;
}
