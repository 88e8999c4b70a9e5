/* A table of numbers for programs without a vin_sim: --csv writes it, --plot draws it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { FIRST_ROWS = 512, RECORDS = 400 }; /* about so many rows of a run are kept */

void ex_table_row(ex_table *table, const double *row) {
  const ex_options *options = table->options;
  if ((!options->csv && !options->plot) || table->failed) return;
  size_t columns = (size_t)table->columns;
  if (table->rows > 0) {
    double last = table->value[(table->rows - 1) * columns];
    if (row[0] < options->end && row[0] < last + options->end / RECORDS) return;
  }
  if (table->rows == table->room) {
    size_t room = table->room > 0 ? 2 * table->room : FIRST_ROWS;
    double *larger = realloc(table->value, room * columns * sizeof *larger);
    if (larger == NULL) {
      table->failed = 1;
      return;
    }
    table->value = larger;
    table->room = room;
  }
  memcpy(table->value + table->rows++ * columns, row, columns * sizeof *row);
}

static void print_rows(const ex_table *table, FILE *file, char separator) {
  for (size_t r = 0; r < table->rows; r++) {
    for (int c = 0; c < table->columns; c++) {
      fprintf(file, "%.17g%c", table->value[r * (size_t)table->columns + (size_t)c],
              c + 1 < table->columns ? separator : '\n');
    }
  }
}

static int write_csv(const ex_table *table, const char *path) {
  FILE *file = fopen(path, "w");
  if (file == NULL) return 1;
  fprintf(file, "%s\n", table->names);
  print_rows(table, file, ',');
  int failed = ferror(file);
  return fclose(file) != 0 || failed;
}

/* Angles to the left of their drifts; the data go down the pipe with the commands. */
static int draw(const ex_table *table, const char *path) {
  signal(SIGPIPE, SIG_IGN); /* without gnuplot, writing fails instead of ending the program */
  FILE *gnuplot = popen("gnuplot 2>/dev/null", "w");
  if (gnuplot == NULL) return 1;
  fputs("$table << END_OF_TABLE\n", gnuplot);
  print_rows(table, gnuplot, ' ');
  fprintf(gnuplot,
          "END_OF_TABLE\nset terminal pngcairo size 1200,500 noenhanced font 'Sans,11'\n"
          "set output \"%s\"\nset multiplot layout 1,2\nset grid\nset xlabel 'time t [s]'\n"
          "set ylabel 'angle [rad]'\nplot for [c=6:8] $table using 1:c with lines lw 1.4 "
          "title sprintf('joint %%d', c - 5)\n"
          "set ylabel 'magnitude'\nset logscale y\nset format y '%%.0e'\n"
          "plot $table using 1:(abs($3) + 1e-17) with lines title 'change of energy [J]', "
          "$table using 1:($4 + 1e-17) with lines title 'max |Phi| [m]', "
          "$table using 1:($5 + 1e-17) with lines title 'max |h| [m/s]'\nunset multiplot\n",
          path);
  int failed = ferror(gnuplot);
  return pclose(gnuplot) != 0 || failed;
}

int ex_table_finish(ex_table *table) {
  const ex_options *options = table->options;
  int failed = 0;
  if (table->failed) failed = ex_fail(options, VIN_ERR_NO_MEMORY, "no memory for the records");
  if (!failed && options->csv && write_csv(table, options->csv))
    failed = ex_fail(options, VIN_ERR_IO, "the file for --csv cannot be written");
  if (!failed && options->plot && draw(table, options->plot))
    failed = ex_fail(options, VIN_ERR_IO, "gnuplot is missing or cannot write the file for --plot");
  free(table->value);
  table->value = NULL;
  table->rows = table->room = 0;
  return failed;
}
