/* Tokens as labels of a map; see labels.h. */
#include "token_labels.h"

#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MARK         "▁"
#define CONTINUATION_MARK "·"

static bool begins_word(const char *token)
{
    return strncmp(token, WORD_MARK, strlen(WORD_MARK)) == 0;
}

/* "<end>", "<0xE2>" */
static bool is_name(const char *token)
{
    size_t length = strlen(token);
    return length > 2 && token[0] == '<' && token[length - 1] == '>';
}

/* Writes the label of a token at `to`, and gives where the next goes. */
static char *put_label(char *to, const char *token)
{
    bool word = begins_word(token) && token[strlen(WORD_MARK)];
    const char *before = word || is_name(token) || begins_word(token) ? "" : CONTINUATION_MARK;
    return to + sprintf(to, "%s%s", before, word ? token + strlen(WORD_MARK) : token) + 1;
}

att_status token_labels_make(token_labels *out, const char *const *tokens, int64_t count,
                             att_error *err)
{
    *out = (token_labels){ 0 };
    size_t room = 0;
    bool any = false;
    for (int64_t i = 0; i < count; i++) {
        room += strlen(CONTINUATION_MARK) + strlen(tokens[i]) + 1;
        any |= begins_word(tokens[i]);
    }
    if (!any)
        return ATT_OK;
    out->items = calloc((size_t)count, sizeof *out->items);
    out->text = malloc(room);
    if (!out->items || !out->text)
        return error_memory(err);
    char *to = out->text;
    for (int64_t i = 0; i < count; i++) {
        out->items[i] = to;
        to = put_label(to, tokens[i]);
    }
    return ATT_OK;
}

void token_labels_free(token_labels *made)
{
    free(made->items);
    free(made->text);
}
