/* The table of a class for the teacher: points and outcomes of each student, the results of each
 * step, and which slips were frequent; and the same numbers as CSV. */
#include "grade/report.h"

#include "base/string.h"
#include "render/html_page.h"
#include "render/terminal.h"
#include "render/view.h"
#include "text/display_width.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct class
{
    att_writer *out;
    const att_grading *const *gradings;
    size_t count;
    size_t steps;
    const att_render_options *options;
};

static const char *symbol(const struct class *class, const att_mark *mark)
{
    static const char *const signs[2][6] = {
        { "✓", "→", "○", "✗", "·", "?" },
        { "ok", "->", "o", "X", ".", "?" },
    };
    return signs[class->options->ascii][mark->outcome];
}

static const char legend[] = "✓ right, → right given earlier answers, ○ follows from a trivial "
                             "answer, ✗ wrong, · no answer, ? could not be read";
static const char ascii_legend[] = "ok right, -> right given earlier answers, o follows from a "
                                   "trivial answer, X wrong, . no answer, ? could not be read";

/* ---- Frequent slips */

struct frequency {
    const att_slip_text *what;
    size_t step; /* from 1 */
    size_t count;
};

static int by_count(const void *a, const void *b)
{
    const struct frequency *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    if (x->step != y->step)
        return x->step > y->step ? 1 : -1;
    return strcmp(x->what->id, y->what->id);
}

/* Counts each slip at each step; the most frequent first. NULL when memory is out. */
static struct frequency *count_slips(const struct class *class, att_arena *arena, size_t *out)
{
    struct frequency *rows = NULL;
    size_t count = 0, capacity = 0;
    *out = 0;
    for (size_t g = 0; g < class->count; g++)
        for (size_t i = 0; i < class->gradings[g]->count; i++) {
            const att_mark *mark = &class->gradings[g]->marks[i];
            for (size_t s = 0; s < mark->slip_count; s++) {
                size_t at = 0;
                while (at < count &&
                       !(rows[at].what == mark->slips[s].what && rows[at].step == i + 1))
                    at++;
                void *items = rows;
                if (at == count &&
                    !att_arena_array_grow(arena, &items, &capacity, count, sizeof *rows))
                    return NULL;
                rows = items;
                if (at == count)
                    rows[count++] = (struct frequency){ mark->slips[s].what, i + 1, 0 };
                rows[at].count++;
            }
        }
    if (count > 0)
        qsort(rows, count, sizeof *rows, by_count);
    *out = count;
    return rows ? rows : att_arena_alloc(arena, 1, sizeof *rows);
}

static size_t count_outcomes(const struct class *class, size_t step, att_grade_outcome outcome)
{
    size_t count = 0;
    for (size_t g = 0; g < class->count; g++)
        count += class->gradings[g]->marks[step].outcome == outcome;
    return count;
}

/* ---- Text and Markdown share their rows: a cell ends with `gap` */

static const att_grading *first(const struct class *class)
{
    return class->gradings[0];
}

static int student_width(const struct class *class)
{
    int width = 7;
    for (size_t g = 0; g < class->count; g++) {
        int own = att_display_width(class->gradings[g]->student);
        width = own > width ? own : width;
    }
    return width < 40 ? width : 40;
}

static void put_text_student(const struct class *class, const att_grading *grading, int width)
{
    att_terminal terminal = att_terminal_for(class->out, class->options);
    char points[ATT_POINTS_SIZE];
    att_terminal_padded(&terminal, grading->student, width);
    att_put(class->out, "  ");
    att_terminal_right(&terminal, att_points_text(points, grading->points), 6);
    att_put(class->out, "  ");
    for (size_t i = 0; i < grading->count; i++)
        att_terminal_right(&terminal, symbol(class, &grading->marks[i]), 4);
    const char *comma = "   ";
    for (size_t i = 0; i < grading->count; i++)
        for (size_t s = 0; s < grading->marks[i].slip_count; s++) {
            att_putf(class->out, "%s%s (%zu)", comma, grading->marks[i].slips[s].what->id, i + 1);
            comma = ", ";
        }
    const char *remark = grading->problem ? grading->problem : grading->note;
    if (remark) {
        att_put(class->out, comma);
        att_put_plain(class->out, remark);
    }
    att_terminal_end_line(&terminal);
}

