/* hbvm_tables - the four tables of Brugnano, Gurioli, Iavernaro, Weinmueller (2018) on HBVM(k,s), for tests
 * and benchmarks. Constraints are not halved, M = I, so v = p' is the momentum:
 *
 *   1  planar pendulum, U = y, q.q = 1, from q = (0, -1), v = (1, 0); HBVM(s,s), h = 0.1 / 2^n, to 10;
 *      e_s: largest 1-norm of the error of (q, v) on the grid, against a Taylor series of the angle;
 *      e_lambda: largest |lambda_n - lambda(t_n)|, t_n the start of the step
 *   2  conical pendulum, U = z, from q = (1, 0, -1) / sqrt(2), v = (0, 2^(-1/4), 0), period 2^(3/4) pi;
 *      HBVM(s,s), n steps a period, 10 periods; e_s: max-norm of the error of (q, v) at the end;
 *      e_lambda: largest |lambda_n - 1/sqrt(2)|
 *   3  modified pendulum, U = z^4, x^6 + y^4 + z^2 = 0.625, start of 2; HBVM(3s,s), h as in 1, to 10;
 *      e_s: largest max-norm of the difference to the run with h/2 at t = 0.1 j; e_lambda: the same of the
 *      multipliers of the steps that start there
 *   4  three satellites, U = -sum 1 / |q_i|, unit tethers, from (0, +-1/2, 20), (0, 0, 20 - sqrt(3)/2), the
 *      third with v = (v3, 0, 0) so that H = 0; HBVM(6,s); measured as 3
 *
 * e_H, e_g: largest |H - H_0| and max-norm of g on the grid; e_hc: largest |grad g' v| on the grid (4: its
 * 1-norm). */
#ifndef HBVM_TABLES_H
#define HBVM_TABLES_H

enum { HBVM_E_S, HBVM_E_LAMBDA, HBVM_E_H, HBVM_E_G, HBVM_E_HC, HBVM_QUANTITIES };
extern const char *const hbvm_quantities[HBVM_QUANTITIES];

typedef struct hbvm_row {
  int table, s, n;
  double printed[HBVM_QUANTITIES];
} hbvm_row;

/* The printed rows, from the file hbvm/tables.csv in `directory`; returns their number, or -1. */
int hbvm_read(const char *directory, int most, hbvm_row *rows);

/* The same five numbers, computed. Returns 0, or -1 with a reason in text. */
int hbvm_compute(int table, int s, int n, double value[HBVM_QUANTITIES], char *text,
                 unsigned long text_size);

/* The relative deviation that rounding and the reference of the printed numbers leave room for; 0: the number
 * is rounding itself, and only has to be small. */
double hbvm_fair(const hbvm_row *row, int quantity);

#endif
