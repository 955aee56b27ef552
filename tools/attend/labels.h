/* Tokens as labels of a map: subwords without the marks that a vocabulary has. */
#ifndef LABELS_H
#define LABELS_H

#include "attend.h"

typedef struct labels {
    const char **items; /* NULL: those of the map stay as they are */
    char *text;
} labels;

/* Where any of the tokens begins a word with ▁, a list in which words stand without it, and parts
 * that go on a word after a dot. Release with labels_free(), on failure too. */
att_status labels_plain(labels *out, const char *const *tokens, int64_t count, att_error *err);
void labels_free(labels *made);

#endif