static void put_text_table(const struct class *class)
{
    att_terminal terminal = att_terminal_for(class->out, class->options);
    char points[ATT_POINTS_SIZE], number[24];
    int width = student_width(class);
    att_put_plain(class->out, first(class)->title);
    att_putf(class->out, ": %zu hand-in%s, %s points at most\n\n", class->count,
             class->count == 1 ? "" : "s", att_points_text(points, first(class)->max));
    att_terminal_padded(&terminal, "student", width);
    att_put(class->out, "  points  ");
    for (size_t i = 0; i < class->steps; i++) {
        snprintf(number, sizeof number, "(%zu)", i + 1);
        att_terminal_right(&terminal, number, 4);
    }
    att_put(class->out, "   slips\n");
    for (size_t g = 0; g < class->count; g++)
        put_text_student(class, class->gradings[g], width);
    att_put(class->out, "\n");
    att_terminal_wrapped(&terminal, class->options->ascii ? ascii_legend : legend, 0, 0);
}

/* "(2) a.scores: 12 right, 3 follow, 4 wrong, 1 without an answer" */
static void put_step(const struct class *class, size_t step)
{
    static const struct {
        att_grade_outcome outcome;
        const char *words;
    } rows[] = { { ATT_OUTCOME_RIGHT, "right" },
                 { ATT_OUTCOME_FOLLOWS, "follow" },
                 { ATT_OUTCOME_WITHHELD, "withheld" },
                 { ATT_OUTCOME_WRONG, "wrong" },
                 { ATT_OUTCOME_MISSING, "without an answer" },
                 { ATT_OUTCOME_UNREADABLE, "unreadable" } };
    const char *comma = ": ";
    att_putf(class->out, "(%zu) ", step + 1);
    att_report_put(class->out, class->options->format, first(class)->marks[step].name);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t count = count_outcomes(class, step, rows[i].outcome);
        if (count > 0) {
            att_putf(class->out, "%s%zu %s", comma, count, rows[i].words);
            comma = ", ";
        }
    }
}

static void put_frequency(const struct class *class, const struct frequency *row)
{
    att_putf(class->out, "%zu %s step %zu: %s (%s)", row->count, class->options->ascii ? "x" : "×",
             row->step, row->what->text, row->what->id);
}

static void put_markdown_table(const struct class *class)
{
    char points[ATT_POINTS_SIZE];
    att_put(class->out, "# ");
    att_report_put(class->out, ATT_FORMAT_MARKDOWN, first(class)->title);
    att_putf(class->out, "\n\n%zu hand-in%s, %s points at most.\n\n| student | points |",
             class->count, class->count == 1 ? "" : "s",
             att_points_text(points, first(class)->max));
    for (size_t i = 0; i < class->steps; i++)
        att_putf(class->out, " (%zu) |", i + 1);
    att_put(class->out, " slips |\n|:--|--:|");
    att_put_repeat(class->out, ":-:|", (int64_t) class->steps);
    att_put(class->out, ":--|\n");
    for (size_t g = 0; g < class->count; g++) {
        const att_grading *grading = class->gradings[g];
        att_put(class->out, "| ");
        att_report_put(class->out, ATT_FORMAT_MARKDOWN, grading->student);
        att_putf(class->out, " | %s |", att_points_text(points, grading->points));
        for (size_t i = 0; i < grading->count; i++)
            att_putf(class->out, " %s |", symbol(class, &grading->marks[i]));
        const char *comma = " ";
        for (size_t i = 0; i < grading->count; i++)
            for (size_t s = 0; s < grading->marks[i].slip_count; s++) {
                att_putf(class->out, "%s%s (%zu)", comma, grading->marks[i].slips[s].what->id,
                         i + 1);
                comma = ", ";
            }
        if (grading->problem || grading->note) {
            att_put(class->out, comma);
            att_report_put(class->out, ATT_FORMAT_MARKDOWN,
                           grading->problem ? grading->problem : grading->note);
        }
        att_put(class->out, " |\n");
    }
    att_putf(class->out, "\n%s\n", legend);
}

