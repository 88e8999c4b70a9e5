/* Stepping: halvings, the time grid, observers and progress. The accepted state changes only here,
 * by an exchange of pointers after everything has succeeded. */
#include "sim/sim.h"

#include <float.h>
#include <math.h>
#include <string.h>

vin_status vini_sim_writable(vin_sim *sim) {
  VINI_TRY(vini_ready(sim ? &sim->object : NULL));
  if (sim->inside)
    return vini_fail(
        &sim->object, VIN_ERR_BAD_STATE,
        "called from inside an observer or the progress callback; return != 0 there to "
        "stop the run first");
  return VIN_OK;
}

/* ---- one whole step ---------------------------------------------------------------------- */

/* The two spares take turns. */
vin_status vini_sim_try(vin_sim *sim, double h, int64_t pieces, vin_state **end) {
  const vin_state *from = sim->accepted;
  double piece = h / (double)pieces;
  sim->previous = NULL; /* one of the spares */
  for (int64_t k = 1; k <= pieces; k++) {
    vin_state *to = from == sim->spare[0] ? sim->spare[1] : sim->spare[0];
    bool continues = from == sim->last_end || (k == 1 && sim->rewound);
    if (to == sim->last_end) sim->last_end = NULL; /* about to be overwritten */
    vin_status status = vini_integrator_step(sim->integrator, from, piece, to, continues);
    if (status != VIN_OK)
      return vini_fail(&sim->object, status, "%s", vin_integrator_error(sim->integrator));
    to->t = sim->accepted->t + h * ((double)k / (double)pieces);
    sim->last_end = to;
    from = *end = to;
  }
  sim->single = pieces == 1;
  return VIN_OK;
}

void vini_sim_accept(vin_sim *sim, vin_state *end, double end_time) {
  end->t = end_time;
  *(end == sim->spare[0] ? &sim->spare[0] : &sim->spare[1]) = sim->accepted;
  sim->previous = sim->accepted;
  sim->accepted = end;
  sim->steps++;
}

static vin_status step_failed(vin_sim *sim, double h, int64_t pieces, vin_status status) {
  char tries[96] = "";
  if (pieces > 1)
    vini_fail_text(tries, sizeof tries, status, " and retried with pieces down to h = %s s",
                   VINI_SIM_NUMBER(h / (double)pieces));
  sim->run_text = true;
  return vini_fail(&sim->object, status, "step %lld from t = %s s with h = %s s failed%s: %s",
                   (long long)sim->steps + 1, VINI_SIM_NUMBER(sim->accepted->t), VINI_SIM_NUMBER(h),
                   tries, sim->object.text);
}

/* One step of length h that ends at time `end_time` (which is accepted.t + h but for rounding). */
static vin_status whole_step(vin_sim *sim, double h, double end_time) {
  double t = sim->accepted->t;
  vin_state *end = NULL;
  vin_status status = VIN_STEP_FAILED;
  int64_t pieces = 1;
  vini_integrator_mark(sim->integrator, sim->accepted == sim->last_end);
  sim->rewound = false;
  for (int k = 0; k <= sim->options.max_halvings; k++) {
    if (k > 0 && !(t + h / (double)(2 * pieces) > t)) break; /* lost in the rounding of t */
    pieces = (int64_t)1 << k;
    sim->rewound = k > 0 && vini_integrator_rewind(sim->integrator);
    status = vini_sim_try(sim, h, pieces, &end);
    /* < 0: the caller must act, shorter steps cannot help */
    if (status <= VIN_OK || status == VIN_INTERRUPTED) break;
  }
  if (status != VIN_OK) return step_failed(sim, h, pieces, status);
  vini_sim_accept(sim, end, end_time);
  return VIN_OK;
}

/* ---- observers --------------------------------------------------------------------------- */

/* All observers that are due see the step, even when one of them stops the run. */
static vin_status observe(vin_sim *sim) {
  vin_state_view view = vin_sim_state(sim);
  vin_status result = VIN_OK;
  sim->inside = true;
  for (int k = 0; k < sim->observer_count; k++) {
    vini_observer *observer = &sim->observers[k];
    if (--observer->countdown > 0) continue;
    observer->countdown = observer->every;
    const vini_object *source = observer->source; /* the call may remove its entry */
    if (observer->call(observer->user, &view) == 0 || result != VIN_OK) continue;
    result = vini_fail(&sim->object, VIN_INTERRUPTED, "observer %d stopped the run at t = %s s%s%s",
                       k, VINI_SIM_NUMBER(view.t), source ? ": " : "", source ? source->text : "");
    sim->run_text = true;
  }
  sim->inside = false;
  return result;
}

