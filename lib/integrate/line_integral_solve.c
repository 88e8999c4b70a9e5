/* The iteration of a step, theory (L7), (L8): a simplified Newton method with one factorisation.
 *
 * To leading order G does not change within a step; then the unknowns of each degree decouple, with
 * mu = h X lambda:
 *     [ M  G' ] [ dgamma_i ]   [ -R_i ]
 *     [ G  0  ] [ dmu_i    ] = [ -C_i ],   i < r,      M dgamma_i = -R_i - G' dmu_i,   i >= r.
 * Contraction O(h x the fastest relative turning). The residual is evaluated anew in each sweep, so what
 * the solves leave is corrected by the next. */
#include "integrate/line_integral.h"

#include "kkt/kkt.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Increments that no longer shrink have arrived when they are below this many roundings of the
 * velocity, and of position over step, which is what Phi(p1) / h can resolve, and a spring force for
 * which the plain iteration converges. */
#define FLOOR_FACTOR 64
/* They no longer shrink when they keep more than half: from one sweep to the next where the contraction is
 * better than QUICK, else over as many sweeps as would have left this much. A slow iteration goes in
 * waves. */
#define QUICK 0.35
#define SHRUNK 0.1
/* An error estimate below this many roundings of the velocity's change ends the iteration without
 * another sweep. */
#define NEGLIGIBLE 0.25
/* A sweep that leaves more than this of the increment is slow; so many in a row and it has failed. */
#define SLOW 0.95
#define SLOW_SWEEPS 3
/* Sweeps that the contraction is measured over. */
enum { MEAN_SWEEPS = 3 };
/* Sweeps of one step; the blended iteration contracts by 0.76 at worst (s = 6). */
enum { MOST_SWEEPS = 100, MOST_BLENDED = 160 };

/* Increments of the sweeps so far. */
typedef struct history {
  int count;
  double change[MOST_BLENDED];
  double contraction; /* of those above the floor */
  double floor;       /* increments below it may be rounding */
  double least;       /* increments below it are of no account */
} history;

/* Have the increments stopped to shrink? Judged over as many sweeps as the contraction needs, so that a
 * slow iteration is not taken for one that has arrived. */
static bool stagnates(const history *past) {
  double q = vini_min(past->contraction, SLOW);
  int width = q > QUICK ? (int)ceil(log(SHRUNK) / log(q)) : 1;
  if (past->count <= width) return false;
  return !(past->change[past->count - 1] < 0.5 * past->change[past->count - 1 - width]);
}

vin_status vini_line_prepare_mass(vin_integrator *self, const vini_line_state *start) {
  vini_line *line = self->data;
  vin_projector *projector = self->projector;
  if (line->has_mass || line->table.r == line->table.s) return VIN_OK;
  VINI_TRY(vini_projector_mass(projector, start->t, start->p, start->raw));
  const double *value = projector->mass_values;
  static const char cure[] = "hbvm, and lim with r < s, need a mass in every direction: use lim "
                             "with multiplier_terms = stages";
  if (line->mass != NULL) {
    vin_status status = vin_kkt_factor(line->mass, value, NULL, NULL);
    if (status != VIN_OK) {
      return vini_fail(&projector->object, status, "%s; M alone: %s", cure,
                       vin_kkt_error(line->mass));
    }
    line->has_mass = true;
    return VIN_OK;
  }
  memset(line->inverse_mass, 0, (size_t)self->n * sizeof(double));
  for (vin_int k = 0; k < projector->mass.count; k++) {
    line->inverse_mass[projector->mass.row[k]] += value[k];
  }
  for (vin_int i = 0; i < self->n; i++) {
    if (!(line->inverse_mass[i] > 0)) {
      char name[96];
      vin_system_position_name(self->system, i, name, sizeof name);
      return vini_fail(&projector->object, VIN_ERR_UNSUPPORTED, "the mass of %s is %g; %s", name,
                       line->inverse_mass[i], cure);
    }
    line->inverse_mass[i] = 1 / line->inverse_mass[i];
  }
  line->has_mass = true;
  return VIN_OK;
}

