/* memory - allocation through a context; large blocks of the default allocator straight from the system. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

/* Sanitizers watch the blocks of malloc only. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define VINI_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) ||                         \
    __has_feature(thread_sanitizer)
#define VINI_SANITIZED 1
#endif
#endif

#if defined(__linux__) && !defined(VINI_SANITIZED)
#include <sys/mman.h>
#endif

#if defined(__linux__) && !defined(VINI_SANITIZED) && defined(MADV_HUGEPAGE)

/* A step of a large model streams through its arrays, and with pages of 4 kB a fifth of its time goes into
 * the translation of addresses; so blocks that hold a page of 2 MB are mapped by themselves and ask for
 * such pages as far as they fill them. They come zeroed and cost memory from the first write on, whatever
 * was freed before, and go back to the system when they are freed: what the analysis needs for a while
 * does not stay, as it does in the gaps of a heap.
 *
 * A block begins before the boundary of such a page, so that its header is in a small one and a block
 * that nobody writes to costs no more. Arrays that all began at the same distance would compete for the
 * same lines of a cache: it is another number of lines for each. */
enum { HUGE_PAGE = 1 << 21, LINE = 64, DISTANCES = 512 };

/* In front of each block of the default allocator. */
typedef struct header {
  void *mapping; /* NULL: of malloc, where the header stands first */
  size_t length;
} header;

_Static_assert(sizeof(header) % _Alignof(max_align_t) == 0, "blocks are aligned for any type");

/* Lines from the begin of a block to a boundary, spread by the golden ratio. */
static size_t distance(uintptr_t boundary) {
  return ((uint32_t)(boundary / HUGE_PAGE) * UINT32_C(2654435769) >> 23) % DISTANCES;
}

static void *map_block(size_t bytes) {
  const size_t before = (size_t)DISTANCES * LINE, room = before + HUGE_PAGE;
  if (bytes > (size_t)PTRDIFF_MAX - room) return NULL;
  const size_t length = bytes + room;
  char *mapping = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return NULL;
  const uintptr_t from = (uintptr_t)mapping + before;
  char *boundary = mapping + before + ((from + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE - from);
  char *block = boundary - LINE * distance((uintptr_t)boundary);
  /* the last page is a huge one only where it is full: the process is not to grow */
  const size_t huge = (size_t)(block + bytes - boundary) / HUGE_PAGE * HUGE_PAGE;
  if (huge > 0) (void)madvise(boundary, huge, MADV_HUGEPAGE); /* a hint */
  ((header *)(void *)block)[-1] = (header){.mapping = mapping, .length = length};
  return block;
}

static void *default_allocate(size_t bytes) {
  if (bytes >= HUGE_PAGE) return map_block(bytes);
  header *block = calloc(1, sizeof *block + bytes);
  return block == NULL ? NULL : block + 1;
}

static void default_release(void *pointer) {
  header *block = (header *)pointer - 1;
  if (block->mapping == NULL) {
    free(block);
  } else {
    (void)munmap(block->mapping, block->length);
  }
}

#else

static void *default_allocate(size_t bytes) {
  return calloc(bytes, 1);
}

static void default_release(void *pointer) {
  free(pointer);
}

#endif

void *vini_alloc(const vin_context *context, size_t count, size_t element_size) {
  /* PTRDIFF_MAX, not SIZE_MAX: differences of pointers into the array must be representable. */
  if (element_size != 0 && count > (size_t)PTRDIFF_MAX / element_size) return NULL;
  size_t bytes = count * element_size;
  if (bytes == 0) bytes = 1;
  if (!context->allocate) return default_allocate(bytes);
  void *pointer = context->allocate(context->allocator_user, bytes);
  if (pointer) memset(pointer, 0, bytes);
  return pointer;
}

void vini_free(const vin_context *context, void *pointer) {
  if (!pointer) return;
  if (context->release)
    context->release(context->allocator_user, pointer);
  else
    default_release(pointer);
}

void *vini_copy(const vin_context *context, const void *source, size_t count, size_t element_size) {
  void *copy = vini_alloc(context, count, element_size);
  /* The product cannot overflow: the allocation has checked it. */
  if (copy && source && count * element_size > 0) memcpy(copy, source, count * element_size);
  return copy;
}
