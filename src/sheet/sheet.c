/* Reads a sheet: checks the text, runs its lines and collects the steps of the trace. */
#define _GNU_SOURCE /* for uselocale() with -std=c11 */
#include "sheet/interpreter.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/string.h"
#include "sheet/scenario.h"
#include "text/utf8.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

/* Limits on the size of a sheet and on the memory of its trace, so that an untrusted sheet cannot
 * exhaust the machine. */
#define MAX_SHEET_BYTES ((size_t)256 << 20)
#define MAX_TRACE_BYTES ((size_t)2 << 30)

/* ---- Steps */

static att_status push_step(att_interpreter *interpreter, const att_trace_step *step)
{
    att_sheet *sheet = interpreter->sheet;
    void *steps = sheet->steps;
    if (!att_arena_array_grow(&sheet->arena, &steps, &sheet->step_capacity, sheet->step_count,
                              sizeof *step))
        return att_fail_memory(interpreter->scope.err);
    sheet->steps = steps;
    sheet->steps[sheet->step_count++] = *step;
    return ATT_OK;
}

att_status att_interpreter_add_step(att_interpreter *interpreter, const att_parser *parser,
                                    const att_trace_step *step)
{
    att_trace_step full = *step;
    size_t begin = interpreter->statement;
    size_t end = parser->last.offset + parser->last.length;
    full.line = interpreter->source.anchor_line;
    if (parser->lexer.comment)
        full.comment = parser->lexer.comment;
    full.detail = interpreter->detail;
    full.source = att_arena_strndup(&interpreter->sheet->arena, interpreter->source.text + begin,
                                    end - begin);
    if (!full.source)
        return att_fail_memory(interpreter->scope.err);
    return push_step(interpreter, &full);
}

/* ---- Lines */

static bool blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The line at `offset`, trimmed; *next is where the one after it starts. */
static att_sheet_line read_line(const att_interpreter *interpreter, size_t offset, int number,
                                size_t *next)
{
    const char *text = interpreter->source.text;
    const char *newline = memchr(text + offset, '\n', interpreter->source.length - offset);
    size_t end = newline ? (size_t)(newline - text) : interpreter->source.length;
    *next = newline ? end + 1 : end;
    size_t begin = offset;
    while (begin < end && blank(text[begin]))
        begin++;
    while (end > begin && blank(text[end - 1]))
        end--;
    return (att_sheet_line){ text + begin, begin, end - begin, number, (int)(begin - offset) + 1 };
}

static att_status end_paragraph(att_interpreter *interpreter)
{
    if (interpreter->paragraph_line == 0)
        return ATT_OK;
    const char *text = att_arena_strndup(&interpreter->sheet->arena, interpreter->paragraph.data,
                                         interpreter->paragraph.length);
    if (!text)
        return att_fail_memory(interpreter->scope.err);
    const att_trace_step step = {
        .kind = ATT_STEP_PROSE, .line = interpreter->paragraph_line, .source = text, .text = text
    };
    interpreter->paragraph_line = 0;
    att_string_free(&interpreter->paragraph);
    return push_step(interpreter, &step);
}

static att_status add_prose(att_interpreter *interpreter, const att_sheet_line *line)
{
    const char *text = line->text;
    size_t length = line->length;
    for (bool marked = text[0] == '>'; length > 0 && (marked || blank(text[0])); marked = false) {
        text++;
        length--;
    }
    if (interpreter->paragraph_line == 0)
        interpreter->paragraph_line = line->number;
    else if (att_string_append(&interpreter->paragraph, "\n", 1) != ATT_OK)
        return att_fail_memory(interpreter->scope.err);
    if (att_string_append(&interpreter->paragraph, text, length) != ATT_OK)
        return att_fail_memory(interpreter->scope.err);
    return ATT_OK;
}

static att_status add_heading(att_interpreter *interpreter, const att_sheet_line *line)
{
    size_t level = 0;
    while (level < line->length && line->text[level] == '#')
        level++;
    size_t begin = level;
    while (begin < line->length && blank(line->text[begin]))
        begin++;
    if (level > 3 || begin == line->length)
        return att_sheet_source_fail(&interpreter->source, interpreter->scope.err, line->number,
                                     line->column, "a heading needs one to three '#' and a text");
    ATT_TRY(att_sheet_line_reject_claim(interpreter, line));
    const char *text =
        att_arena_strndup(&interpreter->sheet->arena, line->text + begin, line->length - begin);
    if (!text)
        return att_fail_memory(interpreter->scope.err);
    const att_trace_step step = { .kind = ATT_STEP_HEADING,
                                  .line = line->number,
                                  .source = text,
                                  .text = text,
                                  .level = (int)level };
    return push_step(interpreter, &step);
}

