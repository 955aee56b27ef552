/* Regular expressions: the parser writes a program of the automaton, the simulation runs all its
 * states at once over a line. */
#include "inspect/regex.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/progress.h"
#include "base/quote.h"
#include "text/utf8.h"

#include <stdio.h>
#include <string.h>

enum {
    MAX_PROGRAM = 2000,
    MAX_RANGES = 1000,
    MAX_DEPTH = 50,
    MAX_REPEAT = 200,
    MAX_MATCH = 4096, /* characters: bounds the time that is spent behind the end of a match */
    NO_START = -1
};

typedef enum op {
    OP_CHAR,
    OP_ANY,
    OP_CLASS,
    OP_SPLIT,
    OP_JUMP,
    OP_LINE_START,
    OP_LINE_END,
    OP_MATCH
} op;

typedef struct instruction {
    op op;
    bool negated;  /* of a class */
    uint32_t code; /* of a character */
    int x, y;      /* targets; of a class, its ranges [x, y) */
} instruction;

struct att_regex {
    instruction program[MAX_PROGRAM];
    int count;
    uint32_t ranges[MAX_RANGES][2];
    int range_count;
};

/* ---- parsing */

typedef struct parser {
    att_regex *regex;
    const char *pattern, *at;
    att_error *err;
    int depth;
} parser;

static att_status fail_at(parser *p, const char *message)
{
    char pattern[ATT_QUOTED_SIZE];
    return att_fail(p->err, ATT_BAD_INPUT, NULL, "column %d of the pattern '%s': %s",
                    (int)(p->at - p->pattern) + 1,
                    att_quote(pattern, p->pattern, strlen(p->pattern)), message);
}

static att_status emit(parser *p, instruction made)
{
    if (p->regex->count == MAX_PROGRAM)
        return fail_at(p, "the pattern is too long");
    p->regex->program[p->regex->count++] = made;
    return ATT_OK;
}

static bool has_targets(const instruction *i)
{
    return i->op == OP_SPLIT || i->op == OP_JUMP;
}

/* Inserts an instruction at `place`. Jumps from before to that place now lead to it. */
static att_status insert(parser *p, int place, instruction made)
{
    att_regex *r = p->regex;
    ATT_TRY(emit(p, made));
    for (int i = r->count - 1; i > place; i--)
        r->program[i] = r->program[i - 1];
    r->program[place] = made;
    for (int i = 0; i < r->count; i++) {
        instruction *in = &r->program[i];
        if (i == place || !has_targets(in))
            continue;
        in->x += in->x > place || (i > place && in->x == place);
        in->y += in->y > place || (i > place && in->y == place);
    }
    return ATT_OK;
}

static att_status add_range(parser *p, uint32_t low, uint32_t high)
{
    att_regex *r = p->regex;
    if (r->range_count == MAX_RANGES)
        return fail_at(p, "the pattern is too long");
    r->ranges[r->range_count][0] = low;
    r->ranges[r->range_count++][1] = high;
    return ATT_OK;
}

/* The ranges of \d, \w and \s. */
static att_status add_named(parser *p, char name)
{
    static const uint32_t digits[][2] = { { '0', '9' } },
                          words[][2] = { { '0', '9' },         { 'A', 'Z' },
                                         { '_', '_' },         { 'a', 'z' },
                                         { 0xAA, 0xAA },       { 0xB5, 0xB5 },
                                         { 0xBA, 0xBA },       { 0xC0, 0xD6 },
                                         { 0xD8, 0xF6 },       { 0xF8, 0x1FFF },
                                         { 0x2C00, 0x2DFF },   { 0x3040, 0xD7FF },
                                         { 0xF900, 0xFDFF },   { 0xFE70, 0xFEFF },
                                         { 0xFF21, 0xFF3A },   { 0xFF41, 0xFFDC },
                                         { 0x10000, 0x1EFFF }, { 0x20000, 0x3FFFF } },
                          spaces[][2] = { { ' ', ' ' }, { '\t', '\r' }, { 0xA0, 0xA0 } };
    const uint32_t(*from)[2] = name == 'd' ? digits : name == 'w' ? words : spaces;
    size_t count = name == 'd' ? 1 : name == 'w' ? sizeof words / sizeof *words : 3;
    for (size_t i = 0; i < count; i++)
        ATT_TRY(add_range(p, from[i][0], from[i][1]));
    return ATT_OK;
}