/* -R_i = h sum_j X_ij theta_j - M d_i into z. */
static void load_residual(vin_integrator *self, int i, double *z) {
  vini_line *line = self->data;
  const vini_line_table *t = &line->table;
  size_t n = (size_t)self->n;
  memset(z, 0, n * sizeof(double));
  vini_projector_add_mass(self->projector, -1, line->d_next + (size_t)i * n, z);
  for (int j = i > 0 ? i - 1 : 0; j <= i + 1 && j < t->s; j++) { /* X has three diagonals */
    double x = t->hx[i][j];
    const double *theta = line->theta + (size_t)j * n;
    if (x == 0) continue;
    for (size_t q = 0; q < n; q++) z[q] += x * theta[q];
  }
}

static vin_status solve_kkt(vin_integrator *self, bool polish) {
  vini_line *line = self->data;
  size_t n = (size_t)self->n, m = (size_t)self->m;
  int r = line->table.r;
  for (int i = 0; i < r; i++) {
    double *z = line->z + (size_t)i * (n + m);
    load_residual(self, i, z);
    for (size_t c = 0; c < m; c++) z[n + c] = polish ? 0 : -line->c[(size_t)i * m + c];
  }
  if (line->blended) return vini_line_solve_blended(self, !polish);
  vin_kkt *kkt = self->projector->kkt;
  vin_status status = vini_kkt_solve_plain(kkt, r, line->z);
  if (status != VIN_OK) vini_fail(&self->projector->object, status, "%s", vin_kkt_error(kkt));
  return status;
}

/* z := M^-1 z for the degrees that have no multiplier of their own. The first of them sees the last
 * multiplier: mu_r = h X_r,r-1 lambda_r-1. */
static vin_status solve_mass(vin_integrator *self, const double *last_change) {
  vini_line *line = self->data;
  const vini_line_table *t = &line->table;
  size_t n = (size_t)self->n, m = (size_t)self->m;
  for (int i = t->r; i < t->s; i++) {
    double *z = line->z + (size_t)t->r * (n + m) + (size_t)(i - t->r) * n;
    load_residual(self, i, z);
    if (i == t->r && m > 0) {
      vini_projector_add_transposed(self->projector, -t->hx[i][i - 1], last_change, z);
    }
    if (line->mass == NULL) {
      for (size_t q = 0; q < n; q++) z[q] *= line->inverse_mass[q];
    }
  }
  if (line->mass == NULL || t->r == t->s) return VIN_OK;
  double *first = line->z + (size_t)t->r * (n + m);
  vin_status status = vini_kkt_solve_plain(line->mass, t->s - t->r, first);
  if (status == VIN_OK) return VIN_OK;
  return vini_fail(&self->projector->object, status, "%s", vin_kkt_error(line->mass));
}

/* lambda_i += sum_j (X_r^-1)_ij mu_j / h; the last change is left in line->lambda. */
static void update_multipliers(vin_integrator *self, double h) {
  vini_line *line = self->data;
  const vini_line_table *t = &line->table;
  size_t n = (size_t)self->n, m = (size_t)self->m;
  for (int i = 0; i < t->r; i++) {
    double *l = line->l_next + (size_t)i * m;
    for (size_t c = 0; c < m; c++) {
      double change = 0;
      for (int j = 0; j < t->r; j++) {
        change += t->xr_inverse[i][j] * line->z[(size_t)j * (n + m) + n + c];
      }
      line->lambda[c] = change / h;
      l[c] += change / h;
    }
  }
}

/* d_next += the increments; returns the largest. */
static double update_polynomial(vin_integrator *self) {
  vini_line *line = self->data;
  const vini_line_table *t = &line->table;
  size_t n = (size_t)self->n, m = (size_t)self->m;
  double largest = 0;
  for (int i = 0; i < t->s; i++) {
    const double *z = i < t->r ? line->z + (size_t)i * (n + m)
                               : line->z + (size_t)t->r * (n + m) + (size_t)(i - t->r) * n;
    double *d = line->d_next + (size_t)i * n, change = vini_max_abs(z, self->n);
    for (size_t q = 0; q < n; q++) d[q] += z[q];
    if (!(change <= largest)) largest = change;
  }
  return largest;
}

