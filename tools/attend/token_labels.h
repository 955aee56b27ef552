/* Tokens as labels of a map: subwords without the marks that a vocabulary has. */
#ifndef TOOLS_ATTEND_TOKEN_LABELS_H
#define TOOLS_ATTEND_TOKEN_LABELS_H

#include "attend.h"

typedef struct token_labels {
    const char **items; /* NULL: those of the map stay as they are */
    char *text;
} token_labels;

/* Where any of the tokens begins a word with ▁, a list in which words stand without it, and parts
 * that go on a word after a dot. Release with token_labels_free(), on failure too. */
att_status token_labels_make(token_labels *out, const char *const *tokens, int64_t count,
                             att_error *err);
void token_labels_free(token_labels *made);

#endif
