/* The table of an order study. */
#include "study/study.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Appends; what does not fit is cut, but the size is made for all of it. */
typedef struct writer {
  char *text;
  size_t size, used;
} writer;

__attribute__((format(printf, 2, 3))) static void append(writer *w, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(w->text + w->used, w->size - w->used, format, arguments);
  va_end(arguments);
  if (length < 0) return;
  size_t room = w->size - w->used - 1;
  w->used += (size_t)length < room ? (size_t)length : room;
}

static const char *number(char *text, double value, int digits) {
  return isnan(value) ? "-" : vini_format_number(text, VINI_NUMBER_SIZE, value, digits);
}

/* "1.03" and not "1.0299999": orders need two places. */
static const char *order_text(char *text, double order) {
  return number(text, isnan(order) ? order : round(100 * order) / 100, 6);
}

static char mark(vin_study_verdict verdict) {
  return verdict == VIN_STUDY_SOLVER ? '*' : verdict == VIN_STUDY_ROUNDING ? '~' : ' ';
}

static void write_level(writer *w, const vin_study *study, const vini_study_level *level) {
  char text[VINI_NUMBER_SIZE];
  append(w, "%-11s", number(text, level->step, 6));
  for (int q = 0; q < study->quantities; q++) {
    const vin_study_entry *entry = &level->entry[q];
    append(w, "  %11s%c", number(text, entry->error, 4), mark(entry->verdict));
    append(w, " %5s", order_text(text, entry->order));
  }
  append(w, "\n");
}

void vini_study_write_table(vin_study *study) {
  writer w = {study->table, VINI_STUDY_TABLE_SIZE(study->options.levels), 0};
  bool solver = false, rounding = false;
  append(&w, "%-11s", "step");
  for (int q = 0; q < study->quantities; q++) append(&w, "  %12s order", study->quantity[q].name);
  append(&w, "\n");
  for (int k = 0; k < study->options.levels; k++) {
    const vini_study_level *level = &study->level[k];
    write_level(&w, study, level);
    for (int q = 0; q < study->quantities; q++) {
      solver = solver || level->entry[q].verdict == VIN_STUDY_SOLVER;
      rounding = rounding || level->entry[q].verdict == VIN_STUDY_ROUNDING;
    }
  }
  if (solver) {
    append(&w, "* the error of the iterations is a sizable part: tighten their tolerances\n");
  }
  if (rounding) append(&w, "~ rounding\n");
  for (int k = 0; k < study->options.levels; k++) {
    char text[VINI_NUMBER_SIZE];
    if (study->level[k].text[0] == '\0') continue;
    append(&w, "step %s: %s\n", number(text, study->level[k].step, 6), study->level[k].text);
  }
}
