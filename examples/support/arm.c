/* arm.c - a planar arm as a closed loop, in absolute angles.
 *
 * With c_ij = L_i L_j times the mass that both links carry,
 *     M_ij = c_ij cos(q_i - q_j),   f_i = -dV/dq_i - sum_j c_ij sin(q_i - q_j) w_j^2,
 *     Phi = sum_j L_j (cos q_j, sin q_j) - D. */
#include "arm.h"

#include <math.h>

enum { N = ARM_LINKS };
static const double LENGTH[N] = {1.0, 2.0, 1.5}, MASS[N] = {1.0, 2.0, 1.5}; /* m, kg */
static const double GRAVITY = 9.81, PIN_X = 2.0, PIN_Y = 0.0;
static const double PI = 3.14159265358979323846;

static const vin_int mass_row[] = {0, 1, 1, 2, 2, 2}, mass_col[] = {0, 0, 1, 0, 1, 2};
static const vin_int loop_row[] = {0, 0, 0, 1, 1, 1}, loop_col[] = {0, 1, 2, 0, 1, 2};
const vin_triplets arm_mass_pattern = {ARM_MASS_ENTRIES, mass_row, mass_col};
const vin_triplets arm_loop_pattern = {ARM_LOOP_ENTRIES, loop_row, loop_col};

/* A share of the own mass of link i and all the links behind it. */
static double carried(int i, double share) {
  double sum = share * MASS[i];
  for (int k = i + 1; k < N; k++) sum += MASS[k];
  return sum;
}

static double coupling(int i, int j) {
  double mass = i == j ? carried(i, 1.0 / 3.0) : carried(i > j ? i : j, 0.5);
  return mass * LENGTH[i] * LENGTH[j];
}

void arm_mass(const double *q, double *values) {
  for (int e = 0; e < ARM_MASS_ENTRIES; e++) {
    int i = mass_row[e], j = mass_col[e];
    values[e] = coupling(i, j) * cos(q[i] - q[j]);
  }
}

void arm_loop_jacobian(const double *q, double *values) {
  for (int e = 0; e < ARM_LOOP_ENTRIES; e++) {
    int j = loop_col[e];
    values[e] = LENGTH[j] * (loop_row[e] == 0 ? -sin(q[j]) : cos(q[j]));
  }
}

void arm_force(const double *q, const double *w, double *f) {
  for (int i = 0; i < N; i++) {
    f[i] = -GRAVITY * LENGTH[i] * carried(i, 0.5) * cos(q[i]);
    for (int j = 0; j < N; j++) f[i] -= coupling(i, j) * sin(q[i] - q[j]) * w[j] * w[j];
  }
}

void arm_loop(const double *q, const double *w, double *phi, double *rate) {
  phi[0] = -PIN_X, phi[1] = -PIN_Y, rate[0] = rate[1] = 0.0;
  for (int j = 0; j < N; j++) {
    phi[0] += LENGTH[j] * cos(q[j]), rate[0] -= LENGTH[j] * sin(q[j]) * w[j];
    phi[1] += LENGTH[j] * sin(q[j]), rate[1] += LENGTH[j] * cos(q[j]) * w[j];
  }
}

void arm_loop_curvature(const double *q, const double *w, double *a) {
  a[0] = a[1] = 0.0;
  for (int j = 0; j < N; j++) {
    a[0] -= LENGTH[j] * cos(q[j]) * w[j] * w[j];
    a[1] -= LENGTH[j] * sin(q[j]) * w[j] * w[j];
  }
}

double arm_energy(const double *q, const double *w) {
  double sum = 0.0;
  for (int i = 0; i < N; i++) {
    sum += GRAVITY * LENGTH[i] * carried(i, 0.5) * sin(q[i]);
    for (int j = 0; j < N; j++) sum += 0.5 * coupling(i, j) * cos(q[i] - q[j]) * w[i] * w[j];
  }
  return sum;
}

void arm_start(double *q, double *w) {
  /* Elbow B = (0.6, 0.8); the second elbow C is 2 from B and 1.5 from the pin, on the upper side.
   */
  double bx = 0.6, by = 0.8, dx = PIN_X - bx, dy = PIN_Y - by, d2 = dx * dx + dy * dy;
  double along = (LENGTH[1] * LENGTH[1] - LENGTH[2] * LENGTH[2] + d2) / (2.0 * d2);
  double across = sqrt(LENGTH[1] * LENGTH[1] / d2 - along * along);
  double cx = bx + along * dx - across * dy, cy = by + along * dy + across * dx;
  q[0] = atan2(by, bx);
  q[1] = atan2(cy - by, cx - bx);
  q[2] = atan2(PIN_Y - cy, PIN_X - cx);
  for (int i = 0; i < N; i++) w[i] = 0.0;
}

double arm_error(const double *q, const double *w, const double *row) {
  /* The row holds x, y, angle of three bars, then their rates; its third bar runs from the pin to
   * C, the arm's from C to the pin: half a turn apart. */
  double error = 0.0;
  for (int i = 0; i < N; i++) {
    double turn = i == 2 ? PI : 0.0;
    error = fmax(error, fabs(remainder(q[i] - row[3 * i + 2] - turn, 2.0 * PI)));
    error = fmax(error, fabs(w[i] - row[9 + 3 * i + 2]));
  }
  return error;
}
