/* test_rank_support - systems whose constraints depend on each other by value, and which ones do. */
#ifndef TEST_RANK_SUPPORT_H
#define TEST_RANK_SUPPORT_H

#include "test_kkt_support.h"

/* Rows of J that depend on rows before them, ascending; skip (may be NULL): m flags of rows left out.
 * A row counts as dependent within 1e-9 of its length of the others' span. */
vin_int dependent_rows(const problem *p, const unsigned char *skip, vin_int *rows);

/* x of the system without dependent rows; *count: how many there are. free() it. */
double *independent_solution(const problem *p, vin_int *count);

/* 112 tethers from one body to a point each. Point 7 is also held by two rods, and its tether's own
 * direction lies in their plane: independent by pattern, dependent by value until the body comes. */
problem hub_by_value(vin_int duplicates, test_random *random);

/* J = B A: m x rank times rank x n, both sparse; consistent right-hand side. */
problem product_problem(vin_int n, vin_int m, vin_int rank, test_random *random);

/* Coordinates 5 and 6 share one mass, w w': their second pivot is not zero but rounding, and row 0 of
 * J must hold the direction without mass. Before rows are duplicated. */
void share_a_mass(problem *p);

/* H = B B' of a rank that is large enough for the freedom that the constraints leave. */
void make_semidefinite(problem *p, vin_int rank, test_random *random);

void cross(const double *a, const double *b, double *c);

/* One closed loop of revolute joints through points[k] along axes[k] (6 numbers a joint: point,
 * axis); body k joins k and k + 1, the last link is the ground. */
problem revolute_loop(vin_int joints, const double *line, test_random *random);

/* The library in this build has the whole way: UMFPACK after ldlt, then the QR. */
bool qr_in_build(void);

#endif
