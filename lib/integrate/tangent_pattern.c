/* Pattern of F_p and F_v: what may depend on what. */
#include "integrate/tangent_pattern.h"

#include <string.h>

/* Triplets are counted first, then written. */
typedef struct writer {
  int64_t count;
  vin_int *row, *col; /* NULL: counting */
} writer;

static void put(writer *w, vin_int row, vin_int col) {
  if (w->row != NULL) {
    w->row[w->count] = row;
    w->col[w->count] = col;
  }
  w->count++;
}

static void put_triplets(writer *w, vin_triplets pattern) {
  for (vin_int k = 0; k < pattern.count; k++) put(w, pattern.row[k], pattern.col[k]);
}

static void put_clique(writer *w, const vin_int *member, vin_int count) {
  for (vin_int i = 0; i < count; i++) {
    for (vin_int j = 0; j < count; j++) put(w, member[i], member[j]);
  }
}

/* Each column of `members` is a set of coordinates that all act on each other. */
static void put_cliques(writer *w, const vin_sparse *members) {
  for (vin_int k = 0; k < members->cols; k++) {
    vin_int begin = members->start[k];
    put_clique(w, members->row + begin, members->start[k + 1] - begin);
  }
}

/* i depends on k when a mass couples both to one coordinate j, or to each other. */
static void put_mass_square(writer *w, const vin_sparse *neighbours) {
  put_cliques(w, neighbours);
}

static void put_neighbours(writer *w, const vin_sparse *neighbours) {
  for (vin_int j = 0; j < neighbours->cols; j++) {
    for (vin_int k = neighbours->start[j]; k < neighbours->start[j + 1]; k++) {
      put(w, neighbours->row[k], j);
    }
  }
}

static void put_all(writer *w, const vini_pattern_parts *parts) {
  const vin_system_desc *desc = &parts->system->desc;
  vin_int n = parts->system->n;
  bool dense = n <= VINI_TANGENT_DENSE;
  put_triplets(w, desc->force_p_pattern);
  put_triplets(w, desc->force_v_pattern);
  for (vin_int i = 0; i < n; i++) put(w, i, i);
  put_cliques(w, parts->rows);
  if (parts->guess_mass && !dense) put_mass_square(w, parts->neighbours);
  if (parts->guess_force && !dense) {
    put_neighbours(w, parts->neighbours);
    if (parts->blocks != NULL) put_cliques(w, parts->blocks);
  }
  if (!(parts->guess_mass || parts->guess_force) || !dense) return;
  for (vin_int i = 0; i < n; i++) {
    for (vin_int j = 0; j < n; j++) put(w, i, j);
  }
}

static vin_status no_memory(vini_object *object, vin_int n) {
  return vini_fail(object, VIN_ERR_NO_MEMORY, "no memory for the tangents of %d positions", (int)n);
}

/* The text of a failed matrix becomes that of the object. */
static vin_status create(vin_sparse **matrix, vini_object *object, vin_int rows, vin_int cols,
                         vin_triplets pattern) {
  vin_status status =
      vin_sparse_create(matrix, &object->context, rows, cols, pattern, VIN_STORAGE_GENERAL);
  return status == VIN_OK ? VIN_OK : vini_fail(object, status, "%s", vin_sparse_error(*matrix));
}

/* Both directions of the mass pattern, and the diagonal. */
static vin_status find_neighbours(vini_pattern_parts *parts, vini_object *object) {
  vin_triplets mass = parts->system->desc.mass_pattern;
  vin_int n = parts->system->n;
  int64_t most = 2 * (int64_t)mass.count + n;
  if (most > INT32_MAX) return vini_fail(object, VIN_ERR_TOO_LARGE, "mass pattern too large");
  writer w = {.row = vini_alloc(&object->context, (size_t)most, sizeof(vin_int)),
              .col = vini_alloc(&object->context, (size_t)most, sizeof(vin_int))};
  vin_status status = w.row == NULL || w.col == NULL ? no_memory(object, n) : VIN_OK;
  if (status == VIN_OK) {
    for (vin_int i = 0; i < n; i++) put(&w, i, i);
    for (vin_int k = 0; k < mass.count; k++) {
      put(&w, mass.row[k], mass.col[k]);
      put(&w, mass.col[k], mass.row[k]);
    }
    vin_triplets both = {.count = (vin_int)w.count, .row = w.row, .col = w.col};
    status = create(&parts->neighbours, object, n, n, both);
  }
  vini_free(&object->context, w.row);
  vini_free(&object->context, w.col);
  return status;
}

