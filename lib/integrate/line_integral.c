/* Line-integral methods: HBVM(k,s) with constant multipliers in a step (r = 1) and the family with
 * multipliers of degree r - 1; theory (L1) to (L9).
 *
 * A step's start is recognised among the states that the integrator has seen, by their bits, because the
 * caller's p and v are not all of it: what their rounding left over is summed up apart, and a projected
 * output is not what the next step goes on from. Kept are the end of the last step and, after a failure,
 * the state where it happened (the anchor): a caller that halves the step returns there after some of the
 * pieces succeeded. */
#include "integrate/line_integral.h"

#include "kkt/kkt.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Nodes that are chosen where k = s is not exact: the smallest multiple of s that is no less. */
#define LEAST_NODES 6
/* Steps that judge the choice by their energy error, and what they take for rounding, relative to
 * the largest energy. */
#define JUDGED_STEPS 8
#define ENERGY_ROUNDING 2e-14
/* Contractions up to which a factorisation is kept, see vin_reuse, and the price of one in
 * solves below which AUTO does not try. */
#define KEEP_AUTO 0.1
#define KEEP_ALWAYS 0.3
#define LEAST_RATIO 4.0
/* A step longer than this many last steps is not predicted from them. */
#define FARTHEST 2.0
/* Steps so close to the end of a failed one lie behind it: rounding of t. */
#define TIME_SLACK 1e-9
/* Phi of rows that were left out as dependent, in rounding floors: above it, and above
 * position_tolerance, they contradict the others. */
#define DROPPED_SLACK 64

/* ---- creation ----------------------------------------------------------------------------------
 */

static vin_status check_options(vin_integrator *self, int *s, int *r) {
  const vin_options *o = &self->options;
  vini_object *object = &self->object;
  bool lim = self->method->method == VIN_METHOD_LIM;
  *s = o->stages != 0 ? o->stages : lim ? 3 : 2;
  if (*s < 1 || *s > VINI_GAUSS_MOST) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "stages is %d, must be in 1..%d (0: default)",
                     o->stages, VINI_GAUSS_MOST);
  }
  if (o->nodes != 0 && (o->nodes < *s || o->nodes > VINI_GAUSS_MOST)) {
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "nodes is %d, must be in %d..%d: at least the %d stages (0: chosen)", o->nodes,
                     *s, VINI_GAUSS_MOST, *s);
  }
  *r = lim && o->multiplier_terms != 0 ? o->multiplier_terms : lim ? *s - 1 + *s % 2 : 1;
  if (lim && (*r < 1 || *r > *s || *r % 2 == 0)) {
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "multiplier_terms is %d, must be odd and in 1..%d, the stages (0: the "
                     "largest); with an even number the hidden constraint drifts",
                     o->multiplier_terms, *s);
  }
  if (!(o->energy_tolerance >= 0)) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "energy_tolerance is %g, must be >= 0",
                     o->energy_tolerance);
  }
  if (o->energy_tolerance > 0 && self->system->desc.potential == NULL) {
    return vini_fail(object, VIN_ERR_UNSUPPORTED,
                     "energy_tolerance needs a system with a potential callback");
  }
  if (self->m == 0) *r = *s; /* all degrees with the one factorisation of M */
  return VIN_OK;
}

static vin_status no_memory(vin_integrator *self) {
  return vini_fail(&self->object, VIN_ERR_NO_MEMORY,
                   "no memory for %s on %d positions and %d constraints", self->method->name,
                   (int)self->n, (int)self->m);
}

