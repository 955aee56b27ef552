/* The lines of a text of answers: which begin an answer, which lines below belong to it, and its
 * value, which may be a table or the end of a chain of equations. */
#include "grade/answers.h"

#include "base/minmax.h"
#include "base/string.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

/* ---- Lines */

struct text {
    att_student_answers *out;
    const att_sheet *sheet;
    const char *data;
    size_t length;
    int cell;
    att_error *err;
};

static size_t line_end(const struct text *text, size_t at)
{
    const char *newline = memchr(text->data + at, '\n', text->length - at);
    return newline ? (size_t)(newline - text->data) : text->length;
}

/* The length of "is ", "gives " and the like, which stand for an equals sign; 0: another word. */
static size_t equals_word(const char *text, size_t length)
{
    static const char *const words[] = {
        "is ", "are ", "gives ", "equals ", "yields ", "becomes "
    };
    for (size_t i = 0; i < ATT_COUNT(words); i++)
        if (length > strlen(words[i]) && strncasecmp(text, words[i], strlen(words[i])) == 0)
            return strlen(words[i]);
    return 0;
}

/* The separator behind a name: "=", "~", ":", "->", "is" or, in a table, "|". Returns its offset,
 * or `end`; *next is behind it. */
static size_t find_separator(const char *data, size_t at, size_t end, bool table, size_t *next)
{
    int depth = 0;
    for (; at < end; at++) {
        char c = data[at];
        depth += c == '[' || c == '(' || c == '{';
        depth -= (c == ']' || c == ')' || c == '}') && depth > 0;
        if (depth > 0)
            continue;
        bool arrow = c == '-' && at + 1 < end && data[at + 1] == '>';
        size_t word = at > 0 && data[at - 1] == ' ' ? equals_word(data + at, end - at) : 0;
        if (!(strchr("=~:", c) || arrow || word > 0 || (table && c == '|')))
            continue;
        *next = at + (arrow ? 2 : word > 0 ? word : 1);
        while (*next < end && strchr("=~:", data[*next]))
            *next += 1;
        return at;
    }
    *next = end;
    return end;
}

/* Behind bullets and quotation marks: "- ", "> ", "* ", "| ". */
static size_t skip_marks(const char *data, size_t at, size_t end, bool *table)
{
    *table = false;
    while (at < end && (strchr(" \t>*#|\"'", data[at]) ||
                        (data[at] == '-' && at + 1 < end && data[at + 1] == ' '))) {
        *table = *table || data[at] == '|';
        at++;
    }
    return at;
}

/* Behind "1. ", "2) ", "(3) ", "a) " before a name. */
static size_t skip_ordinal(const char *data, size_t at, size_t end)
{
    size_t from = at;
    at += at < end && data[at] == '(';
    size_t digits = at;
    while (at < end && isalnum((unsigned char)data[at]) && at - digits < 3)
        at++;
    bool closed = at > digits && at < end && (data[at] == ')' || data[at] == '.');
    if (!closed || at + 1 >= end || data[at + 1] != ' ')
        return from;
    for (at++; at < end && data[at] == ' ';)
        at++;
    return at;
}

/* A line that begins an answer: which ask, or which element of it, and where the value begins. */
struct entry {
    size_t ask;
    att_answer_spelling spelling;
    size_t value;
    bool element;
    int64_t index[2];
};

/* The ask of a name, unless one in another case has an answer that is spelled like it. */
static size_t find_ask(const struct text *text, size_t from, size_t length, struct entry *out)
{
    size_t ask = att_answer_find_ask(text->sheet, text->data + from, length, &out->spelling);
    if (ask == SIZE_MAX)
        return SIZE_MAX;
    bool taken = text->out->items[ask].spelled && out->spelling == ATT_SPELLING_OTHER_CASE;
    return taken ? SIZE_MAX : ask;
}

static bool find_name(const struct text *text, size_t from, size_t to, struct entry *out)
{
    size_t name;
    while (to > from && strchr(" \t\"'", text->data[to - 1]))
        to--;
    out->element = false;
    out->ask = find_ask(text, from, to - from, out);
    if (out->ask != SIZE_MAX)
        return true;
    if (!att_answer_split_index(text->data + from, to - from, &name, out->index))
        return false;
    out->element = true;
    out->ask = find_ask(text, from, name, out);
    if (out->ask == SIZE_MAX)
        return false;
    const att_matrix *value = text->sheet->asks[out->ask]->value;
    bool joined = isdigit((unsigned char)text->data[from + name]);
    return !joined || value->rows * value->cols > 1; /* x1 is not x, if that is a number */
}

