/* Alternatives as text, JSON and an HTML page. */
#include "inspect/alternatives.h"

#include "base/error.h"
#include "base/minmax.h"
#include "render/html_page.h"
#include "render/number.h"
#include "render/view.h"
#include "text/display_width.h"

#include <math.h>
#include <stdio.h>

/* "93.1 %"; "<0.1 %" of what would be 0.0. */
static void put_percent(att_writer *out, double probability,
                        void (*put)(att_writer *, const char *))
{
    char text[ATT_NUMBER_SIZE] = "<0.1";
    if (probability == 0 || !att_number_rounds_to_zero(100 * probability, 1))
        att_number_print(text, 100 * probability, (att_number_format){ .decimals = 1 });
    put(out, text);
    att_put(out, " %");
}

/* ---- text */

/* The chosen token, or for a tagger the token that has a label. */
static const char *first_column(const att_alternative_step *step)
{
    return step->source ? step->source : step->token ? step->token : "?";
}

static int64_t width_of(const char *text)
{
    return text ? (int64_t)att_display_width(text) : 0;
}

static void put_padded(att_writer *out, const char *text, int64_t width)
{
    att_put_plain(out, text);
    att_put_repeat(out, " ", width - width_of(text));
}

enum { RANK_SIZE = 24 };

/* "1."; a dash where nothing was chosen. */
static const char *rank_text(char text[RANK_SIZE], const att_alternative_step *step, bool ascii)
{
    if (!step->token)
        return ascii ? "-" : "–";
    snprintf(text, RANK_SIZE, "%lld.", (long long)step->rank);
    return text;
}

static void put_text(att_writer *out, const att_alternatives *a, bool ascii)
{
    int64_t first = 1, label = 0, rank = 0;
    char text[RANK_SIZE];
    for (size_t t = 0; t < a->count; t++) {
        const att_alternative_step *step = &a->steps[t];
        first = att_max_i64(first, width_of(first_column(step)));
        label = att_max_i64(label, width_of(step->token));
        rank = att_max_i64(rank, width_of(rank_text(text, step, ascii)));
    }
    for (size_t t = 0; t < a->count; t++) {
        const att_alternative_step *step = &a->steps[t];
        put_padded(out, first_column(step), first);
        if (step->source) {
            att_put(out, "  ");
            put_padded(out, step->token, label);
        }
        att_put(out, "  ");
        put_padded(out, rank_text(text, step, ascii), rank);
        att_put(out, "  ");
        for (int64_t i = 0; i < step->count; i++) {
            att_put(out, i > 0 ? ",  " : "");
            att_put_plain(out, step->tokens[i]);
            att_put(out, " ");
            put_percent(out, step->probabilities[i], att_put);
        }
        att_put(out, "\n");
    }
}

/* ---- JSON */

static void put_json(att_writer *out, const att_alternatives *a)
{
    att_put(out, "{\"steps\":[");
    for (size_t t = 0; t < a->count; t++) {
        const att_alternative_step *step = &a->steps[t];
        att_put(out, t > 0 ? ",{" : "{");
        if (step->source) {
            att_put(out, "\"source\":");
            att_put_json(out, step->source);
            att_put(out, ",");
        }
        att_put(out, "\"token\":");
        if (step->token)
            att_put_json(out, step->token);
        else
            att_put(out, "null");
        att_put(out, ",\"probability\":");
        att_put_json_number(out, step->probability);
        att_putf(out, ",\"token_rank\":%lld,\"alternatives\":[", (long long)step->rank);
        for (int64_t i = 0; i < step->count; i++) {
            att_put(out, i > 0 ? ",{\"token\":" : "{\"token\":");
            att_put_json(out, step->tokens[i]);
            att_put(out, ",\"probability\":");
            att_put_json_number(out, step->probabilities[i]);
            att_put(out, "}");
        }
        att_put(out, "]}");
    }
    att_put(out, "]}\n");
}

/* ---- HTML */

