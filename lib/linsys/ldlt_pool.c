/* ldlt_pool - places in a buffer, given out and taken back while a plan is made; see ldlt_pool.h. */
#include "linsys/ldlt_pool.h"

#include <string.h>

int64_t vini_pool_take(vini_pool *p, int64_t size) {
  for (vin_int i = 0; i < p->count; i++) {
    if (p->piece[i].size < size) continue;
    int64_t begin = p->piece[i].begin;
    p->piece[i].begin += size;
    p->piece[i].size -= size;
    if (p->piece[i].size == 0) {
      memmove(p->piece + i, p->piece + i + 1, (size_t)(p->count - i - 1) * sizeof *p->piece);
      p->count--;
    }
    return begin;
  }
  int64_t begin = p->top;
  p->top += size;
  return begin;
}

bool vini_pool_give(vini_pool *p, const vin_context *context, int64_t begin, int64_t size) {
  vin_int i = p->count;
  while (i > 0 && p->piece[i - 1].begin > begin) i--;
  bool joins_left = i > 0 && p->piece[i - 1].begin + p->piece[i - 1].size == begin;
  bool joins_right = i < p->count && begin + size == p->piece[i].begin;
  if (joins_left) {
    p->piece[i - 1].size += size;
    if (!joins_right) return true;
    p->piece[i - 1].size += p->piece[i].size;
    memmove(p->piece + i, p->piece + i + 1, (size_t)(p->count - i - 1) * sizeof *p->piece);
    p->count--;
    return true;
  }
  if (joins_right) {
    p->piece[i].begin = begin;
    p->piece[i].size += size;
    return true;
  }
  if (p->count == p->room) {
    vini_piece *larger = vini_alloc(context, 2 * (size_t)p->room + 16, sizeof *larger);
    if (larger == NULL) return false;
    if (p->count > 0) memcpy(larger, p->piece, (size_t)p->count * sizeof *larger);
    vini_free(context, p->piece);
    p->piece = larger;
    p->room = 2 * p->room + 16;
  }
  memmove(p->piece + i + 1, p->piece + i, (size_t)(p->count - i) * sizeof *p->piece);
  p->piece[i] = (vini_piece){begin, size};
  p->count++;
  return true;
}

void vini_pool_clear(vini_pool *p, const vin_context *context) {
  vini_free(context, p->piece);
  *p = (vini_pool){0};
}