/* Column b holds the coordinates of block b; numbers outside 0..n-1 stand for no block. */
static vin_status find_blocks(vini_pattern_parts *parts, vini_object *object) {
  const vin_int *block = parts->system->desc.position_block;
  vin_int n = parts->system->n;
  if (block == NULL) return VIN_OK;
  writer w = {.row = vini_alloc(&object->context, (size_t)n, sizeof(vin_int)),
              .col = vini_alloc(&object->context, (size_t)n, sizeof(vin_int))};
  vin_status status = w.row == NULL || w.col == NULL ? no_memory(object, n) : VIN_OK;
  if (status == VIN_OK) {
    for (vin_int i = 0; i < n; i++) {
      if (block[i] >= 0 && block[i] < n) put(&w, i, block[i]);
    }
    vin_triplets members = {.count = (vin_int)w.count, .row = w.row, .col = w.col};
    status = create(&parts->blocks, object, n, n, members);
  }
  vini_free(&object->context, w.row);
  vini_free(&object->context, w.col);
  return status;
}

static vin_status find_parts(vini_pattern_parts *parts, vini_object *object) {
  const vin_system *system = parts->system;
  vin_triplets j = system->desc.jacobian_pattern;
  vin_triplets transposed = {.count = j.count, .row = j.col, .col = j.row};
  VINI_TRY(create(&parts->rows, object, system->n, system->m, transposed));
  VINI_TRY(find_neighbours(parts, object));
  return find_blocks(parts, object);
}

static vin_status compress(vin_sparse **f, vini_object *object, const vini_pattern_parts *parts) {
  writer w = {0};
  vin_int n = parts->system->n;
  put_all(&w, parts);
  if (w.count > INT32_MAX) {
    return vini_fail(
        object, VIN_ERR_TOO_LARGE,
        "the tangents of %d positions take %lld entries, more than the index type "
        "counts: declare force_p_pattern, split constraint rows that join many positions",
        (int)n, (long long)w.count);
  }
  size_t most = (size_t)w.count;
  w = (writer){.row = vini_alloc(&object->context, most, sizeof(vin_int)),
               .col = vini_alloc(&object->context, most, sizeof(vin_int))};
  vin_status status = w.row == NULL || w.col == NULL ? no_memory(object, n) : VIN_OK;
  if (status == VIN_OK) {
    put_all(&w, parts);
    vin_triplets all = {.count = (vin_int)w.count, .row = w.row, .col = w.col};
    status = create(f, object, n, n, all);
  }
  vini_free(&object->context, w.row);
  vini_free(&object->context, w.col);
  return status;
}

vin_status vini_tangent_pattern(vin_sparse **f, vini_object *object, const vin_system *system) {
  const vin_system_desc *desc = &system->desc;
  bool velocity_free = (desc->flags & VIN_FORCE_VELOCITY_FREE) != 0;
  vini_pattern_parts parts = {.system = system,
                              .guess_mass = !(desc->flags & VIN_MASS_CONSTANT),
                              .guess_force = desc->force_p_pattern.count == 0 ||
                                             (desc->force_v_pattern.count == 0 && !velocity_free)};
  vin_status status = find_parts(&parts, object);
  if (status == VIN_OK) status = compress(f, object, &parts);
  vin_sparse_destroy(parts.rows);
  vin_sparse_destroy(parts.neighbours);
  vin_sparse_destroy(parts.blocks);
  return status;
}