static bool find_entry(const struct text *text, size_t at, size_t end, struct entry *out)
{
    bool table;
    size_t from = skip_marks(text->data, at, end, &table);
    size_t behind = skip_ordinal(text->data, from, end);
    size_t to = find_separator(text->data, behind, end, table, &out->value);
    if (to < end && to > behind && find_name(text, behind, to, out))
        return true;
    to = find_separator(text->data, from, end, table, &out->value);
    if (to < end && to > from && find_name(text, from, to, out))
        return true;
    if (behind > from && !table) { /* "1) 0.26 0.33": the number alone */
        out->value = behind;
        out->element = false;
        out->spelling = ATT_SPELLING_OTHER;
        size_t number = att_answer_ask_number(text->data + from, behind - from);
        out->ask = number >= 1 && number <= text->sheet->ask_count ? number - 1 : SIZE_MAX;
        return out->ask != SIZE_MAX;
    }
    return false;
}

/* The length of a name with an index, "y2", "w[1, 2]", "a.weights", that a "=" follows; or 0. */
static size_t assigned_name(const char *data, size_t at, size_t end)
{
    size_t from = at;
    if (at >= end || !(isalpha((unsigned char)data[at]) || (unsigned char)data[at] > 127))
        return 0;
    while (at < end && (isalnum((unsigned char)data[at]) || (unsigned char)data[at] > 127 ||
                        data[at] == '_' || data[at] == '.'))
        at++;
    if (at < end && strchr("[({", data[at]))
        while (at < end && !strchr("])}", data[at++]))
            continue;
    size_t length = at - from;
    while (at < end && data[at] == ' ')
        at++;
    return at < end && strchr("=~", data[at]) ? length : 0;
}

/* Whether an assignment begins at `at`, behind another on the same line: "mu = 3, var = 3.5". A
 * comma, a semicolon or "and" stands before it. Behind a blank alone, "0.5 g = …" could be a
 * product: there the name must be that of the line's first with another index, "y1 = 1 y2 = 2". */
static bool begins_statement(const char *data, size_t start, size_t at, size_t end)
{
    if (!strchr(" ,;", data[at - 1])) /* first: names are as long as a hand-in may be */
        return false;
    size_t name = assigned_name(data, at, end), before = at;
    if (name == 0)
        return false;
    while (before > start && data[before - 1] == ' ')
        before--;
    bool joined = before > start + 4 && strncasecmp(data + before - 4, " and", 4) == 0;
    if (joined || (before > start && strchr(",;", data[before - 1])))
        return true;
    size_t letters = 0;
    while (letters < name && !isdigit((unsigned char)data[at + letters]))
        letters++;
    return letters > 0 && letters < name && end - start > letters &&
           memcmp(data + start, data + at, letters) == 0 &&
           isdigit((unsigned char)data[start + letters]);
}

/* Where the statement that begins at `at` ends: at the end of its line, or before another one. */
static size_t statement_end(const struct text *text, size_t at)
{
    enum { MAX_LINE = 4096 }; /* nobody writes more; each statement looks for the end of its line */
    size_t end = line_end(text, at), next;
    bool table;
    if (end - at > MAX_LINE)
        return end;
    size_t start = skip_ordinal(text->data, skip_marks(text->data, at, end, &table), end);
    size_t first = find_separator(text->data, start, end, false, &next);
    int depth = 0;
    for (size_t i = next; !table && first < end && i < end; i++) {
        char c = text->data[i];
        depth += c == '[' || c == '(' || c == '{';
        depth -= (c == ']' || c == ')' || c == '}') && depth > 0;
        if (depth == 0 && i > next && begins_statement(text->data, start, i, end))
            return i - 1;
    }
    return end;
}

/* Whether a line has numbers and what stands between them, but no words. */
static bool is_numeric(const struct text *text, size_t at, size_t end)
{
    bool any = false;
    for (size_t i = at; i < end; i++) {
        unsigned char c = (unsigned char)text->data[i];
        any = any || isdigit(c);
        size_t word = 0;
        while (i + word < end && isalpha((unsigned char)text->data[i + word]))
            word++;
        bool exponent =
            word == 1 && tolower(c) == 'e' && i > at && isdigit((unsigned char)text->data[i - 1]);
        bool known = exponent || (word == 1 && c == 'x') ||
                     (word == 3 && (strncasecmp(text->data + i, "inf", 3) == 0 ||
                                    strncasecmp(text->data + i, "nan", 3) == 0)) ||
                     (word == 6 && strncasecmp(text->data + i, "masked", 6) == 0);
        if ((word > 0 && !known) || c > 127 || c == '=')
            return false;
        i += word > 0 ? word - 1 : 0;
    }
    return any;
}

