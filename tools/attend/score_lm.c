/* attend score with a language model: the log-probability of each token given those before it. */
#include "score.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "lines.h"
#include "output.h"

/* Output is written in pieces of about this many bytes. */
enum { FLUSH_BYTES = 1 << 14 };

typedef struct score_writer {
    const score_settings *set;
    att_string out;   /* lines not written yet */
    att_string token; /* the last token, escaped */
    att_status status;
    att_error *err;
} score_writer;

static att_status flush_lines(score_writer *w)
{
    att_status status = output_stdout(w->out.data, w->out.length, w->err);
    w->out.length = 0;
    return status;
}

/* log-probability<TAB>token, or {"token","score"}. */
static att_status add_line(score_writer *w, const char *text, size_t length, double score)
{
    char number[64];
    w->token.length = 0;
    if (escape_token(&w->token, text, length) != ATT_OK)
        return ATT_NO_MEMORY;
    if (!w->set->json) {
        size_t size = (size_t)snprintf(number, sizeof number, "%.4f\t", score);
        return string_join(&w->out, (string_piece[]){ { number, size },
                                                      { w->token.length > 0 ? w->token.data : "",
                                                        w->token.length },
                                                      { "\n", 1 },
                                                      { 0 } });
    }
    size_t size = (size_t)snprintf(number, sizeof number, ",\"score\":%.9g}\n", score);
    att_status status = att_string_append(&w->out, "{\"token\":", 9);
    if (status == ATT_OK)
        status = escape_json(&w->out, w->token.data, w->token.length);
    return status == ATT_OK ? att_string_append(&w->out, number, size) : status;
}

static bool on_token(void *context, const char *text, size_t length, double score)
{
    score_writer *w = context;
    if (add_line(w, text, length, score) != ATT_OK)
        w->status = error_memory(w->err);
    else if (w->out.length >= FLUSH_BYTES)
        w->status = flush_lines(w);
    return w->status == ATT_OK && !output_reader_gone();
}

static att_status print_end(score_writer *w, const att_completion *found)
{
    char perplexity[PERPLEXITY_SIZE];
    att_status status = flush_lines(w);
    if (status != ATT_OK)
        return status;
    if (w->set->json) {
        printf("{\"tokens\":%" PRId64 ",\"score\":%.17g,\"perplexity\":", found->tokens,
               found->score);
        printf(isfinite(found->perplexity) ? "%.17g}\n" : "null}\n", found->perplexity);
    }
    status = output_flush(w->err);
    if (status == ATT_OK && !w->set->json && !output_reader_gone())
        fprintf(stderr, "%" PRId64 " tokens: log-probability %.4f, perplexity %s\n", found->tokens,
                found->score, perplexity_text(perplexity, found->perplexity, 4));
    return status;
}

att_status score_lm(const void *settings, const decoding *models, const char *file, att_error *err)
{
    const score_settings *set = settings;
    att_string text = { 0 };
    att_completion found = ATT_INIT(att_completion);
    const att_score_options options = { .size = sizeof options,
                                        .ensemble = models->options.ensemble,
                                        .ensemble_count = models->options.ensemble_count };
    score_writer w = { .set = set, .err = err };
    att_status status = lines_read_all(&text, file, err);
    if (status == ATT_OK)
        status = att_model_score_text(&found, models->model, text.data, text.length, &options,
                                      on_token, &w, err);
    if (models->options.ensemble_count == 0) /* then the error is in the text */
        error_set_place(err, status, lines_name(file));
    status = status == ATT_OK ? w.status : status;
    if (status == ATT_OK && found.tokens == 0)
        status = error_set(err, ATT_BAD_INPUT, lines_name(file),
                           "has no tokens to score: expected at least two");
    if (status == ATT_OK)
        status = print_end(&w, &found);
    att_string_free(&text);
    att_string_free(&w.out);
    att_string_free(&w.token);
    return status;
}
