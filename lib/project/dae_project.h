/* dae_project - internal side: a DAE's constraints as those of one or two minimisations. */
#ifndef VINI_DAE_PROJECT_H
#define VINI_DAE_PROJECT_H

#include "dae/dae.h"
#include "vincula/project_dae.h"

/* Which constraints a stage has. */
enum { VINI_PART_G = 1, VINI_PART_H = 2, VINI_PART_C = 4 };

/* One minimisation over the unknowns first .. first + count - 1. Entries of its Jacobian, in this
 * order: those of g, the products of g_x f_y, the change of g_x along the solution, those of c. */
typedef struct vini_dae_stage {
  vin_dae_projector *owner;
  vin_minimiser *minimiser; /* NULL: there is nothing to do */
  int parts;
  vin_int first, count;
  vin_int rows, entries;
  vin_int *g_entry, *h_product, *h_change, *c_entry; /* places in the lists of the owner */
  vin_int g_count, product_count, change_count, c_count;
  vin_int metric_count;
  vin_int *metric_entry; /* triplets of the metric within the stage */
  double *metric_value;
} vini_dae_stage;

struct vin_dae_projector {
  vini_object object;
  vin_dae *dae;
  vini_dae_work work;
  vin_dae_projection_options options; /* patterns point to own copies */
  vin_int n, d, m, k;                 /* unknowns, x, z (and g), invariants */
  bool hidden;                        /* index 2 */
  /* h = g_x f + g_t: its derivative has the products of entries left (of g_x) and right (of f_y) */
  vin_int products;
  vin_int *left, *right;
  vini_dae_stage stage[2];
  int stages;

  double t;
  double *y, *start; /* n: the point, and the one to be projected */
  double *result;    /* n: unknowns of a stage */
  double *at;        /* n: where f, f_t, jacobian are known */
  bool f_known, jacobian_known;
  double *f, *f_t, *moved, *scratch;              /* n */
  double *jacobian, *jacobian_up, *jacobian_down; /* in declared order */
  double *c, *c_values;                           /* k, and the entries of its Jacobian */
  double *residual;                               /* m + m + k: g, h, c */
  vin_status callback_status;                     /* of the evaluation that failed last */
  char callback_text[VINI_TEXT_SIZE];

  vin_dae_projection_policy policy;
  int since; /* steps since the last projection */
  vin_dae_projection_stats stats;
  vin_dae_projection_report last;
};

/* residual := g, h, c at y (n). */
vin_status vini_dae_project_residual(vin_dae_projector *self, const double *y);
/* Rows of a stage at its unknowns x, the others being those of self->y; its Jacobian. */
vin_status vini_dae_stage_constraint(vini_dae_stage *stage, const double *x, double *c);
vin_status vini_dae_stage_jacobian(vini_dae_stage *stage, const double *x, double *values);
/* Name of row i of g, h, c. */
void vini_dae_project_name(const vin_dae_projector *self, vin_int row, char *text, size_t size);
/* Builds the stages. */
vin_status vini_dae_project_stages(vin_dae_projector *self);
void vini_dae_project_free_stages(vin_dae_projector *self);

#endif
