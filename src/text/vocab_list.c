/* A vocabulary from a list of its tokens. */
#include "base/error.h"
#include "base/quote.h"
#include "text/vocab_internal.h"

#include <string.h>

static att_status add_all(att_vocab *vocab, const char *const *tokens, size_t count, att_error *err)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(tokens[i]);
        char quoted[ATT_QUOTED_SIZE];
        if (length == 0)
            return att_fail(err, ATT_BAD_INPUT, NULL, "token %zu of a vocabulary is empty", i + 1);
        if (att_vocab_find_entry(vocab, tokens[i], length) >= 0)
            return att_fail(err, ATT_BAD_INPUT, NULL, "a vocabulary has the token '%s' twice",
                            att_quote(quoted, tokens[i], length));
        ATT_TRY(att_vocab_add_entry(vocab, tokens[i], length, err));
    }
    return ATT_OK;
}

att_status att_vocab_from_tokens(att_vocab **out, att_tokenizer_kind kind, bool lower,
                                 const char *const *tokens, size_t count, att_error *err)
{
    *out = NULL;
    if (kind == ATT_TOKENIZER_BYTE)
        return att_fail(err, ATT_BAD_INPUT, NULL, "bytes are known, and need no list of them");
    if (kind == ATT_TOKENIZER_BPE)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "subwords are learned from text; a list of them is not enough");
    att_vocab *vocab;
    ATT_TRY(att_vocab_new(&vocab, kind, lower, err));
    att_status status = add_all(vocab, tokens, count, err);
    if (status == ATT_OK)
        *out = vocab;
    else
        att_vocab_free(vocab);
    return status;
}
