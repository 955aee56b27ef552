/* attend score, on a text: the log-probability of each token after those before it. */
#include "score.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "escape.h"
#include "lines.h"
#include "output.h"

typedef struct writing {
    const score_settings *set;
    att_text line;
    att_status status;
    att_error *err;
} writing;

/* A line for each token, or an object. */
static bool told(void *context, const char *text, size_t length, double score)
{
    writing *w = context;
    w->line.length = 0;
    att_status status = escape_token(&w->line, text, length);
    att_text shown = { 0 };
    if (status == ATT_OK && w->set->json)
        status = escape_json(&shown, w->line.data, w->line.length);
    if (status != ATT_OK)
        w->status = error_memory(w->err);
    else if (w->set->json)
        printf("{\"token\":%s,\"score\":%.9g}\n", shown.data, score);
    else
        printf("%.4f\t%.*s\n", score, (int)w->line.length, w->line.data);
    att_text_free(&shown);
    return w->status == ATT_OK;
}

static att_status print_end(const writing *w, const att_continued *found)
{
    double perplexity = exp(-found->score / (double)found->tokens);
    if (w->set->json)
        printf("{\"tokens\":%" PRId64 ",\"score\":%.17g,\"perplexity\":%.17g}\n", found->tokens,
               found->score, perplexity);
    att_status status = output_flush(w->err);
    if (status == ATT_OK && !w->set->json)
        fprintf(stderr, "%" PRId64 " tokens: log-probability %.4f, perplexity %.4f\n",
                found->tokens, found->score, perplexity);
    return status;
}

att_status score_text(const score_settings *set, const decoding *models, const char *file,
                      att_error *err)
{
    att_text text = { 0 };
    att_continued found;
    writing w = { .set = set, .err = err };
    att_status status = lines_whole(&text, file, err);
    if (status == ATT_OK)
        status = att_model_score_text(&found, models->model, text.data, text.length, &models->how,
                                      told, &w, err);
    if (status == ATT_OK)
        status = w.status;
    if (status == ATT_OK && found.tokens == 0)
        status =
            error_set(err, ATT_BAD_INPUT, file, "has no tokens to score: the first is only told");
    if (status == ATT_OK)
        status = print_end(&w, &found);
    att_text_free(&text);
    att_text_free(&w.line);
    return status;
}
