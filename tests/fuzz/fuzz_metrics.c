/* Any bytes as hypotheses and references: lines in groups of three, a hypothesis and two references
 * of which the second may be missing (an empty line). The first byte chooses the options. */
#include "fuzz/budget.h"

#include <math.h>

enum { MAX_LINES = 16, SIDES = 3, LOWER = 4, BOOTSTRAP = 8 };

typedef struct texts {
    char *lines[SIDES][MAX_LINES];
    size_t count;
} texts;

/* Cuts the text into lines, in place; a zero byte ends a line too. */
static void split(texts *out, char *text)
{
    static char none[] = "";
    char *rest = text;
    for (size_t i = 0; i < MAX_LINES * SIDES; i++) {
        char *line = rest ? strsep(&rest, "\n") : NULL;
        if (!line && i % SIDES == 0)
            break;
        out->lines[i % SIDES][i / SIDES] = line ? line : none;
        out->count = i / SIDES + 1;
    }
    for (size_t i = 0; i < out->count; i++)
        if (out->lines[2][i][0] == '\0')
            out->lines[2][i] = NULL;
}

static void check_scores(const att_metric_scores *scores, size_t count, bool bootstrap)
{
    for (size_t i = 0; i < count; i++) {
        const att_metric_score *score = att_metric_scores_get(scores, i);
        PROMISE(score && score->metric && score->signature);
        PROMISE(!isnan(score->value) && score->value >= 0);
        PROMISE(isnan(score->interval.low) || score->interval.low <= score->interval.high);
        PROMISE(bootstrap || isnan(score->interval.low));
    }
    PROMISE(att_metric_scores_get(scores, count) == NULL);
}

static void score(const texts *in, int choice)
{
    static const char *const tokenizers[] = { "13a", "none", "char", "intl" };
    const char *names[16];
    size_t count = 0;
    for (; count < att_metric_count() && count < 16; count++)
        names[count] = att_metric_get(count)->name;
    const char *const *references[] = { (const char *const *)in->lines[1],
                                        (const char *const *)in->lines[2] };
    const att_hypotheses hypotheses = { (const char *const *)in->lines[0], references, in->count,
                                        2 };
    att_metric_options options = ATT_INIT(att_metric_options);
    att_metric_scores *scores = NULL;
    att_error err = { 0 };
    options.tokenizer = tokenizers[choice & 3];
    options.lowercase = choice & LOWER;
    options.resamples = choice & BOOTSTRAP ? 5 : 0;
    if (succeeded(att_metrics_score(&scores, names, count, &hypotheses, &options, &err), &err))
        check_scores(scores, count, choice & BOOTSTRAP);
    else
        PROMISE(!scores);
    att_metric_scores_free(scores);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    size_t live = att_alloc_live();
    texts in = { 0 };
    char *text = malloc(size);
    PROMISE(text != NULL);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    budget_start();
    split(&in, text);
    score(&in, *data);
    free(text);
    PROMISE(att_alloc_live() == live);
    return 0;
}