vin_status vini_sim_attach(vin_sim *sim, vini_observer observer) {
  if (sim->observer_count == VINI_SIM_OBSERVERS)
    return vini_fail(&sim->object, VIN_ERR_BAD_INPUT, "there are already %d observers",
                     VINI_SIM_OBSERVERS);
  observer.countdown = observer.every;
  sim->observers[sim->observer_count++] = observer;
  return VIN_OK;
}

void vini_sim_detach(vin_sim *sim, const void *user) {
  int kept = 0;
  for (int k = 0; k < sim->observer_count; k++)
    if (!sim->observers[k].gone || sim->observers[k].user != user)
      sim->observers[kept++] = sim->observers[k];
  sim->observer_count = kept;
}

vin_status vin_sim_add_observer(vin_sim *sim, int64_t every, vin_observer observer, void *user) {
  VINI_TRY(vini_ready(sim ? &sim->object : NULL));
  if (!observer) return vini_fail(&sim->object, VIN_ERR_BAD_INPUT, "the observer is NULL");
  if (every < 1)
    return vini_fail(&sim->object, VIN_ERR_BAD_INPUT, "observer: every is %lld, must be >= 1",
                     (long long)every);
  return vini_sim_attach(sim, (vini_observer){.every = every, .call = observer, .user = user});
}

void vin_sim_set_progress(vin_sim *sim, vin_progress progress, void *user) {
  if (vini_ready(sim ? &sim->object : NULL) != VIN_OK) return;
  sim->progress = progress;
  sim->progress_user = user;
}

static vin_status call_progress(vin_sim *sim, double done) {
  sim->inside = true;
  int stop = sim->progress(sim->progress_user, done);
  sim->inside = false;
  if (stop == 0) return VIN_OK;
  sim->run_text = true;
  return vini_fail(&sim->object, VIN_INTERRUPTED,
                   "the progress callback stopped the run at t = %s s",
                   VINI_SIM_NUMBER(sim->accepted->t));
}

/* ---- the time grid ----------------------------------------------------------------------- */

static double grid_time(const vin_sim *sim, int64_t count) {
  return sim->base + (double)count * sim->options.step;
}

static void rebase(vin_sim *sim) {
  sim->base = sim->accepted->t;
  sim->count = 0;
}

/* Up to this distance in s two times are the same but for rounding: 1e-9 of a step, so that no step
 * is so short that its multipliers are noise, and a few roundings of t itself. A run that is far
 * shorter than a step is a run all the same, hence not more than 1e-9 of t. */
static double time_slack(const vin_sim *sim, double t) {
  double size = vini_max(fabs(t), fabs(sim->base));
  return vini_max(1e-9 * vini_min(sim->options.step, size),
                  4 * DBL_EPSILON * vini_max(size, VINI_SIM_TINY_TIME));
}

static vin_status controlled_step(vin_sim *sim, double t) {
  VINI_TRY(vini_sim_controlled_step(sim, t));
  rebase(sim);
  return observe(sim);
}

vin_status vin_sim_step(vin_sim *sim) {
  VINI_TRY(vini_sim_writable(sim));
  sim->run_text = false;
  if (sim->control.on) return controlled_step(sim, HUGE_VAL);
  double end_time = grid_time(sim, sim->count + 1);
  VINI_TRY(vini_sim_check_step(&sim->object, sim->accepted->t, sim->options.step));
  VINI_TRY(whole_step(sim, sim->options.step, end_time));
  sim->count++;
  return observe(sim);
}

/* The next step on the way to t: a whole one, or the shorter last one. */
static vin_status step_towards(vin_sim *sim, double t) {
  if (sim->control.on) return controlled_step(sim, t);
  double slack = time_slack(sim, t);
  double end_time = grid_time(sim, sim->count + 1);
  if (t - end_time >= -slack) {
    bool last = t - end_time <= slack;
    VINI_TRY(vini_sim_check_step(&sim->object, sim->accepted->t, sim->options.step));
    VINI_TRY(whole_step(sim, sim->options.step, last ? t : end_time));
    sim->count++; /* the grid stays where it is, so that many runs are as good as one */
  } else {
    VINI_TRY(whole_step(sim, t - sim->accepted->t, t));
    rebase(sim);
  }
  return observe(sim);
}