/* Runs a statement, which may span several lines. */
static att_status run_statement(att_interpreter *interpreter, const att_sheet_line *line,
                                att_statement *run, size_t *next, int *number)
{
    att_parser parser;
    ATT_TRY(end_paragraph(interpreter));
    ATT_TRY(att_parser_start(&parser, &interpreter->source, &interpreter->sheet->arena,
                             interpreter->scope.err, line->offset, line->number, line->column));
    if (run == att_run_for)
        ATT_TRY(att_sheet_line_loop(interpreter, line, &parser.body));
    parser.nodes_left = interpreter->nodes_left;
    interpreter->statement = line->offset;
    if (run != att_run_assign && run != att_run_define)
        ATT_TRY(att_parser_take(&parser));
    ATT_TRY(run(interpreter, &parser));
    interpreter->nodes_left = parser.nodes_left;
    *next = parser.lexer.at < interpreter->source.length ? parser.lexer.at + 1 : parser.lexer.at;
    *number = parser.lexer.line + 1;
    return ATT_OK;
}

/* Runs one line, or the statement that starts with it. */
static att_status run_line(att_interpreter *interpreter, size_t *offset, int *number)
{
    size_t next;
    att_sheet_line line = read_line(interpreter, *offset, *number, &next);
    att_statement *run;
    interpreter->source.anchor = line.offset - (size_t)(line.column - 1);
    interpreter->source.anchor_line = *number;
    *offset = next;
    *number += 1;
    if (line.length == 0)
        return end_paragraph(interpreter);
    if (line.text[0] == '%')
        return ATT_OK;
    if (line.text[0] == '#') {
        ATT_TRY(end_paragraph(interpreter));
        return add_heading(interpreter, &line);
    }
    ATT_TRY(att_sheet_line_statement(interpreter, &line, &run));
    return run ? run_statement(interpreter, &line, run, offset, number)
               : add_prose(interpreter, &line);
}

static att_status run_sheet(att_interpreter *interpreter)
{
    size_t offset = 0;
    int number = 1;
    att_status status = ATT_OK;
    while (status == ATT_OK && offset < interpreter->source.length) {
        status = run_line(interpreter, &offset, &number);
        if (status == ATT_OK)
            status = att_progress_step((int64_t)offset, interpreter->scope.err);
    }
    if (status == ATT_OK)
        status = end_paragraph(interpreter);
    if (status == ATT_NO_MEMORY && interpreter->sheet->arena.limit_reached)
        return att_sheet_source_fail(&interpreter->source, interpreter->scope.err,
                                     interpreter->source.anchor_line, 1,
                                     "the sheet needs more memory than the limit of %zu MB",
                                     interpreter->sheet->arena.limit >> 20);
    return status;
}

/* ---- The text */

/* A zero-terminated copy with '\n' for every kind of line end and without a byte order mark. */
static att_status copy_text(att_string *out, const char *text, size_t length, att_error *err)
{
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        length -= 3;
    }
    if (att_string_append(out, text, length) != ATT_OK)
        return att_fail_memory(err);
    size_t to = 0;
    for (size_t from = 0; from < length; from++) {
        char c = out->data[from];
        if (c == '\r' && from + 1 < length && out->data[from + 1] == '\n')
            continue;
        out->data[to++] = c == '\r' ? '\n' : c;
    }
    out->data[to] = '\0';
    out->length = to;
    return ATT_OK;
}

/* The line and column of a byte. */
static void locate(const att_sheet_source *source, size_t offset, int *line, int *column)
{
    *line = 1;
    *column = 1;
    uint32_t code;
    for (size_t at = 0; at < offset;) {
        at += att_utf8_decode_lossy(source->text + at, source->length - at, &code);
        *line += code == '\n';
        *column = code == '\n' ? 1 : *column + 1;
    }
}

/* Reports invalid UTF-8 by line and by byte offset in the original text. */
static att_status check_utf8(const att_sheet_source *source, const char *bytes, size_t length,
                             att_error *err)
{
    size_t offset = att_utf8_valid_prefix(source->text, source->length);
    if (offset == source->length)
        return ATT_OK;
    int line;
    int column;
    locate(source, offset, &line, &column);
    return att_sheet_source_fail(
        source, err, line, column, "invalid UTF-8: byte 0x%02X at offset %zu",
        (unsigned char)source->text[offset], att_utf8_valid_prefix(bytes, length));
}

