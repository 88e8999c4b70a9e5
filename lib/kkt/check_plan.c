/* check_plan - finds the blocks of check.h that are alike, once for a pattern, in linear time. */
#include <math.h>
#include <string.h>

#include "kkt/check.h"
#include "kkt/plan.h"

enum { ALIGNMENT = 8 }; /* numbers in a line of the cache */
enum { LONGEST_CODE = VINI_CHECK_WIDTH * (1 + VINI_CHECK_WIDTH + VINI_CHECK_ROWS) };

/* A block in local numbers. */
typedef struct shape {
  vin_int begin, end; /* columns */
  vin_int rows, length;
  vin_int row[VINI_CHECK_ROWS]; /* those below the block, ascending */
  uint16_t code[LONGEST_CODE];
} shape;

static vin_status no_memory(vini_object *object) {
  return vini_fail(object, VIN_ERR_NO_MEMORY, "no memory for the check of solutions");
}

/* Notes the rows of column j that lie below the block; false: too many. */
static bool collect_rows(shape *s, const vin_sparse *k, vin_int j) {
  vin_int at = 0; /* in s->row: rows ascend in both lists */
  for (vin_int e = k->start[j]; e < k->start[j + 1]; e++) {
    const vin_int i = k->row[e];
    if (i < s->end) continue;
    while (at < s->rows && s->row[at] < i) at++;
    if (at < s->rows && s->row[at] == i) {
      at++;
      continue;
    }
    if (s->rows == VINI_CHECK_ROWS) return false;
    memmove(s->row + at + 1, s->row + at, (size_t)(s->rows - at) * sizeof *s->row);
    s->row[at++] = i;
    s->rows++;
  }
  return true;
}

/* The block begin .. end - 1; false: no kind is made of it. */
static bool describe(shape *s, const vin_sparse *k, vin_int begin, vin_int end) {
  s->begin = begin;
  s->end = end;
  s->rows = s->length = 0;
  for (vin_int j = begin; j < end; j++) {
    if (!collect_rows(s, k, j)) return false;
  }
  for (vin_int j = begin; j < end; j++) {
    const vin_int first = k->start[j] + 1; /* each column starts with its diagonal */
    vin_int at = 0;
    s->code[s->length++] = (uint16_t)(k->start[j + 1] - first);
    for (vin_int e = first; e < k->start[j + 1]; e++) {
      const vin_int i = k->row[e];
      while (i >= end && s->row[at] < i) at++;
      const vin_int local = i < end ? i - begin : end - begin + at;
      s->code[s->length++] = (uint16_t)(local * VINI_CHECK_CELL);
    }
  }
  return true;
}

/* Three columns with nothing but their diagonal and all of the rows: the k-th entry is the k-th row. */
static bool is_point(const shape *s) {
  if (s->end - s->begin != 3 || s->length != 3 * (1 + s->rows)) return false;
  for (vin_int k = 0; k < 3; k++) {
    const uint16_t *code = s->code + k * (1 + s->rows);
    if (code[0] != s->rows || (s->rows > 0 && code[1] < 3 * VINI_CHECK_CELL)) return false;
  }
  return true;
}

static bool is_kind(const vini_check *c, const vini_check_kind *kind, const shape *s) {
  return kind->width == s->end - s->begin && kind->rows == s->rows && kind->length == s->length &&
         memcmp(c->code + kind->code, s->code, (size_t)s->length * sizeof *s->code) == 0;
}

/* Number of the shape's kind, a new one where there is room; -1: none. */
static vin_int find_kind(vini_check *c, const shape *s) {
  for (vin_int i = 0; i < c->kind_count; i++) {
    if (is_kind(c, &c->kind[i], s)) return i;
  }
  if (c->kind_count == VINI_CHECK_KINDS) return -1;
  vini_check_kind *kind = &c->kind[c->kind_count];
  *kind = (vini_check_kind){.width = s->end - s->begin,
                            .rows = s->rows,
                            .length = s->length,
                            .code = c->code_count,
                            .point = is_point(s)};
  memcpy(c->code + c->code_count, s->code, (size_t)s->length * sizeof *s->code);
  c->code_count += s->length;
  return c->kind_count++;
}

