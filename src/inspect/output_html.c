/* An answer of a model as an HTML page: both sides' tokens, of which those of the answer light up
 * what they were looked for at when they are pointed at or reached with the keyboard; the map; and
 * the same in a table, for paper and for those who cannot point.
 *
 * There is no script in it. A token of the answer stands before the input in the document, so that
 * a rule can reach from the one to the other (`#t3:hover~.source`); its weights are variables that
 * the tokens of the input take their colour and their number from. */
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
    ".look{display:flex;flex-wrap:wrap;gap:.35rem;margin:1.2rem 0}\n"
    ".look .name{width:100%;color:var(--soft);font-size:.88rem}\n"
    ".look .first{order:-2}\n"
    ".source{order:-1;width:100%;display:flex;flex-wrap:wrap;gap:.35rem;margin-bottom:.6rem}\n"
    ".look bdi{min-width:2.6rem;padding:.15rem .4rem;border:1px solid var(--line);"
    "border-radius:6px;text-align:center}\n"
    ".look small,.source bdi::after{display:block;min-height:1.3em;color:var(--soft);"
    "font-size:.7rem;font-variant-numeric:tabular-nums}\n"
    ".source bdi{background:rgba(224,112,16,calc(var(--w)/100))}\n"
    ".source bdi::after{counter-reset:w var(--w);content:\"\"}\n"
    ".answer{cursor:default}\n"
    ".answer:hover,.answer:focus{border-color:var(--ink);background:var(--card);outline:0}\n"
    ".answer:hover~.source bdi::after,.answer:focus~.source bdi::after{content:counter(w) \" %\";"
    "color:inherit}\n"
    ".tokens{border-collapse:collapse;font-variant-numeric:tabular-nums}\n"
    ".tokens td,.tokens th{padding:.15rem 1.2rem .15rem 0;text-align:left;"
    "border-bottom:1px solid var(--line)}\n"
    ".tokens th{font-weight:500;color:var(--soft)}\n"
    ".tokens .number{text-align:right}\n"
    ".warn{color:var(--fail)}\n";

/* A weight in hundredths; what is no share of one is brought to the nearest. */
static int percent_of(double weight)
{
    if (!(weight > 0))
        return 0;
    return weight < 1 ? (int)lround(100 * weight) : 100;
}

static double weight_at(const att_output *answer, int64_t target, int64_t source)
{
    return answer->weights[target * answer->source_count + source];
}

static void put_percent(att_writer *out, double part, int decimals)
{
    char text[ATT_NUMBER_SIZE];
    att_number_print(text, 100 * part, (att_number_format){ .decimals = decimals });
    att_put(out, text);
    att_put(out, " %");
}

/* ---- tokens that light up */

/* What pointing at one token of the answer sets: the weights that are to be seen. */
static void put_rule(att_writer *out, const att_output *answer, int64_t target)
{
    att_putf(out, "#t%" PRId64 ":hover~.source,#t%" PRId64 ":focus~.source{", target, target);
    for (int64_t i = 0; i < answer->source_count; i++) {
        int weight = percent_of(weight_at(answer, target, i));
        if (weight > 0)
            att_putf(out, "--w%" PRId64 ":%d;", i, weight);
    }
    att_put(out, "}\n");
}

static void put_tokens(att_writer *out, const att_output *answer)
{
    att_put(out, "<div class=\"look\">\n<div class=\"name first\">input</div>\n"
                 "<div class=\"name\">answer</div>\n");
    for (int64_t t = 0; t < answer->target_count; t++) {
        att_putf(out, "<bdi class=\"answer\" id=\"t%" PRId64 "\" tabindex=\"0\">", t);
        att_put_xml(out, answer->target_tokens[t]);
        att_put(out, "<small>");
        put_percent(out, att_exp(answer->token_scores[t]), 1);
        att_put(out, "</small></bdi>\n");
    }
    att_put(out, "<div class=\"source\">\n");
    for (int64_t i = 0; i < answer->source_count; i++) {
        att_putf(out, "<bdi style=\"--w:var(--w%" PRId64 ",0)\">", i);
        att_put_xml(out, answer->source_tokens[i]);
        att_put(out, "</bdi>\n");
    }
    att_put(out, "</div>\n</div>\n");
}

