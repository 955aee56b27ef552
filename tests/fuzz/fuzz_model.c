/* Any bytes as a model file: a model that is read is described, written, read again and used for
 * everything that models of its type can do, on a small budget. */
#include "fuzz/budget.h"

#include "base/json.h"
#include "base/utf8.h"
#include "fuzz/model_uses.h"
#include "model/model.h"

static void check_json(const att_string *text)
{
    att_json_doc doc;
    att_error err = { 0 };
    succeeded(att_json_read(&doc, text->data, text->length, "json", NULL, &err), &err);
    PROMISE(err.status != ATT_BAD_INPUT);
    att_json_free(&doc);
}

static void check_info(const att_model *model)
{
    att_string text = { 0 };
    att_error err = { 0 };
    if (succeeded(att_model_info(&text, model, false, &err), &err))
        PROMISE(att_utf8_valid(text.data, text.length));
    text.length = 0;
    if (succeeded(att_model_info(&text, model, true, &err), &err))
        check_json(&text);
    att_string_free(&text);
}

/* What is read can be written, and what is written is read as the same. */
static void check_written(const att_model *model)
{
    att_string first = { 0 }, second = { 0 };
    att_model *again = NULL;
    att_error err = { 0 };
    if (succeeded(att_model_write(&first, model, &err), &err)) {
        bool read =
            succeeded(att_model_read(&again, first.data, first.length, "again", &err), &err);
        PROMISE(read || err.status != ATT_BAD_INPUT);
        if (read && succeeded(att_model_write(&second, again, &err), &err))
            PROMISE(first.length == second.length &&
                    memcmp(first.data, second.data, first.length) == 0);
    }
    PROMISE(err.status != ATT_BAD_INPUT);
    att_model_free(again);
    att_string_free(&first);
    att_string_free(&second);
}

static void use(const att_model *model)
{
    check_info(model);
    check_written(model);
    use_tokenizer(model, ATT_SIDE_SOURCE);
    use_tokenizer(model, ATT_SIDE_TARGET);
    use_heads(model);
    use_decoding_steps(model);
    use_units(model);
    switch (att_model_type_get(model)) {
    case ATT_MODEL_SEQ2SEQ:
        use_seq2seq(model);
        break;
    case ATT_MODEL_LM:
        use_lm(model);
        break;
    case ATT_MODEL_CLASSIFIER:
        use_classifier(model);
        break;
    case ATT_MODEL_CAPTION:
        use_caption(model);
        break;
    case ATT_MODEL_TAGGER:
        use_tagger(model);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t live = att_alloc_live();
    att_error err = { 0 };
    att_model *model;
    budget_start();
    if (succeeded(att_model_read(&model, data, size, "input", &err), &err))
        use(model);
    else
        PROMISE(!model);
    att_model_free(model);
    PROMISE(att_alloc_live() == live);
    return 0;
}
