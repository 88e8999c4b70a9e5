/* ldlt_front - the plan of the multifrontal LDL': everything that is known before a value is seen.
 *
 * Numbering. "Column k" is a position in the (postordered) elimination order, "unknown" an original
 * index.
 *
 * Fronts. Consecutive columns with (nearly) the same rows below them form a front of `pivots` columns
 * and `rows` rows below. Its panel of L is packed: column k holds the entries below the diagonal only;
 * behind them stand the inverse pivots. It is worked on as a dense square F of leading dimension ld, the sum rounded up to 4 so that vectors of
 * four fit, by columns, lower triangle; places 0 .. pivots - 1 are its columns, then come the rows.
 * What the elimination leaves in the rows' part of F is added to the front of the parent in the tree:
 * row i goes to place rel[i] there. Behind F stand ld numbers: the magnitudes that were added up to the
 * pivots, for the verdict on cancellation.
 *
 * Runs. In a long chain front follows front with everything moved on by a constant: unknowns, entries of
 * the matrix, panels. Such a run is stored as its first front and the steps, so that it costs neither
 * memory nor, in each pass, the reading of lists; the last front of a chain stays a front of its own.
 * The panels of its links have forms of their own, see ldlt_kernel_link.h and ldlt_kernel.h.
 *
 * Blocks. The elimination is cut into pieces of some hundred fronts: a caller that hands over values
 * block by block finds them, and the panels that they become, still in the cache.
 *
 * The squares live in one buffer; their places are assigned at creation, so that memory is reused as
 * soon as a parent has taken an update, and a chain works in the cache. */
#ifndef VINI_LDLT_FRONT_H
#define VINI_LDLT_FRONT_H

#include "linsys/ldlt_tree.h"

/* Fronts of a link in a chain: a node's x, y, z and its rod's multiplier are the pivots.
 *  ROD    massive rods: next node and next rod below; 13 entries by columns: the node's mass, its part in
 *         this rod's row, its coupling to the next node, its part in the next rod's row; last the
 *         diagonal of the multiplier. One child, whose 4 rows are the pivots.
 *  POINT  point masses: next rod below; 10 entries: the node's mass, its parts in both rods' rows; last
 *         the diagonal of the multiplier. No child, or one with a single row, the multiplier. */
typedef enum vini_front_kind { VINI_FRONT_ANY, VINI_FRONT_ROD, VINI_FRONT_POINT } vini_front_kind;

typedef struct vini_front {
  vin_int first, pivots, rows, ld;
  vin_int row;              /* into plan->row, plan->rel */
  vin_int entry, entry_end; /* into plan->source, plan->place */
  vin_int child, sibling;   /* first child, next child of the same parent; -1: none */
  vin_int run;              /* rel[i] = run + i for all rows; -1: not so */
  vini_front_kind kind;     /* what stands in it, where the kernel knows that */
  int64_t panel;            /* into the values of L */
  int64_t square;           /* into the buffer of squares */
} vini_front;

/* Entries of the fronts of a run, at most. */
enum { VINI_RUN_ENTRIES = 13 };

/* What stands where in the panel of a link of rods (ldlt_kernel_link.h), and its size. */
enum {
  VINI_ROD_INVERSE = 0,
  VINI_ROD_W = 4,
  VINI_ROD_NODE = 10,
  VINI_ROD_NEXT = 13,
  VINI_ROD_SIZE = 16
};

/* Numbers of a link in a run of point masses (ldlt_kernel.h), which has them instead of a panel. */
enum { VINI_POINT_NUMBERS = 11 };

/* How the nine entries of a point stand in the matrix: column by column in a row, with this rod's or the next
 * one's part before the other, or in some other way. */
typedef enum vini_nodes {
  VINI_NODES_ANYWHERE,
  VINI_NODES_HERE_FIRST,
  VINI_NODES_NEXT_FIRST
} vini_nodes;

typedef struct vini_front_run {
  vini_front_kind kind;
  vini_nodes nodes; /* of a run of points */
  vin_int count;    /* fronts; of points a multiple of 4 */
  vin_int first;    /* column of the first one; four columns each */
  vin_int before;   /* front that comes next and is the parent of the last one */
  vin_int child;    /* front whose square gives the first one's update and takes the last one's */
  int64_t panel, panel_step;
  int64_t node, node_step; /* unknown x of the first one; y, z follow */
  int64_t rod, rod_step;   /* its multiplier */
  vin_int entry[VINI_RUN_ENTRIES];
  int64_t entry_step, last_step; /* of all but the last entry; of the diagonal of the multiplier */
} vini_front_run;

/* Fronts that are eliminated in a row: first fronts of one run, then fronts of the list. */
typedef struct vini_front_block {
  vin_int run, link, link_end; /* run = -1: none */
  vin_int front, front_end;
} vini_front_block;

typedef struct vini_front_plan {
  vin_int n, front_count; /* fronts outside of runs */
  vini_front *front;
  vin_int run_count, block_count;
  vini_front_run *run; /* ascending in `before` */
  vini_front_block *block;
  vin_int *order;  /* n: unknown of column k */
  vin_int *row;    /* unknowns of the rows below, front by front, in the order of their columns */
  vin_int *rel;    /* their places in the parent's front */
  vin_int *source; /* entry of the matrix, front by front and by place ... */
  vin_int *place;  /* ... and its place in F (row + column * ld) */
  int64_t row_count, entry_count;
  int64_t value_count;  /* numbers of all panels */
  int64_t buffer_count; /* numbers of the buffer of squares */
  vin_int max_front;    /* largest ld */
  int64_t nnz;          /* entries of L below the diagonal, without the zeros of merged fronts */
  double flops;
} vini_front_plan;

/* Where column k of a packed panel of `size` rows starts: columns before it hold size - 1, size - 2, ...
 * numbers. */
static inline int64_t vini_front_column(vin_int k, vin_int size) {
  return (int64_t)k * (size - 1) - (int64_t)k * (k - 1) / 2;
}

/* Where the inverse pivots of a front outside of runs stand. */
static inline int64_t vini_front_inverse(const vini_front *front) {
  return front->panel + vini_front_column(front->pivots, front->pivots + front->rows);
}

/* order: n, NULL: the natural one. *fits: at least `part` of the columns are in fronts that
 * `wanted(pivots, rows)` approves of; otherwise the plan is left empty. */
vin_status vini_front_plan_build(vini_object *object, vini_front_plan *plan,
                                 const vin_sparse *matrix, const vin_int *order,
                                 bool (*wanted)(vin_int pivots, vin_int rows), double part,
                                 bool *fits);
void vini_front_plan_clear(const vin_context *context, vini_front_plan *plan);

/* ldlt_runs.c: takes the runs out of the list of fronts, which is complete but for its squares, and
 * cuts the blocks. parent: front_count. false: no memory. */
bool vini_front_plan_compress(const vin_context *context, vini_front_plan *plan, vin_int *parent);

#endif
