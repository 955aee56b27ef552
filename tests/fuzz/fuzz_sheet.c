/* Any bytes as a worksheet: evaluated and, if it is valid, rendered in one of the five formats and
 * exported. */
#include "fuzz/fuzz.h"
#include "sheet/interpreter.h"
#include "text/utf8.h"

/* Enough for any small sheet, and little enough that no input takes long. */
enum { TRACE_BYTES = 2 << 20 };

/* What a step shows is there. */
static void check_step(const att_trace_step *step)
{
    PROMISE(step->line > 0 && step->source != NULL);
    if (step->kind == ATT_STEP_HEADING || step->kind == ATT_STEP_PROSE ||
        step->kind == ATT_STEP_ERROR)
        PROMISE(step->text != NULL);
    if (step->kind == ATT_STEP_VALUE)
        PROMISE((step->formula != NULL || step->given) &&
                (step->value != NULL || step->part_count > 0 || strchr(step->name, '(') != NULL));
    if (step->kind == ATT_STEP_CHECK)
        PROMISE(step->check->left != NULL && step->check->message[0] != '\0' &&
                strpbrk(step->check->message, "\n\r\033") == NULL);
    if (step->kind == ATT_STEP_PLOT)
        PROMISE(step->map->weights != NULL && step->map->queries > 0 && step->map->keys > 0);
    if (step->kind == ATT_STEP_DIAGRAM)
        PROMISE(step->part_count == 0 && step->line > 1);
    if (step->kind == ATT_STEP_GRADIENT)
        PROMISE(step->formula != NULL && step->text != NULL && step->part_count > 0);
    for (size_t i = 0; i < step->part_count; i++)
        PROMISE(step->parts[i].name != NULL && step->parts[i].value != NULL);
}

static void check_sheet(const att_sheet *sheet, size_t seed)
{
    for (size_t i = 0; i < sheet->step_count; i++)
        check_step(&sheet->steps[i]);
    PROMISE(sheet->failures <= sheet->checks);
    const att_render_options options = { .size = sizeof(att_render_options),
                                         .format = (att_format)(seed % 5),
                                         .digits = (int)(seed / 5 % 8) - 1,
                                         .color = (att_color)(seed / 40 % 3) };
    att_string text = { 0 };
    att_error err = { 0 };
    att_status status = att_sheet_render(&text, sheet, &options, &err);
    PROMISE(status == ATT_OK);
    PROMISE(att_utf8_valid_prefix(text.data ? text.data : "", text.length) == text.length);
    att_string_free(&text);
    status =
        att_sheet_diagram(&text, sheet, NULL, seed % 2 ? ATT_FORMAT_SVG : ATT_FORMAT_LATEX, &err);
    PROMISE(status == ATT_OK || status == ATT_BAD_INPUT); /* too many values, or none */
    PROMISE(att_utf8_valid_prefix(text.data ? text.data : "", text.length) == text.length);
    att_string_free(&text);
    status = att_sheet_export(&text, sheet, (att_export_language)(seed % 2), &err);
    PROMISE(status == ATT_OK || (status == ATT_BAD_INPUT && err.line > 0));
    PROMISE(att_utf8_valid_prefix(text.data ? text.data : "", text.length) == text.length);
    att_string_free(&text);
}

/* A refusal has a place in the sheet, and its excerpt is the line and a caret. */
static void check_place(const att_error *err)
{
    PROMISE(err->line > 0 && err->column > 0);
    const char *newline = strchr(err->excerpt, '\n');
    PROMISE(newline != NULL && strchr(newline + 1, '\n') == NULL);
    PROMISE(err->excerpt[strlen(err->excerpt) - 1] == '^');
    PROMISE(att_utf8_valid_prefix(err->excerpt, strlen(err->excerpt)) == strlen(err->excerpt));
    PROMISE(att_utf8_valid_prefix(err->message, strlen(err->message)) == strlen(err->message));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t live = att_alloc_live();
    att_error err = { 0 };
    att_sheet *sheet;
    att_status status =
        att_sheet_read_limited(&sheet, (const char *)data, size, "input", NULL, TRACE_BYTES, &err);
    if (status == ATT_OK) {
        check_sheet(sheet, size);
    } else {
        PROMISE(status == ATT_BAD_INPUT);
        check_refusal(status, &err);
        check_place(&err);
    }
    att_sheet_free(sheet);
    PROMISE(att_alloc_live() == live);
    return 0;
}
