/* Pairs of lines as pairs of token sequences; see corpus.h. */
#include "text/corpus.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/quote.h"
#include "base/random.h"
#include "text/align.h"
#include "text/lines.h"
#include "text/tokens.h"
#include "text/vocab_words.h"

#include <string.h>

enum { SOURCE, TARGET, SIDES, FIRST_CAPACITY = 256, HOLD_OUT_STREAM = 0x686F6C64 };

/* One side while it is being read. */
typedef struct growing_side {
    const struct att_named_text *file; /* where its text is from */
    att_vocab *vocab;
    att_ids ids;
    int64_t *at;
    att_side_facts facts;
} growing_side;

typedef struct reading {
    const att_pair_reading *how;
    growing_side sides[SIDES];
    int64_t *line;
    att_text target_text;
    int64_t *target_text_at;
    att_ids align;
    int64_t pairs, capacity;
    att_corpus_facts facts;
    att_error *err;
} reading;

/* ---- room for one pair more */

static bool grow_list(int64_t **list, int64_t used, int64_t capacity)
{
    int64_t *more = att_realloc(*list, (size_t)used * sizeof *more, (size_t)capacity, sizeof *more);
    if (more)
        *list = more;
    return more != NULL;
}

/* `at` has one entry more than there are pairs. */
static att_status reserve_pair(reading *in)
{
    if (in->pairs + 1 < in->capacity)
        return ATT_OK;
    int64_t capacity = in->capacity ? in->capacity * 2 : FIRST_CAPACITY;
    int64_t used = in->capacity ? in->pairs + 1 : 0;
    if (!grow_list(&in->sides[SOURCE].at, used, capacity) ||
        !grow_list(&in->sides[TARGET].at, used, capacity) ||
        !grow_list(&in->line, used, capacity) ||
        (in->how->keep_text && !grow_list(&in->target_text_at, used, capacity)))
        return att_fail_memory(in->err);
    if (used == 0)
        in->sides[SOURCE].at[0] = in->sides[TARGET].at[0] = 0;
    in->capacity = capacity;
    return ATT_OK;
}

/* ---- one pair */

static att_status split_side(reading *in, growing_side *side, const att_line *line)
{
    att_error inner = { 0 };
    size_t most = in->how->max_length > 0 ? (size_t)in->how->max_length + 1 : SIZE_MAX;
    att_status status = att_vocab_split(side->vocab, in->how->count, most, &side->ids, line->text,
                                        line->length, &inner);
    if (status == ATT_NO_MEMORY)
        return att_fail_memory(in->err);
    if (status != ATT_OK)
        return att_fail_at(in->err, status, side->file->name, (int)line->number, 0, NULL, "%s",
                           inner.message);
    return ATT_OK;
}

/* Tokens of the pair being read. */
static int64_t new_tokens(const reading *in, const growing_side *side)
{
    return (int64_t)side->ids.count - side->at[in->pairs];
}

/* Whether the pair being read has a label that there was none of in training. */
static bool has_new_label(const reading *in)
{
    const growing_side *side = &in->sides[TARGET];
    return in->how->labels && !in->how->count && new_tokens(in, side) > 0 &&
           side->ids.items[side->at[in->pairs]] == ATT_ID_UNKNOWN;
}

static att_status refuse_label(const reading *in, const att_line *label)
{
    char quoted[ATT_QUOTED];
    return att_fail_at(in->err, ATT_BAD_INPUT, in->sides[TARGET].file->name, (int)label->number, 0,
                       NULL, "the label '%s' is none of those that were learned",
                       att_quote(quoted, label->text, label->length));
}

/* Why the pair must be left out, or -1. */
static int drop_reason(const reading *in)
{
    int64_t source = new_tokens(in, &in->sides[SOURCE]);
    int64_t target = new_tokens(in, &in->sides[TARGET]);
    int64_t most = in->how->max_length > 0 ? in->how->max_length : INT64_MAX;
    if (source == 0)
        return target == 0 ? ATT_DROP_BLANK : ATT_DROP_NO_SOURCE;
    if (target == 0)
        return ATT_DROP_NO_TARGET;
    if (source > most)
        return ATT_DROP_LONG_SOURCE;
    if (target > most)
        return ATT_DROP_LONG_TARGET;
    return in->how->held && has_new_label(in) ? ATT_DROP_NEW_LABEL : -1;
}

static void note_drop(reading *in, int reason, int64_t line)
{
    int64_t before = in->facts.dropped[reason]++;
    if (before < ATT_DROP_LINES)
        in->facts.dropped_at[reason][before] = line;
}

static void drop_pair(reading *in, int reason, int64_t line)
{
    note_drop(in, reason, line);
    for (int i = 0; i < SIDES; i++) {
        growing_side *side = &in->sides[i];
        size_t start = (size_t)side->at[in->pairs];
        if (in->how->count && side->ids.count > start)
            att_vocab_uncount(side->vocab, side->ids.items + start, side->ids.count - start);
        side->ids.count = start;
    }
}

