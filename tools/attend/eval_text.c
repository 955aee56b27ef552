/* attend eval, on a text: how well a language model foretells it. */
#include "eval.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "output.h"

static void print_lines(const att_text_scores *found)
{
    printf("%-18s%" PRId64 "\n", "tokens", found->tokens);
    printf("%-18s%" PRId64 "\n", "characters", found->characters);
    if (found->unknown > 0)
        printf("%-18s%" PRId64 "\n", "unknown tokens", found->unknown);
    printf("%-18s%.4f nats a token\n", "loss", found->loss);
    printf("%-18s%.4f\n", "bits a character", found->bits);
    printf("%-18s%.4f\n", "perplexity", found->perplexity);
    if (!isnan(found->accuracy))
        printf("%-18s%.2f %%\n", "token accuracy", 100 * found->accuracy);
}

static void print_json(const att_text_scores *found)
{
    printf("{\"tokens\":%" PRId64 ",\"characters\":%" PRId64 ",\"unknown\":%" PRId64
           ",\"loss\":%.9g,\"bits\":%.9g,\"perplexity\":%.9g",
           found->tokens, found->characters, found->unknown, found->loss, found->bits,
           found->perplexity);
    if (!isnan(found->accuracy))
        printf(",\"token_accuracy\":%.9g", found->accuracy);
    puts("}");
}

att_status eval_text(const eval_settings *set, const decoding *models, const char *data,
                     att_error *err)
{
    att_text_scores found;
    att_text notes = { 0 };
    const att_measuring how = { .decoding = &models->how };
    att_status status = att_model_evaluate_text(&found, models->model, data, &how, &notes, err);
    if (status == ATT_OK && notes.length > 0)
        fputs(notes.data, stderr);
    att_text_free(&notes);
    if (status != ATT_OK)
        return status;
    if (set->json)
        print_json(&found);
    else
        print_lines(&found);
    return output_flush(err);
}