static bool is_blank(const struct text *text, size_t at, size_t end)
{
    for (; at < end; at++)
        if (!strchr(" \t", text->data[at]))
            return false;
    return true;
}

static int bracket_balance(const char *data, size_t at, size_t end)
{
    int depth = 0;
    for (; at < end; at++)
        depth += (strchr("[({", data[at]) != NULL) - (strchr("])}", data[at]) != NULL);
    return depth;
}

static bool is_table_line(const struct text *text, size_t at, size_t end)
{
    while (at < end && text->data[at] == ' ')
        at++;
    return at < end && text->data[at] == '|';
}

/* The end of the value that begins at `value` on the line that ends at `end`: lines below belong to
 * it while a bracket is open, while they are rows of a table, and while they are rows of numbers.
 */
static size_t value_end(const struct text *text, size_t value, size_t end)
{
    enum { MAX_LINES = 4096 };
    bool open_value = is_blank(text, value, end);
    if (end < text->length && text->data[end] != '\n') /* another statement is on the line */
        return end;
    for (int lines = 0; end < text->length && lines < MAX_LINES; lines++) {
        size_t next = end + 1, stop = line_end(text, next);
        struct entry other;
        bool open = bracket_balance(text->data, value, end) > 0;
        bool table = is_table_line(text, next, stop);
        bool empty = is_blank(text, next, stop);
        if (!open && !(empty && open_value) && !is_numeric(text, next, stop) &&
            !(table && open_value))
            break;
        if (!empty && !(table && open_value) && find_entry(text, next, stop, &other))
            break;
        if (empty && !open_value && !open)
            break;
        end = stop;
    }
    return end;
}

/* ---- Values */

/* "-", "masked" or "-inf" in a cell of a table. */
static bool is_masked_cell(const struct text *text, size_t at, size_t end)
{
    static const char *const words[] = { "-", "masked", "-inf", "x" };
    while (at < end && text->data[at] == ' ')
        at++;
    while (end > at && text->data[end - 1] == ' ')
        end--;
    for (size_t i = 0; i < ATT_COUNT(words); i++)
        if (end - at == strlen(words[i]) && strncasecmp(text->data + at, words[i], end - at) == 0)
            return true;
    return false;
}

/* A table's rows as lines of numbers: without rules, labels and, if that leaves as many numbers as
 * are asked for, without the header. */
static att_status flatten_table(const struct text *text, size_t at, size_t end, bool header,
                                att_string *out)
{
    bool past_rule = header;
    for (size_t next; at < end; at = next) {
        size_t stop = att_min_size(line_end(text, at), end);
        next = stop + 1;
        if (!is_table_line(text, at, stop))
            continue;
        bool rule = true;
        for (size_t i = at; i < stop; i++)
            rule = rule && strchr(" |-:+", text->data[i]);
        if (rule) {
            past_rule = true;
            continue;
        }
        if (!past_rule)
            continue;
        size_t cell = at;
        for (size_t i = at; i <= stop; i++) {
            if (i < stop && text->data[i] != '|')
                continue;
            if (i > cell && is_numeric(text, cell, i))
                ATT_TRY(att_string_append(out, text->data + cell, i - cell));
            else if (is_masked_cell(text, cell, i))
                ATT_TRY(att_string_puts(out, "masked"));
            ATT_TRY(att_string_append(out, "  ", 2));
            cell = i + 1;
        }
        ATT_TRY(att_string_append(out, "\n", 1));
    }
    return ATT_OK;
}

static att_status read_table(const struct text *text, size_t at, size_t end, int64_t expected,
                             att_numbers *numbers, bool *read, const char **problem)
{
    att_string rows = { 0 };
    *read = false;
    att_status status = ATT_OK;
    for (int header = 0; header < 2 && status == ATT_OK && !*read; header++) {
        att_string_free(&rows);
        status = flatten_table(text, at, end, header == 1, &rows);
        if (status == ATT_OK)
            *read = att_answer_numbers(numbers, &text->out->arena, rows.data ? rows.data : "",
                                       rows.length, expected, problem) &&
                    (numbers->rows * numbers->cols == expected || header == 1);
    }
    att_string_free(&rows);
    bool memory = status == ATT_OK && (*read || *problem);
    return memory ? ATT_OK : att_fail_memory(text->err);
}