static att_status read_char(parser *p, uint32_t *code)
{
    size_t bytes = att_utf8_decode(code, p->at, strlen(p->at));
    if (bytes == 0)
        return fail_at(p, "expected UTF-8");
    p->at += bytes;
    return ATT_OK;
}

/* The character behind a backslash. */
static att_status read_escape(parser *p, uint32_t *code)
{
    if (!*p->at)
        return fail_at(p, "expected a character after \\");
    if (strchr("nt", *p->at)) {
        *code = *p->at++ == 'n' ? '\n' : '\t';
        return ATT_OK;
    }
    if ((*p->at >= 'a' && *p->at <= 'z') || (*p->at >= 'A' && *p->at <= 'Z') ||
        (*p->at >= '0' && *p->at <= '9'))
        return fail_at(p, "unknown escape; expected \\d, \\w, \\s, \\n, \\t or \\ before a sign");
    return read_char(p, code);
}

static bool is_named(const char *at)
{
    return *at == '\\' && at[1] && strchr("dwsDWS", at[1]);
}

/* [a-z\d], behind the opening bracket. */
static att_status parse_class(parser *p)
{
    instruction made = { .op = OP_CLASS, .x = p->regex->range_count };
    made.negated = *p->at == '^';
    p->at += made.negated;
    for (bool first = true; *p->at != ']' || first; first = false) {
        uint32_t low, high;
        if (!*p->at)
            return fail_at(p, "expected ] at the end of the class");
        if (is_named(p->at)) {
            if (p->at[1] < 'a')
                return fail_at(p, "expected \\d, \\w or \\s in a class");
            ATT_TRY(add_named(p, p->at[1]));
            p->at += 2;
            continue;
        }
        bool escaped = *p->at == '\\';
        p->at += escaped;
        ATT_TRY(escaped ? read_escape(p, &low) : read_char(p, &low));
        high = low;
        if (*p->at == '-' && p->at[1] && p->at[1] != ']') {
            p->at++;
            escaped = *p->at == '\\';
            p->at += escaped;
            ATT_TRY(escaped ? read_escape(p, &high) : read_char(p, &high));
            if (high < low)
                return fail_at(p, "the range of the class ends before it begins");
        }
        ATT_TRY(add_range(p, low, high));
    }
    p->at++;
    made.y = p->regex->range_count;
    return emit(p, made);
}

static att_status parse_alternatives(parser *p);

static att_status parse_atom(parser *p)
{
    char c = *p->at;
    uint32_t code;
    if (c == '(') {
        p->at++;
        if (++p->depth > MAX_DEPTH)
            return fail_at(p, "groups are nested too deep");
        ATT_TRY(parse_alternatives(p));
        p->depth--;
        if (*p->at != ')')
            return fail_at(p, "expected )");
        p->at++;
        return ATT_OK;
    }
    if (strchr("*+?{", c))
        return fail_at(p, "nothing to repeat");
    if (c == '.' || c == '^' || c == '$') {
        p->at++;
        return emit(p, (instruction){ .op = c == '.'   ? OP_ANY
                                            : c == '^' ? OP_LINE_START
                                                       : OP_LINE_END });
    }
    if (c == '[') {
        p->at++;
        return parse_class(p);
    }
    if (is_named(p->at)) {
        instruction made = { .op = OP_CLASS, .x = p->regex->range_count };
        made.negated = p->at[1] < 'a';
        ATT_TRY(add_named(p, (char)(p->at[1] | 0x20)));
        p->at += 2;
        made.y = p->regex->range_count;
        return emit(p, made);
    }
    p->at += c == '\\';
    ATT_TRY(c == '\\' ? read_escape(p, &code) : read_char(p, &code));
    return emit(p, (instruction){ .op = OP_CHAR, .code = code });
}

