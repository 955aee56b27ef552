/* Rendering of sheets: the table of formats and the walk over the trace that all formats share. */
#include "render/page.h"

#include "base/arena.h"
#include "base/minmax.h"
#include "render/formula.h"
#include "render/view.h"
#include "text/display_width.h"

#include <inttypes.h>
#include <stdio.h>

/* NULL: a worksheet has no such format. */
static const att_format_spec *const formats[ATT_FORMAT_COUNT] = {
    [ATT_FORMAT_TEXT] = &att_format_text,   [ATT_FORMAT_MARKDOWN] = &att_format_markdown,
    [ATT_FORMAT_LATEX] = &att_format_latex, [ATT_FORMAT_HTML] = &att_format_html,
    [ATT_FORMAT_JSON] = &att_format_json,
};

/* The formats of the table, as bits for att_render_options_resolve(). */
static int sheet_formats(void)
{
    int bits = 0;
    for (int format = 0; format < ATT_FORMAT_COUNT; format++)
        bits |= (formats[format] != NULL) << format;
    return bits;
}

static void render_sheet(att_page *page)
{
    const att_format_spec *format = page->format;
    page->shown = 0;
    format->begin_sheet(page);
    for (size_t i = 0; i < page->sheet->step_count && page->out->status == ATT_OK; i++) {
        const att_trace_step *step = &page->sheet->steps[i];
        page->step_number = i + 1;
        if (!att_step_is_shown(step, page->options))
            continue;
        format->step[step->kind](page, step);
        page->shown++;
    }
    format->end_sheet(page);
}

att_status att_sheets_render(att_string *out, const att_sheet *const *sheets, size_t count,
                             const att_render_options *options, att_error *err)
{
    att_render_options resolved;
    ATT_TRY(att_render_options_resolve(&resolved, options, sheet_formats(), "a worksheet", err));
    ATT_TRY(att_render_options_check(sheets, count, &resolved, err));
    resolved.head = att_render_head(&resolved);
    att_writer writer = att_writer_on(out);
    att_arena scratch = { 0 };
    att_page page = { .out = &writer,
                      .options = &resolved,
                      .scratch = &scratch,
                      .sheets = sheets,
                      .sheet_count = count,
                      .format = formats[resolved.format] };
    page.format->begin(&page);
    for (size_t i = 0; i < count && writer.status == ATT_OK; i++) {
        page.sheet = sheets[i];
        page.sheet_number = i + 1;
        render_sheet(&page);
    }
    page.format->end(&page);
    att_arena_free(&scratch);
    return att_writer_finish(&writer, err);
}

att_status att_sheet_render(att_string *out, const att_sheet *sheet,
                            const att_render_options *options, att_error *err)
{
    return att_sheets_render(out, &sheet, 1, options, err);
}

void att_put_rounding(att_page *page)
{
    att_putf(page->out, "Shown to %d decimal%s; computed in double precision.",
             page->options->digits, page->options->digits == 1 ? "" : "s");
}

void att_put_summary(att_page *page)
{
    size_t checks = page->sheet->checks, failures = page->sheet->failures;
    const char *plural = checks == 1 ? "" : "s";
    if (failures > 0)
        att_putf(page->out, "%zu of %zu check%s failed", failures, checks, plural);
    else if (checks > 0)
        att_putf(page->out, "%zu check%s passed", checks, plural);
}

/* Selects one panel, which keeps its title. */
static bool pick_head(att_page *page, const att_map *map, att_map *out)
{
    int64_t head = page->options->head;
    *out = att_map_panel(map, head - 1);
    if (out->panel_labels)
        return true;
    const char **label = att_arena_alloc(page->scratch, 1, sizeof *label);
    if (label)
        label[0] = att_arena_printf(page->scratch, "head %" PRId64, head);
    out->panel_labels = label;
    return label && label[0];
}

bool att_page_map(att_page *page, const att_map *map, int64_t max_queries, int64_t max_keys,
                  att_map *out)
{
    const att_render_options *options = page->options;
    *out = *map;
    bool ok = true;
    if (options->head > 0 && options->head <= map->panels && map->panels > 1)
        ok = pick_head(page, map, out);
    att_map whole = *out;
    if (options->row > 0 && options->row <= map->queries)
        ok = ok && att_map_query(out, &whole, options->row - 1, page->scratch);
    whole = *out;
    ok = ok && att_map_shrink(out, &whole, max_queries, max_keys, page->scratch);
    if (!ok)
        page->out->status = ATT_NO_MEMORY;
    return ok;
}

