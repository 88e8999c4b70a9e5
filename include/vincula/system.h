/* vincula/system.h - a constrained mechanical system given by callbacks:
 *
 *     M(p,v,t) v' + Phi_p' lambda = f(p,v,t),    Phi(p,t) = 0,    p' = v
 *
 * A system is constant after creation and may serve any number of integrators and threads, provided
 * that the callbacks may be called concurrently. It is reference counted: whoever is created from a
 * system keeps it, so it may be destroyed at once. */
#ifndef VINCULA_SYSTEM_H
#define VINCULA_SYSTEM_H

#include "vincula/sparse.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vin_system vin_system;

/** Facts about the equations that let a method do less or be exact. Wrong claims give wrong
 *  results; vin_system_check() tests them. */
enum {
  VIN_MASS_CONSTANT = 1 << 0,       /* M does not depend on p, v, t */
  VIN_MASS_DIAGONAL = 1 << 1,       /* the mass pattern holds diagonal entries only (verified) */
  VIN_FORCE_VELOCITY_FREE = 1 << 2, /* f does not depend on v */
  VIN_CONSTRAINT_QUADRATIC = 1 << 3 /* Phi is at most quadratic in p */
};

/** Callbacks: user first, then inputs, outputs last. Return 0: done; > 0: not possible here, a
 *  smaller step may help (VIN_RETRY); < 0: fatal (VIN_ERR_CALLBACK). Outputs are complete: all
 *  entries are written. A NaN or infinite output is reported like a positive return. Shapes: p, v,
 *  f: n; phi, phi_t, a: m; values: the count of the declared pattern, in its order. */
typedef struct vin_system_desc {
  size_t struct_size;            /* sizeof(vin_system_desc) */
  vin_int positions;             /* n >= 1 */
  vin_int constraints;           /* m >= 0 */
  unsigned flags;                /* VIN_MASS_CONSTANT | ... ; default 0 */
  vin_triplets mass_pattern;     /* lower triangle of M */
  vin_triplets jacobian_pattern; /* Phi_p, m x n */

  int (*mass)(void *user, double t, const double *p, const double *v, double *values);
  int (*force)(void *user, double t, const double *p, const double *v, double *f);
  /* Phi and Phi_p; may be NULL when m = 0 */
  int (*constraint)(void *user, double t, const double *p, double *phi);
  int (*jacobian)(void *user, double t, const double *p, double *values);
  /* Optional, for large systems: the rows first .. end - 1 of Phi, and their entries of Phi_p in declared
   * order; either wants a jacobian_pattern of ascending rows. phi[0], values[0] belong to row `first`; of p only what the
   * pattern of these rows names may be read. Same numbers as above, which stay in use for the whole.
   * Methods (rattle) that have both of a kind evaluate block by block what they need while it is in the
   * cache: all rows once, in blocks of a few hundred or all at once, in any order. A failure counts
   * as one of the whole. */
  int (*constraint_rows)(void *user, double t, const double *p, vin_int first, vin_int end,
                         double *phi);
  int (*jacobian_rows)(void *user, double t, const double *p, vin_int first, vin_int end,
                       double *values);
  /* Phi_t; NULL: Phi does not depend on t */
  int (*constraint_rate)(void *user, double t, const double *p, double *phi_t);
  /* a = (Phi_p v + Phi_t)_p v + (Phi_p v + Phi_t)_t, the part of d2Phi/dt2 without v'; NULL: by
   * extrapolated central differences of Phi_p v (about ten digits), if Phi_t is NULL too */
  int (*curvature)(void *user, double t, const double *p, const double *v, double *a);
  /* potential energy of the conservative part of f; NULL: energy is reported as NaN. One that fails at a
   * start makes vin_sim_create() fail; later the report's energies are NaN and the text says why */
  int (*potential)(void *user, double t, const double *p, double *energy);
  /* total linear (3) and angular (3, about the origin) momentum; NULL: reported as NaN */
  int (*momentum)(void *user, double t, const double *p, const double *v, double *linear,
                  double *angular);

  /* optional tangents K = df/dp and D = df/dv (n x n, general), for implicit methods. A pattern
   * without its callback: by coloured differences. No pattern: f_i is taken to depend on all of p
   * and v for n <= 32, else on what shares a constraint row, a mass entry or a position block with
   * i; a force that reaches further spoils Newton's method, which then converges slowly or says
   * so, but never gives a wrong result */
  vin_triplets force_p_pattern, force_v_pattern;
  int (*force_p)(void *user, double t, const double *p, const double *v, double *values);
  int (*force_v)(void *user, double t, const double *p, const double *v, double *values);

  /* names for messages; write at most size bytes including the final zero. NULL: "position 7" */
  void (*position_name)(void *user, vin_int index, char *text, size_t size);
  void (*constraint_name)(void *user, vin_int row, char *text, size_t size);
  /* violation of constraint row in its natural unit, from phi (a rod: elongation in m); NULL:
   * phi */
  double (*constraint_gap)(void *user, vin_int row, double phi);

  const vin_int *position_block;   /* n, see vin_kkt_options; NULL: found from the patterns */
  const vin_int *constraint_block; /* m */

  void *user;
  void (*release)(void *user); /* called once, when the last reference is gone or creation failed */
} vin_system_desc;
VIN_API vin_system_desc vin_system_desc_default(void);

