/* mujoco.c - MuJoCo: a chain is a tree of ball joints, a net is particles whose distances are kept
 * by tendons with equality constraints (as MuJoCo's own composite objects are). Euler is first
 * order in h, implicit in joint damping, which is zero here. */
#include "peer.h"

#include <mujoco/mujoco.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const peer_name = "mujoco";
const char *const peer_variants[] = {"euler", "rk4", NULL};

enum {
  LIMIT = 200,     /* bodies: along a chain the joint-space mass matrix is dense */
  BODY_TEXT = 700, /* bytes of XML per body and its tendons, at most */
  NESTING = 50     /* bodies per file: MuJoCo's parser takes 100 levels, so files include files */
};

typedef struct simulation {
  const peer_problem *problem;
  mjModel *model;
  mjData *data;
} simulation;

typedef struct text {
  char *at;
  size_t left;
} text;

static void add(text *t, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(t->at, t->left, format, arguments);
  va_end(arguments);
  if (length < 0 || (size_t)length >= t->left) abort(); /* BODY_TEXT is too small */
  t->at += length;
  t->left -= (size_t)length;
}

/* By default MuJoCo prints and writes MUJOCO_LOG.TXT. */
static void on_warning(const char *message) {
  peer_fail("%s", message);
}

/* Links from `first` on, each inside the one before; the innermost includes the next file. */
static void write_links(text *t, const peer_problem *problem, int first) {
  peer_body body = peer_rod_body(problem);
  int end = first + NESTING < problem->bodies ? first + NESTING : problem->bodies;
  add(t, "<mujocoinclude>\n");
  for (int i = first; i < end; i++)
    add(t,
        "<body pos='%d 0 0'><joint type='ball'/><inertial pos='%.17g 0 0' mass='%g' "
        "diaginertia='%.17g %.17g %.17g'/>\n",
        i > 0, body.centre, body.mass, body.axial, body.transverse, body.transverse);
  if (end < problem->bodies) add(t, "<include file='%d.xml'/>\n", end);
  for (int i = first; i < end; i++) add(t, "</body>");
  add(t, "</mujocoinclude>\n");
}

static void write_points(text *t, const peer_problem *problem) {
  for (int i = 0; i < problem->nodes; i++) {
    const double *x = problem->position + 3 * i;
    add(t, "<body pos='%g %g %g'><site name='%d'/>", x[0], x[1], x[2], i);
    if (!problem->fixed[i])
      add(t,
          "<joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 1 0'/>"
          "<joint type='slide' axis='0 0 1'/>"
          "<inertial pos='0 0 0' mass='%g' diaginertia='1e-3 1e-3 1e-3'/>",
          problem->node_mass);
    add(t, "</body>\n");
  }
}

static void write_tendons(text *t, const peer_problem *problem) {
  add(t, "<tendon>\n");
  for (int r = 0; r < problem->rods; r++)
    add(t, "<spatial name='r%d'><site site='%d'/><site site='%d'/></spatial>\n", r,
        problem->rod[r][0], problem->rod[r][1]);
  add(t, "</tendon><equality>\n");
  /* As stiff as MuJoCo takes them: a time constant of two steps, impedance near 1. */
  for (int r = 0; r < problem->rods; r++)
    add(t, "<tendon tendon1='r%d' solref='%g 1' solimp='0.999 0.9999 0.001'/>\n", r,
        2.0 * problem->h);
  add(t, "</equality>\n");
}

static void write_model(text *t, const peer_problem *problem) {
  const double *g = problem->gravity;
  int net = problem->kind == PEER_NET;
  add(t, "<mujoco>\n");
  add(t, "<option timestep='%g' gravity='%g %g %g' integrator='%s' solver='Newton'>", problem->h,
      g[0], g[1], g[2], strcmp(problem->variant, "rk4") ? "Euler" : "RK4");
  add(t, "<flag contact='disable' %s/></option>\n", net ? "" : "constraint='disable'");
  add(t, "<worldbody>\n");
  if (net)
    write_points(t, problem);
  else
    add(t, "<include file='0.xml'/>\n");
  add(t, "</worldbody>\n");
  if (net) write_tendons(t, problem);
  add(t, "</mujoco>\n");
}

