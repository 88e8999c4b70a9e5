/* The problem object: a copy of the user's description, reference counted. */
#include "dae/dae.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

vin_dae_desc vin_dae_desc_default(void) {
  vin_dae_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.struct_size = sizeof desc;
  return desc;
}

static vin_status check_mass(vin_dae *dae, const vin_dae_desc *desc) {
  vini_object *object = &dae->object;
  vin_int n = desc->unknowns;
  if (desc->residual != NULL)
    return vini_triplets_check(object, "mass pattern", n, n, desc->mass_pattern,
                               VIN_STORAGE_GENERAL);
  VINI_TRY(
      vini_triplets_check(object, "mass pattern", n, n, desc->mass_pattern, VIN_STORAGE_GENERAL));
  if (desc->mass_pattern.count == 0) {
    if (desc->differential >= 0 && desc->differential <= n) return VIN_OK;
    return vini_fail(object, VIN_ERR_BAD_INPUT, "differential is %d, must be 0..%d",
                     (int)desc->differential, (int)n);
  }
  if (desc->differential != 0)
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "differential is %d, must be 0 where mass_pattern is given",
                     (int)desc->differential);
  if (desc->mass_values == NULL)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "mass_values is NULL, %d are needed",
                     (int)desc->mass_pattern.count);
  int64_t bad = vini_first_nonfinite(desc->mass_values, desc->mass_pattern.count);
  if (bad < 0) return VIN_OK;
  return vini_fail(object, VIN_ERR_BAD_INPUT, "entry %lld of mass_values is %g", (long long)bad,
                   desc->mass_values[bad]);
}

static vin_status check_arrays(vin_dae *dae, const vin_dae_desc *desc) {
  vini_object *object = &dae->object;
  for (vin_int j = 0; desc->typical != NULL && j < desc->unknowns; j++) {
    if (desc->typical[j] > 0 && isfinite(desc->typical[j])) continue;
    return vini_fail(object, VIN_ERR_BAD_INPUT, "typical[%d] is %g, must be > 0", (int)j,
                     desc->typical[j]);
  }
  for (vin_int j = 0; desc->index != NULL && j < desc->unknowns; j++) {
    if (desc->index[j] >= 1 && desc->index[j] <= 3) continue;
    return vini_fail(object, VIN_ERR_BAD_INPUT, "index[%d] is %d, must be 1, 2 or 3", (int)j,
                     (int)desc->index[j]);
  }
  for (vin_int j = 0; desc->index != NULL && j < desc->differential; j++) {
    if (desc->index[j] == 1) continue;
    return vini_fail(object, VIN_ERR_BAD_INPUT, "index[%d] is %d, but unknown %d is differential",
                     (int)j, (int)desc->index[j], (int)j);
  }
  if (desc->noise >= 0 && desc->noise < 0.1) return VIN_OK;
  return vini_fail(object, VIN_ERR_BAD_INPUT, "noise is %g, must be in [0, 0.1)", desc->noise);
}

static vin_status check_desc(vin_dae *dae, const vin_dae_desc *desc) {
  vini_object *object = &dae->object;
  vin_int n = desc->unknowns;
  if (n < 1) return vini_fail(object, VIN_ERR_BAD_INPUT, "unknowns is %d, must be >= 1", (int)n);
  if (desc->residual != NULL) {
    VINI_TRY(vini_dae_implicit_check(object, desc));
  } else if (desc->function == NULL) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "the function callback is missing");
  }
  VINI_TRY(check_mass(dae, desc));
  VINI_TRY(vini_triplets_check(object, "jacobian pattern", n, n, desc->jacobian_pattern,
                               VIN_STORAGE_GENERAL));
  return check_arrays(dae, desc);
}

/* Replaces a borrowed array by an own copy; NULL stays NULL. */
static bool own(const vin_context *context, const void **array, vin_int count, size_t size) {
  if (*array == NULL) return true;
  *array = vini_copy(context, *array, (size_t)count, size);
  return *array != NULL;
}

