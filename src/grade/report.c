/* What reports say of a mark. */
#include "grade/report.h"

#include "render/formula.h"
#include "render/html_page.h"
#include "render/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *att_points_text(char out[ATT_POINTS_SIZE], double points)
{
    char text[ATT_NUMBER_SIZE];
    att_number_short(text, floor(points * 100 + 0.5) / 100, 6);
    snprintf(out, ATT_POINTS_SIZE, "%.30s", text);
    return out;
}

void att_put_points(att_writer *out, double points, double max)
{
    char a[ATT_POINTS_SIZE], b[ATT_POINTS_SIZE];
    att_putf(out, "%s of %s point%s", att_points_text(a, points), att_points_text(b, max),
             max == 1 ? "" : "s");
}

/* "step 2", "steps 2 and 3" */
static const char *steps_text(att_arena *arena, const att_grading *grading, const att_mark *mark)
{
    const char *text = NULL;
    size_t count = 0, last = 0;
    for (size_t i = 0; mark->carried && i < grading->count; i++)
        if (mark->carried[i]) {
            count++;
            last = i + 1;
        }
    for (size_t i = 0; mark->carried && i < grading->count; i++)
        if (mark->carried[i]) {
            text = !text ? att_arena_printf(arena, "%s %zu", count > 1 ? "steps" : "step", i + 1)
                         : att_arena_printf(arena, "%s%s %zu", text, i + 1 == last ? " and" : ",",
                                            i + 1);
            if (!text)
                return NULL;
        }
    return text ? text : "earlier steps";
}

const char *att_mark_outcome(att_arena *arena, const att_grading *grading, const att_mark *mark,
                             att_grade_detail detail)
{
    const char *steps = steps_text(arena, grading, mark);
    if (!steps)
        return NULL;
    switch (mark->outcome) {
    case ATT_OUTCOME_RIGHT:
        return "right";
    case ATT_OUTCOME_FOLLOWS:
        return att_arena_printf(arena, "right, given your %s", steps);
    case ATT_OUTCOME_WITHHELD:
        return att_arena_printf(
            arena, "follows from your %s, which leaves nothing to compute here: no points", steps);
    case ATT_OUTCOME_MISSING:
        return "no answer";
    case ATT_OUTCOME_UNREADABLE:
        return "could not be read";
    case ATT_OUTCOME_WRONG:
        break;
    }
    if (detail != ATT_GRADE_CHECK && mark->right > 0 && mark->right < mark->elements)
        return att_arena_printf(arena, "wrong in %lld of %lld numbers",
                                (long long)(mark->elements - mark->right),
                                (long long)mark->elements);
    return "wrong";
}

/* Where the answer is: "line 3", "line 3 of cell 2". */
static const char *place_text(att_arena *arena, const att_mark *mark)
{
    if (mark->cell > 0)
        return att_arena_printf(arena, "Line %d of cell %d", mark->line, mark->cell);
    return mark->line > 0 ? att_arena_printf(arena, "Line %d", mark->line) : "The array";
}

