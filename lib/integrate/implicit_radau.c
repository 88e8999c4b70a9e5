/* Radau IIA with three stages, theory (106): order 5, L-stable, the last stage is the end. Unknowns are the
 * accelerations and multipliers of the stages,
 *     v_i = v0 + h sum_j a_ij A_j,   p_i = p0 + c_i h v0 + h^2 sum_j (a^2)_ij A_j,
 * and one simplified Newton matrix serves all three: with a = T L T^-1 the equations of the combined
 * increments T^-1 dA decouple into the augmented system of gamma = h mu for the real eigenvalue mu of
 * a and a complex one for the pair. */
#include "integrate/implicit.h"

#include <math.h>
#include <string.h>

enum { STAGES = 3 };

/* E. Hairer, G. Wanner: Solving Ordinary Differential Equations II, chapter IV.8: T, its inverse, and
 * T^-1 a^-1 T = [g; al -be; be al]. */
static const double transform[STAGES][STAGES] = {
    {9.1232394870892942792e-02, -0.14125529502095420843, -3.0029194105147424492e-02},
    {0.24171793270710701896, 0.20412935229379993199, 0.38294211275726193779},
    {0.96604818261509293619, 1, 0}};
static const double inverse[STAGES][STAGES] = {
    {4.3255798900631553510, 0.33919925181580986954, 0.54177053993587487119},
    {-4.1787185915519047273, -0.32768282076106238708, 0.47662355450055045196},
    {-0.50287263494578687595, 2.5719269498556054292, -0.59603920482822492497}};
static const double inverse_real = 3.6378342527444957322, inverse_alpha = 2.6810828736277521339,
                    inverse_beta = 3.0504301992474105694;

/* Nodes, a, and a^2. */
typedef struct tableau {
  double c[STAGES], a[STAGES][STAGES], square[STAGES][STAGES];
} tableau;

static tableau radau(void) {
  const double s = sqrt(6);
  tableau t = {.c = {(4 - s) / 10, (4 + s) / 10, 1},
               .a = {{(88 - 7 * s) / 360, (296 - 169 * s) / 1800, (-2 + 3 * s) / 225},
                     {(296 + 169 * s) / 1800, (88 + 7 * s) / 360, (-2 - 3 * s) / 225},
                     {(16 - s) / 36, (16 + s) / 36, 1.0 / 9}}};
  for (int i = 0; i < STAGES; i++) {
    for (int j = 0; j < STAGES; j++) {
      for (int k = 0; k < STAGES; k++) t.square[i][j] += t.a[i][k] * t.a[k][j];
    }
  }
  return t;
}

vin_status vini_radau_create(vin_integrator *self) {
  VINI_TRY(vini_implicit_begin(self, STAGES));
  self->estimate_order = 4;
  vini_implicit *data = self->data;
  vini_object *object = &self->projector->object;
  double stabilised = self->options.baumgarte.order > 0 ? 1 : 0;
  const vini_block whole = {.mass = 1, .jacobian = 1, .f_p = 1, .f_v = 1, .g_p = 1, .g_v = 1},
                   imaginary = {.jacobian = stabilised, .f_p = 1, .f_v = 1, .g_p = 1, .g_v = 1},
                   shape[4] = {whole, imaginary, imaginary, whole};
  vin_status status =
      vini_augmented_create(&data->matrix, object, &data->tangent, &self->stats,
                            &self->projector->options.kkt, 1, &whole, data->dropped);
  if (status == VIN_OK) {
    status = vini_augmented_create(&data->pair, object, &data->tangent, &self->stats,
                                   &self->projector->options.kkt, 2, shape, data->dropped);
  }
  return status == VIN_OK ? VIN_OK : vini_fail(&self->object, status, "%s", object->text);
}

static double *stage_a(const vin_integrator *self, int stage) {
  const vini_implicit *data = self->data;
  return data->a + (size_t)stage * (size_t)self->n;
}

static double *stage_l(const vin_integrator *self, int stage) {
  const vini_implicit *data = self->data;
  return data->l + (size_t)stage * (size_t)self->m;
}