/* B of the semi-explicit form: d ones on the diagonal. */
static bool own_identity(vin_dae *dae, vin_int d) {
  const vin_context *context = &dae->object.context;
  vin_int *row = vini_alloc(context, (size_t)d, sizeof *row);
  double *value = vini_alloc(context, (size_t)d, sizeof *value);
  dae->desc.mass_values = value;
  dae->desc.mass_pattern = (vin_triplets){.count = d, .row = row, .col = row};
  if (row == NULL || value == NULL) return false;
  for (vin_int i = 0; i < d; i++) row[i] = i, value[i] = 1;
  return true;
}

static bool own_triplets(const vin_context *context, vin_triplets *pattern) {
  bool row = own(context, (const void **)&pattern->row, pattern->count, sizeof *pattern->row);
  bool col = own(context, (const void **)&pattern->col, pattern->count, sizeof *pattern->col);
  return row && col;
}

/* Every pointer is replaced before failure is reported, so that none is freed that is not ours. */
static vin_status own_desc(vin_dae *dae) {
  const vin_context *context = &dae->object.context;
  vin_dae_desc *desc = &dae->desc;
  vin_int n = dae->n;
  bool done = own_triplets(context, &desc->jacobian_pattern);
  done &= own(context, (const void **)&desc->typical, n, sizeof *desc->typical);
  done &= own(context, (const void **)&desc->typical_rate, n, sizeof *desc->typical_rate);
  done &= own(context, (const void **)&desc->index, n, sizeof *desc->index);
  if (dae->d >= 0) {
    done &= own_identity(dae, dae->d);
  } else {
    done &= own_triplets(context, &desc->mass_pattern);
    done &= own(context, (const void **)&desc->mass_values, desc->mass_pattern.count,
                sizeof *desc->mass_values);
  }
  if (done) return VIN_OK;
  return vini_fail(&dae->object, VIN_ERR_NO_MEMORY, "no memory for the description of %d unknowns",
                   (int)n);
}

static vin_status compress(vin_dae *dae, vin_sparse **matrix, vin_triplets pattern) {
  vin_status status =
      vin_sparse_create(matrix, &dae->object.context, dae->n, dae->n, pattern, VIN_STORAGE_GENERAL);
  if (status == VIN_OK) return VIN_OK;
  return vini_fail(&dae->object, status, "no memory for a matrix of %d triplets",
                   (int)pattern.count);
}

static void free_content(vin_dae *dae) {
  const vin_context *context = &dae->object.context;
  vin_dae_desc *desc = &dae->desc;
  vini_free(context, (void *)desc->jacobian_pattern.row);
  vini_free(context, (void *)desc->jacobian_pattern.col);
  if (desc->mass_pattern.col != desc->mass_pattern.row)
    vini_free(context, (void *)desc->mass_pattern.col);
  vini_free(context, (void *)desc->mass_pattern.row);
  vini_free(context, (void *)desc->mass_values);
  vini_free(context, (void *)desc->typical);
  vini_free(context, (void *)desc->typical_rate);
  vini_free(context, (void *)desc->index);
  vin_sparse_destroy(dae->mass);
  vin_sparse_destroy(dae->pattern);
  vini_colouring_destroy(&dae->colouring, context);
  vini_colouring_destroy(&dae->rate_colouring, context);
  dae->mass = dae->pattern = NULL;
  memset(desc, 0, sizeof *desc);
}

static vin_status fill(vin_dae *dae) {
  VINI_TRY(own_desc(dae));
  VINI_TRY(compress(dae, &dae->mass, dae->desc.mass_pattern));
  if (dae->implicit) {
    VINI_TRY(compress(dae, &dae->pattern, dae->desc.jacobian_pattern));
    if (dae->desc.residual_y == NULL)
      VINI_TRY(vini_colouring_create(&dae->colouring, &dae->object, vin_sparse_view(dae->pattern)));
    if (dae->desc.residual_yp != NULL) return VIN_OK;
    return vini_colouring_create(&dae->rate_colouring, &dae->object, vin_sparse_view(dae->mass));
  }
  vini_sparse_scatter(dae->mass, dae->desc.mass_values);
  vin_csc b = vin_sparse_view(dae->mass);
  if (vini_first_nonfinite(b.value, b.start[b.cols]) >= 0)
    return vini_fail(&dae->object, VIN_ERR_BAD_INPUT,
                     "the sum of mass_values at one place overflows");
  VINI_TRY(compress(dae, &dae->pattern, dae->desc.jacobian_pattern));
  if (dae->desc.jacobian != NULL) return VIN_OK;
  return vini_colouring_create(&dae->colouring, &dae->object, vin_sparse_view(dae->pattern));
}

