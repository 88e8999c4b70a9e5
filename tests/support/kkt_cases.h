/* kkt_cases - small saddle-point systems of every kind that a user may come with, drawn by a seed: chains,
 * trees, nets, hubs and random rows; mass ratios to 1e12, masses that are missing or negative; rows that
 * repeat, combine or contradict others, exactly or nearly; rows from 1e-140 to 1e140; compliance. And the
 * judgement of an answer by kkt_truth. */
#ifndef KKT_CASES_H
#define KKT_CASES_H

#include "kkt_truth.h"

typedef struct kkt_case {
  problem p;
  bool definite; /* H is positive definite to more than rounding */
  char kind[160];
} kkt_case;

kkt_case kkt_case_make(uint64_t seed);
void kkt_case_free(kkt_case *c);

typedef enum answer {
  ANSWER_RIGHT,        /* solved, or refused because there is nothing to solve */
  ANSWER_REFUSED_NEAR, /* refused so near to a singular system that this is no fault */
  ANSWER_REFUSED,      /* although it is regular, or redundant and consistent */
  ANSWER_ARBITRARY,    /* accepted although x is not determined */
  ANSWER_UNNAMED,      /* accepted, x is determined, but rows that depend on others are not named */
  ANSWER_CONTRADICTION, /* accepted although a dropped row is missed */
  ANSWER_INACCURATE,    /* accepted with an error above what 1e-9 in the rows does */
  ANSWER_NEAR,          /* accepted with an error of 1e-3 and more that 1e-9 in the rows explains */
  ANSWER_COUNT
} answer;
extern const char *const answer_names[ANSWER_COUNT];

/* One factorisation and one solution by a solver, and what they are worth. text (256) says more. */
answer kkt_case_judge(const kkt_case *c, vin_solver solver, vin_order order, char *text);

#endif
