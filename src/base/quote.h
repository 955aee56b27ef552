/* Names from files, made safe to show: a message must stay one line and must not carry a stranger's
 * escape sequences to a terminal. */
#ifndef ATT_BASE_QUOTE_H
#define ATT_BASE_QUOTE_H

#include <stddef.h>

/* Room for what att_quote() gives. */
enum { ATT_QUOTED_SIZE = 100 };

/* Copies `text` into `out`: control characters and bytes that are no UTF-8 become \xNN, and a long
 * text ends in an ellipsis. Returns `out`. */
const char *att_quote(char out[ATT_QUOTED_SIZE], const char *text, size_t length);

#endif
