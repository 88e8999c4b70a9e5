/* ldlt_pool - the buffer in which a multifrontal factorisation keeps what is not L. Places are given out
 * when the plan is made: the first free one that fits, so that memory is reused as soon as a parent has
 * taken an update, and a chain works in the cache. */
#ifndef VINI_LDLT_POOL_H
#define VINI_LDLT_POOL_H

#include "base/base.h"

/* A free piece of the buffer. */
typedef struct vini_piece {
  int64_t begin, size;
} vini_piece;

/* Starts zeroed. */
typedef struct vini_pool {
  vini_piece *piece; /* ascending, not adjacent */
  vin_int count, room;
  int64_t top; /* numbers that the buffer must hold */
} vini_pool;

int64_t vini_pool_take(vini_pool *p, int64_t size);
/* false: no memory to note it. */
bool vini_pool_give(vini_pool *p, const vin_context *context, int64_t begin, int64_t size);
void vini_pool_clear(vini_pool *p, const vin_context *context);

#endif