/* ---- the table */

/* The source token with the largest weight below that of `before` (-1: of all); equals in order. */
static int64_t next_largest_weight(const att_output *answer, int64_t target, int64_t before)
{
    int64_t best = -1;
    for (int64_t i = 0; i < answer->source_count; i++) {
        double weight = weight_at(answer, target, i);
        if (before >= 0) {
            double last = weight_at(answer, target, before);
            if (!(weight < last || (weight == last && i > before)))
                continue;
        }
        if (best < 0 || weight > weight_at(answer, target, best))
            best = i;
    }
    return best;
}

static void put_largest_weights(att_writer *out, const att_output *answer, int64_t target)
{
    int64_t at = -1;
    for (int k = 0; k < TOP_SOURCES; k++) {
        at = next_largest_weight(answer, target, at);
        if (at < 0 || percent_of(weight_at(answer, target, at)) == 0)
            return;
        att_put(out, k > 0 ? ", <bdi>" : "<bdi>");
        att_put_xml(out, answer->source_tokens[at]);
        att_putf(out, "</bdi> (%" PRId64 ") ", at + 1);
        put_percent(out, weight_at(answer, target, at), 0);
    }
}

static void put_table(att_writer *out, const att_output *answer)
{
    att_put(out, "<table class=\"tokens\">\n<thead><tr><th>token</th>"
                 "<th class=\"number\">probability</th><th>looks hardest at (place) weight</th>"
                 "</tr></thead>\n<tbody>\n");
    for (int64_t t = 0; t < answer->target_count && out->status == ATT_OK; t++) {
        att_put(out, "<tr><td><bdi>");
        att_put_xml(out, answer->target_tokens[t]);
        att_put(out, "</bdi></td><td class=\"number\">");
        put_percent(out, att_exp(answer->token_scores[t]), 2);
        att_put(out, "</td><td>");
        put_largest_weights(out, answer, t);
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
        att_map_put_svg(out, &shown, &(att_svg_options){ .id = "map" });
        if (shown.keys < map->keys || shown.queries < map->queries) {
            att_put(out, "<figcaption>");
            att_map_put_reduction(out, map, &shown, "×");
            att_put(out, "</figcaption>\n");
        }
        att_put(out, "</figure>\n");
    }
    att_arena_free(&arena);
}

/* What a reader should know before believing the answer. */
static void put_warnings(att_writer *out, const att_output *answer)
{
    if (answer->truncated)
        att_put(out,
                "<p class=\"warn\">The answer was cut: the model had not come to an end.</p>\n");
    if (answer->unknown_tokens > 0)
        att_putf(out,
                 "<p class=\"warn\">The model does not know %" PRId64 " of the input's %" PRId64
                 " tokens.</p>\n",
                 answer->unknown_tokens, answer->source_count);
}

att_status att_output_html(att_string *text, const att_output *answer, const att_map *map,
                           att_error *err)
{
    if (!answer->weights)
        return att_fail(err, ATT_BAD_INPUT, NULL, "the answer has no attention to show");
    att_writer out = att_writer_on(text);
    att_put_html_head(&out, answer->text[0] ? answer->text : "An empty answer", style);
    for (int64_t t = 0; t < answer->target_count; t++)
        put_rule(&out, answer, t);
    att_put_html_body(&out);
    att_put(&out, "<h1><bdi>");
    att_put_xml(&out, answer->text);
    att_put(&out, "</bdi></h1>\n");
    put_warnings(&out, answer);
    att_put(&out,
            "<p>Point at a token of the answer to see where the model looked for it. Below each "
            "stands its probability, given those before it.</p>\n");
    put_tokens(&out, answer);
    put_map(&out, map);
    put_table(&out, answer);
    att_put(&out, "<footer>The whole answer has the probability ");
    put_percent(&out, att_exp(answer->score), 2);
    att_put(&out, ".</footer>\n");
    att_put_html_end(&out);
    return att_writer_finish(&out, err);
}