/* p, v := the point of a stage */
static void place(const vin_integrator *self, const vin_state *from, double h, int stage, double *p,
                  double *v) {
  const tableau t = radau();
  const double *a0 = stage_a(self, 0), *a1 = stage_a(self, 1), *a2 = stage_a(self, 2);
  const double *a = t.a[stage], *square = t.square[stage];
  for (vin_int i = 0; i < self->n; i++) {
    v[i] = from->v[i] + h * (a[0] * a0[i] + a[1] * a1[i] + a[2] * a2[i]);
    p[i] = from->p[i] + t.c[stage] * h * from->v[i] +
           h * h * (square[0] * a0[i] + square[1] * a1[i] + square[2] * a2[i]);
  }
}

/* share: of stabilisation in the constraint rows */
static vini_block block_of(double mass, double gamma, double beta, double share) {
  return (vini_block){.mass = mass,
                      .jacobian = mass,
                      .rows = mass + share,
                      .f_p = beta,
                      .f_v = gamma,
                      .g_p = beta,
                      .g_v = gamma};
}

/* Both matrices, with everything evaluated at one point (of stage `stage`; -1: the start). */
static vin_status factor(vin_integrator *self, const vin_state *from, double h, int stage) {
  vini_implicit *data = self->data;
  vin_projector *projector = self->projector;
  const double *a = stage < 0 ? self->vdot : stage_a(self, stage),
               *l = stage < 0 ? data->lambda : stage_l(self, stage);
  double t = from->t;
  if (stage < 0) {
    memcpy(data->p, from->p, (size_t)self->n * sizeof(double));
    memcpy(data->v, from->v, (size_t)self->n * sizeof(double));
  } else {
    t += radau().c[stage] * h;
    place(self, from, h, stage, data->p, data->v);
  }
  VINI_TRY(vini_projector_mass(projector, t, data->p, data->v));
  VINI_TRY(vini_projector_jacobian(projector, t, data->p));
  VINI_TRY(vini_tangent_evaluate(&data->tangent, t, data->p, data->v, a, l, h, VINI_TANGENT_G));
  double size = inverse_alpha * inverse_alpha + inverse_beta * inverse_beta;
  double mu = h / inverse_real, re = h * inverse_alpha / size, im = -h * inverse_beta / size;
  double square_re = re * re - im * im, square_im = 2 * re * im;
  double share[2], pair[2];
  vini_stabilised(self, (const double[2]){mu, 0}, share);
  vini_stabilised(self, (const double[2]){re, im}, pair);
  const vini_block real = block_of(1, mu, mu * mu, share[0]),
                   complex[4] = {
                       block_of(1, re, square_re, pair[0]), block_of(0, -im, -square_im, -pair[1]),
                       block_of(0, im, square_im, pair[1]), block_of(1, re, square_re, pair[0])};
  data->gamma = h;
  VINI_TRY(vini_augmented_factor(&data->matrix, &real, projector->mass_values,
                                 projector->jacobian_values));
  return vini_augmented_factor(&data->pair, complex, projector->mass_values,
                               projector->jacobian_values);
}

/* Rows of `by` combine the three stacked vectors of x into y. */
static void combine(const vin_integrator *self, const double by[STAGES][STAGES], const double *x,
                    double *y) {
  size_t size = (size_t)self->n + (size_t)self->m;
  for (int i = 0; i < STAGES; i++) {
    for (size_t k = 0; k < size; k++) {
      y[(size_t)i * size + k] =
          by[i][0] * x[k] + by[i][1] * x[size + k] + by[i][2] * x[2 * size + k];
    }
  }
}

/* Third-order stabilisation: with W = -(alpha (w0 + h a W) + beta h + gamma Phi) in all stages, the sum
 * h a W is B r of the rates r that belong to w0, B = h a (1 + alpha h a)^-1, theory (106a). */
