/* The page of one student: text, Markdown, HTML and JSON; and the results.json of Gradescope. */
#include "grade/report.h"

#include "base/string.h"
#include "render/html_page.h"
#include "render/terminal.h"
#include "render/view.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct page {
    att_writer *out;
    const att_grading *grading;
    att_grade_detail detail;
    const att_render_options *options;
    att_arena arena;
};

static bool is_good(const att_mark *mark)
{
    return mark->outcome == ATT_OUTCOME_RIGHT || mark->outcome == ATT_OUTCOME_FOLLOWS;
}

/* ---- Text */

static void put_text_mark(struct page *page, const att_mark *mark, const char *outcome,
                          const char *const *notes, size_t count)
{
    att_terminal terminal = att_terminal_for(page->out, page->options);
    bool ascii = page->options->ascii;
    att_putf(page->out, "\n(%zu) ", mark->number);
    att_terminal_wrapped(&terminal, mark->description, 4, 4);
    att_put(page->out, "    ");
    att_terminal_style(&terminal, is_good(mark) ? ATT_STYLE_PASSED : ATT_STYLE_FAILED);
    att_put(page->out, is_good(mark) ? (ascii ? "ok " : "✓ ") : (ascii ? "NO " : "✗ "));
    att_put(page->out, outcome);
    att_terminal_style(&terminal, ATT_STYLE_NONE);
    att_put(page->out, " (");
    att_put_points(page->out, mark->points, mark->max);
    att_put(page->out, ")\n");
    for (size_t i = 0; i < count; i++) {
        att_put(page->out, "      ");
        att_terminal_wrapped(&terminal, notes[i], 6, 6);
    }
}

static void put_text(struct page *page)
{
    const att_grading *grading = page->grading;
    att_put_plain(page->out, grading->title);
    att_put(page->out, "\n");
    att_put_plain(page->out, grading->student);
    if (grading->variant && strcmp(grading->variant, grading->student) != 0) {
        att_put(page->out, ", variant ");
        att_put_plain(page->out, grading->variant);
    }
    att_put(page->out, ": ");
    att_put_points(page->out, grading->points, grading->max);
    att_put(page->out, "\n");
}

/* ---- Markdown and HTML */

static void put_head(struct page *page, att_format format)
{
    const att_grading *grading = page->grading;
    bool html = format == ATT_FORMAT_HTML;
    if (html)
        att_report_begin_html(page->out, grading->title);
    att_put(page->out, html ? "<h1>" : "# ");
    att_report_put(page->out, format, grading->title);
    att_put(page->out, html ? "</h1>\n<p class=\"points\">" : "\n\n**");
    att_report_put(page->out, format, grading->student);
    if (grading->variant && strcmp(grading->variant, grading->student) != 0) {
        att_put(page->out, ", variant ");
        att_report_put(page->out, format, grading->variant);
    }
    att_put(page->out, ": ");
    att_put_points(page->out, grading->points, grading->max);
    att_put(page->out, html ? "</p>\n" : "**\n");
}

static void put_markdown_mark(struct page *page, const att_mark *mark, const char *outcome,
                              const char *const *notes, size_t count)
{
    att_putf(page->out, "\n- %s **(%zu)** ", is_good(mark) ? "✅" : "❌", mark->number);
    att_report_put(page->out, ATT_FORMAT_MARKDOWN, mark->description);
    att_put(page->out, ": **");
    att_report_put(page->out, ATT_FORMAT_MARKDOWN, outcome);
    att_put(page->out, "** (");
    att_put_points(page->out, mark->points, mark->max);
    att_put(page->out, ")\n");
    for (size_t i = 0; i < count; i++) {
        att_put(page->out, "  - ");
        att_report_put(page->out, ATT_FORMAT_MARKDOWN, notes[i]);
        att_put(page->out, "\n");
    }
}

static void put_html_mark(struct page *page, const att_mark *mark, const char *outcome,
                          const char *const *notes, size_t count)
{
    att_putf(page->out, "<section class=\"mark%s\"><p><span class=\"earned\">",
             is_good(mark) ? "" : " wrong");
    att_put_points(page->out, mark->points, mark->max);
    att_putf(page->out, "</span><b>(%zu)</b> ", mark->number);
    att_put_xml(page->out, mark->description);
    att_putf(page->out, "</p>\n<p class=\"outcome\">%s ", is_good(mark) ? "✓" : "✗");
    att_put_xml(page->out, outcome);
    att_put(page->out, "</p>\n");
    for (size_t i = 0; i < count; i++) {
        att_put(page->out, "<p class=\"note\">");
        att_put_xml(page->out, notes[i]);
        att_put(page->out, "</p>\n");
    }
    att_put(page->out, "</section>\n");
}