static void keep_pair(reading *in, int64_t line)
{
    for (int i = 0; i < SIDES; i++) {
        growing_side *side = &in->sides[i];
        int64_t tokens = new_tokens(in, side);
        if (in->pairs == 0 || tokens < side->facts.least)
            side->facts.least = tokens;
        if (tokens > side->facts.most)
            side->facts.most = tokens;
        for (size_t t = (size_t)side->at[in->pairs]; !in->how->count && t < side->ids.count; t++)
            side->facts.unknown += side->ids.items[t] == ATT_ID_UNKNOWN;
        side->facts.tokens += tokens;
        side->at[in->pairs + 1] = (int64_t)side->ids.count;
    }
    in->line[in->pairs++] = line;
}

/* The line as it stands, ended by a zero byte. */
static att_status keep_text(reading *in, const att_line *target)
{
    in->target_text_at[in->pairs] = (int64_t)in->target_text.length;
    if (att_text_add(&in->target_text, target->text, target->length) != ATT_OK ||
        att_text_add(&in->target_text, "", 1) != ATT_OK)
        return att_fail_memory(in->err);
    return ATT_OK;
}

/* Whether a source is among those held out. A source goes to one side with all its targets, so that
 * no answer of the validation is in the training data. */
static bool is_held(const att_pair_reading *how, const att_line *source)
{
    if (how->hold_out <= 0)
        return false;
    uint64_t h = att_hash(source->text, source->length);
    return att_random_double(how->seed, HOLD_OUT_STREAM, h) < how->hold_out;
}

static att_status add_pair(reading *in, const att_line lines[SIDES], const att_line *align,
                           const char *align_name)
{
    if (is_held(in->how, &lines[SOURCE]) != in->how->held)
        return ATT_OK;
    in->facts.lines++;
    ATT_TRY(reserve_pair(in));
    for (int i = 0; i < SIDES; i++)
        ATT_TRY(split_side(in, &in->sides[i], &lines[i]));
    int reason = drop_reason(in);
    if (reason >= 0) {
        drop_pair(in, reason, lines[SOURCE].number);
        return ATT_OK;
    }
    if (has_new_label(in))
        return refuse_label(in, &lines[TARGET]);
    if (align)
        ATT_TRY(att_align_read(&in->align, align, align_name, new_tokens(in, &in->sides[SOURCE]),
                               new_tokens(in, &in->sides[TARGET]), in->err));
    if (in->how->keep_text)
        ATT_TRY(keep_text(in, &lines[TARGET]));
    keep_pair(in, lines[SOURCE].number);
    return ATT_OK;
}

/* ---- all pairs */

/* Refuses a line that is not all text, naming the byte in the line and in the file. */
static att_status check_text(const reading *in, const struct att_named_text *file,
                             const att_line *line)
{
    att_error inner = { 0 };
    att_status status = att_line_check(line->text, line->length, &inner);
    if (status == ATT_OK)
        return ATT_OK;
    size_t offset = (size_t)(line->text - file->text.data);
    offset += att_line_good(line->text, line->length);
    return att_fail_at(in->err, status, file->name, (int)line->number, 0, NULL,
                       "%s (offset %zu in the file)", inner.message, offset);
}

static bool is_blank(const att_line *line)
{
    for (size_t i = 0; i < line->length; i++)
        if (line->text[i] != ' ' && line->text[i] != '\t' && line->text[i] != '\r')
            return false;
    return true;
}

/* The two sides of a line with a tab. A line of spaces alone is two empty sides. */
static att_status cut_line(const reading *in, const att_line *line, att_line sides[SIDES])
{
    int64_t tabs = 0;
    for (size_t i = 0; i < line->length; i++)
        tabs += line->text[i] == '\t';
    if (tabs != 1 && !is_blank(line)) {
        const char *found = tabs == 0 ? "no tab" : "more than one tab";
        const char *expected = in->how->labels     ? "sentence<TAB>label"
                               : in->how->captions ? "number<TAB>caption"
                                                   : "source<TAB>target";
        return att_fail_at(in->err, ATT_BAD_INPUT, in->sides[SOURCE].file->name, (int)line->number,
                           0, NULL, "expected %s, found %s", expected, found);
    }
    const char *tab = memchr(line->text, '\t', line->length);
    size_t length = tab ? (size_t)(tab - line->text) : line->length;
    size_t rest = tab ? length + 1 : length;
    sides[SOURCE] = (att_line){ line->text, length, line->number };
    sides[TARGET] = (att_line){ line->text + rest, line->length - rest, line->number };
    return ATT_OK;
}

