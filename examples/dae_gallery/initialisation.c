/* initialisation.c - section 8.1: the nearest consistent state of the pendulum, and its verification. */
#include <math.h>

#include "gallery.h"

/* From (1.1, 0) with velocity (0.3, 0.2) the nearest point of the circle is (1, 0), the nearest
 * velocity along it (0, 0.2), and lambda = (u^2 + v^2 - g y) / 2. */
vin_status gallery_initialisation(gallery *g) {
  vin_system *system = NULL;
  vin_projector *projector = NULL;
  vin_status status = pendulum_system(&system);
  if (status != VIN_OK) return gallery_fail(g, status, vin_system_error(system));
  vin_projection_options options = vin_projection_options_default();
  status = vin_projector_create(&projector, NULL, system, &options);
  vin_system_destroy(system);
  double p[] = {1.1, 0.0}, v[] = {0.3, 0.2}, vdot[2], lambda[1];
  vin_initial_options initial = vin_initial_options_default();
  vin_initial_report report = {0};
  if (status == VIN_OK)
    status = vin_initial_state(projector, &initial, 0.0, p, v, vdot, lambda, &report);
  if (status != VIN_OK) {
    gallery_fail(g, status, vin_projector_error(projector));
    vin_projector_destroy(projector);
    return status;
  }
  gallery_below(g, "8.1", "distance of p, v from (1, 0), (0, 0.2)",
                hypot(hypot(p[0] - 1.0, p[1]), hypot(v[0], v[1] - 0.2)), 1e-12);
  gallery_value(g, "8.1", "lambda(0) = (u^2 + v^2 - g y) / 2", lambda[0], 0.02, 1e-12);
  gallery_value(g, "8.1", "size of the correction, sqrt(0.1^2 + 0.3^2)", report.weighted_correction,
                sqrt(0.1), 1e-12);
  gallery_below(g, "8.1", "largest residual, three levels and DAE",
                fmax(fmax(report.position_residual, report.velocity_residual),
                     fmax(report.acceleration_residual, report.dae_residual)),
                1e-12);
  if (report.rank >= 0) /* -1: a build without SuiteSparseQR */
    gallery_value(g, "8.1", "rank of the constraint Jacobian", report.rank, 1.0, 0.0);
  /* from consistent data lambda changes by O(h) in a trial step, so half as much in one of h/2 */
  gallery_value(g, "8.1", "trial steps h, h/2: ratio of the changes of lambda",
                report.trial_change[0] / report.trial_change[1], 2.0, 0.1);
  gallery_value(g, "8.1", "verdict of the verification", report.accepted, 1.0, 0.0);
  vin_projector_destroy(projector);
  return VIN_OK;
}
