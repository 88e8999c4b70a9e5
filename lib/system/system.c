/* The constrained system: a copy of the user's description, reference counted. */
#include "system/system.h"

#include "sparse/sparse.h"

#include <stdio.h>
#include <string.h>

vin_system_desc vin_system_desc_default(void) {
  vin_system_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.struct_size = sizeof desc;
  return desc;
}

/* Replaces a borrowed pattern by an own copy. */
static vin_status own_triplets(vin_system *system, vin_triplets *pattern) {
  const vin_context *context = &system->object.context;
  vin_int *row = vini_copy(context, pattern->row, (size_t)pattern->count, sizeof *row);
  vin_int *col = vini_copy(context, pattern->col, (size_t)pattern->count, sizeof *col);
  pattern->row = row;
  pattern->col = col;
  if (row == NULL || col == NULL) {
    return vini_fail(&system->object, VIN_ERR_NO_MEMORY, "no memory for a pattern of %d entries",
                     (int)pattern->count);
  }
  return VIN_OK;
}

static vin_status own_blocks(vin_system *system, const vin_int **block, vin_int count) {
  if (*block == NULL) return VIN_OK;
  *block = vini_copy(&system->object.context, *block, (size_t)count, sizeof **block);
  if (*block == NULL) {
    return vini_fail(&system->object, VIN_ERR_NO_MEMORY, "no memory for %d block numbers",
                     (int)count);
  }
  return VIN_OK;
}

static vin_status check_callbacks(vin_system *system, const vin_system_desc *desc) {
  vini_object *object = &system->object;
  const char *missing = desc->mass == NULL                                  ? "mass"
                        : desc->force == NULL                               ? "force"
                        : desc->constraints > 0 && desc->constraint == NULL ? "constraint"
                        : desc->constraints > 0 && desc->jacobian == NULL   ? "jacobian"
                                                                            : NULL;
  if (missing != NULL) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "the %s callback is missing", missing);
  }
  if (desc->constraint_rate != NULL && desc->curvature == NULL) {
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "the curvature callback is missing: a system with constraint_rate needs it");
  }
  if ((desc->force_p != NULL && desc->force_p_pattern.count == 0) ||
      (desc->force_v != NULL && desc->force_v_pattern.count == 0)) {
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "the force_p or force_v callback is given without its pattern");
  }
  return VIN_OK;
}

/* Blocks of rows must be blocks of entries. */
static vin_status check_rows(vini_object *object, const vin_system_desc *desc) {
  const vin_triplets *j = &desc->jacobian_pattern;
  const bool rows = desc->constraint_rows != NULL || desc->jacobian_rows != NULL;
  for (vin_int k = 1; rows && k < j->count; k++) {
    if (j->row[k - 1] <= j->row[k]) continue;
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "a callback for rows is given, but entry %d of the jacobian pattern is in "
                     "row %d, after row %d",
                     (int)k, (int)j->row[k], (int)j->row[k - 1]);
  }
  return VIN_OK;
}

static vin_status check_desc(vin_system *system, const vin_system_desc *desc) {
  vini_object *object = &system->object;
  vin_int n = desc->positions, m = desc->constraints;
  if (n < 1) return vini_fail(object, VIN_ERR_BAD_INPUT, "positions is %d, must be >= 1", (int)n);
  if (m < 0) return vini_fail(object, VIN_ERR_BAD_INPUT, "constraints is %d, must be >= 0", (int)m);
  VINI_TRY(check_callbacks(system, desc));
  VINI_TRY(vini_triplets_check(object, "mass pattern", n, n, desc->mass_pattern,
                               VIN_STORAGE_SYMMETRIC_LOWER));
  VINI_TRY(vini_triplets_check(object, "jacobian pattern", m, n, desc->jacobian_pattern,
                               VIN_STORAGE_GENERAL));
  VINI_TRY(vini_triplets_check(object, "force_p pattern", n, n, desc->force_p_pattern,
                               VIN_STORAGE_GENERAL));
  VINI_TRY(vini_triplets_check(object, "force_v pattern", n, n, desc->force_v_pattern,
                               VIN_STORAGE_GENERAL));
  VINI_TRY(check_rows(object, desc));
  if (desc->flags & VIN_MASS_DIAGONAL) {
    for (vin_int k = 0; k < desc->mass_pattern.count; k++) {
      vin_int row = desc->mass_pattern.row[k], col = desc->mass_pattern.col[k];
      if (row != col) {
        return vini_fail(object, VIN_ERR_BAD_INPUT,
                         "VIN_MASS_DIAGONAL, but entry %d of the mass pattern is (%d, %d)", (int)k,
                         (int)row, (int)col);
      }
    }
  }
  return VIN_OK;
}

static vin_status own_desc(vin_system *system) {
  vin_system_desc *desc = &system->desc;
  /* every pointer is replaced before the first failure is returned, so that none is freed that is
     not ours */
  vin_status status[6] = {own_triplets(system, &desc->mass_pattern),
                          own_triplets(system, &desc->jacobian_pattern),
                          own_triplets(system, &desc->force_p_pattern),
                          own_triplets(system, &desc->force_v_pattern),
                          own_blocks(system, &desc->position_block, system->n),
                          own_blocks(system, &desc->constraint_block, system->m)};
  for (int k = 0; k < 6; k++) VINI_TRY(status[k]);
  return VIN_OK;
}