/* Rejects control characters, which no document may show. Few first bytes can start one, so that
 * other bytes are skipped without decoding. */
static att_status check_characters(const att_sheet_source *source, att_error *err)
{
    for (size_t at = 0; at < source->length; at++) {
        unsigned char c = (unsigned char)source->text[at];
        if (c >= 0x20 && c != 0x7F && c != 0xC2 && c != 0xEF)
            continue;
        uint32_t code;
        att_utf8_decode_lossy(source->text + at, source->length - at, &code);
        if (!att_utf8_is_control(code))
            continue;
        int line;
        int column;
        locate(source, at, &line, &column);
        return att_sheet_source_fail(source, err, line, column,
                                     "the control character U+%04X is not allowed in a sheet",
                                     code);
    }
    return ATT_OK;
}

/* Makes the normalized copy of the text and checks it. */
static att_status check_text(att_string *out, const char *bytes, size_t length, const char *name,
                             att_error *err)
{
    ATT_TRY(copy_text(out, bytes, length, err));
    const att_sheet_source source = { .name = name, .text = out->data, .length = out->length };
    ATT_TRY(check_utf8(&source, bytes, length, err));
    return check_characters(&source, err);
}

/* ---- The public functions */

/* How a sheet is run: for an exercise its variant, and for grading a scenario. */
struct manner {
    size_t limit; /* bytes of the trace */
    const char *variant;
    att_scenario *scenario;
    uint64_t draw;
    bool rejected; /* by a `require`: another draw may do */
    bool complete;
};

static att_status read_text(att_sheet *sheet, const att_string *text, const char *folder,
                            struct manner *manner, att_error *err)
{
    att_interpreter interpreter = { .sheet = sheet,
                                    .nodes_left = ATT_MAX_NODES,
                                    .variant = manner->variant,
                                    .draw = manner->draw };
    interpreter.source =
        (att_sheet_source){ .name = sheet->name, .text = text->data, .length = text->length };
    interpreter.scope = (att_scope){ .arena = &sheet->arena,
                                     .source = &interpreter.source,
                                     .symbols = &interpreter.symbols,
                                     .folder = folder,
                                     .err = err,
                                     .sheet = sheet,
                                     .scenario = manner->scenario,
                                     .record = &interpreter.record };
    interpreter.by_hand.outer = &interpreter.symbols;
    size_t calls_made = 0;
    interpreter.functions.calls_made = &calls_made;
    interpreter.scope.functions = &interpreter.functions;
    att_status status = run_sheet(&interpreter);
    att_string_free(&interpreter.paragraph);
    manner->rejected = interpreter.rejected;
    manner->complete = status == ATT_OK;
    return status == ATT_BAD_INPUT && manner->scenario && !manner->rejected ? ATT_OK : status;
}

/* Numbers are read and written with a decimal point in every locale. */
static att_status read_in_c_locale(att_sheet *sheet, const att_string *text, const char *folder,
                                   struct manner *manner, att_error *err)
{
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c_locale == (locale_t)0)
        return att_fail_memory(err);
    locale_t before = uselocale(c_locale);
    att_status status = read_text(sheet, text, folder, manner, err);
    uselocale(before);
    freelocale(c_locale);
    return status;
}

static att_status run_cancellable(att_sheet *sheet, const att_string *text, const char *folder,
                                  struct manner *manner, att_error *err)
{
    att_progress_scope scope;
    att_progress_begin_operation(&scope,
                                 "computing the worksheet"); /* a cancelled one is dropped */
    att_progress_set_total((int64_t)text->length);
    att_status status = read_in_c_locale(sheet, text, folder, manner, err);
    return att_progress_end(&scope, status, err);
}

/* Runs the sheet once. */
static att_status run_once(att_sheet **out, const att_string *text, const char *name,
                           const char *folder, struct manner *manner, att_error *err)
{
    att_sheet *sheet = att_alloc_zero(1, sizeof *sheet);
    *out = NULL;
    if (!sheet)
        return att_fail_memory(err);
    sheet->arena.limit = manner->limit;
    sheet->name = att_arena_strndup(&sheet->arena, name, strlen(name));
    att_status status =
        sheet->name ? run_cancellable(sheet, text, folder, manner, err) : att_fail_memory(err);
    sheet->draw = manner->draw;
    if (status == ATT_OK)
        *out = sheet;
    else
        att_sheet_free(sheet);
    return status;
}

