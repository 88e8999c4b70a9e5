/* Blocks of coordinates that are found from the patterns alone: points and rigid bodies. */
#include "kkt/plan.h"

#include <string.h>

/* Largest block: a rigid body with directors. Larger runs of coordinates with equal neighbours are legal but
 * gain nothing. */
#define LARGEST 12

/* Ranges of coordinates that H couples among themselves and with no others (the rotation of a rigid
 * body): first[j] is the first of j's range. Ranges above the limit are left alone: eliminating a chain of
 * massive rods at once would fill everything. */
static void find_ranges(const vini_blocks *b, const vin_sparse *k, vin_int *first) {
  vin_int begin = 0, end = 0; /* of the range that is open: begin .. end */
  for (vin_int j = 0; j <= b->n; j++) {
    if (j > end || j == b->n) {
      const bool small = end - begin < LARGEST;
      for (vin_int i = begin; i < j; i++) first[i] = small ? begin : i;
      begin = end = j;
    }
    if (j == b->n) break;
    for (vin_int at = k->start[j]; at < k->start[j + 1] && k->row[at] < b->n; at++) {
      end = vini_max_int(end, k->row[at]);
    }
  }
}

static vin_int end_of(const vini_blocks *b, const vin_int *first, vin_int j) {
  vin_int end = j + 1;
  while (end < b->n && first[end] == first[j]) end++;
  return end;
}

/* Are i and j in the same (one or more) constraints? */
static bool equal(const vini_blocks *b, const vin_sparse *k, vin_int i, vin_int j) {
  const vin_int at_i = vini_jacobian_begin(k, b->n, i), at_j = vini_jacobian_begin(k, b->n, j);
  const vin_int count = k->start[j + 1] - at_j;
  return count > 0 && count == k->start[i + 1] - at_i &&
         memcmp(k->row + at_i, k->row + at_j, (size_t)count * sizeof *k->row) == 0;
}

/* first[j] becomes the first coordinate of j's block: consecutive coordinates in the same constraints form one,
 * and so do those of a range. A range goes with the coordinates before it when all of it is in their
 * constraints: x, y, z and the rotation of a body on tethers. */
static void find_equal(const vini_blocks *b, const vin_sparse *k, vin_int *first) {
  for (vin_int j = 0, end; j < b->n; j = end) {
    end = end_of(b, first, j);
    bool joins = j > 0 && end - first[j - 1] <= LARGEST;
    for (vin_int i = j; joins && i < end; i++) joins = equal(b, k, j - 1, i);
    for (vin_int i = j; joins && i < end; i++) first[i] = first[j - 1];
  }
}

/* Number of constraints on coordinates begin .. end - 1; mark (m) is `stamp` for them afterwards. */
static vin_int mark_rows(const vini_blocks *b, const vin_sparse *k, vin_int begin, vin_int end,
                         vin_int *mark, vin_int stamp) {
  vin_int count = 0;
  for (vin_int j = begin; j < end; j++) {
    for (vin_int at = vini_jacobian_begin(k, b->n, j); at < k->start[j + 1]; at++) {
      vin_int *m = &mark[k->row[at] - b->n];
      count += *m != stamp;
      *m = stamp;
    }
  }
  return count;
}

/* How many constraints there are on coordinates begin .. end - 1, when those on coordinate j are all among
 * them and a block has room for all; INT32_MAX otherwise. */
static vin_int company(const vini_blocks *b, const vin_sparse *k, vin_int j, vin_int begin,
                       vin_int end, vin_int *mark, vin_int *stamp) {
  const vin_int first = vini_jacobian_begin(k, b->n, j);
  if (begin >= end || end - begin >= LARGEST || first == k->start[j + 1]) return INT32_MAX;
  const vin_int count = mark_rows(b, k, begin, end, mark, ++*stamp);
  for (vin_int at = first; at < k->start[j + 1]; at++) {
    if (mark[k->row[at] - b->n] != *stamp) return INT32_MAX;
  }
  return count;
}

/* A single coordinate whose constraints are all on the block beside it belongs to it: x, y, z of a body whose
 * rotation is a range. Where both sides would do, the one with fewer constraints is its own. From right to left
 * for blocks behind, then from left to right for blocks before. */
static void join_singles(const vini_blocks *b, const vin_sparse *k, vin_int *first, vin_int *mark) {
  vin_int stamp = 0;
  for (vin_int j = b->n - 2; j >= 0; j--) {
    if (first[j] != j || first[j + 1] == j) continue;
    const vin_int end = end_of(b, first, j + 1);
    const vin_int behind = company(b, k, j, j + 1, end, mark, &stamp);
    if (behind == INT32_MAX) continue;
    if (j > 0 && company(b, k, j, first[j - 1], j, mark, &stamp) < behind) continue;
    for (vin_int i = j + 1; i < end; i++) first[i] = j;
  }
  for (vin_int j = 1; j < b->n; j++) {
    if (first[j] != j || (j + 1 < b->n && first[j + 1] == j)) continue;
    if (company(b, k, j, first[j - 1], j, mark, &stamp) < INT32_MAX) first[j] = first[j - 1];
  }
}

vin_status vini_find_coordinate_blocks(vini_blocks *b, vini_object *object, const vin_sparse *k) {
  const vin_context *context = &object->context;
  vin_int *first = vini_alloc(context, (size_t)b->n, sizeof *first);
  vin_int *mark = vini_alloc(context, (size_t)b->m, sizeof *mark);
  vin_status status = VIN_OK;
  if (first == NULL || mark == NULL) {
    status = vini_fail(object, VIN_ERR_NO_MEMORY,
                       "no memory for the ordering of the saddle-point system");
  } else {
    find_ranges(b, k, first);
    find_equal(b, k, first);
    join_singles(b, k, first, mark);
    b->nb = 0;
    for (vin_int j = 0; j < b->n; j++) {
      b->nb += first[j] == j;
      b->of_coordinate[j] = b->nb - 1;
    }
  }
  vini_free(context, first);
  vini_free(context, mark);
  return status;
}