typedef void put_mark(struct page *page, const att_mark *mark, const char *outcome,
                      const char *const *notes, size_t count);

/* A paragraph about the whole hand-in. */
static void put_remark(struct page *page, const char *before, const char *text)
{
    att_format format = page->options->format;
    if (!text)
        return;
    att_put(page->out, format == ATT_FORMAT_HTML ? "<p>" : "\n");
    att_put(page->out, before);
    att_report_put(page->out, format, text);
    att_put(page->out, format == ATT_FORMAT_HTML ? ".</p>\n" : ".\n");
}

static void put_page(struct page *page)
{
    static put_mark *const marks[ATT_FORMAT_COUNT] = { [ATT_FORMAT_TEXT] = put_text_mark,
                                                       [ATT_FORMAT_MARKDOWN] = put_markdown_mark,
                                                       [ATT_FORMAT_HTML] = put_html_mark };
    att_format format = page->options->format;
    if (format == ATT_FORMAT_TEXT)
        put_text(page);
    else
        put_head(page, format);
    put_remark(page, "The answers could not be read: ", page->grading->problem);
    put_remark(page, "Note: ", page->grading->note);
    for (size_t i = 0; i < page->grading->count && page->out->status == ATT_OK; i++) {
        const att_mark *mark = &page->grading->marks[i];
        const char *notes[ATT_MAX_NOTES];
        bool failed;
        const char *outcome = att_mark_outcome(&page->arena, page->grading, mark, page->detail);
        size_t count = att_mark_notes(&page->arena, mark, page->detail, notes, &failed);
        if (failed || !outcome)
            page->out->status = ATT_NO_MEMORY;
        else
            marks[format](page, mark, outcome, notes, count);
    }
    if (format == ATT_FORMAT_HTML)
        att_put_html_end(page->out);
}

/* ---- JSON */

static void put_numbers(att_json_writer *out, const char *key, const double *values, int64_t rows,
                        int64_t cols)
{
    att_json_begin_array(out, key);
    for (int64_t i = 0; i < rows; i++) {
        att_json_begin_array(out, NULL);
        for (int64_t j = 0; j < cols; j++)
            att_json_put_number(out, NULL, values[i * cols + j]);
        att_json_end(out);
    }
    att_json_end(out);
}

static void put_json_slips(att_json_writer *out, const att_mark *mark)
{
    att_json_begin_array(out, "slips");
    for (size_t i = 0; i < mark->slip_count; i++) {
        att_json_begin_object(out, NULL);
        att_json_put_string(out, "id", mark->slips[i].what->id);
        att_json_put_string(out, "text", mark->slips[i].what->text);
        if (mark->slips[i].other)
            att_json_put_string(out, "or", mark->slips[i].other->id);
        if (mark->slips[i].line > 0)
            att_json_put_integer(out, "line", mark->slips[i].line);
        att_json_end(out);
    }
    att_json_end(out);
}

static void put_json_mark(att_json_writer *out, const att_grading *grading, const att_mark *mark,
                          att_grade_detail detail)
{
    att_json_newline(out);
    att_json_begin_object(out, NULL);
    att_json_put_integer(out, "number", (int64_t)mark->number);
    att_json_put_string(out, "name", mark->name);
    att_json_put_string(out, "description", mark->description);
    att_json_put_string(out, "outcome", att_grade_outcome_name(mark->outcome));
    att_json_put_number(out, "points", mark->points);
    att_json_put_number(out, "max", mark->max);
    att_json_put_string(out, "problem", mark->problem);
    if (detail != ATT_GRADE_CHECK) {
        att_json_put_integer(out, "right", mark->right);
        att_json_put_integer(out, "elements", mark->elements);
        att_json_begin_array(out, "given_steps");
        for (size_t i = 0; mark->carried && i < grading->count; i++)
            if (mark->carried[i])
                att_json_put_integer(out, NULL, (int64_t)i + 1);
        att_json_end(out);
        put_json_slips(out, mark);
        att_json_put_bool(out, "turned", mark->turned);
        if (mark->given)
            put_numbers(out, "given", mark->given->values, mark->given->rows, mark->given->cols);
    }
    if (detail == ATT_GRADE_REVEAL)
        put_numbers(out, "truth", mark->truth->data, mark->truth->rows, mark->truth->cols);
    att_json_end(out);
}