static vin_status check_target(vin_sim *sim, double t) {
  double now = sim->accepted->t;
  if (!isfinite(t))
    return vini_fail(&sim->object, VIN_ERR_BAD_INPUT, "cannot run to t = %s s", VINI_SIM_NUMBER(t));
  if (t < now - time_slack(sim, t))
    return vini_fail(&sim->object, VIN_ERR_BAD_INPUT,
                     "cannot run to t = %s s: it is in the past, the present is t = %s s",
                     VINI_SIM_NUMBER(t), VINI_SIM_NUMBER(now));
  /* refuse at once what would fail after ages */
  return !sim->control.on && t - now > sim->options.step
             ? vini_sim_check_step(&sim->object, t, sim->options.step)
             : VIN_OK;
}

vin_status vin_sim_run(vin_sim *sim, double t) {
  enum { PROGRESS_CALLS = 100 };
  VINI_TRY(vini_sim_writable(sim));
  VINI_TRY(check_target(sim, t));
  sim->run_text = false;
  double start = sim->accepted->t, told = 0;
  while (t - sim->accepted->t > time_slack(sim, t)) {
    VINI_TRY(step_towards(sim, t));
    double done = sim->accepted->t == t ? 1 : (sim->accepted->t - start) / (t - start);
    if (!sim->progress || (done < 1 && done - told < 1.0 / PROGRESS_CALLS)) continue;
    told = done;
    VINI_TRY(call_progress(sim, done));
  }
  sim->accepted->t = t; /* when the run was nothing but rounding */
  return VIN_OK;
}

/* ---- within the last step ------------------------------------------------------------------ */

vin_status vin_sim_interpolate(vin_sim *sim, double t, double *p, double *v) {
  VINI_TRY(vini_ready(sim ? &sim->object : NULL));
  const vin_state *from = sim->previous, *to = sim->accepted;
  if (!p || !v) return vini_fail(&sim->object, VIN_ERR_BAD_INPUT, "%s is NULL", p ? "v" : "p");
  if (!from)
    return vini_fail(&sim->object, VIN_ERR_BAD_STATE, "there is no step to interpolate at t = %s s",
                     VINI_SIM_NUMBER(to->t));
  if (!(t >= from->t && t <= to->t))
    return vini_fail(&sim->object, VIN_ERR_BAD_INPUT,
                     "t = %s s is outside the last step, %s to %s s", VINI_SIM_NUMBER(t),
                     VINI_SIM_NUMBER(from->t), VINI_SIM_NUMBER(to->t));
  double h = to->t - from->t, theta = (t - from->t) / h;
  const vini_dense *dense = sim->integrator->dense;
  if (sim->single && dense && dense->valid && sim->last_end == to)
    return vin_integrator_interpolate(sim->integrator, theta, p, v);
  vini_interpolate_cubic(sim->n, theta, h, from, to, p, v);
  return VIN_OK;
}

/* ---- state ------------------------------------------------------------------------------- */

vin_state_view vin_sim_state(const vin_sim *sim) {
  if (vini_ready(sim ? &sim->object : NULL) != VIN_OK) return (vin_state_view){.t = NAN};
  const vin_state *state = sim->accepted;
  return (vin_state_view){state->t, sim->n, sim->m, state->p, state->v, state->lambda};
}

vin_status vin_sim_set_state(vin_sim *sim, double t, const double *p, const double *v) {
  VINI_TRY(vini_sim_writable(sim));
  if (!p || !v) return vini_fail(&sim->object, VIN_ERR_BAD_INPUT, "%s is NULL", p ? "v" : "p");
  if (!isfinite(t))
    return vini_fail(&sim->object, VIN_ERR_BAD_INPUT, "t is %s s, must be finite",
                     VINI_SIM_NUMBER(t));
  VINI_TRY(vini_sim_check_step(&sim->object, t, sim->options.step));
  VINI_TRY(vini_sim_check_values(&sim->object, sim->system, "position", p));
  VINI_TRY(vini_sim_check_values(&sim->object, sim->system, "velocity of", v));
  double energy;
  VINI_TRY(vini_sim_start_energy(sim, t, p, v, &energy));
  /* memmove: p and v may be the arrays of vin_sim_state() */
  memmove(sim->accepted->p, p, (size_t)sim->n * sizeof *p);
  memmove(sim->accepted->v, v, (size_t)sim->n * sizeof *v);
  sim->run_text = false;
  vini_sim_restart(sim, t, false);
  sim->energy_start = energy;
  return VIN_OK;
}

vin_status vin_sim_set_step(vin_sim *sim, double step) {
  VINI_TRY(vini_sim_writable(sim));
  VINI_TRY(vini_sim_check_step(&sim->object, sim->accepted->t, step));
  sim->options.step = sim->control.h = step;
  rebase(sim);
  return VIN_OK;
}
