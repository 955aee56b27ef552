/* A language model measured on a text; see attend.h. */
#include "metrics/evaluate.h"

#include "base/error.h"
#include "text/data.h"

#include <math.h>

double att_text_bits(double loss, const att_corpus *text)
{
    const att_corpus_facts *facts = &text->facts;
    return loss / log(2) * (double)facts->target.tokens / (double)facts->characters;
}

static void fill(att_text_scores *out, const att_tally *tally, const att_corpus *text)
{
    double steps = (double)tally->steps;
    *out = (att_text_scores){ .tokens = text->facts.target.tokens,
                              .characters = text->facts.characters,
                              .unknown = text->facts.target.unknown,
                              .loss = tally->loss / steps,
                              .bits = att_text_bits(tally->loss / steps, text),
                              .perplexity = exp(tally->loss / steps),
                              .accuracy = (double)tally->right_steps / steps };
}

att_status att_model_evaluate_text(att_text_scores *out, att_model *model, const char *path,
                                   att_text *notes, att_error *err)
{
    if (att_model_kind(model) != ATT_KIND_TEXT)
        return att_fail(err, ATT_BAD_INPUT, NULL, "the model is no language model: it is a %s",
                        model->family->name);
    const att_data_reading reading = { .path = path,
                                       .settings = model->settings,
                                       .target = model->target_words };
    att_corpus text;
    ATT_TRY(att_data_read(&text, &reading, err));
    att_tally tally = { 0 };
    att_status status = att_evaluate(&tally, model, &text, &(att_evaluate_how){ 0 }, err);
    if (status == ATT_OK && notes &&
        att_corpus_remarks(notes, path ? path : "validation", &text) != ATT_OK)
        status = att_fail_memory(err);
    if (status == ATT_OK)
        fill(out, &tally, &text);
    att_corpus_free(&text);
    return status;
}