/* The last value of "softmax(s) = 0.2626 ~ 0.26": the last piece between separators that is
 * numbers. */
static bool read_chain(const struct text *text, size_t at, size_t end, int64_t expected,
                       att_numbers *numbers, const char **problem)
{
    enum { MAX_PIECES = 64 };
    size_t begin[MAX_PIECES], stop[MAX_PIECES], count = 0, next;
    const char *first = NULL;
    for (size_t from = at; from <= end && count < MAX_PIECES; from = next) {
        size_t to = find_separator(text->data, from, end, false, &next);
        begin[count] = from;
        stop[count++] = to;
        if (to >= end)
            break;
    }
    for (size_t i = count; i-- > 0;) {
        size_t to = stop[i];
        if (is_blank(text, begin[i], to))
            continue;
        if (att_answer_numbers(numbers, &text->out->arena, text->data + begin[i], to - begin[i],
                               expected, problem))
            return true;
        if (!*problem)
            return false; /* memory is out */
        first = first ? first : *problem;
    }
    *problem = first ? first : "expected numbers, found none";
    return false;
}

static att_status read_entry(const struct text *text, const struct entry *entry, size_t end,
                             int line)
{
    const att_matrix *value = text->sheet->asks[entry->ask]->value;
    int64_t expected = entry->element ? 1 : value->rows * value->cols;
    if (entry->element && entry->index[1] < 0 && value->rows > 1 && value->cols > 1)
        expected = value->cols;
    att_numbers numbers;
    const char *problem = NULL;
    bool read = false;
    size_t below = entry->value;
    while (below < end && is_blank(text, below, att_min_size(line_end(text, below), end)))
        below = att_min_size(line_end(text, below), end) + 1;
    if (below > entry->value && below < end && is_table_line(text, below, end))
        ATT_TRY(read_table(text, below, end, expected, &numbers, &read, &problem));
    if (!read)
        read = read_chain(text, entry->value, end, expected, &numbers, &problem);
    if (!read && !problem)
        return att_fail_memory(text->err);
    if (!read) {
        att_answer_set_problem(text->out, entry->ask, problem, line, text->cell);
        return ATT_OK;
    }
    bool spelled = text->out->items[entry->ask].spelled || entry->spelling == ATT_SPELLING_EXACT;
    ATT_TRY(entry->element
                ? att_answer_set_element(text->out, text->sheet, entry->ask, entry->index, &numbers,
                                         line, text->cell, text->err)
                : att_student_answers_set(text->out, text->sheet, entry->ask, &numbers, line,
                                          text->cell, text->err));
    text->out->items[entry->ask].spelled = spelled;
    return ATT_OK;
}

/* ---- Other lines */

/* "variant: alice" */
static att_status read_variant(const struct text *text, size_t at, size_t end, bool *found)
{
    bool table;
    size_t value, from = skip_marks(text->data, at, end, &table);
    size_t to = find_separator(text->data, from, end, table, &value);
    while (to > from && text->data[to - 1] == ' ')
        to--;
    *found = value < end && att_answer_same_name("variant", 7, text->data + from, to - from);
    if (!*found)
        return ATT_OK;
    while (value < end && strchr(" \t\"'", text->data[value]))
        value++;
    while (end > value && strchr(" \t\"'|.", text->data[end - 1]))
        end--;
    text->out->variant =
        att_arena_strndup(&text->out->arena, text->data + value, att_min_size(end - value, 200));
    return text->out->variant ? ATT_OK : att_fail_memory(text->err);
}

/* Adds a sentence to the note about the hand-in; after a few the rest is left out. */
static att_status add_note(const struct text *text, int line, const char *name, const char *read_as)
{
    enum { MAX_NOTED = 4 };
    att_student_answers *out = text->out;
    const char *before = out->note ? out->note : "";
    const char *comma = out->note ? "; " : "";
    if (++out->note_count > MAX_NOTED)
        return ATT_OK;
    out->note = read_as ? att_arena_printf(&out->arena, "%s%sline %d: '%s' was read as %s", before,
                                           comma, line, name, read_as)
                        : att_arena_printf(&out->arena, "%s%sline %d: '%s' is not asked for",
                                           before, comma, line, name);
    return out->note ? ATT_OK : att_fail_memory(text->err);
}

