/* Saddle-point systems: creation, values, counters. */
#include "kkt/kkt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

vin_kkt_options vin_kkt_options_default(void) {
  vin_kkt_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.solver = VIN_SOLVER_AUTO;
  options.redundancy = VIN_REDUNDANCY_DROP;
  options.pivot_threshold = 1e-11;
  options.force_tolerance = 1e-10;
  options.constraint_tolerance = 1e-10;
  options.contradiction_tolerance = 1e-8;
  options.max_refinements = 3;
  return options;
}

static vin_status check_options(vin_kkt *kkt) {
  const vin_kkt_options *o = &kkt->options;
  vini_object *object = &kkt->object;
  if (o->redundancy != VIN_REDUNDANCY_DROP && o->redundancy != VIN_REDUNDANCY_REFUSE) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "redundancy is %d, no vin_redundancy",
                     (int)o->redundancy);
  }
  if (o->reuse != VIN_REUSE_AUTO && o->reuse != VIN_REUSE_ALWAYS && o->reuse != VIN_REUSE_NEVER) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "reuse is %d, no vin_reuse", (int)o->reuse);
  }
  struct {
    const char *name;
    double value, limit;
  } numbers[] = {{"pivot_threshold", o->pivot_threshold, 1},
                 {"force_tolerance", o->force_tolerance, HUGE_VAL},
                 {"constraint_tolerance", o->constraint_tolerance, HUGE_VAL},
                 {"contradiction_tolerance", o->contradiction_tolerance, HUGE_VAL}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    if (!(numbers[i].value >= 0 && numbers[i].value <= numbers[i].limit)) {
      return vini_fail(object, VIN_ERR_BAD_INPUT, "%s is %g, must be in 0..%g", numbers[i].name,
                       numbers[i].value, numbers[i].limit);
    }
  }
  if (o->order != VIN_ORDER_AUTO && o->order != VIN_ORDER_SCHUR &&
      o->order != VIN_ORDER_RECURSIVE) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "order is %d, no vin_order", (int)o->order);
  }
  if (o->max_refinements < 0 || o->max_refinements > 20) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "max_refinements is %d, must be in 0..20",
                     o->max_refinements);
  }
  if (o->solver == VIN_SOLVER_KLU) {
    return vini_fail(
        object, VIN_ERR_BAD_INPUT,
        "solver is klu, which is for general matrices: a saddle-point system takes auto, "
        "ldlt, cholmod-ldlt or umfpack");
  }
  if (o->solver != VIN_SOLVER_AUTO && o->solver != VIN_SOLVER_LDLT &&
      o->solver != VIN_SOLVER_CHOLMOD && o->solver != VIN_SOLVER_UMFPACK) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "solver is %d, no vin_solver", (int)o->solver);
  }
  if (!vin_solver_available(o->solver)) {
    return vini_fail(object, VIN_ERR_UNSUPPORTED, "solver %d (%s) is not in this build",
                     (int)o->solver, vin_solver_name(o->solver));
  }
  return VIN_OK;
}

static vin_status check_patterns(vin_kkt *kkt, vin_triplets h, vin_triplets j, int64_t *total) {
  vini_object *object = &kkt->object;
  vin_int n = kkt->n, m = kkt->m;
  if (n < 1) return vini_fail(object, VIN_ERR_BAD_INPUT, "n is %d, must be >= 1", (int)n);
  if (m < 0) return vini_fail(object, VIN_ERR_BAD_INPUT, "m is %d, must be >= 0", (int)m);
  if ((int64_t)n + m > INT32_MAX) {
    return vini_fail(object, VIN_ERR_TOO_LARGE, "n + m is %lld, at most %d", (long long)n + m,
                     INT32_MAX);
  }
  VINI_TRY(vini_triplets_check(object, "pattern of H", n, n, h, VIN_STORAGE_SYMMETRIC_LOWER));
  VINI_TRY(vini_triplets_check(object, "pattern of J", m, n, j, VIN_STORAGE_GENERAL));
  VINI_TRY(vini_triplets_check(object, "pattern of C", m, m, kkt->options.compliance,
                               VIN_STORAGE_SYMMETRIC_LOWER));
  *total = (int64_t)h.count + j.count + kkt->options.compliance.count + n + m;
  if (*total > INT32_MAX) {
    return vini_fail(object, VIN_ERR_TOO_LARGE, "the system has %lld entries, at most %d",
                     (long long)*total, INT32_MAX);
  }
  return VIN_OK;
}

