/* An output of a seq2seq model as an HTML page: the tokens of input and output (pointing at an
 * output token, or focusing it with the keyboard, highlights the input tokens by their attention
 * weights), the attention map, and a table of the largest weights for print and assistive
 * technology.
 *
 * The page has no script. Output tokens precede the input in the document, so that a CSS rule can
 * select from one to the other (`#t3:hover~.source`). The rule sets the weights as CSS variables,
 * from which the input tokens take their color and their number. */
#include "attend.h"

#include "base/arena.h"
#include "base/math.h"
#include "render/html_page.h"
#include "render/map.h"
#include "render/number.h"

#include <inttypes.h>
#include <math.h>

enum { MAP_QUERIES = 100, MAP_KEYS = 100, TOP_SOURCES = 3 };

static const char style[] =
    ".attention{display:flex;flex-wrap:wrap;gap:.35rem;margin:1.2rem 0}\n"
    ".attention .name{width:100%;color:var(--soft);font-size:.88rem}\n"
    ".attention .first{order:-2}\n"
    ".source{order:-1;width:100%;display:flex;flex-wrap:wrap;gap:.35rem;margin-bottom:.6rem}\n"
    ".attention bdi{min-width:2.6rem;padding:.15rem .4rem;border:1px solid var(--line);"
    "border-radius:6px;text-align:center}\n"
    ".attention small,.source bdi::after{display:block;min-height:1.3em;color:var(--soft);"
    "font-size:.7rem;font-variant-numeric:tabular-nums}\n"
    ".source bdi{background:rgba(224,112,16,calc(var(--w)/100))}\n"
    ".source bdi::after{counter-reset:w var(--w);content:\"\"}\n"
    ".output{cursor:default}\n"
    ".output:hover,.output:focus{border-color:var(--ink);background:var(--card);outline:0}\n"
    ".output:hover~.source bdi::after,.output:focus~.source bdi::after{content:counter(w) \" %\";"
    "color:inherit}\n"
    ".tokens{border-collapse:collapse;font-variant-numeric:tabular-nums}\n"
    ".tokens td,.tokens th{padding:.15rem 1.2rem .15rem 0;text-align:left;"
    "border-bottom:1px solid var(--line)}\n"
    ".tokens th{font-weight:500;color:var(--soft)}\n"
    ".tokens .number{text-align:right}\n"
    ".warn{color:var(--fail)}\n";

/* A weight in percent, clamped to 0 … 100. */
static int weight_percent(double weight)
{
    if (!(weight > 0))
        return 0;
    return weight < 1 ? (int)lround(100 * weight) : 100;
}

static double weight_at(const att_output *output, int64_t target, int64_t source)
{
    return output->weights[target * output->source_count + source];
}

static void put_percent(att_writer *out, double fraction, int decimals)
{
    char text[ATT_NUMBER_SIZE];
    att_number_print(text, 100 * fraction, (att_number_format){ .decimals = decimals });
    att_put(out, text);
    att_put(out, " %");
}

/* ---- tokens */

/* The CSS rule of one output token: its attention weights as variables. */
static void put_rule(att_writer *out, const att_output *output, int64_t target)
{
    att_putf(out, "#t%" PRId64 ":hover~.source,#t%" PRId64 ":focus~.source{", target, target);
    for (int64_t i = 0; i < output->source_count; i++) {
        int weight = weight_percent(weight_at(output, target, i));
        if (weight > 0)
            att_putf(out, "--w%" PRId64 ":%d;", i, weight);
    }
    att_put(out, "}\n");
}

static void put_tokens(att_writer *out, const att_output *output)
{
    att_put(out, "<div class=\"attention\">\n<div class=\"name first\">input</div>\n"
                 "<div class=\"name\">output</div>\n");
    for (int64_t t = 0; t < output->target_count; t++) {
        att_putf(out, "<bdi class=\"output\" id=\"t%" PRId64 "\" tabindex=\"0\">", t);
        att_put_xml(out, output->target_tokens[t]);
        att_put(out, "<small>");
        put_percent(out, att_exp(output->token_scores[t]), 1);
        att_put(out, "</small></bdi>\n");
    }
    att_put(out, "<div class=\"source\">\n");
    for (int64_t i = 0; i < output->source_count; i++) {
        att_putf(out, "<bdi style=\"--w:var(--w%" PRId64 ",0)\">", i);
        att_put_xml(out, output->source_tokens[i]);
        att_put(out, "</bdi>\n");
    }
    att_put(out, "</div>\n</div>\n");
}

