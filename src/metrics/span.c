/* Spans of labeled tokens, found as conlleval finds them; see span.h. */
#include "metrics/span.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

void att_span_counts_free(att_span_counts *counts)
{
    att_string_set_free(&counts->types);
    att_free(counts->by_type);
    *counts = (att_span_counts){ 0 };
}

/* ---- labels */

/* A label taken apart. `prefix` is B, I, E or S, 'O' outside of spans, and '?' for any other text
 * before the first hyphen. */
typedef struct tag {
    char prefix;
    const char *type;
} tag;

static const tag outside = { 'O', "" };

static tag split_label(const char *label)
{
    const char *hyphen = strchr(label, '-');
    const char *type = hyphen ? hyphen + 1 : "";
    size_t length = hyphen ? (size_t)(hyphen - label) : strlen(label);
    char prefix = length == 1 && strchr("BIESLUO.", *label) ? *label : '?';
    prefix = prefix == 'L' ? 'E' : prefix == 'U' ? 'S' : prefix == '.' ? 'O' : prefix;
    return (tag){ prefix, type };
}

static bool has_prefix(const char *label)
{
    return label[0] && label[1] == '-' && strchr("BIESLU", label[0]);
}

static bool is_among(char prefix, const char *prefixes)
{
    return strchr(prefixes, prefix) != NULL;
}

static bool types_differ(tag a, tag b)
{
    return strcmp(a.type, b.type) != 0;
}

/* Whether a span that `before` belongs to ends there, if the next label is `now`. */
static bool ends_span(tag before, tag now)
{
    if (is_among(before.prefix, "ES"))
        return true;
    if (is_among(before.prefix, "BI") && is_among(now.prefix, "BSO"))
        return true;
    return before.prefix != 'O' && types_differ(before, now);
}

/* Whether `now` starts a span, if the label before is `before`. */
static bool starts_span(tag before, tag now)
{
    if (is_among(now.prefix, "BS"))
        return true;
    if (is_among(before.prefix, "ESO") && is_among(now.prefix, "EI"))
        return true;
    return now.prefix != 'O' && types_differ(before, now);
}

/* ---- spans */

/* Walks over the labels of a sentence; the label after the last is outside. */
typedef struct span_walk {
    const char *const *labels;
    size_t count;
    tag now;
    size_t start; /* of the open span */
    bool open;
    const char *type;
    /* the span that ended before the current token, if `ended` */
    bool ended;
    size_t ended_start;
    const char *ended_type;
} span_walk;

static void walk_to(span_walk *walk, size_t at)
{
    tag before = walk->now;
    walk->now = at < walk->count ? split_label(walk->labels[at]) : outside;
    walk->ended = walk->open && ends_span(before, walk->now);
    walk->ended_start = walk->start;
    walk->ended_type = walk->type;
    walk->open = walk->open && !walk->ended;
    if (!walk->open && starts_span(before, walk->now)) {
        walk->open = true;
        walk->start = at;
        walk->type = walk->now.type;
    }
}

/* The counts of a type, which is added where it is new; NULL when memory is out. */
static att_span_count *type_count(att_span_counts *counts, const char *type)
{
    size_t index, before = counts->types.count;
    if (before == counts->capacity) {
        size_t more = before ? 2 * before : 16;
        att_span_count *moved =
            att_realloc(counts->by_type, before * sizeof *moved, more, sizeof *moved);
        if (!moved)
            return NULL;
        counts->by_type = moved;
        counts->capacity = more;
    }
    if (att_string_set_add(&counts->types, type, strlen(type), &index) != ATT_OK)
        return NULL;
    if (index == before)
        counts->by_type[index] = (att_span_count){ 0 };
    return &counts->by_type[index];
}

static att_status count_spans(att_span_counts *counts, const span_walk *truth,
                              const span_walk *predicted)
{
    bool correct = truth->ended && predicted->ended &&
                   truth->ended_start == predicted->ended_start &&
                   strcmp(truth->ended_type, predicted->ended_type) == 0;
    const att_span_count found = { truth->ended, predicted->ended, correct };
    if (truth->ended) {
        att_span_count *own = type_count(counts, truth->ended_type);
        if (!own)
            return ATT_NO_MEMORY;
        own->support++;
        own->correct += correct;
    }
    if (predicted->ended) {
        att_span_count *own = type_count(counts, predicted->ended_type);
        if (!own)
            return ATT_NO_MEMORY;
        own->predicted++;
    }
    counts->all.support += found.support;
    counts->all.predicted += found.predicted;
    counts->all.correct += found.correct;
    return ATT_OK;
}

att_status att_span_counts_add(att_span_counts *counts, const char *const *truth,
                               const char *const *predicted, size_t count)
{
    span_walk walks[] = { { .labels = truth, .count = count, .now = outside },
                          { .labels = predicted, .count = count, .now = outside } };
    size_t correct = 0;
    for (size_t i = 0; i <= count; i++) {
        walk_to(&walks[0], i);
        walk_to(&walks[1], i);
        att_status status = count_spans(counts, &walks[0], &walks[1]);
        if (status != ATT_OK)
            return status;
    }
    for (size_t i = 0; i < count; i++) {
        correct += strcmp(truth[i], predicted[i]) == 0;
        counts->has_spans = counts->has_spans || has_prefix(truth[i]) || has_prefix(predicted[i]);
    }
    counts->tokens += (int64_t)count;
    counts->correct_tokens += (int64_t)correct;
    counts->sentences++;
    counts->correct_sentences += correct == count;
    return ATT_OK;
}

/* ---- scores */

static double ratio(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

att_label_metrics att_span_metrics(const att_span_count *count)
{
    return (att_label_metrics){ .support = count->support,
                                .predicted = count->predicted,
                                .precision = ratio(count->correct, count->predicted),
                                .recall = ratio(count->correct, count->support),
                                .f1 =
                                    ratio(2 * count->correct, count->support + count->predicted) };
}

double att_span_counts_f1(const att_span_counts *counts)
{
    return counts->has_spans ? att_span_metrics(&counts->all).f1 : NAN;
}