/* Moves what was written into a file in memory, and empties the text. */
static void store(text *t, char *start, mjVFS *files, const char *name) {
  size_t length = (size_t)(t->at - start);
  if (mj_makeEmptyFileVFS(files, name, (int)length)) {
    peer_fail("no room for the model");
    return;
  }
  memcpy(files->filedata[mj_findFileVFS(files, name)], start, length);
  t->left += length;
  t->at = start;
}

/* Returns NULL after peer_fail(). */
static mjModel *load(const peer_problem *problem) {
  size_t size = 2000 + BODY_TEXT * (size_t)problem->nodes;
  char error[200] = "out of memory";
  mjModel *model = NULL;
  mjVFS *files = malloc(sizeof *files);
  char *start = malloc(size);
  if (files && start) {
    text t = {start, size};
    mj_defaultVFS(files);
    write_model(&t, problem);
    store(&t, start, files, "model.xml");
    for (int i = 0; i < problem->bodies && problem->kind != PEER_NET; i += NESTING) {
      char name[32];
      snprintf(name, sizeof name, "%d.xml", i);
      write_links(&t, problem, i);
      store(&t, start, files, name);
    }
    model = mj_loadXML("model.xml", files, error, sizeof error);
    mj_deleteVFS(files);
  }
  free(files);
  free(start);
  if (!model) peer_fail("%s", error);
  return model;
}

const char *peer_version(void) {
  return mj_versionString();
}

void *peer_create(const peer_problem *problem) {
  if (problem->bodies > LIMIT)
    return peer_fail("too large: the matrix is dense (limit here: %d bodies)", LIMIT);
  mju_user_warning = on_warning;
  simulation *s = calloc(1, sizeof *s);
  s->problem = problem;
  s->model = load(problem);
  s->data = s->model ? mj_makeData(s->model) : NULL;
  if (!s->data) {
    peer_destroy(s);
    return peer_fail("out of memory");
  }
  if (problem->kind == PEER_NET) /* 3 slides per free node, in order */
    for (int i = 0, k = 0; i < problem->nodes; i++)
      for (int d = 0; d < 3 && !problem->fixed[i]; d++)
        s->data->qvel[k++] = problem->velocity[3 * i + d];
  return s;
}

int64_t peer_advance(void *self, int steps) {
  simulation *s = self;
  for (int i = 0; i < steps; i++) mj_step(s->model, s->data);
  for (int w = 0; w < mjNWARNING; w++) /* on bad numbers it starts again from the beginning */
    if (s->data->warning[w].number) return -1;
  return steps;
}

void peer_state(void *self, peer_rod_state *states) {
  simulation *s = self;
  const peer_problem *problem = s->problem;
  int world = 1; /* body 0 */
  mj_kinematics(s->model, s->data);
  mj_comPos(s->model, s->data);
  mj_comVel(s->model, s->data);
  for (int r = 0; r < problem->rods; r++) {
    mjtNum v[6]; /* angular, linear */
    if (problem->kind != PEER_NET) {
      const mjtNum *rotation = s->data->xmat + 9 * (r + world);
      double axis[3] = {rotation[0], rotation[3], rotation[6]};
      mj_objectVelocity(s->model, s->data, mjOBJ_XBODY, r + world, v, 0);
      peer_rod_from_body(s->data->xpos + 3 * (r + world), v + 3, v, axis, &states[r]);
      continue;
    }
    int near = problem->rod[r][0] + world, far = problem->rod[r][1] + world;
    memcpy(states[r].near, s->data->xpos + 3 * near, sizeof states[r].near);
    memcpy(states[r].far, s->data->xpos + 3 * far, sizeof states[r].far);
    mj_objectVelocity(s->model, s->data, mjOBJ_XBODY, near, v, 0);
    memcpy(states[r].near_velocity, v + 3, sizeof states[r].near_velocity);
    mj_objectVelocity(s->model, s->data, mjOBJ_XBODY, far, v, 0);
    memcpy(states[r].far_velocity, v + 3, sizeof states[r].far_velocity);
  }
}

void peer_destroy(void *self) {
  simulation *s = self;
  if (!s) return;
  if (s->data) mj_deleteData(s->data);
  if (s->model) mj_deleteModel(s->model);
  free(s);
}
