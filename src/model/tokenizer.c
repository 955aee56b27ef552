/* The public tokenizer of a model: text to ids, pieces and byte offsets, ids to text, and the
 * lookup of tokens in its vocabularies. */
#include "attend.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/progress.h"
#include "model/model.h"
#include "text/encoding.h"

struct att_encoded_text {
    att_encoding encoding;
};

/* NULL where the model has no such vocabulary. */
static const att_vocab *vocab_of(const att_model *model, att_side side)
{
    return side == ATT_SIDE_SOURCE ? model->source_vocab : model->target_vocab;
}

static att_status require_vocab(const att_vocab **out, const att_model *model, att_side side,
                                att_error *err)
{
    *out = vocab_of(model, side);
    if (*out)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, NULL,
                    "expected a model with a source vocabulary, found %s (%s)",
                    att_model_type_phrase(att_model_type_get(model)), model->architecture->name);
}

/* ---- vocabularies */

int32_t att_model_vocab_size(const att_model *model, att_side side)
{
    const att_vocab *vocab = vocab_of(model, side);
    return vocab ? att_vocab_size(vocab) : 0;
}

bool att_model_has_tags(const att_model *model)
{
    return model->source_vocab && att_vocab_has_tags(model->source_vocab);
}

const char *att_model_token(const att_model *model, att_side side, int32_t id)
{
    const att_vocab *vocab = vocab_of(model, side);
    return vocab && id >= 0 ? att_vocab_token(vocab, id) : NULL;
}

int32_t att_model_token_id(const att_model *model, att_side side, const char *token, size_t length)
{
    const att_vocab *vocab = vocab_of(model, side);
    return vocab ? att_vocab_find(vocab, token, length) : -1;
}

/* ---- texts */

att_status att_model_encode(att_encoded_text **out, const att_model *model, att_side side,
                            const char *text, size_t length, att_error *err)
{
    const att_vocab *vocab;
    *out = NULL;
    ATT_TRY(require_vocab(&vocab, model, side, err));
    att_encoded_text *encoded = att_alloc_zero(1, sizeof *encoded);
    if (!encoded)
        return att_fail_memory(err);
    att_progress_scope scope;
    att_progress_begin_operation(&scope, "encoding text");
    att_status status = att_encoding_new(&encoded->encoding, vocab, NULL, text, length, err);
    status = att_progress_end(&scope, status, err);
    if (status == ATT_OK)
        *out = encoded;
    else
        att_encoded_text_free(encoded);
    return status;
}

void att_encoded_text_free(att_encoded_text *encoded)
{
    if (!encoded)
        return;
    att_encoding_free(&encoded->encoding);
    att_free(encoded);
}

size_t att_encoded_text_count(const att_encoded_text *encoded)
{
    return encoded->encoding.ids.count;
}

const int32_t *att_encoded_text_ids(const att_encoded_text *encoded)
{
    return encoded->encoding.ids.items;
}

const char *att_encoded_text_piece(const att_encoded_text *encoded, size_t index, size_t *length)
{
    *length = 0;
    if (index >= att_encoded_text_count(encoded))
        return NULL;
    const char *piece = att_encoding_piece(&encoded->encoding, index, length);
    return piece ? piece : ""; /* a text of reserved tokens alone has no bytes */
}

bool att_encoded_text_range(const att_encoded_text *encoded, size_t index, size_t *start,
                            size_t *end)
{
    if (index >= att_encoded_text_count(encoded))
        return false;
    att_encoding_source_range(&encoded->encoding, index, start, end);
    return true;
}

att_status att_model_decode(att_string *out, const att_model *model, att_side side,
                            const int32_t *ids, size_t count, att_error *err)
{
    const att_vocab *vocab;
    ATT_TRY(require_vocab(&vocab, model, side, err));
    return att_encoding_decode(out, vocab, ids, count, err);
}