static void put_html_student(const struct class *class, const att_grading *grading)
{
    char points[ATT_POINTS_SIZE];
    att_put(class->out, "<tr><td>");
    att_put_xml(class->out, grading->student);
    att_putf(class->out, "</td><td class=\"n\">%s</td>", att_points_text(points, grading->points));
    for (size_t i = 0; i < grading->count; i++) {
        bool good = grading->marks[i].points > 0;
        att_putf(class->out, "<td class=\"%s\" title=\"%s\">%s</td>", good ? "yes" : "no",
                 att_grade_outcome_name(grading->marks[i].outcome),
                 symbol(class, &grading->marks[i]));
    }
    att_put(class->out, "<td>");
    const char *comma = "";
    for (size_t i = 0; i < grading->count; i++)
        for (size_t s = 0; s < grading->marks[i].slip_count; s++) {
            att_putf(class->out, "%s%s (%zu)", comma, grading->marks[i].slips[s].what->id, i + 1);
            comma = ", ";
        }
    if (grading->problem || grading->note) {
        att_put(class->out, comma);
        att_put_xml(class->out, grading->problem ? grading->problem : grading->note);
    }
    att_put(class->out, "</td></tr>\n");
}

static void put_html_table(const struct class *class)
{
    char points[ATT_POINTS_SIZE];
    att_report_begin_html(class->out, first(class)->title);
    att_put(class->out, "<h1>");
    att_put_xml(class->out, first(class)->title);
    att_putf(class->out,
             "</h1>\n<p>%zu hand-in%s, %s points at most.</p>\n<div class=\"wide\">"
             "<table class=\"class\">\n<tr><th>student</th><th class=\"n\">points</th>",
             class->count, class->count == 1 ? "" : "s",
             att_points_text(points, first(class)->max));
    for (size_t i = 0; i < class->steps; i++) {
        att_put(class->out, "<th title=\"");
        att_put_xml(class->out, first(class)->marks[i].description);
        att_putf(class->out, "\">(%zu)</th>", i + 1);
    }
    att_put(class->out, "<th>slips</th></tr>\n");
    for (size_t g = 0; g < class->count; g++)
        put_html_student(class, class->gradings[g]);
    att_putf(class->out, "</table></div>\n<p>%s</p>\n", legend);
}

static void put_heading(const struct class *class, const char *title)
{
    att_format format = class->options->format;
    bool html = format == ATT_FORMAT_HTML;
    att_put(class->out, html ? "<h2>" : format == ATT_FORMAT_TEXT ? "\n" : "\n## ");
    att_put(class->out, title);
    att_put(class->out, html ? "</h2>\n<ul>\n" : format == ATT_FORMAT_TEXT ? "\n" : "\n\n");
}

/* The results of each step and the frequent slips, as lists. */
static void put_lists(const struct class *class, const struct frequency *rows, size_t count)
{
    att_format format = class->options->format;
    bool html = format == ATT_FORMAT_HTML;
    const char *item = html ? "<li>" : format == ATT_FORMAT_TEXT ? "  " : "- ";
    const char *end = html ? "</li>\n" : "\n";
    put_heading(class, "Steps");
    for (size_t i = 0; i < class->steps; i++) {
        att_put(class->out, item);
        put_step(class, i);
        att_put(class->out, end);
    }
    att_put(class->out, html ? "</ul>\n" : "");
    if (count > 0) {
        put_heading(class, "Frequent slips");
        for (size_t i = 0; i < count && i < 20; i++) {
            att_put(class->out, item);
            put_frequency(class, &rows[i]);
            att_put(class->out, end);
        }
        att_put(class->out, html ? "</ul>\n" : "");
    }
    if (html)
        att_put_html_end(class->out);
}

/* ---- JSON */

static att_status put_class_json(att_string *out, const struct class *class, att_error *err)
{
    att_json_writer json = att_json_begin(out, ATT_JSON_REPLACE);
    att_json_begin_object(&json, NULL);
    att_json_put_string(&json, "attend", ATT_VERSION);
    att_json_put_integer(&json, "schema", 1);
    att_json_begin_array(&json, "gradings");
    for (size_t g = 0; g < class->count; g++) {
        att_json_newline(&json);
        att_grading_put_json(&json, class->gradings[g], ATT_GRADE_REVEAL);
    }
    att_json_end(&json);
    att_json_end(&json);
    ATT_TRY(att_json_finish(&json, "gradings", err));
    return att_string_append(out, "\n", 1) == ATT_OK ? ATT_OK : att_fail_memory(err);
}