static void append(vini_part *part, const char *name, vin_triplets pattern, vin_int row_offset,
                   vin_int col_offset, vin_int *row, vin_int *col, vin_int *count) {
  *part = (vini_part){.name = name, .first = *count, .count = pattern.count};
  for (vin_int k = 0; k < pattern.count; k++) {
    row[*count] = pattern.row[k] + row_offset;
    col[*count] = pattern.col[k] + col_offset;
    (*count)++;
  }
}

/* Marks a part whose triplets all stand at different places. seen: K's entries, zeroed, is left
 * so. */
static void find_distinct(vini_part *part, const vin_sparse *k, unsigned char *seen) {
  const vin_int *slot = k->slot + part->first;
  part->distinct = true;
  for (vin_int i = 0; i < part->count; i++) {
    if (seen[slot[i]]) part->distinct = false;
    seen[slot[i]] = 1;
  }
  for (vin_int i = 0; i < part->count; i++) seen[slot[i]] = 0;
}

/* K's pattern: H, J, C and the whole diagonal, so that dropped rows and missing masses have a
 * place. */
static vin_status build_matrix(vin_kkt *kkt, vin_triplets h, vin_triplets j, vin_int total) {
  const vin_context *context = &kkt->object.context;
  vin_int *row = vini_alloc(context, (size_t)total, sizeof *row);
  vin_int *col = vini_alloc(context, (size_t)total, sizeof *col);
  unsigned char *seen = vini_alloc(context, (size_t)total, 1);
  vin_status status = VIN_OK;
  if (row == NULL || col == NULL || seen == NULL) {
    status = vini_fail(&kkt->object, VIN_ERR_NO_MEMORY, "no memory for %d entries", (int)total);
    goto done;
  }
  vin_int count = 0, n = kkt->n;
  append(&kkt->h, "H", h, 0, 0, row, col, &count);
  append(&kkt->j, "J", j, n, 0, row, col, &count);
  append(&kkt->c, "C", kkt->options.compliance, n, n, row, col, &count);
  for (vin_int i = 0; i < n + kkt->m; i++) row[count] = col[count] = i, count++;
  vin_triplets pattern = {.count = total, .row = row, .col = col};
  status = vin_sparse_create(&kkt->k, context, n + kkt->m, n + kkt->m, pattern,
                             VIN_STORAGE_SYMMETRIC_LOWER);
  if (status != VIN_OK) {
    vini_fail(&kkt->object, status, "%s", vin_sparse_error(kkt->k));
    goto done;
  }
  find_distinct(&kkt->h, kkt->k, seen);
  find_distinct(&kkt->j, kkt->k, seen);
  find_distinct(&kkt->c, kkt->k, seen);
done:
  vini_free(context, row);
  vini_free(context, col);
  vini_free(context, seen);
  return status;
}

static vin_status allocate(vin_kkt *kkt) {
  const vin_context *context = &kkt->object.context;
  size_t size = (size_t)kkt->n + (size_t)kkt->m, m = (size_t)kkt->m;
  kkt->columns = 2; /* a velocity and a position stage together; more are grown on demand */
  kkt->droppable = vini_alloc(context, size, 1);
  kkt->dropped = vini_alloc(context, m, 1);
  kkt->dropped_rows = vini_alloc(context, m, sizeof *kkt->dropped_rows);
  kkt->pivot = vini_alloc(context, size, sizeof(double));
  kkt->pivot_scale = vini_alloc(context, size, sizeof(double));
  kkt->b = vini_alloc(context, size, sizeof(double));
  kkt->z = vini_alloc(context, 2 * size, sizeof(double));
  kkt->r = vini_alloc(context, 2 * size, sizeof(double));
  if (kkt->droppable == NULL || kkt->dropped == NULL || kkt->dropped_rows == NULL ||
      kkt->pivot == NULL || kkt->pivot_scale == NULL || kkt->b == NULL || kkt->z == NULL ||
      kkt->r == NULL) {
    return vini_fail(&kkt->object, VIN_ERR_NO_MEMORY, "no memory for vectors of %d unknowns",
                     (int)size);
  }
  kkt->s = kkt->r + size;
  VINI_TRY(vini_check_create(&kkt->check, &kkt->object, kkt->k, kkt->n, kkt->m, kkt->c.count > 0));
  memset(kkt->droppable + kkt->n, 1, m);
  return VIN_OK;
}