static void third_order(const vin_integrator *self, double h, double by[STAGES][STAGES]) {
  double shift = h * self->options.baumgarte.a, real = h / (inverse_real + shift),
         re = inverse_alpha + shift, factor = h / (re * re + inverse_beta * inverse_beta),
         im = inverse_beta * factor;
  re *= factor;
  for (int i = 0; i < STAGES; i++) {
    const double *row = transform[i];
    double left[STAGES] = {row[0] * real, row[1] * re - row[2] * im, row[1] * im + row[2] * re};
    for (int j = 0; j < STAGES; j++) {
      by[i][j] = left[0] * inverse[0][j] + left[1] * inverse[1][j] + left[2] * inverse[2][j];
    }
  }
}

/* y += row i of B applied to the rates */
static void add_third_order(const vin_integrator *self, const double row[STAGES], double *y) {
  const vini_implicit *data = self->data;
  size_t m = (size_t)self->m;
  const double *r = data->wdot;
  for (size_t c = 0; c < m; c++) {
    if (!data->dropped[c]) y[c] += row[0] * r[c] + row[1] * r[m + c] + row[2] * r[2 * m + c];
  }
}

/* Phi'' at the end, to data->w_base. */
static vin_status end_third_order(vin_integrator *self, const vin_state *from, double h) {
  vini_implicit *data = self->data;
  double by[STAGES][STAGES];
  if (self->w == NULL) return VIN_OK;
  for (int i = 0; i < STAGES; i++) {
    vini_stage stage = {.t = from->t + radau().c[i] * h, .h = h, .index = i};
    place(self, from, h, i, data->p, data->v);
    VINI_TRY(vini_stage_rates(self, &stage, data->p, data->v));
  }
  third_order(self, h, by);
  add_third_order(self, by[STAGES - 1], data->w_base);
  return VIN_OK;
}

/* Residuals of all stages, and their increments in data->x. */
static vin_status increments(vin_integrator *self, const vin_state *from, double h,
                             vini_newton *newton) {
  vini_implicit *data = self->data;
  const tableau t = radau();
  size_t size = (size_t)self->n + (size_t)self->m;
  newton->residual = 0;
  for (int i = 0; i < STAGES; i++) {
    double *x = data->x + (size_t)i * size;
    vini_stage stage = {.t = from->t + t.c[i] * h, .h = h, .index = i};
    place(self, from, h, i, data->p, data->v);
    VINI_TRY(
        vini_stage_residual(self, &stage, data->p, data->v, stage_a(self, i), stage_l(self, i), x));
    newton->residual = vini_max(newton->residual, vini_max_abs(x, self->n));
  }
  if (self->w != NULL) {
    double by[STAGES][STAGES];
    third_order(self, h, by);
    for (int i = 0; i < STAGES; i++) {
      add_third_order(self, by[i], data->x + (size_t)i * size + self->n);
    }
  }
  combine(self, inverse, data->x, data->y);
  VINI_TRY(vini_augmented_solve(&data->matrix, data->y));
  VINI_TRY(vini_augmented_solve(&data->pair, data->y + size));
  combine(self, transform, data->y, data->x);
  return VIN_OK;
}

/* Adds the increments; *p, *v: the largest changes of the stages' points. */
static void add(vin_integrator *self, double h, double *p, double *v) {
  vini_implicit *data = self->data;
  const tableau t = radau();
  size_t size = (size_t)self->n + (size_t)self->m;
  const double *x0 = data->x, *x1 = x0 + size, *x2 = x1 + size;
  *p = *v = 0;
  for (int i = 0; i < STAGES; i++) {
    const double *a = t.a[i], *square = t.square[i];
    double *to = stage_a(self, i), *l = stage_l(self, i);
    const double *x = data->x + (size_t)i * size;
    for (vin_int k = 0; k < self->n; k++) {
      double dv = fabs(h * (a[0] * x0[k] + a[1] * x1[k] + a[2] * x2[k]));
      double dp = fabs(h * h * (square[0] * x0[k] + square[1] * x1[k] + square[2] * x2[k]));
      *v = dv <= *v ? *v : dv; /* a NaN stays */
      *p = dp <= *p ? *p : dp;
      to[k] += x[k];
    }
    for (vin_int k = 0; k < self->m; k++) l[k] += x[self->n + k];
  }
}