/* The ask without an answer of its own that a name is near to, or has words of. SIZE_MAX: none. */
static size_t find_near(const struct text *text, const char *name)
{
    enum { MAX_ASKS = 256, MIN_NAME = 4 };
    const char *names[MAX_ASKS] = { NULL };
    size_t count = att_min_size(text->sheet->ask_count, MAX_ASKS);
    for (size_t i = 0; i < count; i++)
        names[i] = text->sheet->asks[i]->name;
    const char *near = strlen(name) < MIN_NAME ? NULL : att_suggest(name, names, count);
    size_t ask = att_answer_find_words(text->sheet, name, strlen(name));
    for (size_t i = 0; near && i < count; i++)
        if (names[i] == near)
            ask = i;
    bool missing = ask < count && text->out->items[ask].state == ATT_ANSWER_MISSING;
    return missing ? ask : SIZE_MAX;
}

/* Whether the value is that of an answer, and the name one that people give to values. */
static bool is_unknown_answer(const struct text *text, const char *name, size_t value, size_t end)
{
    enum { MAX_SYMBOL = 24, MAX_VALUE = 1000 };
    att_numbers numbers;
    const char *problem;
    size_t length = strlen(name);
    bool plain = length > 0 && length <= MAX_SYMBOL && end - value <= MAX_VALUE &&
                 !strchr(name, ' ') && !isdigit((unsigned char)name[0]) && value > 0 &&
                 text->data[value - 1] == '=';
    return plain && read_chain(text, value, end, 0, &numbers, &problem);
}

/* A line whose name is only near: a misspelled one, "a.wieghts = …", or words of a description,
 * "head 1 weights: …". Only for an ask without an answer of its own. A name that is like none is
 * noted, so that nobody believes it was graded. */
static att_status read_misspelled(const struct text *text, size_t at, size_t end, int line)
{
    enum { MAX_NAME = 60 };
    char name[MAX_NAME + 1];
    bool table;
    struct entry entry = { 0 };
    size_t from = skip_ordinal(text->data, skip_marks(text->data, at, end, &table), end);
    size_t to = find_separator(text->data, from, end, table, &entry.value);
    bool separated = to < end;
    while (to > from && text->data[to - 1] == ' ')
        to--;
    if (!separated || to - from > MAX_NAME || to == from)
        return ATT_OK;
    memcpy(name, text->data + from, to - from);
    name[to - from] = '\0';
    entry.ask = find_near(text, name);
    if (entry.ask == SIZE_MAX)
        return is_unknown_answer(text, name, entry.value, end) ? add_note(text, line, name, NULL)
                                                               : ATT_OK;
    ATT_TRY(add_note(text, line, name, text->sheet->asks[entry.ask]->name));
    return read_entry(text, &entry, value_end(text, entry.value, end), line);
}

/* Reads every line; `misspelled`: the ones with names that are only near. */
static att_status read_lines(const struct text *text, int line, bool misspelled)
{
    enum { MAX_GUESSED = 20000 }; /* lines whose names are compared with everything asked for */
    for (size_t at = 0; at < text->length && !(misspelled && line > MAX_GUESSED);) {
        size_t end = statement_end(text, at);
        struct entry entry;
        bool variant = false;
        size_t stop = end;
        if (end > at)
            ATT_TRY(read_variant(text, at, end, &variant));
        if (!variant && find_entry(text, at, end, &entry)) {
            stop = value_end(text, entry.value, end);
            if (!misspelled)
                ATT_TRY(read_entry(text, &entry, stop, line));
        } else if (!variant && misspelled) {
            ATT_TRY(read_misspelled(text, at, end, line));
        }
        for (size_t i = at; i <= stop && i < text->length; i++)
            line += text->data[i] == '\n';
        at = stop + 1;
    }
    return ATT_OK;
}

att_status att_student_answers_read_text(att_student_answers *out, const att_sheet *sheet,
                                         const char *text, size_t length, int line, int cell,
                                         att_error *err)
{
    const struct text lines = { out, sheet, text, length, cell, err };
    bool missing = false;
    ATT_TRY(read_lines(&lines, line, false));
    for (size_t i = 0; i < out->count; i++)
        missing = missing || out->items[i].state == ATT_ANSWER_MISSING;
    return missing && cell == 0 ? read_lines(&lines, line, true) : ATT_OK;
}