static void free_triplets(const vin_context *context, vin_triplets *pattern) {
  vini_free(context, (void *)pattern->row);
  vini_free(context, (void *)pattern->col);
  pattern->row = NULL;
  pattern->col = NULL;
}

static void free_content(vin_system *system) {
  const vin_context *context = &system->object.context;
  free_triplets(context, &system->desc.mass_pattern);
  free_triplets(context, &system->desc.jacobian_pattern);
  free_triplets(context, &system->desc.force_p_pattern);
  free_triplets(context, &system->desc.force_v_pattern);
  vini_free(context, (void *)system->desc.position_block);
  vini_free(context, (void *)system->desc.constraint_block);
  memset(&system->desc, 0, sizeof system->desc);
}

vin_status vini_system_build(vin_system *system, const vin_system_desc *desc) {
  VINI_TRY(check_desc(system, desc));
  system->n = desc->positions;
  system->m = desc->constraints;
  system->desc = *desc;
  vin_status status = own_desc(system);
  if (status != VIN_OK) free_content(system);
  return status;
}

/* vini_system_build() for arrays that become the system's own. */
static vin_status adopt(vin_system *system, const vin_system_desc *desc) {
  VINI_TRY(check_desc(system, desc));
  system->n = desc->positions;
  system->m = desc->constraints;
  system->desc = *desc;
  return VIN_OK;
}

static vin_status create(vin_system **system, const vin_context *context,
                         const vin_system_desc *desc,
                         vin_status (*build)(vin_system *, const vin_system_desc *)) {
  vin_system_desc own = vin_system_desc_default();
  bool readable = desc != NULL && vini_options_copy(&own, sizeof own, desc);
  vin_status status = vini_object_begin((void **)system, context, sizeof **system);
  if (status == VIN_OK) {
    vin_system *s = *system;
    atomic_init(&s->references, 1);
    status = readable ? build(s, &own)
                      : vini_fail(&s->object, VIN_ERR_BAD_INPUT,
                                  "the description is NULL or its struct_size is wrong: start from "
                                  "vin_system_desc_default()");
    s->object.created = status;
  } else if (system != NULL && *system != NULL) {
    atomic_init(&(*system)->references, 1);
  }
  if (status != VIN_OK && readable && own.release != NULL) own.release(own.user);
  return status;
}

vin_status vin_system_create(vin_system **system, const vin_context *context,
                             const vin_system_desc *desc) {
  return create(system, context, desc, vini_system_build);
}

vin_status vini_system_create_adopting(vin_system **system, const vin_context *context,
                                       const vin_system_desc *desc) {
  return create(system, context, desc, adopt);
}

vin_system *vin_system_retain(vin_system *system) {
  if (system != NULL) atomic_fetch_add_explicit(&system->references, 1, memory_order_relaxed);
  return system;
}

void vin_system_destroy(vin_system *system) {
  if (system == NULL) return;
  if (atomic_fetch_sub_explicit(&system->references, 1, memory_order_acq_rel) != 1) return;
  if (system->object.created == VIN_OK) {
    void (*release)(void *) = system->desc.release;
    void *user = system->desc.user;
    free_content(system);
    if (release != NULL) release(user);
  }
  vini_object_destroy(&system->object);
}

const char *vin_system_error(const vin_system *system) {
  return vini_text(system == NULL ? NULL : &system->object);
}

vin_int vin_system_positions(const vin_system *system) {
  return system == NULL ? 0 : system->n;
}

vin_int vin_system_constraints(const vin_system *system) {
  return system == NULL ? 0 : system->m;
}

unsigned vin_system_flags(const vin_system *system) {
  return system == NULL ? 0 : system->desc.flags;
}

/* Shared by both kinds of names: the user's callback, or "<kind> 7". */
static void name_of(const char *kind, void (*callback)(void *, vin_int, char *, size_t), void *user,
                    vin_int index, vin_int count, char *text, size_t size) {
  if (text == NULL || size == 0) return;
  text[0] = '\0';
  if (callback != NULL && index >= 0 && index < count) callback(user, index, text, size);
  text[size - 1] = '\0';
  if (text[0] == '\0') snprintf(text, size, "%s %d", kind, (int)index);
}

void vin_system_constraint_name(const vin_system *system, vin_int row, char *text, size_t size) {
  if (system == NULL) {
    name_of("constraint", NULL, NULL, row, 0, text, size);
    return;
  }
  name_of("constraint", system->desc.constraint_name, system->desc.user, row, system->m, text,
          size);
}

void vin_system_position_name(const vin_system *system, vin_int index, char *text, size_t size) {
  if (system == NULL) {
    name_of("position", NULL, NULL, index, 0, text, size);
    return;
  }
  name_of("position", system->desc.position_name, system->desc.user, index, system->n, text, size);
}