static vin_status iterate(vin_integrator *self, const vin_state *from, double h, int begin) {
  vini_implicit *data = self->data;
  vini_newton newton = {0};
  bool due = !data->matrix.factored || !data->pair.factored || data->gamma != h;
  vini_newton_begin(&newton, self, from->p, from->v, stage_a(self, 0), h, false,
                    due ? 0 : data->contraction);
  int stage = begin;
  for (;;) {
    if (due) VINI_TRY(factor(self, from, h, stage));
    VINI_TRY(increments(self, from, h, &newton));
    double dp, dv;
    add(self, h, &dp, &dv);
    self->stats.sweeps++;
    vini_newton_allow_noise(&newton, self, stage_l(self, 0), h * h, h);
    vini_verdict verdict = vini_newton_judge(&newton, &self->options, dp, dv, due);
    data->contraction = newton.contraction;
    if (verdict == VINI_NEWTON_CONVERGED) return VIN_OK;
    if (verdict == VINI_NEWTON_DIVERGED) return vini_newton_failure(self, &newton);
    due = verdict == VINI_NEWTON_RENEW;
    stage = 1;
  }
}

static void guess_constant(vin_integrator *self) {
  const vini_implicit *data = self->data;
  for (int i = 0; i < STAGES; i++) {
    memcpy(stage_a(self, i), self->vdot, (size_t)self->n * sizeof(double));
    memcpy(stage_l(self, i), data->lambda, (size_t)self->m * sizeof(double));
  }
}

/* The quadratic through the last step's stages, continued. */
static void guess_extrapolated(vin_integrator *self, double h) {
  vini_implicit *data = self->data;
  const tableau t = radau();
  double weight[STAGES][STAGES];
  for (int i = 0; i < STAGES; i++) {
    double x = 1 + h / data->past_h * t.c[i];
    for (int j = 0; j < STAGES; j++) {
      weight[i][j] = 1;
      for (int k = 0; k < STAGES; k++) {
        if (k != j) weight[i][j] *= (x - t.c[k]) / (t.c[j] - t.c[k]);
      }
    }
  }
  double *vector[2] = {data->a, data->l};
  size_t length[2] = {(size_t)self->n, (size_t)self->m};
  for (int q = 0; q < 2; q++) {
    double *x = vector[q];
    size_t size = length[q];
    for (size_t k = 0; k < size; k++) {
      double old[STAGES] = {x[k], x[size + k], x[2 * size + k]};
      for (int i = 0; i < STAGES; i++) {
        x[(size_t)i * size + k] =
            weight[i][0] * old[0] + weight[i][1] * old[1] + weight[i][2] * old[2];
      }
    }
  }
}

/* From the continued polynomial with the kept matrices; where that fails, from the start's values
 * with new ones; where those are singular, without the rows that depend on the others. */
static vin_status solve(vin_integrator *self, const vin_state *from, double h) {
  vini_implicit *data = self->data;
  vin_status status = VIN_STEP_FAILED;
  if (data->past_h != 0) {
    guess_extrapolated(self, h);
    status = iterate(self, from, h, 0);
    if (status <= 0 || status == VIN_RETRY) return status;
  }
  data->matrix.factored = false;
  guess_constant(self);
  status = iterate(self, from, h, -1);
  if (status != VIN_SINGULAR) return status;
  bool changed = false;
  VINI_TRY(vini_implicit_find_dropped(self, from->t, from->p, from->v, &changed));
  guess_constant(self);
  return iterate(self, from, h, -1);
}

/* theory (106): the difference to an embedded method of order 3, filtered by (I - mu dF/dy)^-1 so that
 * it stays of the error's size where the problem is stiff. In the acceleration alpha that belongs to
 * it: e_v = r_v + mu alpha, e_p = r_p + mu e_v, and alpha solves the augmented system. */
