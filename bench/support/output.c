/* output.c - rows of a table or lines of JSON; clock, memory, random numbers. */
#include "bench.h"

#include <jansson.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

_Noreturn void bench_fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(EXIT_FAILURE);
}

/* ---- output ------------------------------------------------------------------------------- */

static json_t *json_value(const bench_field *field) {
  if (field->kind == BENCH_WORD) return json_string(field->word);
  if (field->kind == BENCH_WHOLE)
    return field->whole < 0 ? json_null() : json_integer((json_int_t)field->whole);
  return isfinite(field->real) ? json_real(field->real) : json_null();
}

static void print_json(const bench_field *fields, size_t count) {
  json_t *line = json_object();
  for (size_t k = 0; k < count; k++)
    json_object_set_new(line, fields[k].key, json_value(fields + k));
  if (json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6)) != 0)
    bench_fail("output", "cannot write JSON");
  json_decref(line);
}

static void print_cells(const bench_field *fields, size_t count, int head) {
  for (size_t k = 0; k < count; k++) {
    const bench_field *field = fields + k;
    char number[40];
    const char *text = number;
    if (head)
      text = field->heading;
    else if (field->kind == BENCH_WORD)
      text = field->word;
    else if (field->kind == BENCH_WHOLE && field->whole >= 0)
      snprintf(number, sizeof number, "%lld", (long long)field->whole);
    else if (field->kind == BENCH_REAL && isfinite(field->real))
      snprintf(number, sizeof number, "%.4g", field->real);
    else
      text = "-";
    printf("%s%*s", k > 0 ? "  " : "", field->width, text);
  }
}

void bench_print(int json, const bench_field *fields, size_t count) {
  static int rows;
  if (json) {
    print_json(fields, count);
  } else {
    if (rows++ == 0) {
      print_cells(fields, count, 1);
      putchar('\n');
    }
    print_cells(fields, count, 0);
  }
  putchar('\n');
  if (fflush(stdout) != 0) bench_fail("output", "cannot write to standard output");
}

/* ---- clock, memory, random numbers -------------------------------------------------------- */

static double seconds_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double bench_clock(void) {
  return seconds_of(CLOCK_MONOTONIC);
}

double bench_cpu_clock(void) {
  return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

double bench_peak_mb(void) {
  struct rusage usage; /* Linux counts in KiB */
  return getrusage(RUSAGE_SELF, &usage) == 0 ? (double)usage.ru_maxrss / 1024.0 : NAN;
}

void *bench_alloc(size_t count, size_t size) {
  void *memory = calloc(count > 0 ? count : 1, size);
  if (!memory) bench_fail("memory", "there is not enough");
  return memory;
}

/* Sanitizers map terabytes of addresses that they never use. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

void bench_limit_memory(void) {
#ifndef SANITIZED
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  struct rlimit limit;
  if (pages <= 0 || size <= 0 || getrlimit(RLIMIT_AS, &limit) != 0) return;
  rlim_t most = (rlim_t)pages / 4 * 3 * (rlim_t)size;
  if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur <= most) return;
  limit.rlim_cur = most;
  setrlimit(RLIMIT_AS, &limit); /* where it is refused the run goes on as it is */
#endif
}

void bench_keep_memory(void) {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);        /* nothing is mapped for one request alone */
  mallopt(M_TRIM_THRESHOLD, -1); /* nothing is given back */
#endif
}

void bench_one_thread(char **argv) {
  if (getenv("VINCULA_BENCH_AGAIN")) return;
  setenv("OPENBLAS_NUM_THREADS", "1", 0);
  setenv("OMP_NUM_THREADS", "1", 0);
  setenv("VINCULA_BENCH_AGAIN", "1", 1); /* only once, also where nothing helps */
  execv("/proc/self/exe", argv);
  /* still here: no such file on this system; the run goes on as it is */
}

double bench_random(uint64_t *state, double low, double high) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return low + (high - low) * (double)(z >> 11) * 0x1p-53;
}

void bench_random_unit(uint64_t *state, double d[3]) {
  double length;
  do { /* uniform in the ball, without its middle, and then on the sphere */
    for (int k = 0; k < 3; k++) d[k] = bench_random(state, -1.0, 1.0);
    length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
  } while (length > 1.0 || length < 0.1);
  for (int k = 0; k < 3; k++) d[k] /= length;
}
