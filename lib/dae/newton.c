/* Finite-budget Newton's method: theory (D3). It stops at the first valid iterate whose residual
 * meets the tolerance, and never returns an iterate at which the residual was not evaluated. */
#include "dae/newton.h"

#include <math.h>
#include <string.h>

const char *vin_outcome_name(vin_outcome outcome) {
  switch ((int)outcome) {
#define OUTCOME_NAME(name, word, status)                                                           \
  case name:                                                                                       \
    return word;
    VIN_OUTCOME_TABLE(OUTCOME_NAME)
#undef OUTCOME_NAME
  default:
    return "unknown";
  }
}

vin_status vini_outcome_status(vin_outcome outcome) {
  switch ((int)outcome) {
#define OUTCOME_STATUS(name, word, status)                                                         \
  case name:                                                                                       \
    return status;
    VIN_OUTCOME_TABLE(OUTCOME_STATUS)
#undef OUTCOME_STATUS
  default:
    return VIN_ERR_INTERNAL;
  }
}

double vini_norm2(const double *x, int64_t count) {
  double largest = vini_max_abs(x, count), sum = 0;
  if (!(largest > 0) || isinf(largest)) return largest; /* 0, NaN, infinity */
  for (int64_t i = 0; i < count; i++) sum += (x[i] / largest) * (x[i] / largest);
  return largest * sqrt(sum);
}

/* Ends with what the contract has no word for when the status is fatal, else with `outcome`. */
static vin_status end(vini_newton_result *result, vin_status status, vin_outcome outcome) {
  result->outcome = status < 0 ? VIN_OUTCOME_FAILED : outcome;
  return status < 0 ? status : vini_outcome_status(outcome);
}

/* One correction: x moves only when the trial is valid. */
static vin_status improve(const vini_newton *newton, double *x, vini_newton_result *result,
                          vin_dae_counts *counts) {
  vini_object *object = newton->object;
  vin_status status = newton->correct(newton->self, x, newton->dx, counts);
  if (status == VIN_SINGULAR) return end(result, status, VIN_OUTCOME_SINGULAR_JACOBIAN);
  if (status != VIN_OK) { /* no Jacobian where there is a residual */
    result->outcome = VIN_OUTCOME_FAILED;
    return status;
  }
  for (vin_int i = 0; i < newton->n; i++) newton->trial[i] = x[i] + newton->dx[i];
  if (vini_first_nonfinite(newton->trial, newton->n) >= 0) {
    vini_fail(object, VIN_STEP_FAILED, "correction %d of Newton's method overflows",
              result->corrections + 1);
    return end(result, VIN_OK, VIN_OUTCOME_INVALID_TRIAL);
  }
  if (!newton->inside(newton->self, newton->trial)) {
    vini_fail(object, VIN_STEP_FAILED, "correction %d of Newton's method leaves the domain",
              result->corrections + 1);
    return end(result, VIN_OK, VIN_OUTCOME_INVALID_TRIAL);
  }
  counts->residual_queries++;
  status = newton->residual(newton->self, newton->trial, newton->r);
  if (status != VIN_OK) return end(result, status, VIN_OUTCOME_INVALID_TRIAL);
  memcpy(x, newton->trial, (size_t)newton->n * sizeof *x);
  result->last = vini_norm2(newton->r, newton->n);
  result->corrections++;
  return VIN_OK;
}

vin_status vini_newton_run(const vini_newton *newton, double tolerance, int budget, double *x,
                           vini_newton_result *result, vin_dae_counts *counts) {
  *result = (vini_newton_result){.first = -1, .last = -1};
  counts->residual_queries++;
  vin_status status = newton->residual(newton->self, x, newton->r);
  if (status != VIN_OK) {
    result->seed_failed = true;
    return end(result, status, VIN_OUTCOME_INVALID_TRIAL);
  }
  result->first = result->last = vini_norm2(newton->r, newton->n);
  while (!(result->last <= tolerance)) {
    if (result->corrections == budget) {
      vini_fail(newton->object, VIN_NOT_CONVERGED,
                "%d corrections of Newton's method reached a residual of %.3g from %.3g, "
                "tolerance %.3g",
                budget, result->last, result->first, tolerance);
      return end(result, VIN_OK, VIN_OUTCOME_BUDGET_EXHAUSTED);
    }
    VINI_TRY(improve(newton, x, result, counts));
  }
  return end(result, VIN_OK, VIN_OUTCOME_ROOT);
}
