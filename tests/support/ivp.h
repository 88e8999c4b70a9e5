/* ivp - the problems of the public test set for initial value problems, as B y' = f(t, y), and the
 * mechanical ones as constrained systems too. Shared by tests and benchmarks: no test framework. */
#ifndef IVP_H
#define IVP_H

#include "vincula/system.h"

#include <stdbool.h>

typedef struct ivp_problem ivp_problem;

struct ivp_problem {
  const char *name;
  vin_int n;
  int index; /* differentiation index of the form given */
  double t0, t_end;
  /* B, and where df/dy has entries */
  vin_int mass_count, jacobian_count;
  vin_int *mass_row, *mass_col, *jacobian_row, *jacobian_col;
  double *mass_value;
  /* user: the problem. jacobian NULL: by differences */
  int (*f)(void *user, double t, const double *y, double *f);
  int (*jacobian)(void *user, double t, const double *y, double *values);
  vin_int *variable_index; /* n */
  double *y0;              /* n */
  double *reference;       /* n: end values; NaN where none is known */
  bool *scored;            /* n: counts in the error */
  double accuracy;         /* relative, of the reference as its file states */
  double *typical;         /* n: size of each component, for absolute tolerances */
  double time_scale;       /* s */
  bool rounded_start;      /* the published start satisfies the equations to 9 digits only */
  double
      step; /* s; mechanical problems: a step with which constant-step methods begin to be good */
  double least_tolerance; /* below which no method succeeds */
  double breaks[64];      /* times where a derivative of f jumps */
  int break_count;
  /* mechanical problems: callbacks and patterns; positions and velocities are the first entries of
   * y, in this order. positions = 0: none */
  vin_system_desc system;
  int level; /* of the constraints in f: 0 positions, 1 velocities, 2 accelerations */
  double data[8];
};

/* NULL-terminated. "andrews" and "caraxis" have index 3; -2 and -1 are their forms of index 2
 * and 1. */
extern const char *const ivp_names[];

/* NULL: unknown name, no memory, or no reference file below `directory`, which is tests/reference.
 */
ivp_problem *ivp_create(const char *name, const char *directory);
void ivp_destroy(ivp_problem *problem);

/* Largest relative error over the scored components; of the first `count` only (p and v of a
 * mechanical run). */
double ivp_error(const ivp_problem *problem, const double *y, vin_int count);

/* ---- for the files that make the problems --------------------------------------------------- */

/* n unknowns; every index 1, typical 1, not scored. false: no memory. */
bool ivp_size(ivp_problem *p, vin_int n);
/* One entry of B; one entry of the pattern of df/dy. */
void ivp_mass(ivp_problem *p, vin_int row, vin_int col, double value);
void ivp_depends(ivp_problem *p, vin_int row, vin_int col);
/* Reads "component,value" lines of a file: component k (from 1) becomes reference[k - 1]. */
bool ivp_read_components(ivp_problem *p, const char *directory, const char *file);
/* Reads the row that starts with t of a table: `count` numbers from column `from` on (0: after t).
 */
bool ivp_read_row(const char *directory, const char *file, double t, vin_int from, vin_int count,
                  double *values);

/* Makes f, B and the pattern from p->system: (q, v, w, lambda) with q' = v, v' = w,
 * 0 = f - M w - G' lambda, and 0 = Phi (level 0), G v + Phi_t (1) or G w + a (2): index 3, 2, 1;
 * without w where M is constant and the level is not 2: M v' = f - G' lambda. Sets the indices; start values are left to the caller. */
bool ivp_mechanical(ivp_problem *p, const vin_system_desc *system, int level);

/* The systems alone. */
vin_system_desc ivp_andrews_system(void);
vin_system_desc ivp_crank_system(void);
vin_system_desc ivp_fekete_system(void);

bool ivp_transistor(ivp_problem *p, const char *directory);
bool ivp_charge_pump(ivp_problem *p, const char *directory);
bool ivp_water_tube(ivp_problem *p, const char *directory);
bool ivp_crank(ivp_problem *p, const char *directory);
bool ivp_fekete(ivp_problem *p, const char *directory);
bool ivp_andrews(ivp_problem *p, const char *directory);
bool ivp_andrews_2(ivp_problem *p, const char *directory);
bool ivp_andrews_1(ivp_problem *p, const char *directory);
bool ivp_caraxis(ivp_problem *p, const char *directory);
bool ivp_caraxis_2(ivp_problem *p, const char *directory);
bool ivp_caraxis_1(ivp_problem *p, const char *directory);

#endif
