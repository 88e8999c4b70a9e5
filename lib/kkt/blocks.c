/* Blocks of unknowns: a node's coordinates, a joint's multipliers. Given by the user or found. */
#include "kkt/plan.h"

#include <stdlib.h>
#include <string.h>

/* Largest blocks that are found automatically: a weld's rows. Larger runs with equal neighbours are legal but
 * gain nothing. */
#define LARGEST_FOUND_CONSTRAINTS 6

static vin_status no_memory(vini_object *object) {
  return vini_fail(object, VIN_ERR_NO_MEMORY,
                   "no memory for the ordering of the saddle-point system");
}

static int compare_pairs(const void *a, const void *b) {
  const vin_int *x = a, *y = b;
  if (x[0] != y[0]) return x[0] < y[0] ? -1 : 1;
  return x[1] < y[1] ? -1 : x[1] > y[1];
}

/* Renumbers block numbers that do not descend to 0, 1, ...; returns how many there are. */
static vin_int renumber_ascending(const vin_int *given, vin_int count, vin_int *block) {
  vin_int next = 0;
  for (vin_int i = 0; i < count; i++) {
    next += i > 0 && given[i] != given[i - 1];
    block[i] = next;
  }
  return count > 0 ? next + 1 : 0;
}

/* Renumbers arbitrary block numbers to 0, 1, ... in the order of first appearance. */
static vin_status renumber(vini_object *object, const vin_int *given, vin_int count, vin_int *block,
                           vin_int *blocks) {
  vin_int ascending = 1;
  while (ascending < count && given[ascending - 1] <= given[ascending]) ascending++;
  if (ascending >= count) {
    *blocks = renumber_ascending(given, count, block);
    return VIN_OK;
  }
  vin_int(*pair)[2] = vini_alloc(&object->context, (size_t)count, sizeof *pair);
  if (pair == NULL) return no_memory(object);
  for (vin_int i = 0; i < count; i++) {
    pair[i][0] = given[i];
    pair[i][1] = i;
  }
  qsort(pair, (size_t)count, sizeof *pair, compare_pairs);
  /* the first member of each run represents it; then representatives are numbered as they appear */
  for (vin_int i = 0, first = 0; i < count; i++) {
    if (pair[i][0] != pair[first][0]) first = i;
    block[pair[i][1]] = pair[first][1];
  }
  vin_int next = 0;
  for (vin_int i = 0; i < count; i++) block[i] = block[i] == i ? next++ : block[block[i]];
  *blocks = next;
  vini_free(&object->context, pair);
  return VIN_OK;
}

/* start, list: members of each block, ascending (counting sort). start has blocks + 1 entries. */
static void collect(const vin_int *block_of, vin_int count, vin_int blocks, vin_int *start,
                    vin_int *list) {
  memset(start, 0, ((size_t)blocks + 1) * sizeof *start);
  for (vin_int i = 0; i < count; i++) start[block_of[i] + 1]++;
  for (vin_int b = 0; b < blocks; b++) start[b + 1] += start[b];
  for (vin_int i = 0; i < count; i++) list[start[block_of[i]]++] = i;
  for (vin_int b = blocks; b > 0; b--) start[b] = start[b - 1];
  start[0] = 0;
}

/* Rows of J as lists of coordinate blocks, without consecutive repetitions. */
static vin_status row_lists(vini_object *object, const vini_blocks *b, const vin_sparse *k,
                            vin_int **start_out, vin_int **list_out) {
  vin_int *start = vini_alloc(&object->context, (size_t)b->m + 1, sizeof *start);
  vin_int *last = vini_alloc(&object->context, (size_t)b->m, sizeof *last);
  vin_int *list = vini_alloc(&object->context, (size_t)k->start[b->n], sizeof *list);
  *start_out = start;
  *list_out = list;
  if (start == NULL || last == NULL || list == NULL) {
    vini_free(&object->context, last);
    return no_memory(object);
  }
  for (int fill = 0; fill < 2; fill++) {
    for (vin_int i = 0; i < b->m; i++) last[i] = -1;
    for (vin_int j = 0; j < b->n; j++) {
      vin_int block = b->of_coordinate[j];
      for (vin_int at = vini_jacobian_begin(k, b->n, j); at < k->start[j + 1]; at++) {
        vin_int i = k->row[at] - b->n;
        if (last[i] == block) continue;
        last[i] = block;
        if (fill) {
          list[start[i]++] = block;
        } else {
          start[i + 1]++;
        }
      }
    }
    if (!fill) {
      for (vin_int i = 0; i < b->m; i++) start[i + 1] += start[i];
    }
  }
  for (vin_int i = b->m; i > 0; i--) start[i] = start[i - 1];
  start[0] = 0;
  vini_free(&object->context, last);
  return VIN_OK;
}