static void describe(vin_kkt *kkt) {
  const bool swift = kkt->swift != NULL;
  const vini_backend *backend = swift ? kkt->swift : kkt->primary;
  const vini_plan *plan = &kkt->plan;
  vini_factor_info info;
  backend->table->info(backend, &info);
  char order[160], hubs[64] = "";
  if (plan->hubs > 0) snprintf(hubs, sizeof hubs, ", %d hub blocks last", (int)plan->hubs);
  if (swift) {
    snprintf(
        order, sizeof order,
        "recursive order of a tree (body, joint, parent), instead of the Schur-type order with "
        "%lld entries and %.3g flops",
        (long long)plan->nnz, plan->flops);
  } else {
    snprintf(order, sizeof order, "Schur-type order by %s%s", plan->method, hubs);
  }
  snprintf(kkt->description, sizeof kkt->description,
           "saddle-point system of %d coordinates (%d blocks) and %d constraints (%d blocks), %d "
           "entries; solver %s; %s: predicted %lld entries in L, %.3g flops "
           "for one factorisation; %s holds %lld bytes",
           (int)kkt->n, (int)plan->coordinate_blocks, (int)kkt->m, (int)plan->constraint_blocks,
           (int)kkt->k->start[kkt->n + kkt->m], backend->table->describe(backend), order,
           (long long)(swift ? plan->recursive_nnz : plan->nnz),
           swift ? plan->recursive_flops : plan->flops, vin_solver_name(backend->table->solver),
           (long long)info.bytes);
}

/* Pivots below this part of the terms they come from are for the Schur-type order: what rounding they leave, some
 * 1e-11, is within the reach of refinement. */
#define SWIFT_PIVOT 1e-5

/* The recursive order is taken where its work, with that of lanes that have no body, is less. */
static vin_status build_swift(vin_kkt *kkt) {
  vini_plan *plan = &kkt->plan;
  if (plan->recursive == NULL) return VIN_OK;
  double cost = 0;
  VINI_TRY(vini_levels_create(&kkt->swift, &kkt->object, kkt->k, plan->recursive, plan->member,
                              vini_max(SWIFT_PIVOT, kkt->options.pivot_threshold), &cost));
  vini_plan_forget_recursive(plan, &kkt->object.context);
  if (kkt->swift == NULL) return VIN_OK;
  if (kkt->options.order == VIN_ORDER_AUTO && cost > plan->flops) {
    kkt->swift->table->destroy(kkt->swift);
    kkt->swift = NULL;
    return VIN_OK;
  }
  kkt->stats.symbolic++;
  return VIN_OK;
}

vin_status vini_kkt_need_primary(vin_kkt *kkt) {
  if (kkt->primary != NULL) return VIN_OK;
  vin_solver solver =
      kkt->options.solver == VIN_SOLVER_AUTO ? VIN_SOLVER_LDLT : kkt->options.solver;
  VINI_TRY(vini_backend_create(&kkt->primary, &kkt->object, solver, kkt->k, kkt->plan.order));
  kkt->stats.symbolic++;
  if (solver != VIN_SOLVER_LDLT) return VIN_OK;
  kkt->rank = kkt->primary;
  vini_ldlt_set_drop(kkt->primary, kkt->droppable, kkt->options.pivot_threshold);
  return VIN_OK;
}

static vin_status build(vin_kkt *kkt, vin_triplets h, vin_triplets j) {
  int64_t total = 0;
  VINI_TRY(check_options(kkt));
  VINI_TRY(check_patterns(kkt, h, j, &total));
  VINI_TRY(build_matrix(kkt, h, j, (vin_int)total));
  const bool ldlt =
      kkt->options.solver == VIN_SOLVER_AUTO || kkt->options.solver == VIN_SOLVER_LDLT;
  VINI_TRY(vini_plan_create(&kkt->plan, &kkt->object, kkt->k, kkt->n, kkt->m,
                            kkt->options.coordinate_block, kkt->options.constraint_block,
                            ldlt ? kkt->options.order : VIN_ORDER_SCHUR));
  VINI_TRY(build_swift(kkt));
  if (kkt->swift == NULL) VINI_TRY(vini_kkt_need_primary(kkt));
  VINI_TRY(allocate(kkt)); /* not before: the analysis needs much memory for a while */
  if (kkt->swift == NULL && ldlt)
    vini_ldlt_set_drop(kkt->primary, kkt->droppable, kkt->options.pivot_threshold);
  vini_kkt_set_costs(kkt);
  describe(kkt);
  /* the caller's arrays are not ours to keep */
  kkt->options.coordinate_block = kkt->options.constraint_block = NULL;
  kkt->options.compliance.row = kkt->options.compliance.col = NULL;
  return VIN_OK;
}

