/* joint_space_kkt.c - a code with its own mass matrix and Jacobian uses the linear algebra alone.
 * support/arm.c stands for a robotics code: a planar arm of three links, whose tip is pinned to the
 * ground, so that it closes a loop. It knows M(q), f(q, q'), Phi(q) and J = dPhi/dq, and has its
 * own time stepping. vin_kkt solves, in every stage of a Runge-Kutta method, M q'' + J' lambda = f,
 * J q'' = -(dJ/dt) q', and, with the same matrix, the projections onto the loop after each step.
 * lambda is the force of the tip on its pin. The pattern is analysed once. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/arm.h"
#include "support/support.h"

enum { N = ARM_LINKS, M = 2 };
/* Values of M and J at q, in the order of the patterns given to vin_kkt_create(). */
static vin_status factor(vin_kkt *kkt, const double *q) {
  double mass[ARM_MASS_ENTRIES], jacobian[ARM_LOOP_ENTRIES];
  arm_mass(q, mass);
  arm_loop_jacobian(q, jacobian);
  return vin_kkt_factor(kkt, mass, jacobian, NULL);
}

static vin_status accelerate(vin_kkt *kkt, const double *q, const double *w, double *acceleration,
                             double *lambda) {
  double f[N], minus_a[M];
  arm_force(q, w, f);
  arm_loop_curvature(q, w, minus_a);
  for (int c = 0; c < M; c++) minus_a[c] = -minus_a[c];
  vin_status status = factor(kkt, q);
  return status == VIN_OK ? vin_kkt_solve(kkt, 1, f, minus_a, acceleration, lambda) : status;
}

/* One step of the classical Runge-Kutta method on (q, w = q'). */
static vin_status step(vin_kkt *kkt, double h, double *q, double *w) {
  static const double at[] = {0.0, 0.5, 0.5, 1.0}, weight[] = {1.0, 2.0, 2.0, 1.0};
  double dq[N] = {0.0}, dw[N] = {0.0}, sum_q[N] = {0.0}, sum_w[N] = {0.0}, lambda[M];
  for (int s = 0; s < 4; s++) {
    double stage[N];
    for (int i = 0; i < N; i++) stage[i] = q[i] + at[s] * h * dq[i];
    for (int i = 0; i < N; i++) dq[i] = w[i] + at[s] * h * dw[i];
    vin_status status = accelerate(kkt, stage, dq, dw, lambda);
    if (status != VIN_OK) return status;
    for (int i = 0; i < N; i++) sum_q[i] += weight[s] * dq[i], sum_w[i] += weight[s] * dw[i];
  }
  for (int i = 0; i < N; i++) q[i] += h / 6.0 * sum_q[i], w[i] += h / 6.0 * sum_w[i];
  return VIN_OK;
}

/* Back onto the loop with the same matrix: [M J'; J 0] [change; .] = [0; -violation], two Newton
 * steps on q and then one linear solve for w. The change is the smallest in the metric of M. */
static vin_status project(vin_kkt *kkt, vin_projection level, double *q, double *w) {
  const double nothing[N] = {0.0};
  for (int k = 0; k < 3; k++) {
    if (!(level & (k < 2 ? VIN_PROJECTION_POSITION : VIN_PROJECTION_VELOCITY))) continue;
    double phi[M], rate[M], change[N], lambda[M], *violation = k < 2 ? phi : rate;
    arm_loop(q, w, phi, rate);
    for (int c = 0; c < M; c++) violation[c] = -violation[c];
    vin_status status = factor(kkt, q);
    if (status == VIN_OK) status = vin_kkt_solve(kkt, 1, nothing, violation, change, lambda);
    if (status != VIN_OK) return status;
    for (int i = 0; i < N; i++) (k < 2 ? q : w)[i] += change[i];
  }
  return VIN_OK;
}

int main(int argc, char **argv) {
  ex_options options =
      ex_options_default("joint_space_kkt", "an arm with a closed loop, own M and J", 1e-3, 2.0);
  options.sim.method = VIN_METHOD_RK4;
  ex_parse(&options, NULL, argc, argv);
  if (options.sim.method != VIN_METHOD_RK4) ex_refuse(&options, "--method", "only rk4 here");
  ex_table table = {.options = &options, .columns = 5 + 2 * N};
  table.names = "t,energy,energy_drift,position_residual,velocity_residual,q1,q2,q3,w1,w2,w3";

  vin_kkt *kkt = NULL;
  vin_status status = vin_kkt_create(&kkt, NULL, N, M, arm_mass_pattern, arm_loop_pattern,
                                     &options.sim.projector.kkt);
  double q[N], w[N], acceleration[N], lambda[M], phi[M], rate[M], row[ARM_REFERENCE];
  arm_start(q, w);
  ex_result result = {.n = N, .m = M, .method = "rk4", .error = NAN};
  result.projection = vin_projection_name(options.sim.projection);
  result.energy_start = arm_energy(q, w), result.count_name = "links", result.count = N;
  result.setup_s = ex_clock() - options.started;
  double steps = fmax(1.0, ceil(options.end / options.sim.step - 1e-9));
  double h = result.h = options.end / steps, begin = ex_clock();
  for (int64_t k = 1; status == VIN_OK && (double)k <= steps; k++) {
    status = step(kkt, h, q, w);
    if (status == VIN_OK) status = project(kkt, options.sim.projection, q, w);
    arm_loop(q, w, phi, rate);
    double gap = fmax(fabs(phi[0]), fabs(phi[1])), hidden = fmax(fabs(rate[0]), fabs(rate[1]));
    double energy = arm_energy(q, w), drift = energy - result.energy_start;
    if (status == VIN_OK && (options.sim.projection & VIN_PROJECTION_POSITION) && !(gap < 1e-6))
      status = VIN_STEP_FAILED; /* too far from the loop for two Newton steps */
    result.constraint_max = fmax(result.constraint_max, gap);
    result.hidden_max = fmax(result.hidden_max, hidden);
    result.energy_drift = fmax(result.energy_drift, fabs(drift));
    result.steps = k, result.t = (double)k * h;
    ex_table_row(&table, (const double[]){result.t, energy, drift, gap, hidden, q[0], q[1], q[2],
                                          w[0], w[1], w[2]});
  }
  result.wall_s = ex_clock() - begin;
  vin_solver_stats stats = vin_kkt_get_stats(kkt); /* without the last solve, for the printout */
  result.symbolic = stats.symbolic, result.numeric = stats.numeric, result.solves = stats.solves;
  if (status == VIN_OK) status = accelerate(kkt, q, w, acceleration, lambda);
  if (status != VIN_OK) {
    ex_fail(&options, status, vin_kkt_error(kkt));
    vin_kkt_destroy(kkt), free(table.value);
    return 1;
  }
  result.solver = vin_solver_name(vin_kkt_get_info(kkt).solver);
  vin_kkt_destroy(kkt);
  if (ex_reference_row("mechanisms/four_bar.csv", result.t, ARM_REFERENCE, row))
    result.error = arm_error(q, w, row);
  int failed = ex_print(&options, &result) | ex_table_finish(&table);
  if (!options.json && !failed)
    printf("  %-26s %.4g, %.4g, %.4g rad/s^2; force on the pin (%.4g, %.4g) N\n", "accelerations",
           acceleration[0], acceleration[1], acceleration[2], lambda[0], lambda[1]);
  return failed;
}