/* The code from `start` on zero or more times, one or more times, or not at all. */
static att_status repeat_last(parser *p, int start, char how)
{
    int end = p->regex->count;
    if (how == '+')
        return emit(p, (instruction){ .op = OP_SPLIT, .x = start, .y = end + 1 });
    ATT_TRY(insert(p, start,
                   (instruction){ .op = OP_SPLIT, .x = start + 1, .y = end + 1 + (how == '*') }));
    return how == '*' ? emit(p, (instruction){ .op = OP_JUMP, .x = start }) : ATT_OK;
}

/* {m}, {m,} and {m,n}: the atom's text is parsed again for each copy. */
static att_status parse_counts(parser *p, const char *atom, int start)
{
    int low = -1, high = -1, used = 0;
    if (sscanf(p->at, "{%4d,%4d}%n", &low, &high, &used) != 2 || used == 0) {
        used = 0;
        if (sscanf(p->at, "{%4d,}%n", &low, &used) == 1 && used > 0)
            high = -1;
        else if (sscanf(p->at, "{%4d}%n", &low, &used) == 1 && used > 0)
            high = low;
        else
            return fail_at(p, "expected {m}, {m,} or {m,n}");
    }
    if (low < 0 || low > MAX_REPEAT || high > MAX_REPEAT || (high >= 0 && high < low))
        return fail_at(p, "expected 0 <= m <= n <= 200 in {m,n}");
    const char *behind = p->at + used;
    p->regex->count = start; /* the first copy is written again too */
    int copies = high < 0 ? low + 1 : high;
    for (int i = 0; i < copies; i++) {
        int from = p->regex->count;
        p->at = atom;
        ATT_TRY(parse_atom(p));
        if (i >= low)
            ATT_TRY(repeat_last(p, from, high < 0 ? '*' : '?'));
    }
    p->at = behind;
    return ATT_OK;
}

static att_status parse_sequence(parser *p)
{
    while (*p->at && *p->at != '|' && *p->at != ')') {
        const char *atom = p->at;
        int start = p->regex->count;
        ATT_TRY(parse_atom(p));
        if (*p->at == '{') {
            ATT_TRY(parse_counts(p, atom, start));
        } else if (*p->at && strchr("*+?", *p->at)) {
            ATT_TRY(repeat_last(p, start, *p->at));
            p->at++;
        }
        if (*p->at && strchr("*+?{", *p->at))
            return fail_at(p, "a repetition cannot be repeated; use a group");
    }
    return ATT_OK;
}

static att_status parse_alternatives(parser *p)
{
    int start = p->regex->count;
    ATT_TRY(parse_sequence(p));
    if (*p->at != '|')
        return ATT_OK;
    p->at++;
    ATT_TRY(insert(p, start,
                   (instruction){ .op = OP_SPLIT, .x = start + 1, .y = p->regex->count + 2 }));
    int jump = p->regex->count;
    ATT_TRY(emit(p, (instruction){ .op = OP_JUMP, .x = jump }));
    ATT_TRY(parse_alternatives(p));
    p->regex->program[jump].x = p->regex->count;
    return ATT_OK;
}

att_status att_regex_new(att_regex **out, const char *pattern, att_error *err)
{
    *out = NULL;
    att_regex *regex = att_alloc_zero(1, sizeof *regex);
    if (!regex)
        return att_fail_memory(err);
    parser p = { .regex = regex, .pattern = pattern, .at = pattern, .err = err };
    att_status status = *pattern ? parse_alternatives(&p) : fail_at(&p, "the pattern is empty");
    if (status == ATT_OK && *p.at)
        status = fail_at(&p, "unexpected )");
    if (status == ATT_OK)
        status = emit(&p, (instruction){ .op = OP_MATCH });
    if (status == ATT_OK)
        *out = regex;
    else
        att_free(regex);
    return status;
}

void att_regex_free(att_regex *regex)
{
    att_free(regex);
}

