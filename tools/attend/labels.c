/* Tokens as labels of a map; see labels.h. */
#include "labels.h"

#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD "▁"
#define PART "·"

static bool begins_word(const char *token)
{
    return strncmp(token, WORD, strlen(WORD)) == 0;
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
    bool word = begins_word(token) && token[strlen(WORD)];
    const char *before = word || is_name(token) || begins_word(token) ? "" : PART;
    return to + sprintf(to, "%s%s", before, word ? token + strlen(WORD) : token) + 1;
}

att_status labels_plain(labels *out, const char *const *tokens, int64_t count, att_error *err)
{
    *out = (labels){ 0 };
    size_t room = 0;
    bool any = false;
    for (int64_t i = 0; i < count; i++) {
        room += strlen(PART) + strlen(tokens[i]) + 1;
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

void labels_free(labels *made)
{
    free(made->items);
    free(made->text);
}
