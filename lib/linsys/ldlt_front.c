/* ldlt_front - builds the plan of the multifrontal LDL'; see ldlt_front.h. */
#include "linsys/ldlt_front.h"
#include "linsys/ldlt_pool.h"

#include <stdlib.h>
#include <string.h>

/* Fronts are merged with their parent while the zeros that this stores stay below this part of the
 * panel: generously for small fronts, whose cost is overhead, and sparingly for large ones, whose cost
 * is arithmetic (measured on chains, ladders and nets). */
#define SMALL_PIVOTS 12
#define SMALL_ZEROS 0.22
#define MEDIUM_PIVOTS 32
#define MEDIUM_ZEROS 0.12
#define LARGE_ZEROS 0.05
/* ... and of the column itself: x of a point costs 40 % in a chain, the last of a body's six 42 %, but
 * a column of the next link 44 % and more. */
#define COLUMN_ZEROS 0.43

typedef struct builder {
  vini_object *object;
  const vin_sparse *matrix;
  vini_front_plan *plan;
  vini_ldlt_tree tree;
  vin_int *front_of; /* n: front of a column */
  vin_int *parent;   /* front_count */
  vin_int *mark;     /* n */
} builder;

static vin_status no_memory(const builder *b) {
  return vini_fail(b->object, VIN_ERR_NO_MEMORY,
                   "ldlt: no memory for the plan of %d unknowns, %lld entries of L",
                   (int)b->plan->n, (long long)b->plan->nnz);
}

/* Entries of a trapezoid of c columns with r rows below. */
static double trapezoid(vin_int c, vin_int r) {
  return 0.5 * (double)c * (double)(c + 1) + (double)c * (double)r;
}

/* Is a front of so many pivots, rows below and true entries worth having, of which the column that was
 * added last has `count`? */
static bool worth(vin_int pivots, vin_int below, double used, vin_int count) {
  double zeros = 1.0 - used / trapezoid(pivots, below);
  if (1.0 - (double)count / (double)(pivots + below) > COLUMN_ZEROS) return false;
  if (pivots <= SMALL_PIVOTS) return zeros <= SMALL_ZEROS;
  return zeros <= (pivots <= MEDIUM_PIVOTS ? MEDIUM_ZEROS : LARGE_ZEROS);
}

/* Cuts the columns into fronts, from the last to the first: a column joins the front that begins behind
 * it when its parent is in that front and few zeros come in. Fills front_of with numbers that
 * descend; returns how many there are. */
static vin_int cut(const builder *b) {
  const vini_ldlt_tree *tree = &b->tree;
  vin_int fronts = 0, end = tree->n; /* the open front is [k + 1, end) */
  double used = 0;
  for (vin_int k = tree->n - 1; k >= 0; k--) {
    bool open = k + 1 < end;
    bool parent_inside = open && tree->parent[k] > k && tree->parent[k] < end;
    double with = used + (double)tree->count[k];
    if (parent_inside && worth(end - k, tree->count[end - 1] - 1, with, tree->count[k])) {
      used = with;
    } else {
      fronts++;
      end = k + 1;
      used = (double)tree->count[k];
    }
    b->front_of[k] = fronts - 1;
  }
  return fronts;
}

/* A front may have taken in zeros that a later member makes unnecessary; what counts is the end. */
static vin_status find_fronts(builder *b) {
  const vin_context *context = &b->object->context;
  vini_front_plan *plan = b->plan;
  const vini_ldlt_tree *tree = &b->tree;
  plan->front_count = cut(b);
  plan->front = vini_alloc(context, (size_t)plan->front_count, sizeof *plan->front);
  b->parent = vini_alloc(context, (size_t)plan->front_count, sizeof *b->parent);
  if (plan->front == NULL || b->parent == NULL) return no_memory(b);
  vin_int last = -1;
  for (vin_int k = 0; k < plan->n; k++) {
    vin_int f = plan->front_count - 1 - b->front_of[k];
    b->front_of[k] = f;
    if (f != last) plan->front[f] = (vini_front){.first = k, .child = -1, .sibling = -1};
    last = f;
    plan->front[f].pivots++;
    plan->front[f].rows = tree->count[k] - 1; /* of the last column in the end */
  }
  for (vin_int f = plan->front_count - 1; f >= 0; f--) {
    vin_int end = plan->front[f].first + plan->front[f].pivots;
    vin_int up = tree->parent[end - 1];
    b->parent[f] = up < 0 ? -1 : b->front_of[up];
    if (up < 0) continue;
    plan->front[f].sibling = plan->front[b->parent[f]].child;
    plan->front[b->parent[f]].child = f;
  }
  return VIN_OK;
}