/* All vectors out of one block. */
static bool allocate(vin_integrator *self, size_t s, size_t r) {
  vini_line *line = self->data;
  size_t n = (size_t)self->n, m = (size_t)self->m, total = 0;
  bool projected = self->options.project_output != 0;
  size_t tangent =
      vini_line_may_be_stiff(self) ? (size_t)self->system->desc.force_p_pattern.count : 0;
  bool own_mass = r < s && (self->system->desc.flags & VIN_MASS_DIAGONAL) != 0;
  struct {
    double **vector;
    size_t size;
  } wanted[17 + 5 * VINI_LINE_STATES] = {
      {&line->d, s * n},
      {&line->d_next, s * n},
      {&line->theta, s * n},
      {&line->l, r * m},
      {&line->l_next, r * m},
      {&line->c, r * m},
      {&line->z, s * (n + m)},
      {&line->u, n},
      {&line->rate, n},
      {&line->force, n},
      {&line->gap, m},
      {&line->lambda, m},
      {&line->node_values, (size_t)self->projector->jacobian.count},
      {&line->rounding, m},
      {&line->inverse_mass, own_mass ? n : 0},
      {&line->tangent, tangent}};
  size_t count = 16;
  for (int i = 0; i < VINI_LINE_STATES; i++) {
    vini_line_state *state = &line->state[i];
    double **vectors[] = {&state->p, &state->v, &state->p_low, &state->v_low, &state->raw};
    for (int q = 0; q < (projected ? 5 : 4); q++) {
      wanted[count].vector = vectors[q];
      wanted[count++].size = n;
    }
  }
  for (size_t i = 0; i < count; i++) total += wanted[i].size;
  double *memory = line->memory = vini_alloc(&self->object.context, total, sizeof *memory);
  if (memory == NULL) return false;
  for (size_t i = 0; i < count; i++) {
    *wanted[i].vector = memory;
    memory += wanted[i].size;
  }
  if (tangent == 0) line->tangent = NULL;
  for (int i = 0; i < VINI_LINE_STATES && !projected; i++) line->state[i].raw = line->state[i].v;
  return true;
}

/* M alone, for the degrees without a multiplier, where it is not diagonal. */
static vin_status create_mass(vin_integrator *self) {
  vini_line *line = self->data;
  const vin_system_desc *desc = &self->system->desc;
  vin_kkt_options options = self->projector->options.kkt;
  options.coordinate_block = desc->position_block;
  options.constraint_block = NULL;
  options.constraint_name = NULL;
  options.compliance = (vin_triplets){0};
  vin_status status = vin_kkt_create(&line->mass, &self->object.context, self->n, 0,
                                     desc->mass_pattern, (vin_triplets){0}, &options);
  if (status == VIN_OK) return VIN_OK;
  return vini_fail(&self->object, status, "the mass matrix alone: %s", vin_kkt_error(line->mass));
}

vin_status vini_line_create(vin_integrator *self) {
  int s = 0, r = 0;
  VINI_TRY(check_options(self, &s, &r));
  vini_line *line = self->data = vini_alloc(&self->object.context, 1, sizeof *line);
  if (line == NULL) return no_memory(self);
  line->chosen = self->options.nodes != 0;
  line->judged = line->chosen ? JUDGED_STEPS : 0;
  vini_line_table_fill(&line->table, line->chosen ? self->options.nodes : s, s, r);
  if (!allocate(self, (size_t)s, (size_t)r)) return no_memory(self);
  /* the policy below decides, on factorisations that are of their own state */
  line->reuse = self->projector->kkt->options.reuse;
  self->projector->kkt->options.reuse = VIN_REUSE_NEVER;
  if (r < s && !(self->system->desc.flags & VIN_MASS_DIAGONAL)) return create_mass(self);
  return VIN_OK;
}

void vini_line_destroy(vin_integrator *self) {
  vini_line *line = self->data;
  if (line == NULL) return;
  vin_kkt_destroy(line->mass);
  vini_line_stiff_destroy(self);
  vini_free(&self->object.context, line->memory);
  vini_free(&self->object.context, line);
}

/* ---- the states that a step may start from -----------------------------------------------------
 */

static bool same(const vini_line_state *state, const vin_state *from, vin_int n) {
  size_t bytes = (size_t)n * sizeof(double);
  return state != NULL && memcmp(state->p, from->p, bytes) == 0 &&
         memcmp(state->v, from->v, bytes) == 0;
}

/* A state without a role. */
static vini_line_state *unused(vini_line *line, const vini_line_state *start) {
  vini_line_state *state = line->state;
  while (state == line->last || state == line->anchor || state == start) state++;
  return state;
}