/* Columns begin .. end - 1 by themselves. While there is no list of groups yet, they are only counted. */
static void add_loose(vini_check *c, vin_int *loose_end, vin_int begin, vin_int end) {
  const bool joins = *loose_end == begin;
  *loose_end = end;
  if (!joins) c->group_count++;
  if (c->group == NULL) return;
  vini_check_group *group = &c->group[c->group_count - 1];
  if (!joins) *group = (vini_check_group){.kind = -1, .count = 1, .column = {begin, end}};
  group->column[1] = end;
}

/* Puts a block into the open group of its kind; the first one stands in all lanes until others come. */
static void add_block(vini_check *c, const vin_sparse *k, const shape *s, vin_int number) {
  vini_check_kind *kind = &c->kind[number];
  const vin_int own = kind->members++ % VINI_CHECK_LANES;
  if (own == 0) {
    kind->open = c->group_count++;
    kind->open_place = c->place_count;
    c->place_count += VINI_CHECK_LANES * s->rows;
  }
  if (c->group == NULL) return;
  vini_check_group *group = &c->group[kind->open];
  if (own == 0) *group = (vini_check_group){.kind = number, .place = kind->open_place};
  group->count = own + 1;
  for (vin_int lane = own; lane < (own == 0 ? VINI_CHECK_LANES : own + 1); lane++) {
    group->column[lane] = s->begin;
    group->entry[lane] = k->start[s->begin];
    for (vin_int i = 0; i < s->rows; i++) {
      c->place[group->place + VINI_CHECK_LANES * i + lane] = 2 * (uint32_t)s->row[i];
    }
  }
}

/* End of the block that begins with column j: neighbours with the same number. */
static vin_int block_end(const vin_int *block, vin_int j, vin_int n) {
  vin_int end = j + 1;
  while (end < n && end - j < VINI_CHECK_WIDTH && block[end] == block[j]) end++;
  return end;
}

static void add(vini_check *c, const vin_sparse *k, const shape *s, vin_int kind,
                vin_int *loose_end) {
  if (kind >= 0) {
    add_block(c, k, s, kind);
  } else {
    add_loose(c, loose_end, s->begin, s->end);
  }
}

/* Kinds, and the number of groups. block: at the first column of each, its kind, or -1 - its end. */
static void count_groups(vini_check *c, const vin_sparse *k, vin_int *block) {
  shape s;
  vin_int loose_end = -1;
  for (vin_int j = 0; j < c->n; j = s.end) {
    const bool fits = describe(&s, k, j, block_end(block, j, c->n));
    const vin_int kind = fits ? find_kind(c, &s) : -1;
    add(c, k, &s, kind, &loose_end);
    block[j] = kind >= 0 ? kind : -1 - s.end;
  }
}

/* Four points of a chain, numbered along it. */
static bool is_chain(const vini_check *c, const vini_check_group *group) {
  const vini_check_kind *kind = &c->kind[group->kind];
  const uint32_t *first = c->place + group->place, *second = first + VINI_CHECK_LANES;
  if (!c->apart || !kind->point || kind->rows != 2 || group->count != VINI_CHECK_LANES)
    return false;
  for (uint32_t lane = 0; lane < VINI_CHECK_LANES; lane++) {
    if (first[lane] != first[0] + 2 * lane || second[lane] != first[lane] + 2) return false;
  }
  return true;
}

static void fill_groups(vini_check *c, const vin_sparse *k, const vin_int *block) {
  shape s;
  vin_int loose_end = -1;
  c->group_count = c->place_count = 0;
  for (vin_int i = 0; i < c->kind_count; i++) c->kind[i].members = 0;
  for (vin_int j = 0; j < c->n; j = s.end) {
    const vin_int kind = block[j];
    s.begin = j;
    s.end = kind >= 0 ? j + c->kind[kind].width : -1 - kind;
    s.rows = 0;
    for (vin_int i = j; kind >= 0 && i < s.end; i++) collect_rows(&s, k, i);
    add(c, k, &s, kind, &loose_end);
  }
  for (vin_int g = 0; g < c->group_count; g++) {
    c->group[g].chain = c->group[g].kind >= 0 && is_chain(c, &c->group[g]);
  }
}

