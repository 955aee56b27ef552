/* A lexical shortlist: its candidates for a source, and its file. */
#include "decode/shortlist.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/minmax.h"
#include "base/number.h"
#include "base/options.h"
#include "base/quote.h"
#include "decode/shortlist_options.h"

#include <string.h>

/* ---- making */

att_status att_shortlist_options_resolve(att_shortlist_options *out,
                                         const att_shortlist_options *options, att_error *err)
{
    ATT_TRY(ATT_OPTIONS_COPY(att_shortlist_options, out, options, err));
    const struct {
        int64_t *value, by_default;
    } fields[] = { { &out->frequent, 500 }, { &out->top, 200 }, { &out->max_pairs, 200000 } };
    for (size_t i = 0; i < ATT_COUNT(fields); i++)
        if (*fields[i].value == 0)
            *fields[i].value = fields[i].by_default;
    if (out->top < 1 || out->max_pairs < 1)
        return att_fail(err, ATT_BAD_INPUT, "att_shortlist_options",
                        "expected a %s above 0, found %lld", out->top < 1 ? "top" : "max_pairs",
                        (long long)(out->top < 1 ? out->top : out->max_pairs));
    return ATT_OK;
}

static att_status check_model(const att_model *model, att_error *err)
{
    ATT_TRY(att_model_require_type(model, ATT_MODEL_SEQ2SEQ, err));
    if (!att_settings_copies(model->settings))
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, NULL,
                    "a shortlist does not support a model that copies, which may write any token "
                    "of its source");
}

static bool find_same_text(att_shortlist *shortlist)
{
    const att_vocab *source = shortlist->model->source_vocab;
    int32_t count = att_vocab_size(source);
    shortlist->same_text = att_alloc((size_t)count, sizeof *shortlist->same_text);
    for (int32_t id = 0; shortlist->same_text && id < count; id++) {
        const char *token = att_vocab_token(source, id);
        shortlist->same_text[id] =
            id < ATT_ID_FIRST || att_vocab_is_tag(source, id)
                ? -1
                : att_vocab_find(shortlist->model->target_vocab, token, strlen(token));
    }
    return shortlist->same_text != NULL;
}

att_status att_shortlist_new(att_shortlist **out, const att_model *model, int64_t frequent,
                             att_error *err)
{
    *out = NULL;
    ATT_TRY(check_model(model, err));
    att_shortlist *shortlist = att_alloc_zero(1, sizeof *shortlist);
    if (!shortlist)
        return att_fail_memory(err);
    *shortlist = (att_shortlist){ .model = model, .frequent = frequent };
    if (!find_same_text(shortlist)) {
        att_shortlist_free(shortlist);
        return att_fail_memory(err);
    }
    *out = shortlist;
    return ATT_OK;
}

void att_shortlist_free(att_shortlist *shortlist)
{
    if (!shortlist)
        return;
    att_lexicon_free(&shortlist->lexicon);
    att_free(shortlist->same_text);
    att_free(shortlist);
}

int64_t att_shortlist_entries(const att_shortlist *shortlist)
{
    return shortlist->lexicon.offsets[shortlist->lexicon.sources];
}

/* ---- candidates */

att_status att_shortlist_check(const att_shortlist *shortlist, const att_model *model,
                               att_error *err)
{
    ATT_TRY(check_model(model, err));
    if (att_vocab_equal(shortlist->model->source_vocab, model->source_vocab) &&
        att_vocab_equal(shortlist->model->target_vocab, model->target_vocab))
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, NULL,
                    "the shortlist was made for a model with other vocabularies");
}

void att_token_set_free(att_token_set *set)
{
    att_free(set->has);
    att_ids_free(&set->ids);
    *set = (att_token_set){ 0 };
}

static bool reset(att_token_set *set, int64_t vocabulary)
{
    set->ids.count = 0;
    if (set->vocabulary != vocabulary) {
        att_free(set->has);
        set->has = att_alloc((size_t)vocabulary, sizeof *set->has);
        set->vocabulary = set->has ? vocabulary : 0;
    }
    if (set->has)
        memset(set->has, 0, (size_t)vocabulary * sizeof *set->has);
    return set->has != NULL;
}

