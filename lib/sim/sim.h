/* sim - internal side: the buffers of a simulation and what recorder and reports see of it. */
#ifndef VINI_SIM_H
#define VINI_SIM_H

#include "base/base.h"
#include "integrate/integrate.h"
#include "project/project.h"
#include "system/system.h"
#include "vincula/sim.h"

enum { VINI_SIM_OBSERVERS = 8 };

/* Below this, in s, a time is 0 as far as steps are concerned: 1 / step must not overflow. */
#define VINI_SIM_TINY_TIME 1e-270

/* A number for a message, '.' whatever the locale; lives as long as the enclosing block. */
#define VINI_SIM_NUMBER(value)                                                                     \
  vini_format_number((char[VINI_NUMBER_SIZE]){0}, VINI_NUMBER_SIZE, (value), 9)

typedef struct vini_observer {
  int64_t every;
  int64_t countdown; /* accepted steps until the next call */
  vin_observer call;
  void *user;
  /* Only for the library's own observers, else NULL: `gone` is told when the sim is destroyed
   * first; `source` holds the text that explains why the observer stopped the run. */
  void (*gone)(void *user);
  const vini_object *source;
} vini_observer;

/* Step control (control.c). */
typedef struct vini_control {
  bool on;
  double h;     /* next trial step, s */
  double error; /* of the last step that was accepted at full length */
} vini_control;

struct vin_sim {
  vini_object object;
  vin_system *system;
  vin_options options;
  vin_integrator *integrator;
  vin_projector *projector; /* the integrator's */
  vin_int n, m;

  /* A step reads `accepted` and writes `spare`; only pointers are exchanged, and only after
   * success. The second spare is there for the halvings: their substeps must not touch `accepted`
   * either. */
  vin_state buffers[3];
  vin_state *accepted;
  vin_state *spare[2];
  const vin_state *last_end; /* buffer with the integrator's last successful result, or NULL */
  const vin_state *previous; /* the state before the last whole step, while its buffer holds it */
  bool single;               /* that step was one piece: the integrator can interpolate it */
  bool rewound;              /* the integrator is as it was when it returned `accepted` */
  vini_control control;

  /* accepted->t = base + count * options.step: rounding of the time does not accumulate. */
  double base;
  int64_t count;
  int64_t steps; /* accepted whole steps since creation */

  double energy_start;
  vin_projection_report start_report;
  double *vdot, *lambda; /* n, m: scratch of reports */

  vini_observer observers[VINI_SIM_OBSERVERS];
  int observer_count;
  vin_progress progress;
  void *progress_user;
  bool inside;   /* an observer or the progress callback is running */
  bool run_text; /* the text explains a step or run that ended early: reports leave it alone */
};

/* Ready, and not called from inside an observer. */
vin_status vini_sim_writable(vin_sim *sim);
/* `pieces` equal steps from the accepted state over h; *end is the spare buffer that holds the result.
 * On failure the reason is in the sim's text, and the accepted state untouched. */
vin_status vini_sim_try(vin_sim *sim, double h, int64_t pieces, vin_state **end);
/* The result of vini_sim_try() becomes the accepted state. */
void vini_sim_accept(vin_sim *sim, vin_state *end, double end_time);
/* One accepted step of the controller's length, at most to t_end (or infinity). */
vin_status vini_sim_controlled_step(vin_sim *sim, double t_end);
/* A report of any state; `fits`: the integrator's factorisation is of this state. */
vin_report vini_sim_report_at(vin_sim *sim, const vin_state *state, bool fits);
/* Checks a step length at time t: finite, > 0, not lost in t. */
vin_status vini_sim_check_step(vini_object *object, double t, double step);
/* Refuses NaN and infinity in x (n), naming the position: "start velocity of x of node 7 is nan".
 */
vin_status vini_sim_check_values(vini_object *object, const vin_system *system, const char *what,
                                 const double *x);
/* The accepted state was written from outside: multipliers and time grid start anew. */
void vini_sim_restart(vin_sim *sim, double t, bool lambda_known);
/* Energy of a start, NaN where the system has no potential; a callback that fails names itself. */
vin_status vini_sim_start_energy(vin_sim *sim, double t, const double *p, const double *v,
                                 double *energy);
/* Accelerations and multipliers at the accepted state, with the integrator's factorisation if it
 * fits. */
vin_status vini_sim_accelerations(vin_sim *sim, double *vdot, double *lambda, double *residual);
/* Adds or removes an observer of the library's own. */
vin_status vini_sim_attach(vin_sim *sim, vini_observer observer);
void vini_sim_detach(vin_sim *sim, const void *user);

#endif
