/* colour - greedy colouring of columns: two columns with an entry in one row differ in colour. */
#include "sparse/colour.h"

#include <string.h>

typedef struct painter {
  vin_csc a;
  vin_int *row_start, *row_col; /* the same pattern by rows */
  vin_int *taken;         /* cols: taken[c] == j: colour c is used by a neighbour of column j */
  vin_int *order;         /* cols: which column is coloured when */
  vin_int *colour, *best; /* cols */
  vin_int *next;          /* counting sort: max(rows, cols) + 2 */
} painter;

static void transpose(painter *p) {
  vin_csc a = p->a;
  vin_int count = a.start[a.cols];
  for (vin_int k = 0; k < count; k++) p->row_start[a.row[k] + 1]++;
  for (vin_int i = 0; i < a.rows; i++) p->row_start[i + 1] += p->row_start[i];
  memcpy(p->next, p->row_start, (size_t)a.rows * sizeof *p->next);
  for (vin_int j = 0; j < a.cols; j++) {
    for (vin_int k = a.start[j]; k < a.start[j + 1]; k++) p->row_col[p->next[a.row[k]]++] = j;
  }
}

/* order := the columns by falling number of entries, in their own order where that is equal. */
static void longest_first(painter *p) {
  vin_csc a = p->a;
  memset(p->next, 0, ((size_t)a.rows + 2) * sizeof *p->next);
  for (vin_int j = 0; j < a.cols; j++) p->next[a.rows - (a.start[j + 1] - a.start[j]) + 1]++;
  for (vin_int i = 0; i <= a.rows; i++) p->next[i + 1] += p->next[i];
  for (vin_int j = 0; j < a.cols; j++) {
    p->order[p->next[a.rows - (a.start[j + 1] - a.start[j])]++] = j;
  }
}

/* The neighbours of column j block their colours for it. */
static void block_colours(painter *p, vin_int j) {
  vin_csc a = p->a;
  for (vin_int k = a.start[j]; k < a.start[j + 1]; k++) {
    vin_int i = a.row[k];
    for (vin_int q = p->row_start[i]; q < p->row_start[i + 1]; q++) {
      vin_int c = p->colour[p->row_col[q]];
      if (c >= 0) p->taken[c] = j;
    }
  }
}

/* Colours all columns in p->order; returns the number of colours. */
static vin_int paint(painter *p) {
  vin_int cols = p->a.cols, groups = 0;
  for (vin_int j = 0; j < cols; j++) p->colour[j] = p->taken[j] = -1;
  for (vin_int k = 0; k < cols; k++) {
    vin_int j = p->order[k], c = 0;
    block_colours(p, j);
    while (p->taken[c] == j) c++;
    p->colour[j] = c;
    groups = vini_max_int(groups, c + 1);
  }
  return groups;
}

static vin_int longest_row(const painter *p) {
  vin_int longest = 0;
  for (vin_int i = 0; i < p->a.rows; i++)
    longest = vini_max_int(longest, p->row_start[i + 1] - p->row_start[i]);
  return longest;
}

static vin_int paint_twice(painter *p) {
  for (vin_int j = 0; j < p->a.cols; j++) p->order[j] = j;
  vin_int groups = paint(p);
  memcpy(p->best, p->colour, (size_t)p->a.cols * sizeof *p->best);
  if (groups <= vini_max_int(longest_row(p), 1)) return groups;
  longest_first(p);
  vin_int other = paint(p);
  if (other >= groups) return groups;
  memcpy(p->best, p->colour, (size_t)p->a.cols * sizeof *p->best);
  return other;
}

static void collect(const painter *p, vini_colouring *colouring) {
  vin_int *start = colouring->start, groups = colouring->groups;
  for (vin_int j = 0; j < p->a.cols; j++) start[p->best[j] + 1]++;
  for (vin_int g = 0; g < groups; g++) start[g + 1] += start[g];
  memcpy(p->next, start, (size_t)groups * sizeof *start);
  for (vin_int j = 0; j < p->a.cols; j++) colouring->column[p->next[p->best[j]]++] = j;
}

vin_status vini_colouring_create(vini_colouring *colouring, vini_object *object, vin_csc pattern) {
  const vin_context *context = &object->context;
  size_t rows = (size_t)pattern.rows, cols = (size_t)pattern.cols;
  painter p = {.a = pattern};
  *colouring = (vini_colouring){0};
  p.row_start = vini_alloc(context, rows + 1, sizeof *p.row_start);
  p.row_col = vini_alloc(context, (size_t)pattern.start[pattern.cols], sizeof *p.row_col);
  p.taken = vini_alloc(context, cols + 1, sizeof *p.taken);
  p.order = vini_alloc(context, cols, sizeof *p.order);
  p.colour = vini_alloc(context, cols, sizeof *p.colour);
  p.best = vini_alloc(context, cols, sizeof *p.best);
  p.next = vini_alloc(context, (rows > cols ? rows : cols) + 2, sizeof *p.next);
  colouring->column = vini_alloc(context, cols, sizeof *colouring->column);
  vin_status status = VIN_ERR_NO_MEMORY;
  if (p.row_start && p.row_col && p.taken && p.order && p.colour && p.best && p.next &&
      colouring->column) {
    p.taken[cols] = -1; /* a colour that is always free */
    transpose(&p);
    colouring->groups = paint_twice(&p);
    colouring->start = vini_alloc(context, (size_t)colouring->groups + 1, sizeof *colouring->start);
    if (colouring->start) status = VIN_OK;
  }
  if (status == VIN_OK) collect(&p, colouring);
  vini_free(context, p.row_start);
  vini_free(context, p.row_col);
  vini_free(context, p.taken);
  vini_free(context, p.order);
  vini_free(context, p.colour);
  vini_free(context, p.best);
  vini_free(context, p.next);
  if (status == VIN_OK) return VIN_OK;
  vini_colouring_destroy(colouring, context);
  return vini_fail(object, status, "no memory for the colours of %d columns", (int)pattern.cols);
}

void vini_colouring_destroy(vini_colouring *colouring, const vin_context *context) {
  vini_free(context, colouring->start);
  vini_free(context, colouring->column);
  *colouring = (vini_colouring){0};
}
