/* A writer with a sticky status: after the first failure every call does nothing, so that renderers
 * check once at the end. Also the escapes of a user's text for each output language. */
#ifndef ATT_RENDER_WRITER_H
#define ATT_RENDER_WRITER_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct att_writer {
    att_string *text;
    att_status status;
    size_t start; /* length of the text when writing began */
} att_writer;

att_writer att_writer_on(att_string *text);

/* Returns the first failure and fills *err; the text is then truncated to its original length. */
att_status att_writer_finish(att_writer *out, att_error *err);

void att_put(att_writer *out, const char *string);
void att_put_bytes(att_writer *out, const char *bytes, size_t length);
void att_put_char(att_writer *out, uint32_t code_point);
void att_put_repeat(att_writer *out, const char *string, int64_t count);
void att_put_integer(att_writer *out, int64_t value);

/* For integers and strings; floating-point numbers would depend on the locale: use number.h. */
void att_putf(att_writer *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The next code point of *cursor, which moves past it; 0 at the end. Invalid UTF-8 and control
 * characters other than '\n' and '\t' become U+FFFD, so that no terminal receives escape sequences
 * from a user's text and XML stays well-formed. */
uint32_t att_next_char(const char **cursor);

/* The same, with a space for a newline or a tab, for names and labels. */
uint32_t att_next_in_line(const char **cursor);

/* A user's text, with invalid characters replaced as above: on one line, in XML (content and
 * attributes), as a JSON string. */
void att_put_plain(att_writer *out, const char *string);
void att_put_xml(att_writer *out, const char *string);
void att_put_json(att_writer *out, const char *string);

/* A user's text in a LaTeX paragraph (tex.c). pdflatex can set only ASCII, accented Latin letters
 * and Greek. A run of any other characters is written as \attendother{U+0986 U+09AE}{আম}{Noto Sans
 * Bengali}{Script=Bengali} for which pdflatex prints the code points, LuaLaTeX and XeLaTeX the
 * characters in that font. */
void att_put_tex(att_writer *out, const char *text);

/* `length` bytes of text in math mode; with `raw`, characters beyond ASCII are kept (MathJax). */
void att_put_tex_math(att_writer *out, const char *text, size_t length, bool raw);

/* Numbers as JSON, exact; NaN and infinity are null. A list of them in brackets. */
void att_put_json_number(att_writer *out, double value);
void att_put_json_numbers(att_writer *out, const double *values, int64_t count);

#endif