static void mark_source_token(const att_shortlist *shortlist, att_token_set *set, int32_t id)
{
    const att_lexicon *lexicon = &shortlist->lexicon;
    if (id < 0 || id >= lexicon->sources)
        return;
    for (int64_t i = lexicon->offsets[id]; i < lexicon->offsets[id + 1]; i++)
        set->has[lexicon->entries[i].target] = true;
    if (shortlist->same_text[id] >= 0)
        set->has[shortlist->same_text[id]] = true;
}

att_status att_shortlist_collect(const att_shortlist *shortlist, att_token_set *set,
                                 const int32_t *source, int64_t length, const int32_t *more,
                                 size_t more_count, att_error *err)
{
    int64_t vocabulary = att_vocab_size(shortlist->model->target_vocab);
    if (!reset(set, vocabulary))
        return att_fail_memory(err);
    set->has[ATT_ID_UNK] = set->has[ATT_ID_EOS] = true;
    for (int64_t i = 0; i < shortlist->frequent && ATT_ID_FIRST + i < vocabulary; i++)
        set->has[ATT_ID_FIRST + i] = true;
    for (int64_t i = 0; i < length; i++)
        mark_source_token(shortlist, set, source[i]);
    for (size_t i = 0; i < more_count; i++)
        if (more[i] >= 0 && more[i] < vocabulary)
            set->has[more[i]] = true;
    for (int64_t i = 0; i < vocabulary; i++)
        if (set->has[i] && att_ids_add(&set->ids, (int32_t)i) != ATT_OK)
            return att_fail_memory(err);
    return ATT_OK;
}

/* ---- the file: target<TAB>source<TAB>probability lines */

static att_status append_token(att_string *out, const att_vocab *vocab, int32_t id, att_error *err)
{
    const char *token = att_vocab_token(vocab, id);
    if (strpbrk(token, "\t\r\n")) {
        char quoted[ATT_QUOTED_SIZE];
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "a shortlist cannot have the token '%s': it contains a tab or a line end",
                        att_quote(quoted, token, strlen(token)));
    }
    if (att_string_append(out, token, strlen(token)) != ATT_OK ||
        att_string_append(out, "\t", 1) != ATT_OK)
        return att_fail_memory(err);
    return ATT_OK;
}

static att_status write_lines(att_string *out, const att_shortlist *shortlist, att_error *err)
{
    const att_lexicon *lexicon = &shortlist->lexicon;
    for (int64_t i = 0; i < lexicon->offsets[lexicon->sources]; i++) {
        char number[ATT_DOUBLE_STRING_SIZE];
        const att_lexicon_entry *entry = &lexicon->entries[i];
        ATT_TRY(append_token(out, shortlist->model->target_vocab, entry->target, err));
        ATT_TRY(append_token(out, shortlist->model->source_vocab, entry->source, err));
        att_double_format(number, entry->prob);
        if (att_string_append(out, number, strlen(number)) != ATT_OK ||
            att_string_append(out, "\n", 1) != ATT_OK)
            return att_fail_memory(err);
    }
    return ATT_OK;
}

att_status att_shortlist_save(const att_shortlist *shortlist, const char *path, att_error *err)
{
    att_string text = { 0 };
    att_status status = write_lines(&text, shortlist, err);
    if (status == ATT_OK)
        status = att_file_save(path, text.data ? text.data : "", text.length, err);
    att_string_free(&text);
    return status;
}

typedef struct reader {
    const struct att_text_file *file;
    const att_vocab *source_vocab, *target_vocab;
    att_lexicon_entry *entries;
    size_t count, capacity;
    int64_t lines; /* with three fields */
} reader;

enum { TARGET, SOURCE, PROB, FIELDS };

typedef struct field {
    const char *text;
    size_t length;
} field;

/* Splits a line at its tabs; at single spaces where it has none. */
static bool split(field out[FIELDS], const att_line_view *line)
{
    char separator = memchr(line->text, '\t', line->length) ? '\t' : ' ';
    const char *at = line->text, *end = line->text + line->length;
    for (int i = 0; i < FIELDS; i++) {
        const char *stop = i + 1 < FIELDS ? memchr(at, separator, (size_t)(end - at)) : end;
        if (!stop)
            return false;
        out[i] = (field){ at, (size_t)(stop - at) };
        at = stop + 1;
    }
    return true;
}

