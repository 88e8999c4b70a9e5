/* order - fill-reducing orderings of an undirected graph: AMD and METIS. */
#include "linsys/linsys.h"

#include <amd.h>

#if defined(VINI_HAVE_METIS) && VINI_HAVE_METIS
#include <metis.h>
#include <pthread.h>
#include <stdlib.h>
#endif

/* AMD wants every row index in range and ascending; anything else comes from a bug of the caller.
 */
vin_status vini_order_amd(vini_object *object, vin_int n, const vin_int *start,
                          const vin_int *adjacency, vin_int *order) {
  if (n == 0) return VIN_OK;
  double control[AMD_CONTROL], info[AMD_INFO];
  amd_defaults(control);
  switch (amd_order(n, start, adjacency, order, control, info)) {
  case AMD_OK:
  case AMD_OK_BUT_JUMBLED:
    return VIN_OK;
  case AMD_OUT_OF_MEMORY:
    return vini_fail(object, VIN_ERR_NO_MEMORY, "ordering: AMD ran out of memory (%d unknowns)",
                     (int)n);
  default:
    return vini_fail(object, VIN_ERR_INTERNAL, "ordering: AMD refused a graph of %d vertices",
                     (int)n);
  }
}

#if defined(VINI_HAVE_METIS) && VINI_HAVE_METIS

/* Any fixed number will do: METIS draws from srand(seed). */
static const idx_t metis_seed = 20011;

/* METIS 5.1 draws from rand(), whose state all threads of the process share, and catches signals
 * while it runs. Two calls at once would get each other's numbers and give another order on every
 * run, so calls are made one at a time. This lock guards METIS's state; the library has none. */
static pthread_mutex_t metis_lock = PTHREAD_MUTEX_INITIALIZER;

/* Runs METIS on a generator state of our own, so that the caller's rand() sequence stays as it is.
 * (A thread that calls rand() or srand() itself during the call can still change the order.) */
static int metis_node_nd(idx_t n, idx_t *start, idx_t *adjacency, idx_t *order, idx_t *inverse) {
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_NUMBERING] = 0;
  options[METIS_OPTION_SEED] = metis_seed;
  char state[64];
  pthread_mutex_lock(&metis_lock);
  char *callers_state = initstate(1, state, sizeof state);
  int result = METIS_NodeND(&n, start, adjacency, NULL, options, order, inverse);
  if (callers_state) setstate(callers_state);
  pthread_mutex_unlock(&metis_lock);
  return result;
}

/* METIS has its own index type and takes arrays that are not const: it gets copies. */
static void metis_copy(idx_t *to, const vin_int *from, vin_int count) {
  for (vin_int k = 0; k < count; k++) to[k] = from[k];
}

vin_status vini_order_metis(vini_object *object, vin_int n, const vin_int *start,
                            const vin_int *adjacency, vin_int *order) {
  /* METIS divides by the number of edges: a graph without any is ordered here. */
  if (n <= 1 || start[n] == 0) {
    for (vin_int k = 0; k < n; k++) order[k] = k;
    return VIN_OK;
  }
  const vin_context *context = &object->context;
  size_t vertices = (size_t)n, edges = (size_t)start[n];
  idx_t *work = vini_alloc(context, 3 * vertices + 1 + edges, sizeof *work);
  if (!work)
    return vini_fail(object, VIN_ERR_NO_MEMORY, "ordering: no memory for METIS (%d unknowns)",
                     (int)n);
  idx_t *column = work, *to = column + vertices + 1, *sequence = to + edges;
  idx_t *place = sequence + vertices;
  metis_copy(column, start, n + 1);
  metis_copy(to, adjacency, start[n]);
  int result = metis_node_nd(n, column, to, sequence, place);
  /* METIS calls A' = A(perm, perm): perm[k] is the k-th vertex of the new order. */
  if (result == METIS_OK)
    for (vin_int k = 0; k < n; k++) order[k] = (vin_int)sequence[k];
  vini_free(context, work);
  switch (result) {
  case METIS_OK:
    return VIN_OK;
  case METIS_ERROR_MEMORY:
    return vini_fail(object, VIN_ERR_NO_MEMORY, "ordering: METIS ran out of memory (%d unknowns)",
                     (int)n);
  default:
    return vini_fail(object, VIN_ERR_INTERNAL, "ordering: METIS failed with code %d", result);
  }
}

#else

vin_status vini_order_metis(vini_object *object, vin_int n, const vin_int *start,
                            const vin_int *adjacency, vin_int *order) {
  (void)n, (void)start, (void)adjacency, (void)order;
  return vini_fail(object, VIN_ERR_UNSUPPORTED, "METIS is not part of this build");
}

#endif
