/* Text of strangers on a terminal: file names, options, tokens and metadata may contain escape
 * sequences that move the cursor, hide text or change the terminal's settings. On a terminal,
 * control characters are written visibly, as \x1b; files and pipes get the bytes as they are. */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* From now on standard output gets all bytes as they are, on a terminal too (--raw). */
void terminal_set_raw(void);

/* From now on sequences that set colors and styles pass to standard output: the library writes them
 * into its renderings, where it has replaced all other control characters. */
void terminal_allow_styles(void);

/* Writes bytes to standard output or standard error. A character may be divided among calls.
 * Returns false if a write failed, with errno. */
bool terminal_write(FILE *stream, const char *bytes, size_t length);

/* The same for a string and, up to 8 kB on a terminal, for formatted text. */
void terminal_puts(FILE *stream, const char *text);
void terminal_printf(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));
void terminal_vprintf(FILE *stream, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

#endif