static void free_content(vin_kkt *kkt) {
  const vin_context *context = &kkt->object.context;
  if (kkt->rank != NULL && kkt->rank != kkt->primary) kkt->rank->table->destroy(kkt->rank);
  if (kkt->fallback != NULL) kkt->fallback->table->destroy(kkt->fallback);
  if (kkt->primary != NULL) kkt->primary->table->destroy(kkt->primary);
  if (kkt->swift != NULL) kkt->swift->table->destroy(kkt->swift);
  kkt->swift = kkt->rank = kkt->fallback = kkt->primary = kkt->active = NULL;
  vin_sparse_destroy(kkt->k);
  kkt->k = NULL;
  vini_plan_destroy(&kkt->plan, context);
  vini_check_destroy(kkt->check, context);
  void *owned[] = {kkt->droppable, kkt->dropped,     kkt->dropped_rows,
                   kkt->pivot,     kkt->pivot_scale, kkt->b,
                   kkt->z,         kkt->r,           kkt->stash,
                   kkt->row_scale, kkt->agreed,      kkt->reuse.correction};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) vini_free(context, owned[i]);
}

vin_status vin_kkt_create(vin_kkt **kkt, const vin_context *context, vin_int n, vin_int m,
                          vin_triplets h, vin_triplets j, const vin_kkt_options *options) {
  VINI_TRY(vini_object_begin((void **)kkt, context, sizeof **kkt));
  vin_kkt *self = *kkt;
  self->n = n;
  self->m = m;
  self->options = vin_kkt_options_default();
  vin_status status =
      options == NULL || vini_options_copy(&self->options, sizeof self->options, options)
          ? build(self, h, j)
          : vini_fail(&self->object, VIN_ERR_BAD_INPUT,
                      "struct_size of the options is wrong: start from vin_kkt_options_default()");
  self->object.created = status;
  if (status != VIN_OK) {
    free_content(self);
    vin_int keep = 0; /* everything but the header is gone */
    memset((char *)self + sizeof self->object, keep, sizeof *self - sizeof self->object);
  }
  return status;
}

void vin_kkt_destroy(vin_kkt *kkt) {
  if (kkt == NULL) return;
  free_content(kkt);
  vini_object_destroy(&kkt->object);
}

const char *vin_kkt_error(const vin_kkt *kkt) {
  return vini_text(kkt == NULL ? NULL : &kkt->object);
}

void vini_kkt_constraint_name(const vin_kkt *kkt, vin_int i, char *text, size_t size) {
  text[0] = '\0';
  if (kkt->options.constraint_name != NULL) {
    kkt->options.constraint_name(kkt->options.name_user, i, text, size);
    text[size - 1] = '\0';
  }
  if (text[0] == '\0') snprintf(text, size, "constraint %d", (int)i);
}

/* NULL keeps the known values; anything else must be finite. */
static vin_status check_values(vin_kkt *kkt, const vini_part *part, const double *values) {
  if (values == NULL) {
    if (part->known || part->count == 0) return VIN_OK;
    return vini_fail(&kkt->object, VIN_ERR_BAD_STATE, "values of %s have not been given yet",
                     part->name);
  }
  int64_t bad = vini_first_nonfinite(values, part->count);
  if (bad < 0) return VIN_OK;
  return vini_fail(&kkt->object, VIN_ERR_BAD_INPUT, "value %lld of %s is %g", (long long)bad,
                   part->name, values[bad]);
}

/* Stores the values of a part. Only sums of entries at one place can still overflow. */
static vin_status scatter(vin_kkt *kkt, vini_part *part, const double *values, double sign) {
  if (values == NULL) return VIN_OK;
  double *value = kkt->k->value;
  const vin_int *slot = kkt->k->slot + part->first;
  if (part->distinct && sign == 1) {
    vini_kkt_place(value, slot, part->count, values);
  } else if (part->distinct) {
    for (vin_int i = 0; i < part->count; i++) value[slot[i]] = sign * values[i];
  } else {
    for (vin_int i = 0; i < part->count; i++) value[slot[i]] = 0;
    for (vin_int i = 0; i < part->count; i++) value[slot[i]] += sign * values[i];
    part->known = false;
    for (vin_int i = 0; i < part->count; i++) {
      if (isfinite(value[slot[i]])) continue;
      return vini_fail(&kkt->object, VIN_ERR_BAD_INPUT,
                       "entries of %s at the place of value %d add up to %g", part->name, (int)i,
                       sign * value[slot[i]]);
    }
  }
  part->known = true;
  return VIN_OK;
}