/* Checks the text and runs it, with new random values as long as a `require` does not hold. */
static att_status run_in_manner(att_sheet **out, const char *text, size_t length, const char *name,
                                const char *folder, struct manner *manner, att_error *err)
{
    enum { MAX_DRAWS = 1000 };
    *out = NULL;
    if (length > MAX_SHEET_BYTES)
        return att_fail(err, ATT_BAD_INPUT, name,
                        "the sheet has %zu bytes, more than the limit of %zu", length,
                        MAX_SHEET_BYTES);
    att_string copy = { 0 };
    att_status status = check_text(&copy, text, length, name, err);
    if (status == ATT_OK)
        status = run_once(out, &copy, name, folder, manner, err);
    while (status == ATT_BAD_INPUT && manner->rejected && ++manner->draw < MAX_DRAWS)
        status = run_once(out, &copy, name, folder, manner, err);
    att_string_free(&copy);
    return status;
}

att_status att_sheet_read(att_sheet **out, const char *text, size_t length, const char *name,
                          const char *folder, att_error *err)
{
    return att_sheet_read_limited(out, text, length, name, folder, MAX_TRACE_BYTES, err);
}

att_status att_sheet_read_limited(att_sheet **out, const char *text, size_t length,
                                  const char *name, const char *folder, size_t limit,
                                  att_error *err)
{
    struct manner manner = { .limit = limit, .variant = "explain" };
    return run_in_manner(out, text, length, name, folder, &manner, err);
}

att_status att_sheet_run_variant(att_sheet **out, const char *text, size_t length, const char *name,
                                 const char *folder, const char *variant, att_error *err)
{
    struct manner manner = { .limit = MAX_TRACE_BYTES, .variant = variant };
    return run_in_manner(out, text, length, name, folder, &manner, err);
}

att_status att_sheet_run_scenario(att_sheet **out, const char *text, size_t length,
                                  const char *name, const char *folder, const char *variant,
                                  att_scenario *scenario, bool *complete, att_error *err)
{
    struct manner manner = {
        .limit = MAX_TRACE_BYTES, .variant = variant, .scenario = scenario, .draw = scenario->draw
    };
    att_status status = run_in_manner(out, text, length, name, folder, &manner, err);
    *complete = manner.complete;
    return status;
}

/* The folder of a path, without the final '/'; NULL when memory is out. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *from = slash ? path : ".";
    size_t length = slash ? (size_t)(slash - path) : 1;
    char *folder = att_alloc(length + 1, 1);
    if (!folder)
        return NULL;
    memcpy(folder, from, length);
    folder[length] = '\0';
    return folder;
}

att_status att_sheet_load(att_sheet **out, const char *path, att_error *err)
{
    att_string text = { 0 };
    *out = NULL;
    ATT_TRY(att_file_read(&text, path, MAX_SHEET_BYTES, err));
    char *folder = folder_of(path);
    att_status status =
        folder ? att_sheet_read(out, text.data ? text.data : "", text.length, path, folder, err)
               : att_fail_memory(err);
    att_free(folder);
    att_string_free(&text);
    return status;
}

void att_sheet_free(att_sheet *sheet)
{
    if (!sheet)
        return;
    att_arena_free(&sheet->arena);
    att_free(sheet);
}

size_t att_sheet_checks(const att_sheet *sheet)
{
    return sheet->checks;
}

size_t att_sheet_failures(const att_sheet *sheet)
{
    return sheet->failures;
}

size_t att_sheet_file_count(const att_sheet *sheet)
{
    return sheet->file_count;
}

const char *att_sheet_file_get(const att_sheet *sheet, size_t index)
{
    return index < sheet->file_count ? sheet->files[index] : NULL;
}

size_t att_sheet_map_count(const att_sheet *sheet)
{
    return sheet->map_count;
}

const att_map *att_sheet_map_get(const att_sheet *sheet, size_t index)
{
    return index < sheet->map_count ? sheet->maps[index] : NULL;
}

static bool failed(const att_trace_step *step)
{
    return step->kind == ATT_STEP_CHECK && !step->check->passed;
}

void att_sheet_failure_get(att_error *out, const att_sheet *sheet, size_t index)
{
    *out = (att_error){ 0 };
    for (size_t i = 0; i < sheet->step_count; i++) {
        const att_trace_step *step = &sheet->steps[i];
        if (!failed(step) || index-- > 0)
            continue;
        att_fail_at(out, ATT_BAD_INPUT, sheet->name, step->line, 0, step->source, "%s",
                    step->check->message);
        return;
    }
}