void att_grading_put_json(att_json_writer *out, const att_grading *grading, att_grade_detail detail)
{
    att_json_begin_object(out, NULL);
    att_json_put_string(out, "exercise", grading->exercise);
    att_json_put_string(out, "student", grading->student);
    att_json_put_string(out, "variant", grading->variant);
    att_json_put_number(out, "points", grading->points);
    att_json_put_number(out, "max", grading->max);
    att_json_put_string(out, "problem", grading->problem);
    att_json_put_string(out, "note", grading->note);
    att_json_begin_array(out, "marks");
    for (size_t i = 0; i < grading->count; i++)
        put_json_mark(out, grading, &grading->marks[i], detail);
    att_json_end(out);
    att_json_end(out);
}

att_status att_grading_render(att_string *out, const att_grading *grading, att_grade_detail detail,
                              const att_render_options *options, att_error *err)
{
    att_render_options resolved;
    int formats = 1 << ATT_FORMAT_TEXT | 1 << ATT_FORMAT_MARKDOWN | 1 << ATT_FORMAT_HTML |
                  1 << ATT_FORMAT_JSON;
    ATT_TRY(att_render_options_resolve(&resolved, options, formats, "a grading", err));
    if (resolved.format == ATT_FORMAT_JSON) {
        att_json_writer json = att_json_begin(out, ATT_JSON_REPLACE);
        att_grading_put_json(&json, grading, detail);
        ATT_TRY(att_json_finish(&json, "a grading", err));
        return att_string_append(out, "\n", 1) == ATT_OK ? ATT_OK : att_fail_memory(err);
    }
    att_writer writer = att_writer_on(out);
    struct page page = {
        .out = &writer, .grading = grading, .detail = detail, .options = &resolved
    };
    put_page(&page);
    att_arena_free(&page.arena);
    return att_writer_finish(&writer, err);
}

/* ---- Gradescope */

static att_status put_test(att_json_writer *out, att_arena *arena, const att_grading *grading,
                           const att_mark *mark, att_grade_detail detail, att_error *err)
{
    const char *notes[ATT_MAX_NOTES];
    bool failed;
    const char *text = att_mark_outcome(arena, grading, mark, detail);
    size_t count = att_mark_notes(arena, mark, detail, notes, &failed);
    for (size_t i = 0; i < count && text; i++)
        text = att_arena_printf(arena, "%s\n%s", text, notes[i]);
    const char *name = att_arena_printf(arena, "(%zu) %s", mark->number, mark->description);
    if (failed || !text || !name)
        return att_fail_memory(err);
    att_json_newline(out);
    att_json_begin_object(out, NULL);
    att_json_put_string(out, "name", name);
    att_json_put_number(out, "score", mark->points);
    att_json_put_number(out, "max_score", mark->max);
    att_json_put_string(out, "status", is_good(mark) ? "passed" : "failed");
    att_json_put_string(out, "output", text);
    att_json_end(out);
    return ATT_OK;
}

att_status att_grading_gradescope(att_string *out, const att_grading *grading,
                                  att_grade_detail detail, att_error *err)
{
    att_json_writer json = att_json_begin(out, ATT_JSON_REPLACE);
    att_arena arena = { 0 };
    att_status status = ATT_OK;
    att_json_begin_object(&json, NULL);
    att_json_put_number(&json, "score", grading->points);
    if (grading->problem || grading->note)
        att_json_put_string(&json, "output", grading->problem ? grading->problem : grading->note);
    att_json_begin_array(&json, "tests");
    for (size_t i = 0; i < grading->count && status == ATT_OK; i++)
        status = put_test(&json, &arena, grading, &grading->marks[i], detail, err);
    att_json_end(&json);
    att_json_end(&json);
    att_arena_free(&arena);
    size_t start = json.start;
    att_status written = att_json_finish(&json, "a grading", err);
    if (status == ATT_OK && written == ATT_OK)
        return att_string_append(out, "\n", 1) == ATT_OK ? ATT_OK : att_fail_memory(err);
    if (out->data) {
        out->length = start;
        out->data[start] = '\0';
    }
    return status != ATT_OK ? status : written;
}
