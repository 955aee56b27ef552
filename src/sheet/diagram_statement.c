/* diagram, diagram a, diagram a "title": a drawing of the values so far, or of what leads to one.
 * The word also begins sentences, so a line is this statement only in these forms, and only where
 * it does not continue a paragraph. */
#include "sheet/interpreter.h"

#include "sheet/statements.h"

#include <string.h>

/* What stands behind the first word of a line. */
enum rest { NOTHING, NAME, TITLE, NAME_AND_TITLE, WORDS };

static enum rest read_rest(const att_sheet_line *line, size_t at, size_t *name, size_t *name_end)
{
    at = att_sheet_line_skip_blanks(line, at);
    *name = at;
    *name_end = att_sheet_line_skip_name(line, at);
    size_t next = att_sheet_line_skip_blanks(line, *name_end);
    bool named = *name_end > at;
    if (next == line->length || line->text[next] == '#' || line->text[next] == '%')
        return named ? NAME : NOTHING;
    if (line->text[next] == '"')
        return named ? NAME_AND_TITLE : TITLE;
    return WORDS;
}

static att_status fail(const att_interpreter *interpreter, const att_sheet_line *line,
                       const char *message)
{
    return att_sheet_source_fail(&interpreter->source, interpreter->scope.err, line->number,
                                 line->column,
                                 "%s (text that looks like a statement starts with '>')", message);
}

/* Whether the bytes are the name of a value. */
static bool is_value(const att_interpreter *interpreter, const char *text, size_t length)
{
    char name[128];
    if (length >= sizeof name)
        return false;
    memcpy(name, text, length);
    name[length] = '\0';
    return att_symbol_table_get(&interpreter->symbols, name) != NULL;
}

att_status att_sheet_line_diagram(const att_interpreter *interpreter, const att_sheet_line *line,
                                  att_statement **out)
{
    static const char *const known[] = { "diagram" };
    size_t word = att_sheet_line_skip_name(line, 0), name, name_end;
    char first[16] = "", small[16] = "";
    if (word < 5 || word >= sizeof first)
        return ATT_OK;
    memcpy(first, line->text, word);
    for (size_t i = 0; i < word; i++)
        small[i] = (char)(first[i] >= 'A' && first[i] <= 'Z' ? first[i] - 'A' + 'a' : first[i]);
    bool exact = strcmp(first, "diagram") == 0;
    if (strcmp(small, "diagram") != 0 && !att_suggest(small, known, 1))
        return ATT_OK;
    enum rest rest = read_rest(line, word, &name, &name_end);
    bool value = (rest == NAME || rest == NAME_AND_TITLE) &&
                 is_value(interpreter, line->text + name, name_end - name);
    bool title = rest == TITLE || rest == NAME_AND_TITLE;
    if (rest == WORDS || (!exact && !value && !title && rest != NOTHING))
        return ATT_OK;
    if (strcmp(small, "diagrams") == 0 && rest == NOTHING)
        return ATT_OK;
    if (!exact)
        return fail(interpreter, line,
                    "this looks like a misspelled statement: expected 'diagram'");
    if (interpreter->paragraph_line != 0)
        return fail(interpreter, line, "expected an empty line between text and 'diagram'");
    *out = att_run_diagram;
    return ATT_OK;
}

/* Whether there is a value to draw: definitions of functions are none. */
static bool has_value(const att_sheet *sheet)
{
    for (size_t i = 0; i < sheet->step_count; i++)
        if (sheet->steps[i].kind == ATT_STEP_VALUE && sheet->steps[i].name &&
            !sheet->steps[i].function)
            return true;
    return false;
}

att_status att_run_diagram(att_interpreter *interpreter, att_parser *parser)
{
    att_trace_step step = { .kind = ATT_STEP_DIAGRAM };
    if (att_parser_at(parser, ATT_TOKEN_NAME)) {
        const att_token token = parser->token;
        ATT_TRY(att_parser_name(parser, "the name of a value", &step.name));
        if (!att_symbol_table_get(&interpreter->symbols, step.name))
            return att_sheet_source_fail(&interpreter->source, interpreter->scope.err, token.line,
                                         token.column,
                                         "unknown name '%s': expected a value to draw a diagram of "
                                         "(text that looks like a statement starts with '>')",
                                         step.name);
    }
    if (att_parser_at(parser, ATT_TOKEN_STRING))
        ATT_TRY(att_parser_string(parser, "a title", &step.text));
    ATT_TRY(att_parser_end(parser));
    if (!has_value(interpreter->sheet))
        return att_sheet_source_fail(&interpreter->source, interpreter->scope.err,
                                     interpreter->source.anchor_line, 1,
                                     "no value to draw a diagram of: expected an assignment before "
                                     "this line");
    return att_interpreter_add_step(interpreter, parser, &step);
}
