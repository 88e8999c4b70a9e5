/* ldlt_pivots - the pivots of ldlt_kernel.c and the magnitudes that were added up to them. The kernel keeps
 * the worst ratio of the two and no list, which long chains would have to write to memory in each step:
 * the few who ask for all of them get them from L and D,
 *     a_kk = d_k + sum L_kj^2 d_j,   scale_k = |a_kk| + sum L_kj^2 |d_j|. */
#include "linsys/ldlt_kernel.h"

#include <math.h>

typedef struct sums {
  double *d;     /* by unknowns: sum L_kj^2 d_j until column k is done, then d_k */
  double *scale; /* the same of magnitudes, then scale_k */
} sums;

/* Pivot k is complete: all columns before it have been added. Returns d_k. Of a dropped one d_k is lost,
 * and what was added up has been kept. */
static double finish(const vini_fronts *x, const sums *s, vin_int column, double inverse) {
  const vin_int unknown = x->plan.order[column];
  const double d = inverse != 0 ? 1 / inverse : 0;
  s->scale[unknown] += fabs(d + s->d[unknown]);
  if (inverse == 0) s->scale[unknown] = x->lost[column];
  s->d[unknown] = d;
  return d;
}

static void add(const sums *s, vin_int unknown, double l, double d) {
  const double term = l * d * l;
  s->d[unknown] += term;
  s->scale[unknown] += fabs(term);
}

static void add_front(const vini_fronts *x, const vini_front *front, const sums *s) {
  const vin_int *own = x->plan.order + front->first, *row = x->plan.row + front->row;
  const vin_int pivots = front->pivots, size = pivots + front->rows;
  const double *inverse = x->value + vini_front_inverse(front);
  for (vin_int k = 0; k < pivots; k++) {
    const double *l = x->value + front->panel + vini_front_column(k, size);
    const double d = finish(x, s, front->first + k, inverse[k]);
    for (vin_int i = k + 1; i < size; i++) {
      add(s, i < pivots ? own[i] : row[i - pivots], l[i - k - 1], d);
    }
  }
}

/* L of a link, by columns, from its panel: row i of column k at l[k][i]; rows 4 to 7 are the next link's. */
static void rod_columns(const double *panel, double l[4][8]) {
  const double *w = panel + VINI_ROD_W, *inverse = panel + VINI_ROD_INVERSE;
  const double *c = panel + VINI_ROD_NODE, *j = panel + VINI_ROD_NEXT;
  const double column[3][3] = {{1, w[0], w[1]}, {0, 1, w[3]}, {0, 0, 1}}; /* of W' */
  l[0][1] = -w[0];
  l[1][2] = -w[3];
  l[2][3] = -w[5];
  l[0][2] = w[3] * w[0] - w[1];
  l[1][3] = w[5] * w[3] - w[4];
  l[0][3] = -(w[2] + w[4] * l[0][1] + w[5] * l[0][2]);
  for (int k = 0; k < 4; k++) { /* B W' / D; W has w[2], w[4], w[5] as its last row */
    const double t[3] = {k < 3 ? column[0][k] : w[2], k < 3 ? column[1][k] : w[4],
                         k < 3 ? column[2][k] : w[5]};
    for (int i = 0; i < 3; i++) l[k][4 + i] = c[i] * t[i] * inverse[k];
    l[k][7] = (j[0] * t[0] + j[1] * t[1] + j[2] * t[2]) * inverse[k];
  }
}

/* of the first of four links at `group` */
static void point_columns(const double *group, double l[4][8]) {
  for (int k = 0; k < 3; k++) {
    l[k][3] = group[POINT_HERE + POINT_LANES * k];
    l[k][7] = group[POINT_NEXT + POINT_LANES * k];
  }
  l[3][7] = group[POINT_ROD];
}

static void add_link(const vini_fronts *x, const vini_front_run *run, vin_int link, const sums *s) {
  const bool rods = run->kind == VINI_FRONT_ROD;
  const int lane = rods ? 0 : link % POINT_LANES, step = rods ? 1 : POINT_LANES;
  const double *panel = x->value + run->panel + (link - lane) * run->panel_step + lane;
  const double *inverse = panel + (rods ? (int)VINI_ROD_INVERSE : (int)POINT_INVERSE);
  double l[4][8] = {{0}};
  vin_int unknown[8];
  for (int half = 0; half < 2; half++) {
    const int64_t at = (int64_t)link + half;
    for (int i = 0; i < 3; i++) {
      unknown[4 * half + i] = (vin_int)(run->node + at * run->node_step + i);
    }
    unknown[4 * half + 3] = (vin_int)(run->rod + at * run->rod_step);
  }
  if (rods) {
    rod_columns(panel, l);
  } else {
    point_columns(panel, l);
  }
  for (int k = 0; k < 4; k++) {
    const double d = finish(x, s, run->first + 4 * link + k, inverse[step * k]);
    for (int i = k + 1; i < 8; i++) add(s, unknown[i], l[k][i], d);
  }
}

void vini_fronts_pivots(const vini_fronts *x, double *d, double *scale) {
  const vini_front_plan *plan = &x->plan;
  const sums s = {d, scale};
  for (vin_int i = 0; i < plan->n; i++) d[i] = scale[i] = 0;
  for (vin_int k = 0; k < plan->block_count; k++) {
    const vini_front_block *block = &plan->block[k];
    for (vin_int link = block->link; block->run >= 0 && link < block->link_end; link++) {
      add_link(x, plan->run + block->run, link, &s);
    }
    for (vin_int f = block->front; f < block->front_end; f++) add_front(x, plan->front + f, &s);
  }
}