static bool parse_prob(double *out, const field *from)
{
    char text[64];
    if (from->length >= sizeof text)
        return false;
    memcpy(text, from->text, from->length);
    text[from->length] = '\0';
    return att_double_parse(out, text) && *out >= 0 && *out <= 1;
}

static att_status fail_line(const reader *in, const att_line_view *line, const char *expected,
                            const field *found, att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    return att_fail_at(err, ATT_BAD_INPUT, in->file->name, (int)line->number, 0, NULL,
                       "expected %s, found '%s'", expected,
                       att_quote(quoted, found->text, found->length));
}

/* Tokens that the model lacks, such as the NULL of an aligner, are left out. */
static att_status read_line(reader *in, const att_line_view *line, att_error *err)
{
    field fields[FIELDS], whole = { line->text, line->length };
    double prob;
    ATT_TRY(att_text_line_check(in->file, line, err));
    if (line->length == 0)
        return ATT_OK;
    if (!split(fields, line))
        return fail_line(in, line, "target<TAB>source<TAB>probability", &whole, err);
    if (!parse_prob(&prob, &fields[PROB]))
        return fail_line(in, line, "a probability from 0 to 1", &fields[PROB], err);
    in->lines++;
    int32_t target = att_vocab_find(in->target_vocab, fields[TARGET].text, fields[TARGET].length);
    int32_t source = att_vocab_find(in->source_vocab, fields[SOURCE].text, fields[SOURCE].length);
    if (target < ATT_ID_FIRST || source < 0)
        return ATT_OK;
    if (!att_array_grow((void **)&in->entries, &in->capacity, in->count, sizeof *in->entries))
        return att_fail_memory(err);
    in->entries[in->count++] = (att_lexicon_entry){ source, target, prob };
    return ATT_OK;
}

/* An aligner lists words that the model counts as unknown, but hardly so many. */
static const double KNOWN_LINES = 0.1;

static att_status read_lines(reader *in, att_error *err)
{
    att_line_view line;
    att_line_reader lines = att_text_file_lines(in->file);
    while (att_line_reader_next(&lines, &line))
        ATT_TRY(read_line(in, &line, err));
    if (in->lines == 0)
        return att_fail(err, ATT_BAD_INPUT, in->file->name,
                        "expected target<TAB>source<TAB>probability lines, found none");
    if ((double)in->count < KNOWN_LINES * (double)in->lines)
        return att_fail(err, ATT_BAD_INPUT, in->file->name,
                        "expected tokens of the model, found them in %zu of %lld lines: is the "
                        "shortlist of another model?",
                        in->count, (long long)in->lines);
    return ATT_OK;
}

att_status att_shortlist_read(att_lexicon *out, const struct att_text_file *file,
                              const att_vocab *source_vocab, const att_vocab *target_vocab,
                              int64_t best, att_error *err)
{
    reader in = { .file = file, .source_vocab = source_vocab, .target_vocab = target_vocab };
    att_status status = read_lines(&in, err);
    if (status == ATT_OK)
        status = att_lexicon_from_entries(out, in.entries, in.count, att_vocab_size(source_vocab),
                                          best, err);
    att_free(in.entries);
    return status;
}

static att_status load(att_shortlist *shortlist, const char *path, int64_t best, att_error *err)
{
    const att_model *model = shortlist->model;
    struct att_text_file file = { 0 };
    att_status status = att_text_file_load(&file, path, err);
    if (status == ATT_OK)
        status = att_shortlist_read(&shortlist->lexicon, &file, model->source_vocab,
                                    model->target_vocab, best, err);
    att_string_free(&file.text);
    return status;
}

att_status att_shortlist_load(att_shortlist **out, const att_model *model, const char *path,
                              const att_shortlist_options *options, att_error *err)
{
    att_shortlist_options resolved;
    att_shortlist *shortlist;
    *out = NULL;
    ATT_TRY(att_shortlist_options_resolve(&resolved, options, err));
    ATT_TRY(att_shortlist_new(&shortlist, model, resolved.frequent, err));
    att_status status = load(shortlist, path, resolved.top, err);
    if (status == ATT_OK)
        *out = shortlist;
    else
        att_shortlist_free(shortlist);
    return status;
}
