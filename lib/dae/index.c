/* Whether the declared index 1 is true at a point: theory (D2), by a rank-revealing QR. */
#include "dae/dae.h"
#include "linsys/linsys.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define RANK_TOLERANCE 1e-10 /* of a column's length; QR of scaled rows tells 1e-14 from zero */

typedef struct ranker {
  const vin_dae *dae;
  vini_object local;
  double *values;     /* f_y */
  const double *mass; /* B */
  double *rates;      /* F_y' of the general form */
  double *scale;      /* n: 1 / largest entry of each equation, B and c f_y together */
  vin_int *row, *col; /* triplets of the tested matrix */
  double *entry;
  unsigned char *dependent; /* 2 n */
  double tolerance;
} ranker;

static bool ranker_allocate(ranker *r) {
  const vin_context *context = &r->local.context;
  const vin_dae_desc *desc = &r->dae->desc;
  size_t n = (size_t)r->dae->n, a = (size_t)desc->jacobian_pattern.count;
  size_t triplets = a + 2 * (size_t)desc->mass_pattern.count;
  r->values = vini_alloc(context, a, sizeof *r->values);
  r->scale = vini_alloc(context, n, sizeof *r->scale);
  r->row = vini_alloc(context, triplets, sizeof *r->row);
  r->col = vini_alloc(context, triplets, sizeof *r->col);
  r->entry = vini_alloc(context, triplets, sizeof *r->entry);
  r->dependent = vini_alloc(context, 2 * n, 1);
  return r->values && r->scale && r->row && r->col && r->entry && r->dependent;
}

static void ranker_free(ranker *r) {
  const vin_context *context = &r->local.context;
  vini_free(context, r->values);
  vini_free(context, r->rates);
  vini_free(context, r->scale);
  vini_free(context, r->row);
  vini_free(context, r->col);
  vini_free(context, r->entry);
  vini_free(context, r->dependent);
}

/* Rank of size x size triplets, and the first dependent column. */
static vin_status rank_of(ranker *r, vin_int size, vin_int count, vin_int *rank, vin_int *first) {
  vin_sparse *matrix = NULL;
  vin_triplets pattern = {.count = count, .row = r->row, .col = r->col};
  vin_status status =
      vin_sparse_create(&matrix, &r->local.context, size, size, pattern, VIN_STORAGE_GENERAL);
  if (status != VIN_OK) vini_fail(&r->local, status, "no memory for a matrix of the rank test");
  if (status == VIN_OK) {
    vini_sparse_scatter(matrix, r->entry);
    status = vini_dependent_columns(&r->local, vin_sparse_view(matrix), r->tolerance, r->dependent,
                                    rank);
  }
  vin_sparse_destroy(matrix);
  *first = -1;
  for (vin_int j = size - 1; status == VIN_OK && j >= 0; j--)
    if (r->dependent[j]) *first = j;
  return status;
}

/* The rows and columns of f_y from `skip` on, rows scaled to largest entry 1. */
static vin_int block_of_jacobian(ranker *r, vin_int skip) {
  vin_triplets p = r->dae->desc.jacobian_pattern;
  vin_int count = 0;
  for (vin_int k = 0; k < p.count; k++) {
    if (p.row[k] < skip || p.col[k] < skip) continue;
    double *scale = &r->scale[p.row[k]];
    *scale = vini_max(*scale, fabs(r->values[k]));
    r->row[count] = p.row[k] - skip;
    r->col[count] = p.col[k] - skip;
    r->entry[count++] = r->values[k];
  }
  for (vin_int k = 0; k < count; k++) {
    double scale = r->scale[r->row[k] + skip];
    if (scale > 0) r->entry[k] /= scale;
  }
  return count;
}

/* The copy of B at (row, col), rows scaled. */
static vin_int add_mass(ranker *r, vin_int count, vin_int row, vin_int col) {
  vin_triplets b = r->dae->desc.mass_pattern;
  for (vin_int k = 0; k < b.count; k++, count++) {
    double scale = r->scale[b.row[k]];
    r->row[count] = b.row[k] + row;
    r->col[count] = b.col[k] + col;
    r->entry[count] = scale > 0 ? r->mass[k] / scale : 0;
  }
  return count;
}

/* [B 0; c f_y B] with c chosen so that B and c f_y are of one size. */
static vin_status pencil(ranker *r, vin_int *rank, vin_int *full, vin_int *first) {
  const vin_dae_desc *desc = &r->dae->desc;
  vin_triplets a = desc->jacobian_pattern, b = desc->mass_pattern;
  double size_a = vini_max_abs(r->values, a.count), size_b = vini_max_abs(r->mass, b.count);
  double c = size_a > 0 && size_b > 0 ? size_b / size_a : 1;
  for (vin_int k = 0; k < a.count; k++)
    r->scale[a.row[k]] = vini_max(r->scale[a.row[k]], c * fabs(r->values[k]));
  for (vin_int k = 0; k < b.count; k++)
    r->scale[b.row[k]] = vini_max(r->scale[b.row[k]], fabs(r->mass[k]));
  vin_int n = r->dae->n, count = add_mass(r, 0, 0, 0), ignored;
  VINI_TRY(rank_of(r, n, count, rank, &ignored));
  *full = n + *rank;
  count = add_mass(r, count, n, n);
  for (vin_int k = 0; k < a.count; k++, count++) {
    double scale = r->scale[a.row[k]];
    r->row[count] = a.row[k] + n;
    r->col[count] = a.col[k];
    r->entry[count] = scale > 0 ? c * r->values[k] / scale : 0;
  }
  VINI_TRY(rank_of(r, 2 * n, count, rank, first));
  if (*first >= n) *first = -1; /* n - rank B columns may depend on others anyway */
  return VIN_OK;
}