/* Places of row lists, for which 32 bits suffice: they are shorter than L. */
static vin_status place_rows(builder *b) {
  vini_front_plan *plan = b->plan;
  for (vin_int f = 0; f < plan->front_count; f++) {
    vini_front *front = &plan->front[f];
    int64_t size = (int64_t)front->pivots + front->rows;
    if (plan->row_count + front->rows > INT32_MAX || size * front->pivots > INT32_MAX ||
        (size + 4) * (size + 4) > INT32_MAX) {
      return vini_fail(b->object, VIN_ERR_TOO_LARGE,
                       "ldlt: a front of %lld unknowns is too large for 32-bit places",
                       (long long)size);
    }
    front->row = (vin_int)plan->row_count;
    plan->row_count += front->rows;
    front->ld = (vin_int)((size + 3) / 4 * 4);
    plan->max_front = vini_max_int(plan->max_front, front->ld);
  }
  return VIN_OK;
}

static int compare_columns(const void *a, const void *b) {
  vin_int x = *(const vin_int *)a, y = *(const vin_int *)b;
  return x < y ? -1 : x > y;
}

static void sort_columns(vin_int *x, vin_int count) {
  if (count > 24) {
    qsort(x, (size_t)count, sizeof *x, compare_columns);
    return;
  }
  for (vin_int i = 1; i < count; i++) {
    vin_int v = x[i], k = i;
    for (; k > 0 && x[k - 1] > v; k--) x[k] = x[k - 1];
    x[k] = v;
  }
}

/* Rows below each front: those of the matrix's columns and of the children, each once. */
static vin_status find_rows(builder *b) {
  vini_front_plan *plan = b->plan;
  const vini_ldlt_tree *tree = &b->tree;
  for (vin_int k = 0; k < plan->n; k++) b->mark[k] = -1;
  for (vin_int f = 0; f < plan->front_count; f++) {
    vini_front *front = &plan->front[f];
    vin_int end = front->first + front->pivots, count = 0, *row = plan->row + front->row;
    for (vin_int at = tree->start[front->first]; at < tree->start[end]; at++) {
      vin_int i = tree->row[at];
      if (i < end || b->mark[i] == f) continue;
      b->mark[i] = f;
      row[count++] = i;
    }
    for (vin_int c = front->child; c >= 0; c = plan->front[c].sibling) {
      const vini_front *child = &plan->front[c];
      for (vin_int l = 0; l < child->rows; l++) {
        vin_int i = plan->row[child->row + l];
        if (i < end || b->mark[i] == f) continue;
        b->mark[i] = f;
        row[count++] = i;
      }
    }
    if (count != front->rows) {
      return vini_fail(b->object, VIN_ERR_INTERNAL, "ldlt: front %d has %d rows instead of %d",
                       (int)f, (int)count, (int)front->rows);
    }
    sort_columns(row, count);
  }
  return VIN_OK;
}

static void set_run(const vini_front_plan *plan, vini_front *front) {
  const vin_int *rel = plan->rel + front->row;
  front->run = front->rows > 0 ? rel[0] : -1;
  for (vin_int i = 1; i < front->rows; i++) {
    if (rel[i] != rel[0] + i) front->run = -1;
  }
}

/* Places of a front's rows in its parent: both lists ascend. */
static void find_relative(builder *b) {
  vini_front_plan *plan = b->plan;
  for (vin_int f = 0; f < plan->front_count; f++) {
    if (b->parent[f] < 0) continue;
    const vini_front *front = &plan->front[f], *up = &plan->front[b->parent[f]];
    vin_int end = up->first + up->pivots, l = 0;
    const vin_int *up_row = plan->row + up->row;
    for (vin_int i = 0; i < front->rows; i++) {
      vin_int column = plan->row[front->row + i];
      if (column < end) {
        plan->rel[front->row + i] = column - up->first;
        continue;
      }
      while (up_row[l] < column) l++;
      plan->rel[front->row + i] = up->pivots + l;
    }
    set_run(plan, &plan->front[f]);
  }
}