static vini_line_state *find_start(vin_integrator *self, const vin_state *from, bool continues) {
  vini_line *line = self->data;
  vini_line_state *start = NULL;
  size_t n = (size_t)self->n;
  if ((continues && line->last != NULL) || same(line->last, from, self->n)) {
    start = line->last;
  } else if (same(line->anchor, from, self->n)) {
    start = line->anchor;
  } else {
    start = unused(line, NULL);
    if (start == line->begin) line->begin = NULL;
    memcpy(start->p, from->p, n * sizeof(double));
    memcpy(start->v, from->v, n * sizeof(double));
    memcpy(start->raw, start->v, n * sizeof(double));
    memset(start->p_low, 0, n * sizeof(double));
    memset(start->v_low, 0, n * sizeof(double));
  }
  start->t = from->t;
  return start;
}

/* The anchor stays while the steps that follow lie within the one that failed there. */
static void keep_anchor(vini_line *line, vini_line_state *start, double h) {
  vini_line_state *anchor = line->anchor;
  if (anchor != NULL && anchor != start) {
    double part = (start->t - anchor->t) / (anchor->failed_end - anchor->t);
    if (part >= 0 && part < 1 - TIME_SLACK) return;
  }
  if (anchor == start && fabs(start->failed_end - start->t) > fabs(h)) return;
  line->anchor = start;
  start->failed_end = start->t + h;
}

/* ---- a step ------------------------------------------------------------------------------------
 */

/* May the present factorisation, of another state, serve this step too? */
static bool keeps(const vin_integrator *self) {
  const vini_line *line = self->data;
  const vin_kkt *kkt = self->projector->kkt;
  if (line->reuse == VIN_REUSE_NEVER || line->last_h == 0 || kkt->dropped_count > 0) return false;
  if (line->reuse == VIN_REUSE_ALWAYS) return line->contraction <= KEEP_ALWAYS;
  return line->contraction <= KEEP_AUTO && kkt->reuse.ratio >= LEAST_RATIO * line->table.r;
}

static vin_status factorise(vin_integrator *self, const vini_line_state *start) {
  vini_line *line = self->data;
  VINI_TRY(vini_projector_factor(self->projector, start->t, start->p, start->raw));
  line->stamp = self->projector->factor_stamp;
  return VIN_OK;
}

/* A factorisation to iterate with; *fresh: it is that of the start. */
static vin_status begin(vin_integrator *self, const vini_line_state *start, double h, bool *fresh) {
  vini_line *line = self->data;
  VINI_TRY(vini_line_stiff_begin(self, start, h));
  bool usable = line->stamp == self->projector->factor_stamp && !line->blended &&
                self->projector->factored == VINI_FACTORED_MASS && line->stamp > 0;
  *fresh = usable && (self->m == 0 || (line->end_factored && start == line->last));
  if (line->blended) {
    line->stamp = 0; /* the Jacobian of the projector's factorisation has been overwritten */
    *fresh = true;
  } else if (!*fresh && !(usable && keeps(self))) {
    VINI_TRY(factorise(self, start));
    *fresh = true;
  }
  line->end_factored = false;
  memset(line->rounding, 0, (size_t)self->m * sizeof(double));
  vini_projector_add_jacobian(self->projector, DBL_EPSILON, start->p, line->rounding);
  for (vin_int c = 0; c < self->m; c++) line->rounding[c] = fabs(line->rounding[c]);
  return vini_line_prepare_mass(self, start);
}

/* y := matrix x for `terms` stacked vectors */
static void combine(int terms, vin_int count, double matrix[][VINI_GAUSS_MOST], const double *x,
                    double *y) {
  memset(y, 0, (size_t)terms * (size_t)count * sizeof(double));
  for (int i = 0; i < terms; i++) {
    double *to = y + (size_t)i * (size_t)count;
    for (int j = 0; j < terms; j++) {
      const double *from = x + (size_t)j * (size_t)count, a = matrix[i][j];
      if (a == 0) continue;
      for (vin_int q = 0; q < count; q++) to[q] += a * from[q];
    }
  }
}

