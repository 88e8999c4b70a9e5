/* text - error texts and log lines: bounded, always terminated, never half a character. */
#include "base/base.h"

#include <stdio.h>
#include <string.h>

/* Length of text without a UTF-8 character that is cut off at its end. */
static size_t whole_characters(const char *text, size_t length) {
  size_t lead = length;
  while (lead > 0 && length - lead < 3 && ((unsigned char)text[lead - 1] & 0xC0) == 0x80) lead--;
  if (lead == 0) return length;
  unsigned char byte = (unsigned char)text[lead - 1];
  size_t needed = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
  return length - (lead - 1) < needed ? lead - 1 : length;
}

static void format_bounded(char *text, size_t size, const char *format, va_list arguments) {
  static const char ellipsis[] = "...";
  int needed = vsnprintf(text, size, format, arguments);
  if (needed < 0) {
    text[0] = '\0';
  } else if ((size_t)needed >= size) {
    if (size > sizeof ellipsis) {
      size_t kept = whole_characters(text, size - sizeof ellipsis);
      memcpy(text + kept, ellipsis, sizeof ellipsis);
    } else {
      text[whole_characters(text, size - 1)] = '\0';
    }
  }
}

vin_status vini_fail(vini_object *object, vin_status status, const char *format, ...) {
  if (!object) return status;
  /* Formatted aside first: the arguments may contain the object's own text. */
  char text[VINI_TEXT_SIZE];
  va_list arguments;
  va_start(arguments, format);
  format_bounded(text, sizeof text, format, arguments);
  va_end(arguments);
  memcpy(object->text, text, strlen(text) + 1);
  return status;
}

vin_status vini_fail_text(char *text, size_t size, vin_status status, const char *format, ...) {
  if (!text || size == 0) return status;
  va_list arguments;
  va_start(arguments, format);
  format_bounded(text, size, format, arguments);
  va_end(arguments);
  return status;
}

void vini_log(const vini_object *object, vin_log_level level, const char *format, ...) {
  if (!object || !object->context.log) return;
  char text[VINI_TEXT_SIZE];
  va_list arguments;
  va_start(arguments, format);
  format_bounded(text, sizeof text, format, arguments);
  va_end(arguments);
  object->context.log(object->context.log_user, level, text);
}

const char *vini_text(const vini_object *object) {
  return object ? object->text : "the handle is NULL: never created, or memory ran out";
}