/* The rule of a check in words: "within 0.005", "to 3 decimals", "as printed". */
static void put_rule(att_writer *out, const att_check *check, const att_notation *notation)
{
    char text[ATT_NUMBER_SIZE] = "as printed";
    const char *space = notation->constructs[ATT_CONSTRUCT_WORDS].between;
    if (check->rule == ATT_RULE_WITHIN || check->rule == ATT_RULE_PERCENT ||
        check->rule == ATT_RULE_DEFAULT) {
        att_number_short(text, check->tolerance, 6);
        notation->word(out, check->rule == ATT_RULE_DEFAULT ? "to" : "within", notation);
        att_put(out, space);
        notation->number(out, text, notation);
        att_put(out, check->rule == ATT_RULE_WITHIN ? "" : space);
        if (check->rule != ATT_RULE_WITHIN)
            notation->word(out, check->rule == ATT_RULE_PERCENT ? "%" : "relative", notation);
        return;
    }
    if (check->rule != ATT_RULE_PRINTED)
        snprintf(text, sizeof text, "to %d %s%s", check->digits,
                 check->rule == ATT_RULE_DIGITS ? "digit" : "decimal",
                 check->digits == 1 ? "" : "s");
    notation->word(out, text, notation);
}

/* "error A · B saying "inner sizes"": an expression that must fail. */
static void put_expected_error(att_writer *out, const att_check *check,
                               const att_notation *notation, int digits)
{
    const char *space = notation->constructs[ATT_CONSTRUCT_WORDS].between;
    notation->word(out, "error", notation);
    att_put(out, space);
    att_put_formula(out, check->left, notation, digits);
    if (!check->error_contains)
        return;
    att_put(out, space);
    notation->word(out, "saying", notation);
    att_put(out, space);
    notation->string(out, check->error_contains, notation);
}

void att_put_check(att_writer *out, const att_check *check, const att_notation *notation,
                   int digits)
{
    const char *space = notation->constructs[ATT_CONSTRUCT_WORDS].between;
    if (check->rule == ATT_RULE_ERROR) {
        put_expected_error(out, check, notation, digits);
        return;
    }
    if (check->rule == ATT_RULE_GRADIENT) {
        notation->word(out, "gradient", notation);
        att_put(out, space);
        att_put_formula(out, check->left, notation, digits);
        att_put(out, space);
        notation->word(out, "check", notation);
        return;
    }
    if (check->negated) {
        notation->word(out, "not", notation);
        att_put(out, space);
    }
    if (check->left)
        att_put_formula(out, check->left, notation, digits);
    else
        notation->word(out, "all", notation);
    if (check->file) {
        att_put(out, space);
        notation->word(out, "compared with", notation);
        att_put(out, space);
        notation->string(out, check->file, notation);
        if (check->array) {
            att_put(out, space);
            notation->string(out, check->array, notation);
        }
    } else if (check->right) {
        att_put(out, notation->constructs[ATT_CONSTRUCT_OPTION].between);
        att_put_formula(out, check->right, notation, digits);
    }
    att_put(out, space);
    if (!check->by_hand || check->rule != ATT_RULE_DEFAULT)
        put_rule(out, check, notation);
    if (!check->by_hand)
        return;
    att_put(out, check->rule != ATT_RULE_DEFAULT ? space : "");
    notation->word(out, "by hand", notation);
}

int att_formula_width(att_page *page, const att_expr *formula)
{
    att_string text = { 0 };
    att_writer out = att_writer_on(&text);
    att_put_formula(&out, formula, &att_notation_unicode, page->options->digits);
    if (out.status != ATT_OK)
        page->out->status = out.status;
    int width = text.data ? att_display_width(text.data) : 0;
    att_string_free(&text);
    return width;
}

/* Inner results are workings. */
static bool part_is_shown(const att_page *page, const att_trace_part *part)
{
    return (!part->inner || att_page_detail(page) != ATT_DETAIL_NONE) &&
           att_part_is_shown(part, page->options);
}

bool att_value_is_part(const att_page *page, const att_trace_step *step)
{
    for (size_t i = 0; i < step->part_count; i++)
        if (step->parts[i].value == step->value &&
            (!step->parts[i].inner || part_is_shown(page, &step->parts[i])))
            return true;
    return false;
}