/* First guess of d and lambda: the last step's polynomials, extended; theory (L9). */
static void predict(vin_integrator *self, const vini_line_state *start, double h) {
  vini_line *line = self->data;
  vini_line_table *t = &line->table;
  size_t n = (size_t)self->n, m = (size_t)self->m;
  double ratio = line->last_h != 0 ? h / line->last_h : 0;
  if (start == line->last && ratio != 0 && fabs(ratio) <= FARTHEST) {
    vini_line_table_predict(t, ratio);
    combine(t->s, self->n, t->extend, line->d, line->d_next);
    combine(t->r, self->m, t->shift, line->l, line->l_next);
  } else {
    memset(line->d_next, 0, (size_t)t->s * n * sizeof(double));
    memset(line->l_next, 0, (size_t)t->r * m * sizeof(double));
    if (line->last_h != 0) memcpy(line->l_next, line->l, m * sizeof(double)); /* the mean */
  }
  const vin_int *rows = NULL;
  vin_int dropped = vin_kkt_dropped(line->blended ? line->stiff : self->projector->kkt, &rows);
  for (vin_int q = 0; q < dropped; q++) {
    for (int j = 0; j < t->r; j++) line->l_next[(size_t)j * m + (size_t)rows[q]] = 0;
  }
}

/* Solves for the step's polynomials; anew with a factorisation at the start where a kept one failed. */
static vin_status solve(vin_integrator *self, const vini_line_state *start, double h) {
  bool fresh = false;
  VINI_TRY(begin(self, start, h, &fresh));
  predict(self, start, h);
  vin_status status = vini_line_iterate(self, start, h);
  if (status != VIN_STEP_FAILED || fresh) return status;
  VINI_TRY(factorise(self, start));
  predict(self, start, h);
  return vini_line_iterate(self, start, h);
}

/* Rows left out as dependent follow from the others; where not, they contradict. line->gap is Phi at
 * the end, line->u. */
static vin_status check_dropped(vin_integrator *self) {
  const vini_line *line = self->data;
  const vin_int *rows = NULL;
  vin_int dropped = vin_kkt_dropped(line->blended ? line->stiff : self->projector->kkt, &rows);
  double *floor = line->lambda;
  if (dropped > 0) vini_projector_floor(self->projector, line->u, floor);
  for (vin_int q = 0; q < dropped; q++) {
    vin_int c = rows[q];
    double limit = vini_max(self->options.position_tolerance, DROPPED_SLACK * floor[c]);
    if (fabs(line->gap[c]) <= limit) continue;
    char name[96];
    vin_system_constraint_name(self->system, c, name, sizeof name);
    return vini_fail(&self->projector->object, VIN_STEP_FAILED,
                     "%s depends on the other constraints and is left with %.3g", name,
                     line->gap[c]);
  }
  return VIN_OK;
}

/* The end of the step into *end, and its energy error when that is asked for. */
static vin_status finish(vin_integrator *self, const vini_line_state *start, double h,
                         vini_line_state *end, double *error, double *scale) {
  const vini_line *line = self->data;
  end->t = start->t + h;
  vini_line_end(self, start, h, end->p, end->p_low, end->raw, end->v_low);
  bool judge = line->judged < JUDGED_STEPS && self->system->desc.potential != NULL;
  *error = NAN;
  if (!judge && !(self->options.energy_tolerance > 0)) return VIN_OK;
  return vini_line_energy(self, start, h, end, error, scale);
}

