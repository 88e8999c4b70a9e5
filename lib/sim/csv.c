/* Comma-separated values: names of columns, quoting, and output files that never stay half-written.
 */
#include "sim/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files ------------------------------------------------------------------------------- */

vin_status vini_file_open(vini_file *file, vini_object *object, const char *path) {
  *file = (vini_file){.path = path};
  /* O_EXCL tells whether the file is ours: only then a failure may remove it. */
  int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  file->created = descriptor >= 0;
  if (descriptor < 0 && errno == EEXIST) descriptor = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (descriptor >= 0) file->stream = fdopen(descriptor, "w");
  if (file->stream) return VIN_OK;
  int code = errno;
  if (descriptor >= 0) close(descriptor);
  if (file->created) unlink(path);
  return vini_fail(object, VIN_ERR_IO, "cannot open '%s' for writing: %s", path, strerror(code));
}

vin_status vini_file_close(vini_file *file, vini_object *object, vin_status status) {
  FILE *stream = file->stream;
  int code = ferror(stream) ? errno : 0; /* writing stops at the first error: errno is still its */
  bool failed = ferror(stream) != 0;
  if (fflush(stream) != 0 && !failed) {
    failed = true;
    code = errno;
  }
  struct stat ours = {0}, there;
  bool regular = fstat(fileno(stream), &ours) == 0 && S_ISREG(ours.st_mode);
  bool withdraw = regular && (failed || status != VIN_OK);
  if (withdraw && ftruncate(fileno(stream), 0) != 0 && code == 0) code = errno;
  if (fclose(stream) != 0 && !failed) {
    failed = true; /* network file systems report a full disk here */
    code = errno;
    withdraw = regular;
  }
  /* the path may lead elsewhere by now */
  if (withdraw && file->created && lstat(file->path, &there) == 0 && there.st_dev == ours.st_dev &&
      there.st_ino == ours.st_ino)
    unlink(file->path);
  file->stream = NULL;
  if (status != VIN_OK || !failed) return status;
  return vini_fail(object, VIN_ERR_IO, "cannot write '%s': %s", file->path, strerror(code));
}

void vini_file_number(FILE *stream, double value, int digits) {
  char text[VINI_NUMBER_SIZE];
  /* the sign of a NaN means nothing, but readers stumble over "-nan" */
  if (value != value)
    fputs("nan", stream);
  else
    fputs(vini_format_number(text, sizeof text, value, digits), stream);
}

/* ---- names ------------------------------------------------------------------------------- */

/* Names come from users: whatever breaks lines or terminals becomes a space. */
static void make_printable(char *name) {
  for (char *c = name; *c; c++)
    if ((unsigned char)*c < ' ' || *c == 127) *c = ' ';
}

/* Splits "x of node 7" into "x" and "node 7"; a name of another form has no owner. */
static const char *owner_in(char *name) {
  char *of = strstr(name, " of ");
  if (!of) return NULL;
  *of = '\0';
  return of + strlen(" of ");
}

void vini_recorder_column_name(const vin_recorder *recorder, vin_int column,
                               char name[VINI_COLUMN_NAME_SIZE]) {
  static const char *const histories[VINI_RECORD_HISTORIES] = {
      "t", "energy", "energy_drift", "position_residual", "velocity_residual", "dae_residual"};
  enum { ROOM = VINI_COLUMN_NAME_SIZE - 16 }; /* for the prefix and brackets */
  name[0] = '\0';
  if (column < VINI_RECORD_HISTORIES) {
    snprintf(name, VINI_COLUMN_NAME_SIZE, "%s", histories[column]);
    return;
  }
  vin_int k = column - VINI_RECORD_HISTORIES;
  bool velocity = k >= recorder->count;
  char full[ROOM];
  vin_system_position_name(recorder->system, recorder->index[velocity ? k - recorder->count : k],
                           full, sizeof full);
  make_printable(full);
  const char *owner = owner_in(full);
  if (owner)
    snprintf(name, VINI_COLUMN_NAME_SIZE, "%s%s[%s]", velocity ? "v" : "", full, owner);
  else
    snprintf(name, VINI_COLUMN_NAME_SIZE, "%s%s", velocity ? "v_" : "", full);
}

void vini_recorder_owner_name(const vin_recorder *recorder, vin_int k,
                              char name[VINI_COLUMN_NAME_SIZE]) {
  char full[VINI_COLUMN_NAME_SIZE];
  vin_system_position_name(recorder->system, recorder->index[k], full, sizeof full);
  make_printable(full);
  const char *owner = owner_in(full);
  snprintf(name, VINI_COLUMN_NAME_SIZE, "%s", owner ? owner : full);
}

/* ---- comma-separated values -------------------------------------------------------------- */

/* RFC 4180: a field with a comma or a quote is quoted, quotes in it are doubled. */
static void write_field(FILE *stream, const char *text) {
  if (!strpbrk(text, ",\"")) {
    fputs(text, stream);
    return;
  }
  fputc('"', stream);
  for (; *text; text++) {
    if (*text == '"') fputc('"', stream);
    fputc(*text, stream);
  }
  fputc('"', stream);
}

static void write_header(const vin_recorder *recorder, FILE *stream) {
  char name[VINI_COLUMN_NAME_SIZE];
  for (vin_int column = 0; column < recorder->columns; column++) {
    if (column > 0) fputc(',', stream);
    vini_recorder_column_name(recorder, column, name);
    write_field(stream, name);
  }
  fputc('\n', stream);
}

vin_status vin_recorder_write_csv(vin_recorder *recorder, const char *path) {
  enum { DIGITS = 17 }; /* read back as the same double */
  VINI_TRY(vini_ready(recorder ? &recorder->object : NULL));
  vini_object *object = &recorder->object;
  if (!path) return vini_fail(object, VIN_ERR_BAD_INPUT, "the path of the CSV file is NULL");
  vini_file file;
  VINI_TRY(vini_file_open(&file, object, path));
  write_header(recorder, file.stream);
  for (int64_t row = 0; row < recorder->row_count && !ferror(file.stream); row++) {
    for (vin_int column = 0; column < recorder->columns; column++) {
      if (column > 0) fputc(',', file.stream);
      vini_file_number(file.stream, vini_record(recorder, row, column), DIGITS);
    }
    fputc('\n', file.stream);
  }
  return vini_file_close(&file, object, VIN_OK);
}