/* The right numbers, with six digits. */
static const char *numbers_text(att_arena *arena, const att_mark *mark)
{
    att_string text = { 0 };
    att_writer out = att_writer_on(&text);
    char number[ATT_NUMBER_SIZE];
    const att_matrix *truth = mark->truth;
    bool scalar = mark->elements == 1;
    att_putf(&out, "The answer is %s = %s", mark->name, scalar ? "" : "[");
    for (int64_t i = 0; i < mark->elements; i++) {
        if (i > 0)
            att_put(&out, i % truth->cols == 0 ? "; " : " ");
        double value = truth->data[i];
        att_number_short(number, value, 6);
        att_put(&out, isfinite(value) ? number : isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
    }
    att_put(&out, scalar ? "." : "].");
    const char *kept =
        out.status == ATT_OK ? att_arena_strndup(arena, text.data, text.length) : NULL;
    att_string_free(&text);
    return kept;
}

static void add(const char *out[ATT_MAX_NOTES], size_t *count, const char *note, bool *failed)
{
    if (!note)
        *failed = true;
    else if (*count < ATT_MAX_NOTES)
        out[(*count)++] = note;
}

size_t att_mark_notes(att_arena *arena, const att_mark *mark, att_grade_detail detail,
                      const char *out[ATT_MAX_NOTES], bool *failed)
{
    size_t count = 0;
    bool right = mark->outcome == ATT_OUTCOME_RIGHT || mark->outcome == ATT_OUTCOME_FOLLOWS;
    *failed = false;
    if (mark->problem && !right) {
        const char *place = place_text(arena, mark);
        add(out, &count, place ? att_arena_printf(arena, "%s: %s.", place, mark->problem) : NULL,
            failed);
    }
    if (detail == ATT_GRADE_CHECK)
        return *failed ? 0 : count;
    for (size_t i = 0; i < mark->slip_count; i++)
        add(out, &count,
            att_arena_printf(arena, "%s as if %s%s%s.", i == 0 ? "It looks" : "And",
                             mark->slips[i].what->text, mark->slips[i].other ? ", or as if " : "",
                             mark->slips[i].other ? mark->slips[i].other->text : ""),
            failed);
    if (mark->turned)
        add(out, &count,
            mark->truth->rows == 1 ? "A row is asked for; this is written as a column."
                                   : "A column is asked for; this is written as a row.",
            failed);
    for (size_t i = 0; !right && i < ATT_MAX_HINTS && mark->hints[i]; i++)
        add(out, &count, att_arena_printf(arena, "Hint: %s", mark->hints[i]), failed);
    if (detail == ATT_GRADE_REVEAL && mark->outcome != ATT_OUTCOME_RIGHT)
        add(out, &count, numbers_text(arena, mark), failed);
    return *failed ? 0 : count;
}

/* Markdown, with everything escaped that could be markup. */
static void put_markdown(att_writer *out, const char *text)
{
    for (uint32_t c; (c = att_next_in_line(&text)) != 0;) {
        if (c == '<' || c == '>' || c == '&')
            att_put(out, c == '<' ? "&lt;" : c == '>' ? "&gt;" : "&amp;");
        else {
            att_put(out, c < 128 && strchr("\\`*_[]|~$#{}!", (int)c) ? "\\" : "");
            att_put_char(out, c);
        }
    }
}

void att_report_put(att_writer *out, att_format format, const char *text)
{
    if (format == ATT_FORMAT_HTML)
        att_put_xml(out, text);
    else if (format == ATT_FORMAT_MARKDOWN)
        put_markdown(out, text);
    else
        att_put_plain(out, text);
}

void att_report_begin_html(att_writer *out, const char *title)
{
    att_put_html_head(
        out, title,
        ".points{font-size:1.15rem;font-weight:600}\n"
        ".mark{margin:.8rem 0;padding:.35rem .9rem;border-left:4px solid var(--pass);"
        "background:var(--card);border-radius:0 6px 6px 0;break-inside:avoid}\n"
        ".mark p{margin:.15rem 0}\n.mark .outcome{font-weight:600;color:var(--pass)}\n"
        ".mark.wrong{border-color:var(--fail)}\n"
        ".mark.wrong .outcome{color:var(--fail)}\n"
        ".mark .note,.mark .earned{color:var(--soft)}\n.mark "
        ".earned{float:right;margin-left:1rem}\n"
        "table.class{border-collapse:collapse;font-variant-numeric:tabular-nums}\n"
        ".class td,.class th{padding:.25rem .6rem;border-bottom:1px solid var(--line);"
        "text-align:left;vertical-align:top}\n.class .n{text-align:right}\n"
        ".class .no{color:var(--fail)}\n.class .yes{color:var(--pass)}\n"
        ".wide{overflow-x:auto}\n");
    att_put_html_body(out);
}
