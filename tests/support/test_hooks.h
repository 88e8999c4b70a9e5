/* test_hooks - SuiteSparse's allocation, counted, and failing once on request. The hooks belong to the
 * process: Criterion runs each test in a process of its own. */
#ifndef TEST_HOOKS_H
#define TEST_HOOKS_H

#include <stdint.h>

extern struct test_hooks {
  int64_t calls;   /* allocations asked for */
  int64_t fail_at; /* this one fails, counted from 1; 0: none */
  int64_t live;    /* blocks not yet released */
} test_hooks;

void test_hooks_install(void);

#endif