/* ---- simulation */

/* The states before a character. The first to enter a state has the leftmost start. */
typedef struct state_set {
    int states[MAX_PROGRAM];
    int64_t starts[MAX_PROGRAM];
    bool present[MAX_PROGRAM];
    int count;
} state_set;

typedef struct simulation {
    const att_regex *regex;
    const char *line;
    size_t length;
    state_set sets[2];
    int64_t match_start, match_end; /* the best so far; NO_START: none */
} simulation;

static void add_state(simulation *s, state_set *set, int state, int64_t start, int64_t at)
{
    const instruction *in = &s->regex->program[state];
    if (set->present[state] || (s->match_start != NO_START && start > s->match_start))
        return;
    set->present[state] = true;
    if (in->op == OP_JUMP || in->op == OP_SPLIT) {
        add_state(s, set, in->x, start, at);
        if (in->op == OP_SPLIT)
            add_state(s, set, in->y, start, at);
    } else if (in->op == OP_LINE_START || in->op == OP_LINE_END) {
        if (at == (in->op == OP_LINE_START ? 0 : (int64_t)s->length))
            add_state(s, set, state + 1, start, at);
    } else if (in->op == OP_MATCH) {
        s->match_start = start;
        s->match_end = at;
    } else {
        set->states[set->count] = state;
        set->starts[set->count++] = start;
    }
}

static bool accepts(const att_regex *regex, const instruction *in, uint32_t code)
{
    if (in->op != OP_CLASS)
        return in->op == OP_ANY || in->code == code;
    bool found = false;
    for (int i = in->x; i < in->y && !found; i++)
        found = code >= regex->ranges[i][0] && code <= regex->ranges[i][1];
    return found != in->negated;
}

static void clear(state_set *set)
{
    memset(set->present, 0, sizeof set->present);
    set->count = 0;
}

/* Finds the leftmost match from `from` on, the longest there. */
static bool find(simulation *s, size_t from)
{
    state_set *now = &s->sets[0], *next = &s->sets[1];
    int64_t at = (int64_t)from;
    clear(now);
    s->match_start = NO_START;
    for (;;) {
        if (s->match_start == NO_START)
            add_state(s, now, 0, at, at);
        uint32_t code = 0xFFFD;
        size_t bytes = at < (int64_t)s->length
                           ? att_utf8_decode(&code, s->line + at, s->length - (size_t)at)
                           : 0;
        if (at >= (int64_t)s->length || (now->count == 0 && s->match_start != NO_START))
            break;
        bytes = bytes > 0 ? bytes : 1;
        clear(next);
        for (int i = 0; i < now->count; i++)
            if (at - now->starts[i] < MAX_MATCH &&
                accepts(s->regex, &s->regex->program[now->states[i]], code))
                add_state(s, next, now->states[i] + 1, now->starts[i], at + (int64_t)bytes);
        state_set *swap = now;
        now = next;
        next = swap;
        at += (int64_t)bytes;
    }
    return s->match_start != NO_START;
}

static void mark_line(simulation *s, uint8_t *marks)
{
    size_t from = 0;
    while (from <= s->length && find(s, from)) {
        memset(marks + s->match_start, 1, (size_t)(s->match_end - s->match_start));
        from = (size_t)(s->match_end > s->match_start ? s->match_end : s->match_end + 1);
    }
}

att_status att_regex_mark(const att_regex *regex, const char *text, size_t length, uint8_t *marks,
                          att_error *err)
{
    simulation *s = att_alloc_zero(1, sizeof *s);
    if (!s)
        return att_fail_memory(err);
    s->regex = regex;
    memset(marks, 0, length);
    att_status status = ATT_OK;
    for (size_t at = 0; at < length && status == ATT_OK;) {
        const char *end = memchr(text + at, '\n', length - at);
        s->line = text + at;
        s->length = end ? (size_t)(end - s->line) : length - at;
        mark_line(s, marks + at);
        at += s->length + 1;
        status = att_progress_step(0, err);
    }
    att_free(s);
    return status;
}
