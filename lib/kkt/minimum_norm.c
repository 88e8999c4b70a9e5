/* Multipliers of minimum norm where constraint rows depend on each other; theory 2.3.
 *
 * Dropping row i fixes its multiplier at 0, one choice among those that give the same forces J' lambda.
 * They differ by null vectors of J': solving
 *     [ H  J' ] [ x  ]   [ J_i' ]
 *     [ J  0  ] [ mu ] = [  0   ]       (x = 0, because J_i' is in the range of the rows kept)
 * gives n_i = e_i - mu with J' n_i = 0. With N = [n_1 n_2 ...] the projection
 *     lambda - N (N' N)^-1 N' lambda
 * is the shortest of all. N'N is the identity plus a positive semidefinite matrix, so that Cholesky
 * without pivoting is safe. */
#include "kkt/kkt.h"

#include <math.h>
#include <string.h>

/* Largest N, in numbers (512 MiB): beyond it the caller is told instead of the memory filled. */
#define LARGEST_NULL_SPACE ((int64_t)1 << 26)

/* f := J_i' from the entries of K. */
static void load_row(const vin_kkt *kkt, vin_int i, double *f) {
  const vin_sparse *k = kkt->k;
  for (vin_int j = 0; j < kkt->n; j++) {
    f[j] = 0;
    vin_int low = k->start[j], high = k->start[j + 1] - 1; /* rows ascend: bisection */
    while (low < high) {
      vin_int middle = low + (high - low) / 2;
      if (k->row[middle] < kkt->n + i) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low <= high && k->row[low] == kkt->n + i) f[j] = k->value[low];
  }
}

/* Columns of N, m each. */
static vin_status null_vectors(vin_kkt *kkt, double *null) {
  vin_int n = kkt->n, m = kkt->m;
  double *z = kkt->z;
  for (vin_int d = 0; d < kkt->dropped_count; d++) {
    vin_int i = kkt->dropped_rows[d];
    load_row(kkt, i, z);
    memset(z + n, 0, (size_t)m * sizeof *z);
    VINI_TRY(vini_kkt_solve_plain(kkt, 1, z));
    double *column = null + (size_t)d * (size_t)m;
    for (vin_int c = 0; c < m; c++) column[c] = -z[n + c];
    column[i] += 1;
  }
  return VIN_OK;
}

static double dot(const double *x, const double *y, vin_int count) {
  double sum = 0;
  for (vin_int i = 0; i < count; i++) sum += x[i] * y[i];
  return sum;
}

/* gram := Cholesky factor of N'N, lower triangle by rows. */
static void factorise_gram(const double *null, vin_int m, vin_int count, double *gram) {
  for (vin_int i = 0; i < count; i++) {
    double *row = gram + (size_t)i * (size_t)count;
    for (vin_int j = 0; j <= i; j++) {
      const double *other = gram + (size_t)j * (size_t)count;
      double value = dot(null + (size_t)i * (size_t)m, null + (size_t)j * (size_t)m, m);
      value -= dot(row, other, j);
      row[j] = i == j ? sqrt(value) : value / other[j];
    }
  }
}

static void project(const double *null, vin_int m, vin_int count, const double *gram, double *w,
                    double *lambda) {
  for (vin_int i = 0; i < count; i++) {
    const double *row = gram + (size_t)i * (size_t)count;
    w[i] = (dot(null + (size_t)i * (size_t)m, lambda, m) - dot(row, w, i)) / row[i];
  }
  for (vin_int i = count - 1; i >= 0; i--) {
    for (vin_int j = i + 1; j < count; j++)
      w[i] -= gram[(size_t)j * (size_t)count + (size_t)i] * w[j];
    w[i] /= gram[(size_t)i * (size_t)count + (size_t)i];
  }
  for (vin_int i = 0; i < count; i++) {
    for (vin_int c = 0; c < m; c++) lambda[c] -= w[i] * null[(size_t)i * (size_t)m + (size_t)c];
  }
}

vin_status vin_kkt_minimum_norm(vin_kkt *kkt, vin_int count, double *lambda) {
  VINI_TRY(vini_ready(kkt == NULL ? NULL : &kkt->object));
  vini_object *object = &kkt->object;
  if (kkt->active == NULL) {
    return vini_fail(object, VIN_ERR_BAD_STATE, "minimum_norm needs a successful factor first");
  }
  if (count < 0 || (count > 0 && kkt->m > 0 && lambda == NULL)) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "count is %d or lambda is NULL", (int)count);
  }
  vin_int m = kkt->m, dropped = kkt->dropped_count;
  int64_t bad = m > 0 && count > 0 ? vini_first_nonfinite(lambda, (int64_t)m * count) : -1;
  if (bad >= 0) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "multiplier %lld is %g", (long long)bad,
                     lambda[bad]);
  }
  if (dropped == 0 || count == 0) return VIN_OK;
  if ((int64_t)m * dropped > LARGEST_NULL_SPACE) {
    return vini_fail(object, VIN_ERR_TOO_LARGE,
                     "%d dependent rows of %d: the null space is too large", (int)dropped, (int)m);
  }
  size_t columns = (size_t)dropped, rows = (size_t)m;
  double *null = vini_alloc(&object->context, columns * rows, sizeof *null);
  double *gram = vini_alloc(&object->context, columns * columns + columns, sizeof *gram);
  vin_status status =
      null == NULL || gram == NULL
          ? vini_fail(object, VIN_ERR_NO_MEMORY, "no memory for %d null vectors", (int)dropped)
          : null_vectors(kkt, null);
  if (status == VIN_OK) {
    factorise_gram(null, m, dropped, gram);
    for (size_t k = 0; k < (size_t)count; k++) {
      project(null, m, dropped, gram, gram + columns * columns, lambda + k * rows);
    }
  }
  vini_free(&object->context, null);
  vini_free(&object->context, gram);
  return status;
}
