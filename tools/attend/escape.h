/* Text made safe for one line of output. */
#ifndef ESCAPE_H
#define ESCAPE_H

#include "attend.h"

/* Appends UTF-8 as a JSON string, in its quotes; bytes that are none, as in names of files, become
 * U+FFFD. */
att_status escape_json(att_string *out, const char *text, size_t length);

/* Appends a token so that it shows on a line: ends of lines, tabs, backslashes, control characters
 * and bytes that are no UTF-8 as \n, \t, \\ and \xE2. */
att_status escape_token(att_string *out, const char *text, size_t length);

#endif
