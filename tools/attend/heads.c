/* --without-heads: heads of a Transformer switched off. */
#include "decoding.h"

#include <stdlib.h>
#include <string.h>

static const char OPTION_NAME[] = "--without-heads";

/* A number from 1 on at *at, which is moved behind it; 0: there is none. */
static int64_t read_number(const char **at)
{
    char *end;
    if (**at < '0' || **at > '9')
        return 0;
    long long number = strtoll(*at, &end, 10);
    *at = end;
    return number;
}

/* Reads PART:LAYER:HEAD. */
static bool read_head(att_attention_head *out, const char *word)
{
    static const struct {
        const char *name;
        att_attention_block block;
    } parts[] = { { "encoder:", ATT_BLOCK_ENCODER },
                  { "decoder:", ATT_BLOCK_DECODER },
                  { "cross:", ATT_BLOCK_CROSS } };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t length = strlen(parts[i].name);
        if (strncmp(word, parts[i].name, length) != 0)
            continue;
        const char *at = word + length;
        out->block = parts[i].block;
        out->layer = read_number(&at);
        if (out->layer < 1 || *at++ != ':')
            return false;
        out->head = read_number(&at);
        return out->head > 0 && *at == '\0';
    }
    return false;
}

static att_status read_heads(att_attention_head *out, size_t *count, char *list, att_error *err)
{
    for (char *rest = list, *word; (word = strsep(&rest, ",")) != NULL; ++*count)
        if (!read_head(&out[*count], word))
            return error_set(err, ATT_BAD_INPUT, OPTION_NAME,
                             "expected PART:LAYER:HEAD, such as cross:1:2, where PART is encoder, "
                             "decoder or cross; found '%s'",
                             word);
    return ATT_OK;
}

att_status heads_switch_off(att_model **model, const char *list, att_error *err)
{
    size_t count = 0;
    char *words = strdup(list);
    att_attention_head *heads = calloc(strlen(list) + 1, sizeof *heads);
    att_model *copy = NULL;
    att_status status = words && heads ? read_heads(heads, &count, words, err) : error_memory(err);
    if (status == ATT_OK)
        status = att_model_without_heads(&copy, *model, heads, count, err);
    if (status == ATT_OK) {
        att_model_free(*model);
        *model = copy;
    } else if (status == ATT_BAD_INPUT && err && !err->place[0]) {
        strncpy(err->place, OPTION_NAME, sizeof err->place - 1);
    }
    free(words);
    free(heads);
    return status;
}