static vin_status estimate(vin_integrator *self, const vin_state *from, double h,
                           const vin_state *to) {
  vini_implicit *data = self->data;
  const vini_tangent *tangent = &data->tangent;
  vin_int n = self->n, m = self->m;
  double mu = h / inverse_real, s = 7 * sqrt(6), third = 1 / (3 * inverse_real);
  const double e[STAGES] = {(-13 - s) * third, (-13 + s) * third, -third};
  double *r_p = self->wn[1], *r_v = self->wn[2], *alpha = data->x, *rows = alpha + n;
  for (vin_int i = 0; i < n; i++) {
    r_p[i] = mu * from->v[i];
    r_v[i] = mu * self->vdot[i];
  }
  for (int k = 0; k < STAGES; k++) {
    place(self, from, h, k, data->p, data->v);
    for (vin_int i = 0; i < n; i++) {
      r_p[i] += e[k] * (data->p[i] - from->p[i]);
      r_v[i] += e[k] * (data->v[i] - from->v[i]);
    }
  }
  for (vin_int i = 0; i < n; i++) r_p[i] += mu * r_v[i];
  memset(alpha, 0, ((size_t)n + (size_t)m) * sizeof *alpha);
  vini_tangent_subtract(tangent->f, tangent->f_p, 1, r_p, NULL, alpha);
  vini_tangent_subtract(tangent->f, tangent->f_v, 1, r_v, NULL, alpha);
  vini_tangent_subtract(tangent->g, tangent->g_p, 1, r_p, data->dropped, rows);
  vini_tangent_subtract(tangent->g, tangent->g_v, 1, r_v, data->dropped, rows);
  VINI_TRY(vini_augmented_solve(&data->matrix, data->x));
  for (vin_int i = 0; i < n; i++) {
    r_v[i] += mu * alpha[i];
    r_p[i] += mu * mu * alpha[i];
  }
  vini_set_estimate(self, from, to, r_p, r_v);
  return VIN_OK;
}

/* The stages, and p, v of the end; data->w_base holds Phi'' there. */
static vin_status solve_and_check(vin_integrator *self, const vin_state *from, double h,
                                  vin_state *to) {
  vini_implicit *data = self->data;
  if (self->w != NULL) memcpy(data->w_base, self->w, (size_t)self->m * sizeof(double));
  VINI_TRY(solve(self, from, h));
  VINI_TRY(end_third_order(self, from, h));
  vini_stage end = {.t = from->t + h, .h = h};
  place(self, from, h, STAGES - 1, to->p, to->v);
  return vini_stage_check_dropped(self, &end, to->p, to->v, stage_a(self, STAGES - 1));
}

static vin_status step(vin_integrator *self, const vin_state *from, double h, vin_state *to) {
  vini_implicit *data = self->data;
  size_t rows = self->w == NULL ? 0 : (size_t)self->m;
  vin_status status = solve_and_check(self, from, h, to);
  if (status > 0 && status != VIN_RETRY && vini_implicit_drop_nothing(self)) {
    data->past_h = 0; /* its stages may be what failed */
    status = solve_and_check(self, from, h, to);
  }
  VINI_TRY(status);
  const double *a = stage_a(self, STAGES - 1);
  const vini_stage end = {.t = from->t + h};
  VINI_TRY(estimate(self, from, h, to));
  if (rows > 0) memcpy(self->w, data->w_base, rows * sizeof(double));
  memcpy(self->vdot, a, (size_t)self->n * sizeof(double));
  memcpy(data->lambda, stage_l(self, STAGES - 1), (size_t)self->m * sizeof(double));
  memcpy(to->lambda, data->lambda, (size_t)self->m * sizeof(double));
  data->past_h = h;
  return vini_project_step(self, from, end.t, to, &self->factor_fits);
}

vin_status vini_radau_step(vin_integrator *self, const vin_state *from, double h, vin_state *to,
                           bool continues) {
  vin_status status = continues ? VIN_OK : vini_implicit_restart(self, from);
  if (status == VIN_OK) status = step(self, from, h, to);
  return vini_implicit_failure(self, status, from, h);
}