/* polish: the constraints are as good as they get and are left alone. */
static vin_status sweep(vin_integrator *self, const vini_line_state *start, double h, bool polish,
                        double *change) {
  VINI_TRY(vini_line_evaluate(self, start, h));
  VINI_TRY(solve_kkt(self, polish));
  update_multipliers(self, h);
  vini_line *line = self->data;
  VINI_TRY(solve_mass(self, line->lambda));
  *change = update_polynomial(self);
  self->stats.sweeps++;
  return VIN_OK;
}

static vin_status diverges(vin_integrator *self, double change) {
  const vini_line *line = self->data;
  return vini_fail(&self->projector->object, VIN_STEP_FAILED,
                   "%s(k = %d, s = %d, r = %d) does not converge (%d sweeps, last change of the "
                   "velocity %.2g, contraction %.2g): take a smaller step " VINI_FAST_HINT,
                   self->method->name, line->table.k, line->table.s, line->table.r, line->sweeps,
                   change, line->contraction);
}

/* The scales of rounding; sizes after the first sweep are those of the step. */
static void measure(const vin_integrator *self, const vini_line_state *start, double h,
                    history *past) {
  const vini_line *line = self->data;
  double change = vini_max_abs(line->d_next, (int64_t)self->n * line->table.s);
  double velocity = vini_max_abs(start->raw, self->n) + change;
  double position = vini_max_abs(start->p, self->n) / fabs(h);
  past->floor = FLOOR_FACTOR * DBL_EPSILON * vini_max(velocity, position);
  past->least = NEGLIGIBLE * DBL_EPSILON * change;
}

/* Adds the increment of a sweep; true: what is left after it is of no account. Increments above the
 * floor tell the contraction, as the mean over a few. */
static bool record(history *past, double change) {
  int width = past->count < MEAN_SWEEPS ? past->count : MEAN_SWEEPS;
  double gain = 0;
  if (width > 0) gain = pow(change / past->change[past->count - width], 1.0 / width);
  past->change[past->count++] = change;
  if (change > past->floor) past->contraction = gain;
  double least = past->least, rate = vini_max(gain, past->contraction);
  return change <= least || (gain > 0 && rate <= 0.5 && change * rate <= least);
}

/* Sweeps until what is left of R is rounding, once the constraints have arrived at theirs. Their last
 * correction, about rounding / h, changes the forces by h times that, always to the same side: left
 * in, it would add 1e-18 of the energy in every step. */
static vin_status polish(vin_integrator *self, const vini_line_state *start, double h,
                         const history *before) {
  history past = *before;
  double change = 0;
  past.count = 0;
  past.floor = HUGE_VAL; /* the contraction is known */
  while (past.count < MOST_BLENDED) {
    VINI_TRY(sweep(self, start, h, true, &change));
    if (record(&past, change) || stagnates(&past)) break;
  }
  return VIN_OK;
}

vin_status vini_line_iterate(vin_integrator *self, const vini_line_state *start, double h) {
  vini_line *line = self->data;
  history past = {0};
  const int most = line->blended ? MOST_BLENDED : MOST_SWEEPS;
  double change = 0;
  for (int slow = 0;;) {
    VINI_TRY(sweep(self, start, h, false, &change));
    double last = past.count > 0 ? past.change[past.count - 1] : HUGE_VAL;
    if (past.count == 0) measure(self, start, h, &past);
    bool arrived = record(&past, change);
    line->sweeps = past.count;
    line->contraction = past.contraction;
    if (arrived) return VIN_OK;
    bool last_sweep = past.count >= most;
    if ((change <= past.floor && stagnates(&past)) ||
        (last_sweep && change <= past.floor / FLOOR_FACTOR)) {
      return polish(self, start, h, &past);
    }
    /* the blended iteration matrix is far from normal: increments may grow before they shrink */
    slow = change > vini_max(SLOW * last, past.floor) && !line->blended ? slow + 1 : 0;
    if (!(change < HUGE_VAL) || slow >= SLOW_SWEEPS || last_sweep) {
      return diverges(self, change);
    }
  }
}