vin_status vini_kkt_check_values(vin_kkt *kkt, const double *h, const double *j, const double *c) {
  VINI_TRY(check_values(kkt, &kkt->h, h));
  VINI_TRY(check_values(kkt, &kkt->j, j));
  return check_values(kkt, &kkt->c, c);
}

vin_status vini_kkt_set_values(vin_kkt *kkt, const double *h, const double *j, const double *c) {
  VINI_TRY(scatter(kkt, &kkt->h, h, 1));
  VINI_TRY(scatter(kkt, &kkt->j, j, 1));
  return scatter(kkt, &kkt->c, c, -1);
}

vin_status vini_kkt_factor_finite(vin_kkt *kkt, const double *h, const double *j, const double *c) {
  kkt->active = NULL;
  kkt->dropped_count = 0;
  VINI_TRY(vini_kkt_set_values(kkt, h, j, c));
  return vini_kkt_factor_values(kkt);
}

vin_status vin_kkt_factor(vin_kkt *kkt, const double *h, const double *j, const double *c) {
  VINI_TRY(vini_ready(kkt == NULL ? NULL : &kkt->object));
  kkt->active = NULL;
  kkt->dropped_count = 0;
  VINI_TRY(vini_kkt_check_values(kkt, h, j, c));
  return vini_kkt_factor_finite(kkt, h, j, c);
}

vin_kkt_info vin_kkt_get_info(const vin_kkt *kkt) {
  vin_kkt_info info = {.negative_pivots = -1, .min_pivot_ratio = -1, .rcond = -1};
  if (kkt == NULL || kkt->object.created != VIN_OK) return info;
  const vini_backend *first = kkt->swift != NULL ? kkt->swift : kkt->primary;
  const vini_backend *backend = kkt->active != NULL ? kkt->active : first;
  vini_factor_info factor;
  backend->table->info(backend, &factor);
  info.solver = backend->table->solver;
  info.nnz_factor = factor.nnz_factor;
  info.flops = factor.flops;
  info.bytes = factor.bytes +
               (int64_t)sizeof(double) * (kkt->n + (int64_t)kkt->m) * (5 + kkt->columns) +
               vini_check_bytes(kkt->check) +
               (int64_t)(sizeof(double) + sizeof(vin_int)) * kkt->k->start[kkt->n + kkt->m] +
               (int64_t)sizeof(vin_int) * kkt->k->count;
  info.dropped = kkt->dropped_count;
  if (kkt->active != NULL) {
    info.negative_pivots = factor.negative;
    info.min_pivot_ratio = kkt->min_pivot_ratio;
    info.rcond = backend->table->solver == VIN_SOLVER_UMFPACK ? factor.rcond : -1;
  }
  info.force_residual = kkt->force_residual;
  info.constraint_residual = kkt->constraint_residual;
  info.refinements = kkt->refinements;
  return info;
}

vin_solver_stats vin_kkt_get_stats(const vin_kkt *kkt) {
  if (kkt == NULL) return (vin_solver_stats){0};
  return kkt->stats;
}

vin_int vin_kkt_dropped(const vin_kkt *kkt, const vin_int **rows) {
  if (rows != NULL) *rows = kkt == NULL ? NULL : kkt->dropped_rows;
  return kkt == NULL ? 0 : kkt->dropped_count;
}

const char *vin_kkt_describe(const vin_kkt *kkt) {
  return kkt == NULL ? "" : kkt->description;
}

vin_status vin_kkt_write(vin_kkt *kkt, const char *path) {
  VINI_TRY(vini_ready(kkt == NULL ? NULL : &kkt->object));
  char comment[128];
  snprintf(comment, sizeof comment, "vincula: [H J'; J -C], n = %d, m = %d", (int)kkt->n,
           (int)kkt->m);
  vin_status status = vin_matrix_market_write(kkt->k, path, comment);
  if (status != VIN_OK) return vini_fail(&kkt->object, status, "%s", vin_sparse_error(kkt->k));
  return VIN_OK;
}
