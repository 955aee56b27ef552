/* attend eval with a language model: loss, bits per character and perplexity of a text. */
#include "eval.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "output.h"
#include "terminal.h"

static void print_lines(const att_lm_eval *found)
{
    char perplexity[PERPLEXITY_SIZE];
    printf("%-20s %" PRId64 "\n", "tokens", found->tokens);
    printf("%-20s %" PRId64 "\n", "characters", found->characters);
    if (found->unknown_tokens > 0)
        printf("%-20s %" PRId64 "\n", "unknown tokens", found->unknown_tokens);
    printf("%-20s %.4f nats per token\n", "loss", found->loss);
    printf("%-20s %.4f\n", "bits per character", found->bits_per_character);
    printf("%-20s %s\n", "perplexity", perplexity_text(perplexity, found->perplexity, 4));
    if (!isnan(found->accuracy))
        printf("%-20s %.2f %%\n", "token accuracy", 100 * found->accuracy);
}

static void print_json(const att_lm_eval *found)
{
    printf("{\"tokens\":%" PRId64 ",\"characters\":%" PRId64 ",\"unknown_tokens\":%" PRId64
           ",\"loss\":%.9g,\"bits_per_character\":%.9g,\"perplexity\":",
           found->tokens, found->characters, found->unknown_tokens, found->loss,
           found->bits_per_character);
    printf(isfinite(found->perplexity) ? "%.9g" : "null", found->perplexity);
    if (!isnan(found->accuracy))
        printf(",\"token_accuracy\":%.9g", found->accuracy);
    puts("}");
}

att_status eval_lm(const void *settings, const decoding *models, const char *data, att_error *err)
{
    const eval_settings *set = settings;
    att_lm_eval found = ATT_INIT(att_lm_eval);
    att_string notes = { 0 };
    const att_eval_options options = { .size = sizeof(att_eval_options),
                                       .recorded_data = set->recorded_data,
                                       .format = set->format,
                                       .columns = set->columns,
                                       .transport = set->transport,
                                       .stride = set->stride,
                                       .decoding = &models->options };
    att_status status =
        att_model_evaluate_lm(&found, models->model, data, &options, eval_notes(set, &notes), err);
    if (status == ATT_OK && notes.length > 0)
        terminal_puts(stderr, notes.data);
    att_string_free(&notes);
    if (status != ATT_OK)
        return status;
    if (set->json)
        print_json(&found);
    else
        print_lines(&found);
    return output_flush(err);
}