/* Where each entry of the matrix goes; the entries are listed front by front. */
static void place_entries(builder *b) {
  vini_front_plan *plan = b->plan;
  const vin_sparse *a = b->matrix;
  vin_int *next = b->mark; /* front -> next free place of its list; fronts <= n */
  memset(next, 0, (size_t)plan->n * sizeof *next);
  for (int fill = 0; fill < 2; fill++) {
    for (vin_int j = 0; j < plan->n; j++) {
      for (vin_int at = a->start[j]; at < a->start[j + 1]; at++) {
        vin_int x = b->tree.inverse[a->row[at]], y = b->tree.inverse[j];
        vin_int column = vini_min_int(x, y), row = vini_max_int(x, y), f = b->front_of[column];
        if (!fill) {
          next[f]++;
          continue;
        }
        const vini_front *front = &plan->front[f];
        vin_int place = row - front->first;
        if (place >= front->pivots) {
          vin_int low = 0, high = front->rows - 1; /* row is in the list: bisection */
          const vin_int *list = plan->row + front->row;
          while (low < high) {
            vin_int middle = (low + high) / 2;
            if (list[middle] < row) {
              low = middle + 1;
            } else {
              high = middle;
            }
          }
          place = front->pivots + low;
        }
        vin_int to = next[f]++;
        plan->source[to] = at;
        plan->place[to] = place + (column - front->first) * front->ld;
      }
    }
    if (fill) break;
    for (vin_int f = 0, sum = 0; f < plan->front_count; f++) {
      vin_int count = next[f];
      next[f] = plan->front[f].entry = sum;
      sum += count;
      plan->front[f].entry_end = sum;
    }
  }
}

/* Entries of a front in the order of their places (few: insertion). */
static void sort_entries(vini_front_plan *plan, const vini_front *front) {
  for (vin_int e = front->entry + 1; e < front->entry_end; e++) {
    vin_int place = plan->place[e], source = plan->source[e], k = e;
    for (; k > front->entry && plan->place[k - 1] > place; k--) {
      plan->place[k] = plan->place[k - 1];
      plan->source[k] = plan->source[k - 1];
    }
    plan->place[k] = place;
    plan->source[k] = source;
  }
}

/* Places (row + 8 column) of the entries of the known kinds. */
static const vin_int rod_places[] = {0, 3, 4, 7, 9, 11, 13, 15, 18, 19, 22, 23, 27};
static const vin_int point_places[] = {0, 3, 4, 9, 11, 12, 18, 19, 20, 27};

static bool has_places(const vini_front_plan *plan, const vini_front *front, const vin_int *places,
                       size_t bytes) {
  size_t count = (size_t)(front->entry_end - front->entry);
  return count * sizeof *places == bytes && memcmp(plan->place + front->entry, places, bytes) == 0;
}

static void find_kinds(builder *b) {
  vini_front_plan *plan = b->plan;
  for (vin_int f = 0; f < plan->front_count; f++) {
    vini_front *front = &plan->front[f];
    if (front->pivots != 4 || front->ld != 8) continue;
    sort_entries(plan, front);
    const vini_front *child = front->child >= 0 ? &plan->front[front->child] : NULL;
    if (child != NULL && child->sibling >= 0) continue;
    if (front->rows == 4 && child != NULL && child->rows == 4 && child->run == 0 &&
        has_places(plan, front, rod_places, sizeof rod_places)) {
      front->kind = VINI_FRONT_ROD;
    }
    if (front->rows == 1 && (child == NULL || (child->rows == 1 && child->run == 3)) &&
        has_places(plan, front, point_places, sizeof point_places)) {
      front->kind = VINI_FRONT_POINT;
    }
  }
}

/* F and its magnitudes */
static int64_t square_size(const vini_front *front) {
  return ((int64_t)front->ld + 1) * front->ld;
}

/* The first place that fits, in the order of elimination. Children are given back after their parent
 * has got its place, since both are in use at once; a root gives its place back at once. */