/* H couples no two blocks: what stands beside a block in its columns belongs to J. */
static bool is_apart(const vin_sparse *k, const vin_int *block, vin_int n) {
  for (vin_int j = 0, end; j < n; j = end) {
    end = block_end(block, j, n);
    for (vin_int e = k->start[j]; e < k->start[end]; e++) {
      if (k->row[e] >= end && k->row[e] < n) return false;
    }
  }
  return true;
}

static vin_status build(vini_check *c, vini_object *object, const vin_sparse *k, vin_int *block,
                        bool compliance) {
  const vin_context *context = &object->context;
  const size_t most = VINI_CHECK_WIDTH + VINI_CHECK_ROWS;
  c->apart = is_apart(k, block, c->n);
  c->kind = vini_alloc(context, VINI_CHECK_KINDS, sizeof *c->kind);
  c->code = vini_alloc(context, (size_t)VINI_CHECK_KINDS * LONGEST_CODE, sizeof *c->code);
  c->memory = vini_alloc(context, 4 * VINI_CHECK_LANES * most + ALIGNMENT, sizeof *c->memory);
  if (c->kind == NULL || c->code == NULL || c->memory == NULL) return no_memory(object);
  c->work = c->memory;
  while ((uintptr_t)c->work % (ALIGNMENT * sizeof *c->work) != 0) c->work++;
  count_groups(c, k, block);
  /* without compliance a multiplier's column holds its diagonal only, a zero */
  if (compliance) c->group_count++;
  c->group = vini_alloc(context, (size_t)c->group_count, sizeof *c->group);
  c->place = vini_alloc(context, (size_t)c->place_count, sizeof *c->place);
  if (c->group == NULL || c->place == NULL) return no_memory(object);
  fill_groups(c, k, block);
  if (compliance) {
    c->group[c->group_count++] =
        (vini_check_group){.kind = -1, .count = 1, .column = {c->n, c->n + c->m}};
  }
  vini_check_choose_kernel(c, false);
  return VIN_OK;
}

vin_status vini_check_create(vini_check **check, vini_object *object, const vin_sparse *k,
                             vin_int n, vin_int m, bool compliance) {
  const vin_context *context = &object->context;
  vini_check *c = vini_alloc(context, 1, sizeof *c);
  vini_blocks blocks = {.n = n, .m = m};
  blocks.of_coordinate = vini_alloc(context, (size_t)n, sizeof(vin_int));
  vin_status status = VIN_OK;
  if (c == NULL || blocks.of_coordinate == NULL) {
    status = no_memory(object);
  } else {
    c->n = n;
    c->m = m;
    status = vini_find_coordinate_blocks(&blocks, object, k);
    if (status == VIN_OK) status = build(c, object, k, blocks.of_coordinate, compliance);
  }
  vini_free(context, blocks.of_coordinate);
  if (status != VIN_OK) {
    vini_check_destroy(c, context);
    c = NULL;
  }
  *check = c;
  return status;
}

void vini_check_destroy(vini_check *check, const vin_context *context) {
  if (check == NULL) return;
  vini_free(context, check->kind);
  vini_free(context, check->code);
  vini_free(context, check->memory);
  vini_free(context, check->group);
  vini_free(context, check->place);
  vini_free(context, check);
}

int64_t vini_check_bytes(const vini_check *check) {
  if (check == NULL) return 0;
  return (int64_t)sizeof *check +
         VINI_CHECK_KINDS * (int64_t)(sizeof *check->kind + LONGEST_CODE * sizeof *check->code) +
         check->group_count * (int64_t)sizeof *check->group +
         check->place_count * (int64_t)sizeof *check->place +
         4 * VINI_CHECK_LANES * (int64_t)(VINI_CHECK_WIDTH + VINI_CHECK_ROWS) *
             (int64_t)sizeof(double);
}