bool att_map_is_reduced(const att_page *page, const att_trace_step *step, const att_map *map)
{
    return map->keys < step->map->keys ||
           (page->options->row == 0 && map->queries < step->map->queries);
}

void att_put_parts(att_page *page, const att_trace_step *step)
{
    const att_trace_part *before = NULL;
    for (size_t i = 0; i < step->part_count && page->out->status == ATT_OK; i++) {
        const att_trace_part *part = &step->parts[i];
        if (!part_is_shown(page, part))
            continue;
        if (part->head > 0 && (!before || part->head != before->head))
            page->format->head(page, part->head);
        page->format->part(page, part, before);
        before = part;
    }
}

const char *att_page_rounding(const att_page *page, char out[ATT_ROUNDING_WORDS])
{
    return att_rounding_describe(page->sheet->steps[page->step_number - 1].rounding, out);
}

static void put_if_any(att_writer *out, const char *text)
{
    if (text)
        att_put(out, text);
}

att_detail att_page_detail(const att_page *page)
{
    att_detail detail = page->options->detail;
    if (detail == ATT_DETAIL_SHEET)
        detail = page->sheet->steps[page->step_number - 1].detail;
    return detail == ATT_DETAIL_SHEET ? ATT_DETAIL_ONE : detail;
}

/* The numbers in an expression. */
static size_t count_numbers(const att_expr *e)
{
    size_t count = e->kind == ATT_EXPR_NUMBER || e->kind == ATT_EXPR_CONSTANT;
    for (size_t i = 0; i < e->children; i++)
        count += e->child[i] ? count_numbers(e->child[i]) : 0;
    return count;
}

/* The calculation that shows most: the longest of those that the options select, or `count`. */
static size_t longest_calculation(const att_page *page, const att_calculation *items, size_t count)
{
    size_t best = count, most = 0;
    for (size_t i = 0; i < count; i++) {
        size_t numbers = items[i].right ? count_numbers(items[i].right) : 0;
        if (!att_calculation_is_shown(&items[i], page->options) ||
            (best < count && numbers <= most))
            continue;
        best = i;
        most = numbers;
    }
    return best;
}

static size_t count_selected(const att_page *page, const att_calculation *items, size_t count)
{
    size_t selected = 0;
    for (size_t i = 0; i < count; i++)
        selected += att_calculation_is_shown(&items[i], page->options);
    return selected;
}

static void put_calculations(att_page *page, const att_calculation *items, size_t count)
{
    const att_calculation_markup *markup = &page->format->calculations;
    att_detail detail = att_page_detail(page);
    size_t selected = detail == ATT_DETAIL_NONE ? 0 : count_selected(page, items, count);
    if (selected == 0)
        return;
    size_t longest = longest_calculation(page, items, count);
    bool one = detail == ATT_DETAIL_ONE || selected == 1;
    bool bare = one && markup->one_begin;
    put_if_any(page->out, bare ? markup->one_begin : markup->begin);
    for (size_t i = 0, written = 0; i < count; i++) {
        if (one ? i != longest : !att_calculation_is_shown(&items[i], page->options))
            continue;
        put_if_any(page->out, written++ > 0 ? markup->between : NULL);
        page->format->calculation(page, &items[i]);
    }
    put_if_any(page->out, markup->after_last);
    put_if_any(page->out, bare ? markup->one_end : markup->end);
}

void att_put_calculations(att_page *page, const att_trace_part *part)
{
    page->in_part = true;
    put_calculations(page, part->calculations, part->calculation_count);
}

void att_put_step_calculations(att_page *page, const att_trace_step *step)
{
    page->in_part = false;
    put_calculations(page, step->calculations, step->calculation_count);
}

void att_put_calculation(att_writer *out, const att_calculation *calculation,
                         const att_notation *notation, int digits, const char *equals,
                         const char *then, const char *about)
{
    att_put_formula(out, calculation->left, notation, digits);
    if (calculation->right) {
        att_put(out, equals);
        att_put_formula(out, calculation->right, notation, digits);
    }
    if (calculation->value) {
        att_put(out, !calculation->right ? equals : calculation->rounded ? about : then);
        att_put_formula_matrix(out, calculation->value, notation, digits);
    }
}