/* Consecutive constraints between the same coordinate blocks form a block. */
static vin_status find_constraint_blocks(vini_blocks *b, vini_object *object, const vin_sparse *k) {
  vin_int *start = NULL, *list = NULL;
  vin_status status = row_lists(object, b, k, &start, &list);
  vin_int block = -1, size = 0;
  for (vin_int i = 0; status == VIN_OK && i < b->m; i++) {
    vin_int count = start[i + 1] - start[i];
    bool joins = i > 0 && count > 0 && count == start[i] - start[i - 1] &&
                 size < LARGEST_FOUND_CONSTRAINTS &&
                 memcmp(list + start[i], list + start[i - 1], (size_t)count * sizeof *list) == 0;
    if (!joins) {
      block++;
      size = 0;
    }
    b->of_constraint[i] = block;
    size++;
  }
  b->mb = block + 1;
  vini_free(&object->context, start);
  vini_free(&object->context, list);
  return status;
}

/* touch: constraint blocks of each coordinate block, each once. */
static vin_status find_touches(vini_blocks *b, vini_object *object, const vin_sparse *k) {
  const vin_context *context = &object->context;
  vin_int *mark = vini_alloc(context, (size_t)b->mb, sizeof *mark);
  b->touch_start = vini_alloc(context, (size_t)b->nb + 1, sizeof *b->touch_start);
  b->touch = vini_alloc(context, (size_t)k->start[b->n], sizeof *b->touch);
  b->lean_start = vini_alloc(context, (size_t)b->mb + 1, sizeof *b->lean_start);
  if (mark == NULL || b->touch_start == NULL || b->touch == NULL || b->lean_start == NULL) {
    vini_free(context, mark);
    return no_memory(object);
  }
  for (vin_int c = 0; c < b->mb; c++) mark[c] = -1;
  vin_int count = 0;
  for (vin_int block = 0; block < b->nb; block++) {
    b->touch_start[block] = count;
    for (vin_int l = b->coordinate_start[block]; l < b->coordinate_start[block + 1]; l++) {
      vin_int j = b->coordinate_list[l];
      for (vin_int at = vini_jacobian_begin(k, b->n, j); at < k->start[j + 1]; at++) {
        vin_int c = b->of_constraint[k->row[at] - b->n];
        if (mark[c] == block) continue;
        mark[c] = block;
        b->touch[count++] = c;
        b->lean_start[c + 1]++;
      }
    }
  }
  b->touch_start[b->nb] = count;
  vini_free(context, mark);
  /* lean: the transposed lists */
  b->lean = vini_alloc(context, (size_t)count, sizeof *b->lean);
  if (b->lean == NULL) return no_memory(object);
  for (vin_int c = 0; c < b->mb; c++) b->lean_start[c + 1] += b->lean_start[c];
  for (vin_int block = 0; block < b->nb; block++) {
    for (vin_int l = b->touch_start[block]; l < b->touch_start[block + 1]; l++) {
      b->lean[b->lean_start[b->touch[l]]++] = block;
    }
  }
  for (vin_int c = b->mb; c > 0; c--) b->lean_start[c] = b->lean_start[c - 1];
  b->lean_start[0] = 0;
  return VIN_OK;
}

vin_status vini_blocks_create(vini_blocks *b, vini_object *object, const vin_sparse *k, vin_int n,
                              vin_int m, const vin_int *coordinate_block,
                              const vin_int *constraint_block) {
  const vin_context *context = &object->context;
  memset(b, 0, sizeof *b);
  b->n = n;
  b->m = m;
  b->of_coordinate = vini_alloc(context, (size_t)n, sizeof(vin_int));
  b->of_constraint = vini_alloc(context, (size_t)m, sizeof(vin_int));
  b->coordinate_list = vini_alloc(context, (size_t)n, sizeof(vin_int));
  b->constraint_list = vini_alloc(context, (size_t)m, sizeof(vin_int));
  b->coordinate_start = vini_alloc(context, (size_t)n + 1, sizeof(vin_int));
  b->constraint_start = vini_alloc(context, (size_t)m + 1, sizeof(vin_int));
  if (b->of_coordinate == NULL || b->of_constraint == NULL || b->coordinate_list == NULL ||
      b->constraint_list == NULL || b->coordinate_start == NULL || b->constraint_start == NULL) {
    return no_memory(object);
  }
  if (coordinate_block != NULL) {
    VINI_TRY(renumber(object, coordinate_block, n, b->of_coordinate, &b->nb));
  } else {
    VINI_TRY(vini_find_coordinate_blocks(b, object, k));
  }
  if (constraint_block != NULL) {
    VINI_TRY(renumber(object, constraint_block, m, b->of_constraint, &b->mb));
  } else {
    VINI_TRY(find_constraint_blocks(b, object, k));
  }
  collect(b->of_coordinate, n, b->nb, b->coordinate_start, b->coordinate_list);
  collect(b->of_constraint, m, b->mb, b->constraint_start, b->constraint_list);
  return find_touches(b, object, k);
}

void vini_blocks_destroy(vini_blocks *b, const vin_context *context) {
  vini_free(context, b->of_coordinate);
  vini_free(context, b->of_constraint);
  vini_free(context, b->coordinate_start);
  vini_free(context, b->coordinate_list);
  vini_free(context, b->constraint_start);
  vini_free(context, b->constraint_list);
  vini_free(context, b->touch_start);
  vini_free(context, b->touch);
  vini_free(context, b->lean_start);
  vini_free(context, b->lean);
  memset(b, 0, sizeof *b);
}