/* ---- the table */

/* The source token with the largest weight after `before` in decreasing order (-1: the first);
 * equal weights are in the order of the tokens. */
static int64_t next_largest_weight(const att_output *output, int64_t target, int64_t before)
{
    int64_t best = -1;
    for (int64_t i = 0; i < output->source_count; i++) {
        double weight = weight_at(output, target, i);
        if (before >= 0) {
            double last = weight_at(output, target, before);
            if (!(weight < last || (weight == last && i > before)))
                continue;
        }
        if (best < 0 || weight > weight_at(output, target, best))
            best = i;
    }
    return best;
}

static void put_largest_weights(att_writer *out, const att_output *output, int64_t target)
{
    int64_t at = -1;
    for (int k = 0; k < TOP_SOURCES; k++) {
        at = next_largest_weight(output, target, at);
        if (at < 0 || weight_percent(weight_at(output, target, at)) == 0)
            return;
        att_put(out, k > 0 ? ", <bdi>" : "<bdi>");
        att_put_xml(out, output->source_tokens[at]);
        att_putf(out, "</bdi> (%" PRId64 ") ", at + 1);
        put_percent(out, weight_at(output, target, at), 0);
    }
}

static void put_table(att_writer *out, const att_output *output)
{
    att_put(
        out,
        "<table class=\"tokens\">\n<thead><tr><th>token</th>"
        "<th class=\"number\">probability</th><th>most attended input tokens (position) weight</th>"
        "</tr></thead>\n<tbody>\n");
    for (int64_t t = 0; t < output->target_count && out->status == ATT_OK; t++) {
        att_put(out, "<tr><td><bdi>");
        att_put_xml(out, output->target_tokens[t]);
        att_put(out, "</bdi></td><td class=\"number\">");
        put_percent(out, att_exp(output->token_scores[t]), 2);
        att_put(out, "</td><td>");
        put_largest_weights(out, output, t);
        att_put(out, "</td></tr>\n");
    }
    att_put(out, "</tbody>\n</table>\n");
}

/* ---- the page */

static void put_map(att_writer *out, const att_map *map)
{
    att_arena arena = { 0 };
    att_map shown;
    if (!att_map_shrink(&shown, map, MAP_QUERIES, MAP_KEYS, &arena)) {
        out->status = ATT_NO_MEMORY;
    } else {
        att_put(out, "<figure>\n");
        att_map_put_svg(out, &shown, &(att_svg_options){ .id = "map", .digits = ATT_MAP_DIGITS });
        if (shown.keys < map->keys || shown.queries < map->queries) {
            att_put(out, "<figcaption>");
            att_map_put_reduction(out, map, &shown, "×");
            att_put(out, "</figcaption>\n");
        }
        att_put(out, "</figure>\n");
    }
    att_arena_free(&arena);
}

/* Limits of the output that the reader should know. */
static void put_warnings(att_writer *out, const att_output *output)
{
    if (output->truncated)
        att_put(out, "<p class=\"warn\">The output was truncated at the maximum length.</p>\n");
    if (output->unknown_tokens > 0)
        att_putf(out,
                 "<p class=\"warn\">%" PRId64 " of the %" PRId64
                 " input tokens are not in the vocabulary.</p>\n",
                 output->unknown_tokens, output->source_count);
}

att_status att_output_html(att_string *text, const att_output *output, const att_map *map,
                           att_error *err)
{
    if (!output->weights)
        return att_fail(err, ATT_BAD_INPUT, NULL, "the output has no attention weights");
    att_writer out = att_writer_on(text);
    att_put_html_head(&out, output->text[0] ? output->text : "Empty output", style);
    for (int64_t t = 0; t < output->target_count; t++)
        put_rule(&out, output, t);
    att_put_html_body(&out);
    att_put(&out, "<h1><bdi>");
    att_put_xml(&out, output->text);
    att_put(&out, "</bdi></h1>\n");
    put_warnings(&out, output);
    att_put(&out,
            "<p>Point at an output token to see its attention weights over the input. Below each "
            "token is its probability given the tokens before it.</p>\n");
    put_tokens(&out, output);
    put_map(&out, map);
    put_table(&out, output);
    att_put(&out, "<footer>Probability of the whole output: ");
    put_percent(&out, att_exp(output->score), 2);
    att_put(&out, ".</footer>\n");
    att_put_html_end(&out);
    return att_writer_finish(&out, err);
}