static const char style[] =
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}\n"
    "td,th{padding:.2rem 1.1rem .2rem 0;text-align:left;border-bottom:1px solid var(--line);"
    "white-space:nowrap;min-width:3rem}\n"
    "th{font-weight:500;color:var(--soft)}\n"
    "td bdi{display:inline-block;min-width:2rem}\n"
    "td small{color:var(--soft);display:block}\n"
    "td i{display:block;height:.3rem;background:#0b5394;border-radius:2px;min-width:1px}\n"
    "td.chosen{font-weight:600}\n";

/* The words of the page, by what a step is. */
typedef struct page_words {
    const char *title, *about, *chosen, *alternatives;
} page_words;

static const page_words token_words = {
    "Alternatives at each step",
    "Each row is a step: the token that was chosen, its rank, and the most probable tokens.",
    "token", "alternatives"
};
static const page_words class_words = { "Most probable labels",
                                        "The label that was predicted, its rank, and the most "
                                        "probable labels.",
                                        "label", "labels" };
static const page_words label_words = { "Most probable labels of each token",
                                        "Each row is a token: its label, the rank of that label, "
                                        "and the most probable labels.",
                                        "label", "labels" };

static void put_row(att_writer *out, const att_alternative_step *step)
{
    att_put(out, "<tr>");
    if (step->source) {
        att_put(out, "<td><bdi>");
        att_put_xml(out, step->source);
        att_put(out, "</bdi></td>");
    }
    att_put(out, "<td class=\"chosen\"><bdi>");
    att_put_xml(out, step->token ? step->token : "?");
    att_putf(out, step->token ? "</bdi></td><td>%lld</td>" : "</bdi></td><td></td>",
             (long long)step->rank);
    for (int64_t i = 0; i < step->count; i++) {
        att_putf(out, "<td%s><bdi>", step->token && i + 1 == step->rank ? " class=\"chosen\"" : "");
        att_put_xml(out, step->tokens[i]);
        att_put(out, "</bdi><small>");
        put_percent(out, step->probabilities[i], att_put_xml);
        att_putf(out, "</small><i style=\"width:calc(.06rem*%d)\"></i></td>",
                 (int)lround(100 * step->probabilities[i]));
    }
    att_put(out, "</tr>\n");
}

static void put_html(att_writer *out, const att_alternatives *a)
{
    const page_words *words = a->type == ATT_MODEL_TAGGER       ? &label_words
                              : a->type == ATT_MODEL_CLASSIFIER ? &class_words
                                                                : &token_words;
    att_put_html_head(out, words->title, style);
    att_put_html_body(out);
    att_putf(out, "<h1>%s</h1>\n<p>%s</p>\n<table>\n<thead><tr>%s<th>%s</th><th>rank</th>",
             words->title, words->about, a->type == ATT_MODEL_TAGGER ? "<th>token</th>" : "",
             words->chosen);
    att_putf(out, "<th colspan=\"%lld\">%s</th></tr></thead>\n<tbody>\n",
             (long long)(a->count > 0 ? a->steps[0].count : 1), words->alternatives);
    for (size_t t = 0; t < a->count && out->status == ATT_OK; t++)
        put_row(out, &a->steps[t]);
    att_put(out, "</tbody>\n</table>\n");
    att_put_html_end(out);
}

att_status att_alternatives_render(att_string *text, const att_alternatives *alternatives,
                                   const att_render_options *options, att_error *err)
{
    enum { FORMATS = 1 << ATT_FORMAT_TEXT | 1 << ATT_FORMAT_JSON | 1 << ATT_FORMAT_HTML };
    att_render_options resolved;
    ATT_TRY(att_render_options_resolve(&resolved, options, FORMATS, "a list of alternatives", err));
    att_writer out = att_writer_on(text);
    if (resolved.format == ATT_FORMAT_JSON)
        put_json(&out, alternatives);
    else if (resolved.format == ATT_FORMAT_HTML)
        put_html(&out, alternatives);
    else
        put_text(&out, alternatives, resolved.ascii);
    return att_writer_finish(&out, err);
}
