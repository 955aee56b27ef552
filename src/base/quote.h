/* Quoting of untrusted names from files: a message must stay on one line and must not send escape
 * sequences to a terminal. */
#ifndef ATT_BASE_QUOTE_H
#define ATT_BASE_QUOTE_H

#include <stddef.h>

/* Size of the buffer of att_quote(). */
enum { ATT_QUOTED_SIZE = 100 };

/* Copies `text` into `out`: control characters and bytes that are not UTF-8 become \xNN, and a long
 * text is truncated with an ellipsis. Returns `out`. */
const char *att_quote(char out[ATT_QUOTED_SIZE], const char *text, size_t length);

#endif