/* Solves, with more nodes as long as that brings the energy error down; only in the first steps. */
static vin_status solve_and_judge(vin_integrator *self, const vini_line_state *start, double h,
                                  vini_line_state *end) {
  vini_line *line = self->data;
  vini_line_table *t = &line->table;
  double error = 0, scale = 0, last = HUGE_VAL;
  VINI_TRY(solve(self, start, h));
  VINI_TRY(check_dropped(self));
  VINI_TRY(finish(self, start, h, end, &error, &scale));
  while (line->judged < JUDGED_STEPS && fabs(error) > ENERGY_ROUNDING * scale &&
         fabs(error) < 0.5 * last && t->k < VINI_GAUSS_MOST) {
    last = fabs(error);
    vini_line_table_fill(t, (int)vini_min_int(t->k + t->s, VINI_GAUSS_MOST), t->s, t->r);
    vini_line_table_step(t, h);
    VINI_TRY(vini_line_iterate(self, start, h));
    VINI_TRY(finish(self, start, h, end, &error, &scale));
  }
  double tolerance = self->options.energy_tolerance;
  if (!(tolerance > 0) || fabs(error) <= tolerance * scale) return VIN_OK;
  return vini_fail(
      &self->projector->object, VIN_STEP_FAILED,
      "the energy changes by %.3g J in excess of the work done, tolerance %.2g of %.3g "
      "J: take a smaller step, or more nodes than %d",
      error, tolerance, scale, t->k);
}

/* What the caller gets: the raw end and the multiplier polynomial there, or v projected and lambda of
 * that state. */
static vin_status output(vin_integrator *self, const vini_line_state *end, vin_state *to) {
  vini_line *line = self->data;
  const vini_line_table *t = &line->table;
  size_t n = (size_t)self->n, m = (size_t)self->m;
  memcpy(to->p, end->p, n * sizeof(double));
  memcpy(to->v, end->raw, n * sizeof(double));
  if (m == 0) return VIN_OK;
  if (self->options.project_output) {
    vin_projection_report report;
    memset(&report, 0, sizeof report);
    VINI_TRY(vini_projector_velocity(self->projector, end->t, to->p, to->v, false, &report));
    return vini_projector_acceleration(self->projector, end->t, to->p, to->v, true, self->vdot,
                                       to->lambda, NULL);
  }
  memset(to->lambda, 0, m * sizeof(double));
  for (int j = 0; j < t->r; j++) {
    const double *l = line->l_next + (size_t)j * m;
    for (size_t c = 0; c < m; c++) to->lambda[c] += t->end[j] * l[c];
  }
  return VIN_OK;
}

/* The step has succeeded: its end becomes the last one. */
static void accept(vin_integrator *self, vini_line_state *start, vini_line_state *end, double h,
                   const vin_state *to) {
  vini_line *line = self->data;
  if (end->raw != end->v) memcpy(end->v, to->v, (size_t)self->n * sizeof(double));
  double *kept = line->d;
  line->d = line->d_next;
  line->d_next = kept;
  kept = line->l;
  line->l = line->l_next;
  line->l_next = kept;
  line->begin = start;
  line->last = end;
  line->last_h = h;
  line->judged += line->judged < JUDGED_STEPS;
  if (!self->options.project_output || self->m == 0) return;
  line->stamp = self->projector->factor_stamp;
  line->end_factored = self->projector->factored == VINI_FACTORED_MASS;
  self->factor_fits = line->end_factored;
}

static void choose_nodes(vin_integrator *self, const vini_line_state *start) {
  vini_line *line = self->data;
  int s = line->table.s, k = s;
  line->chosen = true;
  if (!vini_line_is_quadratic(self, start)) {
    k = 3 * s > LEAST_NODES ? 3 * s : LEAST_NODES;
    if (k > VINI_GAUSS_MOST) k = VINI_GAUSS_MOST;
  }
  vini_line_table_fill(&line->table, k, s, line->table.r);
}

vin_status vini_line_step(vin_integrator *self, const vin_state *from, double h, vin_state *to,
                          bool continues) {
  vini_line *line = self->data;
  vini_line_state *start = find_start(self, from, continues), *end = unused(line, start);
  if (!line->chosen) choose_nodes(self, start);
  vini_line_table_step(&line->table, h);
  if (end == line->begin) line->begin = NULL;
  self->factor_fits = false;
  vin_status status = solve_and_judge(self, start, h, end);
  if (status == VIN_OK) status = output(self, end, to);
  if (status != VIN_OK) {
    keep_anchor(line, start, h);
    return vini_step_failure(self, status, from->t, h);
  }
  accept(self, start, end, h, to);
  return VIN_OK;
}
