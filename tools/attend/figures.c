/* Figures as lines or JSON; see figures.h. */
#include "figures.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "output.h"

/* A figure: its name for people, its key for programs, and what it is of. */
typedef struct figure {
    const char *name, *key;
    double value;
    att_interval within;
    enum { OF_ONE, OF_HUNDRED, PLAIN } scale;
    const char *signature; /* or NULL */
} figure;

enum { TOKEN_FIGURES = 5, MOST_FIGURES = 32 };

/* All figures in the order of printing; gives how many. */
static size_t gather(figure *out, const figures *found)
{
    const att_scores *s = found->texts_alone ? NULL : found->scores;
    size_t count = 0;
    if (s) {
        const figure of_tokens[TOKEN_FIGURES] = {
            { "exact match", "exact", s->exact, s->exact_within, OF_ONE, NULL },
            { "token accuracy", "token_accuracy", s->token_accuracy, s->token_accuracy_within,
              OF_ONE, NULL },
            { "token error rate", "token_error_rate", s->token_error_rate, s->token_error_within,
              OF_ONE, NULL },
            { "word error rate", "word_error_rate", s->word_error_rate, s->word_error_within,
              OF_ONE, NULL },
            { "perplexity", "perplexity", s->perplexity, s->perplexity_within, PLAIN, NULL },
        };
        memcpy(out, of_tokens, sizeof of_tokens);
        count = TOKEN_FIGURES;
    }
    for (size_t i = 0; i < found->text_count && count < MOST_FIGURES; i++) {
        const att_metric_score *text = &found->texts[i];
        out[count++] = (figure){ text->metric->title, text->metric->name, text->value,
                                 text->within,        OF_HUNDRED,         text->signature };
    }
    return count;
}

/* "12.34 %", "12.34" or "5.6789". */
static void print_value(const figure *row, double value)
{
    if (row->scale == PLAIN)
        printf("%.4f", value);
    else
        printf("%.2f", row->scale == OF_ONE ? 100 * value : value);
}

static void print_text(const figures *found, const figure *rows, size_t count)
{
    printf("%-20s %" PRId64 "\n", found->what ? found->what : "lines", found->lines);
    if (found->scores && !found->texts_alone)
        printf("%-20s %" PRId64 "\n", "target tokens", found->scores->tokens);
    for (const figure *row = rows; row < rows + count; row++) {
        if (isnan(row->value))
            continue;
        printf("%-20s ", row->name);
        print_value(row, row->value);
        if (row->scale == OF_ONE)
            printf(" %%");
        if (!isnan(row->within.low)) {
            printf(" (");
            print_value(row, row->within.low);
            printf(" to ");
            print_value(row, row->within.high);
            printf(")");
        }
        printf("%s%s\n", row->signature ? "  " : "", row->signature ? row->signature : "");
    }
}

static void print_number(double value)
{
    if (isfinite(value))
        printf("%.17g", value);
    else
        printf("null");
}

static void print_json(const figures *found, const figure *rows, size_t count)
{
    printf("{\"%s\":%" PRId64, found->what ? found->what : "lines", found->lines);
    if (found->scores)
        printf(",\"tokens\":%" PRId64, found->scores->tokens);
    for (const figure *row = rows; row < rows + count; row++) {
        printf(",\"%s\":", row->key);
        print_number(row->value);
    }
    const char *before = ",\"intervals\":{";
    for (const figure *row = rows; row < rows + count; row++) {
        if (isnan(row->within.low))
            continue;
        printf("%s\"%s\":[", before, row->key);
        print_number(row->within.low);
        printf(",");
        print_number(row->within.high);
        printf("]");
        before = ",";
    }
    printf("%s", before[1] ? "" : "}");
    before = ",\"signatures\":{";
    for (const figure *row = rows; row < rows + count; row++) {
        if (!row->signature)
            continue;
        printf("%s\"%s\":\"%s\"", before, row->key, row->signature);
        before = ",";
    }
    printf("%s}\n", before[1] ? "" : "}");
}

att_status figures_print(const figures *found, bool json, att_error *err)
{
    figure rows[MOST_FIGURES];
    size_t count = gather(rows, found);
    (json ? print_json : print_text)(found, rows, count);
    return output_flush(err);
}
