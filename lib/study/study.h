/* Order studies - internal side. */
#ifndef VINI_STUDY_H
#define VINI_STUDY_H

#include "base/base.h"
#include "vincula/study.h"

enum { VINI_STUDY_QUANTITIES = 16, VINI_STUDY_NAME = 24 };
/* A line for each level, of cells for each quantity, then remarks. */
enum { VINI_STUDY_CELL = 32, VINI_STUDY_REMARKS = 4096 };
#define VINI_STUDY_TABLE_SIZE(levels)                                                              \
  (((size_t)(levels) + 1) * (VINI_STUDY_QUANTITIES + 1) * VINI_STUDY_CELL +                        \
   (size_t)(levels)*VINI_TEXT_SIZE + VINI_STUDY_REMARKS)

typedef struct vini_study_quantity {
  char name[VINI_STUDY_NAME];
  vin_int count;
  size_t first;     /* in a result */
  size_t reference; /* in options.reference, of a solution */
  bool residual;
} vini_study_quantity;

typedef struct vini_study_level {
  double step;
  bool done;
  char text[VINI_TEXT_SIZE]; /* why it is not */
  vin_study_entry entry[VINI_STUDY_QUANTITIES];
} vini_study_level;

struct vin_study {
  vini_object object;
  vin_study_options options;
  int quantities, done;
  vini_study_quantity quantity[VINI_STUDY_QUANTITIES];
  size_t total, solution_total; /* numbers in a result, in the reference */
  vini_study_level *level;      /* options.levels */
  double *y;                    /* levels + 1 results; the last with loose tolerances */
  char *table;                  /* VINI_STUDY_TABLE_SIZE */
};

void vini_study_write_table(vin_study *study);

#endif
