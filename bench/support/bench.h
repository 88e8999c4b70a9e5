/* bench.h - what the benchmarks share: command line, clock, memory, random numbers, output. */
#ifndef VINCULA_BENCH_H
#define VINCULA_BENCH_H

#include <stddef.h>
#include <stdint.h>

enum { BENCH_BAD_ARGUMENT = 2 }; /* exit status */

/* ---- command line ------------------------------------------------------------------------- */

/* One option. Exactly one of the targets is set: a flag, a whole number in least..most, a positive
 * real number, or one of the words. A list ends with name NULL. */
typedef struct bench_option {
  const char *name, *meaning;
  const char *also; /* another name, or NULL */
  int *flag;
  int *whole;
  int least, most;
  double *real;
  const char **word;
  const char *const *words; /* allowed, ends with NULL; NULL: any text */
} bench_option;

/* Reads the command line; ends the program with status 2 and a message when it is wrong, with
 * status 0 after --help, which prints purpose, options and notes. */
void bench_parse(const char *program, const char *purpose, const char *notes,
                 const bench_option *options, int argc, char **argv);

/* ---- output ------------------------------------------------------------------------------- */

/* A column of the table and key of the JSON object. real NaN and whole < 0 stand for "unknown":
 * "-" in the table, null in JSON. */
typedef struct bench_field {
  const char *key, *heading;
  enum { BENCH_WORD, BENCH_REAL, BENCH_WHOLE } kind;
  int width; /* of the column; negative: left-aligned */
  const char *word;
  double real;
  int64_t whole;
} bench_field;

/* Prints one row as a line of JSON or of the table; the table's head comes before its first row.
 * Ends the program with status 1 when standard output cannot be written. */
void bench_print(int json, const bench_field *fields, size_t count);

/* Says on standard error why the program can't go on, and ends it with status 1. */
_Noreturn void bench_fail(const char *what, const char *why);

/* ---- clock, memory, random numbers -------------------------------------------------------- */

/* Seconds of a clock that never jumps. */
double bench_clock(void);
/* Seconds of processor time of this process: what others do on the machine counts less, but reading
 * it takes some 0.3 us. */
double bench_cpu_clock(void);
double bench_peak_mb(void); /* of this process so far */

/* Zeroed; ends the program when there is no memory. free() it. */
void *bench_alloc(size_t count, size_t size);

/* Requests beyond three quarters of the machine's memory fail, so that the program can say so before the system
 * ends it, or another. */
void bench_limit_memory(void);

/* Keeps freed memory in the process. UMFPACK allocates megabytes in each factorisation; with
 * glibc's defaults they come as fresh pages each time, which costs up to four times the work. */
void bench_keep_memory(void);

/* Starts the program again with BLAS and OpenMP on one thread, unless the environment says how many
 * they shall use: they read it before main(). Threads make small factorisations slower, and times
 * and bits uncertain. */
void bench_one_thread(char **argv);

/* The same sequence on every machine (splitmix64); state is any number. Uniform in low..high. */
double bench_random(uint64_t *state, double low, double high);
/* A random direction of length 1. */
void bench_random_unit(uint64_t *state, double d[3]);

#endif