/** Copies patterns, blocks and callbacks; checks them (VIN_ERR_BAD_INPUT names what is wrong). */
VIN_API vin_status vin_system_create(vin_system **system, const vin_context *context,
                                     const vin_system_desc *desc);
/** The system whose constraints are Phi + a0 + a1 (t - t0), with a0 = -Phi and a1 = -(Phi_p v + Phi_t) at
 *  (t0, p0, v0), so that this start is consistent on both levels as it is ([6], 8.4): the answer to a
 *  start that must not move, where the constraints themselves are what is inexact. Everything else
 *  is the base's: flags, names, patterns, forces; constraint_gap gets the shifted value. Keeps the
 *  base. VIN_ERR_BAD_INPUT: NaN; VIN_RETRY, VIN_ERR_CALLBACK: a callback of the base failed there. */
VIN_API vin_status vin_system_shifted(vin_system **system, const vin_context *context,
                                      vin_system *base, double t0, const double *p0,
                                      const double *v0);

/** Gives up one reference. */
VIN_API void vin_system_destroy(vin_system *system);
/** Takes one more reference (thread safe) and returns its argument. */
VIN_API vin_system *vin_system_retain(vin_system *system);
VIN_API const char *vin_system_error(const vin_system *system);

VIN_API vin_int vin_system_positions(const vin_system *system);
VIN_API vin_int vin_system_constraints(const vin_system *system);
VIN_API unsigned vin_system_flags(const vin_system *system);

/** Writes the name of a constraint row ("rod 'left'") or a position into text (always terminated).
 *  */
VIN_API void vin_system_constraint_name(const vin_system *system, vin_int row, char *text,
                                        size_t size);
VIN_API void vin_system_position_name(const vin_system *system, vin_int index, char *text,
                                      size_t size);

/** Evaluations at one point, for tests and own methods. Outputs as in the callbacks. The text of a
 *  failure goes to text (text_size bytes, may be NULL). */
VIN_API vin_status vin_system_constraint(const vin_system *system, double t, const double *p,
                                         double *phi, char *text, size_t text_size);
VIN_API vin_status vin_system_force(const vin_system *system, double t, const double *p,
                                    const double *v, double *f, char *text, size_t text_size);

/** Result of vin_system_check(): the worst entry among those that disagree. */
typedef struct vin_derivative_check {
  int wrong;              /* entries that disagree, over all functions */
  const char *function;   /* "jacobian", "constraint_rate", "curvature", "potential", "force_p",
                             "force_v", "flags", "constraint_rows", "jacobian_rows"; NULL when all
                             agree */
  vin_int row, col;       /* of the worst entry; col = -1 for vectors */
  double given, expected; /* callback's value, finite difference */
  double error;           /* |given - expected| / scale of the entry */
  char text[256];         /* the same in words, with names */
} vin_derivative_check;

/** Compares every derivative the callbacks give with extrapolated central differences at (t, p,
 *  v), also entries that the declared patterns leave out, and the claims in flags. O(n)
 *  evaluations. VIN_OK: all agree (to 1e-6 of each entry, or 1e-8 of the largest in its row; rows given
 *  one by one exactly);
 *  VIN_CHECK_FAILED: see *check. The potential is compared as -dV/dp with f only where f(p, v) at
 *  v = 0 claims to be conservative; pass check_potential = 0 to skip it. */
VIN_API vin_status vin_system_check(const vin_system *system, double t, const double *p,
                                    const double *v, int check_potential,
                                    vin_derivative_check *check);

#ifdef __cplusplus
}
#endif
#endif