static vin_status place_squares(builder *b) {
  vini_front_plan *plan = b->plan;
  const vin_context *context = &b->object->context;
  vini_pool p = {0};
  bool complete = true;
  for (vin_int f = 0; f < plan->front_count && complete; f++) {
    vini_front *front = &plan->front[f];
    front->square = vini_pool_take(&p, square_size(front));
    for (vin_int c = front->child; c >= 0; c = plan->front[c].sibling) {
      const vini_front *child = &plan->front[c];
      complete = complete && vini_pool_give(&p, context, child->square, square_size(child));
    }
    if (b->parent[f] < 0)
      complete = complete && vini_pool_give(&p, context, front->square, square_size(front));
  }
  plan->buffer_count = p.top;
  vini_pool_clear(&p, context);
  return complete ? VIN_OK : no_memory(b);
}

/* Part of the columns in fronts that the kernel wants. */
static double wanted_part(const vini_front_plan *plan, bool (*wanted)(vin_int, vin_int)) {
  int64_t columns = 0;
  for (vin_int f = 0; f < plan->front_count; f++) {
    if (wanted(plan->front[f].pivots, plan->front[f].rows)) columns += plan->front[f].pivots;
  }
  return (double)columns / (double)plan->n;
}

/* Everything behind the cut into fronts. */
static vin_status place_all(builder *b) {
  const vin_context *context = &b->object->context;
  vini_front_plan *plan = b->plan;
  VINI_TRY(place_rows(b));
  plan->entry_count = b->matrix->start[plan->n];
  plan->order = vini_copy(context, b->tree.order, (size_t)plan->n, sizeof *plan->order);
  plan->row = vini_alloc(context, (size_t)plan->row_count, sizeof *plan->row);
  plan->rel = vini_alloc(context, (size_t)plan->row_count, sizeof *plan->rel);
  plan->source = vini_alloc(context, (size_t)plan->entry_count, sizeof *plan->source);
  plan->place = vini_alloc(context, (size_t)plan->entry_count, sizeof *plan->place);
  if (plan->order == NULL || plan->row == NULL || plan->rel == NULL || plan->source == NULL ||
      plan->place == NULL) {
    return no_memory(b);
  }
  VINI_TRY(find_rows(b));
  find_relative(b);
  place_entries(b);
  find_kinds(b);
  /* from here on nobody asks for columns: solves work in the caller's numbering */
  for (int64_t l = 0; l < plan->row_count; l++) plan->row[l] = plan->order[plan->row[l]];
  if (!vini_front_plan_compress(context, plan, b->parent)) return no_memory(b);
  return place_squares(b);
}

static vin_status build(builder *b, bool (*wanted)(vin_int, vin_int), double part, bool *fits) {
  const vin_context *context = &b->object->context;
  vini_front_plan *plan = b->plan;
  size_t n = (size_t)plan->n;
  plan->nnz = b->tree.nnz;
  plan->flops = b->tree.flops;
  b->front_of = vini_alloc(context, n, sizeof *b->front_of);
  b->mark = vini_alloc(context, n, sizeof *b->mark);
  if (b->front_of == NULL || b->mark == NULL) return no_memory(b);
  VINI_TRY(find_fronts(b));
  *fits = wanted_part(plan, wanted) >= part;
  return *fits ? place_all(b) : VIN_OK;
}

vin_status vini_front_plan_build(vini_object *object, vini_front_plan *plan,
                                 const vin_sparse *matrix, const vin_int *order,
                                 bool (*wanted)(vin_int pivots, vin_int rows), double part,
                                 bool *fits) {
  const vin_context *context = &object->context;
  memset(plan, 0, sizeof *plan);
  plan->n = matrix->cols;
  *fits = false;
  builder b = {.object = object, .matrix = matrix, .plan = plan};
  vin_status status = vini_ldlt_tree_build(object, &b.tree, matrix, order);
  if (status == VIN_OK) status = build(&b, wanted, part, fits);
  vini_ldlt_tree_clear(context, &b.tree);
  vini_free(context, b.front_of);
  vini_free(context, b.parent);
  vini_free(context, b.mark);
  if (status != VIN_OK || !*fits) vini_front_plan_clear(context, plan);
  return status;
}
