/* Naming unknown target tokens; see unknown_tokens.h. */
#include "data/unknown_tokens.h"

#include "base/error.h"
#include "base/string.h"
#include "base/string_set.h"
#include "data/pair_reader.h"
#include "text/pretokenizer.h"

enum { MAX_NAMED = 3 };

/* Adds the unknown tokens of a line that are new to `named`. */
static att_status name_tokens(att_string *out, att_string_set *named, const att_string *line,
                              const att_vocab *vocab)
{
    att_pretokenizer in = { .text = line->data,
                            .length = line->length,
                            .kind = att_vocab_tokenizer_kind(vocab) };
    const char *token;
    size_t length, index;
    char quoted[ATT_QUOTED_SIZE];
    while (named->count < MAX_NAMED && att_pretokenizer_next(&in, &token, &length)) {
        size_t before = named->count;
        if (att_vocab_id(vocab, token, length) >= ATT_ID_FIRST)
            continue;
        ATT_TRY(att_string_set_add(named, token, length, &index));
        if (named->count > before)
            ATT_TRY(att_string_printf(out, "%s'%s'", before > 0 ? ", " : "",
                                      att_quote(quoted, token, length)));
    }
    return ATT_OK;
}

static att_status name_targets(att_string *out, att_pair_reader *pairs,
                               const att_settings *settings, const att_vocab *vocab, att_error *err)
{
    att_string line = { 0 };
    att_string_set named = { 0 };
    att_status status = ATT_OK;
    while (status == ATT_OK && named.count < MAX_NAMED && att_pair_reader_next(pairs)) {
        const att_line_view *target = &pairs->sides[1];
        if (att_line_valid_prefix(target->text, target->length) < target->length)
            continue; /* reading the data gives the error */
        status =
            att_line_normalize_nfc(&line, target->text, target->length, settings->lowercase, err);
        if (status == ATT_OK && line.length > 0 && name_tokens(out, &named, &line, vocab) != ATT_OK)
            status = att_fail_memory(err);
    }
    att_string_set_free(&named);
    att_string_free(&line);
    return status;
}

att_status att_unknown_targets(att_string *out, const att_pair_text *train,
                               const att_settings *settings, const att_vocab *vocab, att_error *err)
{
    att_pair_reader pairs;
    att_status status = att_pair_reader_start(&pairs, train, settings, INT64_MAX, err);
    if (status == ATT_OK)
        status = name_targets(out, &pairs, settings, vocab, err);
    att_pair_reader_free(&pairs);
    return status;
}