static vin_status algebraic(ranker *r, vin_int *rank, vin_int *full, vin_int *first) {
  vin_int d = r->dae->d;
  *full = r->dae->n - d;
  if (*full == 0) return VIN_OK;
  VINI_TRY(rank_of(r, *full, block_of_jacobian(r, d), rank, first));
  if (*first >= 0) *first += d;
  return VIN_OK;
}

static vin_status verdict(const ranker *r, double t, vin_dae_index_report *report) {
  char name[96], column[160] = "", *text = report->text;
  size_t size = sizeof report->text;
  const char *matrix = r->dae->d >= 0 ? "g_z" : "[B 0; f_y B]";
  if (report->rank >= report->full) {
    report->dependent = -1;
    snprintf(text, size, "index 1 or 0: %s has rank %d at t = %g", matrix, (int)report->full, t);
    return VIN_OK;
  }
  if (report->dependent >= 0) {
    vin_dae_unknown_name(r->dae, report->dependent, name, sizeof name);
    snprintf(column, sizeof column, "; the column of %s depends on others", name);
  }
  return vini_fail_text(text, size, VIN_SINGULAR,
                        "the index is not 1: %s has rank %d instead of %d at t = %g%s", matrix,
                        (int)report->rank, (int)report->full, t, column);
}

/* f_y and B, or those of the general form. */
static vin_status linearise(ranker *r, vini_dae_work *work, double t, const double *y,
                            const double *yp) {
  const vin_dae_desc *desc = &r->dae->desc;
  r->mass = desc->mass_values;
  if (!r->dae->implicit) return vini_dae_jacobian(work, t, y, NULL, r->values);
  r->rates = vini_alloc(&r->local.context, (size_t)desc->mass_pattern.count, sizeof *r->rates);
  if (r->rates == NULL) return vini_fail(&r->local, VIN_ERR_NO_MEMORY, "no memory for ranks");
  r->mass = r->rates;
  return vini_dae_residual_jacobians(work, t, y, yp, r->values, r->rates);
}

static vin_status index_check(const vin_dae *dae, double t, const double *y, const double *yp,
                              double tolerance, vin_dae_index_report *report) {
  *report = (vin_dae_index_report){.dependent = -1};
  size_t size = sizeof report->text;
  if (vini_ready(&dae->object) != VIN_OK)
    return vini_fail_text(report->text, size, VIN_ERR_BAD_STATE, "the problem was not created");
  if (dae->implicit != (yp != NULL))
    return vini_fail_text(report->text, size, VIN_ERR_UNSUPPORTED,
                          "the problem %s the form 0 = F(t, y, y')", yp ? "has not" : "has");
  if (!isfinite(t) || vini_first_nonfinite(y, dae->n) >= 0 ||
      (yp && vini_first_nonfinite(yp, dae->n) >= 0) || !(tolerance >= 0 && tolerance < 1))
    return vini_fail_text(report->text, size, VIN_ERR_BAD_INPUT,
                          "t or y is NaN or infinite, or tolerance = %g is not in [0, 1)",
                          tolerance);
  ranker r = {.dae = dae, .tolerance = tolerance > 0 ? tolerance : RANK_TOLERANCE};
  r.local = (vini_object){.context = dae->object.context, .created = VIN_OK};
  vini_dae_work work = {0};
  vin_status status = VIN_OK;
  if (!ranker_allocate(&r)) status = vini_fail(&r.local, VIN_ERR_NO_MEMORY, "no memory for ranks");
  if (status == VIN_OK) status = vini_dae_work_create(&work, dae, &r.local);
  if (status == VIN_OK) status = linearise(&r, &work, t, y, yp);
  if (status == VIN_OK)
    status = dae->d >= 0 ? algebraic(&r, &report->rank, &report->full, &report->dependent)
                         : pencil(&r, &report->rank, &report->full, &report->dependent);
  vini_dae_work_destroy(&work);
  ranker_free(&r);
  if (status != VIN_OK) return vini_fail_text(report->text, size, status, "%s", r.local.text);
  return verdict(&r, t, report);
}

vin_status vin_dae_index_check(const vin_dae *dae, double t, const double *y, double tolerance,
                               vin_dae_index_report *report) {
  if (dae == NULL || y == NULL || report == NULL) return VIN_ERR_BAD_INPUT;
  return index_check(dae, t, y, NULL, tolerance, report);
}

vin_status vin_dae_index_check_implicit(const vin_dae *dae, double t, const double *y,
                                        const double *yp, double tolerance,
                                        vin_dae_index_report *report) {
  if (dae == NULL || y == NULL || yp == NULL || report == NULL) return VIN_ERR_BAD_INPUT;
  return index_check(dae, t, y, yp, tolerance, report);
}