static void note_ends(reading *in, const att_lines *lines)
{
    in->facts.crlf_lines += lines->crlf_lines;
    in->facts.byte_mark = in->facts.byte_mark || lines->byte_mark;
}

static att_lines start(const struct att_named_text *file)
{
    return att_lines_start(file->text.data, file->text.length);
}

static att_status read_one_file(reading *in, const att_pair_text *from)
{
    att_lines lines = start(&from->both), aligns = start(&from->align);
    att_line line, align, sides[SIDES];
    while (att_lines_next(&lines, &line)) {
        bool aligned = from->align.name && att_lines_next(&aligns, &align);
        ATT_TRY(check_text(in, &from->both, &line));
        ATT_TRY(cut_line(in, &line, sides));
        ATT_TRY(add_pair(in, sides, aligned ? &align : NULL, from->align.name));
    }
    note_ends(in, &lines);
    return ATT_OK;
}

static att_status read_two_files(reading *in, const att_pair_text *from)
{
    att_lines sources = start(&from->source), targets = start(&from->target);
    att_lines aligns = start(&from->align);
    att_line align, sides[SIDES];
    while (att_lines_next(&sources, &sides[SOURCE]) && att_lines_next(&targets, &sides[TARGET])) {
        bool aligned = from->align.name && att_lines_next(&aligns, &align);
        ATT_TRY(check_text(in, &from->source, &sides[SOURCE]));
        ATT_TRY(check_text(in, &from->target, &sides[TARGET]));
        ATT_TRY(add_pair(in, sides, aligned ? &align : NULL, from->align.name));
    }
    note_ends(in, &sources);
    note_ends(in, &targets);
    return ATT_OK;
}

static void hand_over(att_corpus *out, reading *in)
{
    in->facts.source = in->sides[SOURCE].facts;
    in->facts.target = in->sides[TARGET].facts;
    *out = (att_corpus){ .pairs = in->pairs,
                         .labels = in->how->labels,
                         .source = { in->sides[SOURCE].ids.items, in->sides[SOURCE].at },
                         .target = { in->sides[TARGET].ids.items, in->sides[TARGET].at },
                         .line = in->line,
                         .align = in->align.items,
                         .target_text = in->target_text.data,
                         .target_text_at = in->target_text_at,
                         .facts = in->facts };
}

att_status att_corpus_read(att_corpus *out, const att_pair_text *pairs, const att_pair_reading *how,
                           att_error *err)
{
    *out = (att_corpus){ 0 };
    ATT_TRY(att_pair_text_check(pairs, err));
    bool one = pairs->both.name != NULL;
    reading in = { .how = how, .err = err };
    in.sides[SOURCE].vocab = how->source;
    in.sides[TARGET].vocab = how->target;
    in.sides[SOURCE].file = one ? &pairs->both : &pairs->source;
    in.sides[TARGET].file = one ? &pairs->both : &pairs->target;
    att_status status = reserve_pair(&in);
    if (status == ATT_OK)
        status = one ? read_one_file(&in, pairs) : read_two_files(&in, pairs);
    hand_over(out, &in);
    if (status != ATT_OK)
        att_corpus_free(out);
    return status;
}

/* ---- afterwards */

static int64_t renumber(att_side *side, int64_t pairs, const int32_t *final)
{
    int64_t unknown = 0;
    for (int64_t i = 0; i < side->at[pairs]; i++) {
        side->ids[i] = final[side->ids[i]];
        unknown += side->ids[i] == ATT_ID_UNKNOWN;
    }
    return unknown;
}

void att_corpus_close(att_corpus *corpus, const int32_t *source_final, const int32_t *target_final)
{
    if (source_final)
        corpus->facts.source.unknown = renumber(&corpus->source, corpus->pairs, source_final);
    corpus->facts.target.unknown = renumber(&corpus->target, corpus->pairs, target_final);
}

void att_corpus_free(att_corpus *corpus)
{
    att_free(corpus->source.ids);
    att_free(corpus->source.at);
    att_free(corpus->target.ids);
    att_free(corpus->target.at);
    att_free(corpus->line);
    att_free(corpus->align);
    att_free(corpus->target_text);
    att_free(corpus->target_text_at);
    att_grids_free(&corpus->grids);
    *corpus = (att_corpus){ 0 };
}

const char *att_corpus_target_text(const att_corpus *corpus, int64_t pair)
{
    return corpus->target_text + corpus->target_text_at[pair];
}

int64_t att_corpus_picture(const att_corpus *corpus, int64_t pair)
{
    return corpus->source.ids[corpus->source.at[pair]] - ATT_ID_FIRST;
}

const int32_t *att_side_get(const att_side *side, int64_t pair, int64_t *length)
{
    *length = side->at[pair + 1] - side->at[pair];
    return side->ids + side->at[pair];
}