static att_status check(const att_grading *const *gradings, size_t count, att_error *err)
{
    if (count == 0)
        return att_fail(err, ATT_BAD_INPUT, "gradings", "expected at least one grading");
    for (size_t i = 1; i < count; i++)
        if (gradings[i]->count != gradings[0]->count)
            return att_fail(err, ATT_BAD_INPUT, "gradings",
                            "expected gradings of one exercise, found %zu and %zu steps",
                            gradings[0]->count, gradings[i]->count);
    return ATT_OK;
}

att_status att_gradings_render(att_string *out, const att_grading *const *gradings, size_t count,
                               const att_render_options *options, att_error *err)
{
    att_render_options resolved;
    int formats = 1 << ATT_FORMAT_TEXT | 1 << ATT_FORMAT_MARKDOWN | 1 << ATT_FORMAT_HTML |
                  1 << ATT_FORMAT_JSON;
    ATT_TRY(att_render_options_resolve(&resolved, options, formats, "a class", err));
    ATT_TRY(check(gradings, count, err));
    att_writer writer = att_writer_on(out);
    const struct class class = { &writer, gradings, count, gradings[0]->count, &resolved };
    if (resolved.format == ATT_FORMAT_JSON)
        return put_class_json(out, &class, err);
    att_arena arena = { 0 };
    size_t slips;
    const struct frequency *rows = count_slips(&class, &arena, &slips);
    if (!rows)
        writer.status = ATT_NO_MEMORY;
    if (resolved.format == ATT_FORMAT_HTML)
        put_html_table(&class);
    else if (resolved.format == ATT_FORMAT_MARKDOWN)
        put_markdown_table(&class);
    else
        put_text_table(&class);
    put_lists(&class, rows, slips);
    att_arena_free(&arena);
    return att_writer_finish(&writer, err);
}

/* ---- CSV */

/* A cell in quotes. A spreadsheet would run a cell that begins with one of =+-@ as a formula: such
 * a text gets an apostrophe. */
static void put_cell(att_writer *out, const char *text)
{
    att_put(out, "\"");
    if (*text && strchr("=+-@\t", *text))
        att_put(out, "'");
    for (uint32_t c; (c = att_next_in_line(&text)) != 0;) {
        att_put(out, c == '"' ? "\"" : "");
        att_put_char(out, c);
    }
    att_put(out, "\"");
}

static void put_slip_ids(att_writer *out, const att_mark *mark)
{
    att_put(out, "\"");
    for (size_t s = 0; s < mark->slip_count; s++)
        att_putf(out, "%s%s", s ? " " : "", mark->slips[s].what->id);
    att_put(out, "\"");
}

att_status att_gradings_csv(att_string *out, const att_grading *const *gradings, size_t count,
                            att_error *err)
{
    ATT_TRY(check(gradings, count, err));
    att_writer writer = att_writer_on(out);
    char points[ATT_POINTS_SIZE];
    att_put(&writer, "student,variant,points,max");
    for (size_t i = 0; i < gradings[0]->count; i++) {
        static const char *const columns[] = { "points", "outcome", "slips" };
        for (size_t c = 0; c < 3; c++) {
            char title[200];
            snprintf(title, sizeof title, "%.150s %s", gradings[0]->marks[i].name, columns[c]);
            att_put(&writer, ",");
            put_cell(&writer, title);
        }
    }
    att_put(&writer, ",remark\n");
    for (size_t g = 0; g < count; g++) {
        const att_grading *grading = gradings[g];
        put_cell(&writer, grading->student);
        att_put(&writer, ",");
        put_cell(&writer, grading->variant ? grading->variant : "");
        att_putf(&writer, ",%s", att_points_text(points, grading->points));
        att_putf(&writer, ",%s", att_points_text(points, grading->max));
        for (size_t i = 0; i < grading->count; i++) {
            const att_mark *mark = &grading->marks[i];
            att_putf(&writer, ",%s,%s,", att_points_text(points, mark->points),
                     att_grade_outcome_name(mark->outcome));
            put_slip_ids(&writer, mark);
        }
        att_put(&writer, ",");
        put_cell(&writer, grading->problem ? grading->problem : grading->note ? grading->note : "");
        att_put(&writer, "\n");
    }
    return att_writer_finish(&writer, err);
}