static vin_status build(vin_dae *dae, const vin_dae_desc *desc) {
  VINI_TRY(check_desc(dae, desc));
  dae->n = desc->unknowns;
  dae->implicit = desc->residual != NULL;
  dae->d = dae->implicit || desc->mass_pattern.count > 0 ? -1 : desc->differential;
  dae->index = 1;
  for (vin_int j = 0; desc->index != NULL && j < dae->n; j++)
    dae->index = vini_max_int(dae->index, desc->index[j]);
  dae->desc = *desc;
  vin_status status = fill(dae);
  if (status != VIN_OK) free_content(dae);
  return status;
}

vin_status vin_dae_create(vin_dae **dae, const vin_context *context, const vin_dae_desc *desc) {
  vin_dae_desc given = vin_dae_desc_default();
  bool readable = desc != NULL && vini_options_copy(&given, sizeof given, desc);
  vin_status status = vini_object_begin((void **)dae, context, sizeof **dae);
  if (dae != NULL && *dae != NULL) atomic_init(&(*dae)->references, 1);
  if (status == VIN_OK) {
    status = readable ? build(*dae, &given)
                      : vini_fail(&(*dae)->object, VIN_ERR_BAD_INPUT,
                                  "the description is NULL or its struct_size is wrong: start from "
                                  "vin_dae_desc_default()");
    (*dae)->object.created = status;
  }
  if (status != VIN_OK && readable && given.release != NULL) given.release(given.user);
  return status;
}

vin_dae *vin_dae_retain(vin_dae *dae) {
  if (dae != NULL) atomic_fetch_add_explicit(&dae->references, 1, memory_order_relaxed);
  return dae;
}

void vin_dae_destroy(vin_dae *dae) {
  if (dae == NULL) return;
  if (atomic_fetch_sub_explicit(&dae->references, 1, memory_order_acq_rel) != 1) return;
  if (dae->object.created == VIN_OK) {
    void (*release)(void *) = dae->desc.release;
    void *user = dae->desc.user;
    free_content(dae);
    if (release != NULL) release(user);
  }
  vini_object_destroy(&dae->object);
}

const char *vin_dae_error(const vin_dae *dae) {
  return vini_text(dae == NULL ? NULL : &dae->object);
}

static bool ready(const vin_dae *dae) {
  return dae != NULL && dae->object.created == VIN_OK;
}

vin_int vin_dae_unknowns(const vin_dae *dae) {
  return ready(dae) ? dae->n : 0;
}

vin_int vin_dae_differential(const vin_dae *dae) {
  return ready(dae) ? dae->d : 0;
}

int vin_dae_implicit(const vin_dae *dae) {
  return ready(dae) && dae->implicit;
}

vin_int vin_dae_index(const vin_dae *dae) {
  return ready(dae) ? dae->index : 0;
}

vin_int vin_dae_colours(const vin_dae *dae) {
  return ready(dae) ? dae->colouring.groups : 0;
}

/* Shared by both kinds of names: the user's callback, or "<kind> 7". */
static void name_of(const vin_dae *dae, const char *kind,
                    void (*callback)(void *, vin_int, char *, size_t), vin_int index, char *text,
                    size_t size) {
  if (text == NULL || size == 0) return;
  text[0] = '\0';
  if (callback != NULL && index >= 0 && index < dae->n) callback(dae->desc.user, index, text, size);
  text[size - 1] = '\0';
  if (text[0] == '\0') snprintf(text, size, "%s %d", kind, (int)index);
}

void vin_dae_unknown_name(const vin_dae *dae, vin_int index, char *text, size_t size) {
  name_of(dae, "unknown", ready(dae) ? dae->desc.unknown_name : NULL, index, text, size);
}

void vin_dae_equation_name(const vin_dae *dae, vin_int row, char *text, size_t size) {
  name_of(dae, "equation", ready(dae) ? dae->desc.equation_name : NULL, row, text, size);
}
