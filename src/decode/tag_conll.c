/* att_model_tag_conll(): a CoNLL file with a column of labels added. Sentences are tagged in
 * batches; a second reader walks over the same lines and writes them with their labels. */
#include "attend.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"
#include "base/string.h"
#include "data/conll.h"
#include "model/model.h"

enum { BATCH_SENTENCES = 1024 };

typedef struct conll_call {
    const att_model *model;
    const att_tag_options *options;
    att_conll_reader in;
    att_line_reader lines; /* that are not written yet */
    att_string *out;
    /* the sentences of a batch, one after the other, each ended by a zero byte */
    att_string text;
    size_t starts[BATCH_SENTENCES];
    int64_t first_lines[BATCH_SENTENCES];
    size_t count;
} conll_call;

static att_status read_batch(conll_call *s, att_error *err)
{
    bool found = true;
    s->text.length = s->count = 0;
    while (s->count < BATCH_SENTENCES) {
        ATT_TRY(att_conll_next(&s->in, &found, err));
        if (!found)
            break;
        s->starts[s->count] = s->text.length;
        s->first_lines[s->count++] = s->in.first_line;
        if (att_string_append(&s->text, s->in.tokens.data, s->in.tokens.length) != ATT_OK ||
            att_string_append(&s->text, "", 1) != ATT_OK)
            return att_fail_memory(err);
    }
    return ATT_OK;
}

/* Writes a line, with a label unless that is NULL. */
static att_status write_line(conll_call *s, const att_line_view *line, const char *label,
                             att_error *err)
{
    att_status status = att_string_append(s->out, line->text, line->length);
    if (status == ATT_OK && label)
        status = att_string_printf(s->out, "%c%s", s->in.tabs ? '\t' : ' ', label);
    if (status == ATT_OK)
        status = att_string_append(s->out, "\n", 1);
    return status == ATT_OK ? ATT_OK : att_fail_memory(err);
}

/* Writes the lines up to the last token of a sentence; NULL: all that are left. */
static att_status write_sentence(conll_call *s, const att_tagging *tagging, att_error *err)
{
    int64_t done = 0, count = tagging ? tagging->token_count : 1;
    att_line_view line;
    while (done < count && att_line_reader_next(&s->lines, &line)) {
        bool token = att_conll_line_kind(&s->in, &line, done) == ATT_CONLL_TOKEN;
        bool node = att_conll_line_kind(&s->in, &line, done) == ATT_CONLL_SKIPPED &&
                    line.text[0] != '#'; /* of CoNLL-U: "_" keeps its columns even */
        ATT_TRY(write_line(s, &line, token ? tagging->labels[done] : node ? "_" : NULL, err));
        done += token;
    }
    return ATT_OK;
}

static att_status tag_batch(conll_call *s, const char **lines, att_error *err)
{
    att_taggings *taggings = NULL;
    for (size_t i = 0; i < s->count; i++)
        lines[i] = s->text.data + s->starts[i];
    att_status status = att_model_tag(&taggings, s->model, lines, s->count, s->options, err);
    if (status == ATT_BAD_INPUT && err && err->line > 0) {
        const att_error inner = *err;
        return att_fail_at(err, status, s->in.file->name, (int)s->first_lines[inner.line - 1], 0,
                           NULL, "%s", inner.message);
    }
    for (size_t i = 0; i < s->count && status == ATT_OK; i++)
        status = write_sentence(s, att_taggings_get(taggings, i), err);
    att_taggings_free(taggings);
    return status;
}

static att_status tag_all(conll_call *s, att_error *err)
{
    const char **lines = att_alloc(BATCH_SENTENCES, sizeof *lines);
    if (!lines)
        return att_fail_memory(err);
    att_status status;
    do {
        status = read_batch(s, err);
        if (status == ATT_OK && s->count > 0)
            status = tag_batch(s, lines, err);
    } while (status == ATT_OK && s->count > 0);
    att_free(lines);
    return status == ATT_OK ? write_sentence(s, NULL, err) : status;
}

/* The column of the tokens in the training data, if it has a number. */
static att_status token_column(int64_t *out, const att_model *model, att_error *err)
{
    att_columns columns;
    ATT_TRY(att_settings_columns(&columns, model->settings, err));
    *out = columns.count > 0 && columns.items[0].number >= 0 ? columns.items[0].number : 1;
    return ATT_OK;
}

static att_status tag_file(conll_call *s, const struct att_text_file *file, int64_t column,
                           att_error *err)
{
    if (column == 0)
        ATT_TRY(token_column(&column, s->model, err));
    att_status status = att_conll_start_unlabeled(&s->in, file, column, err);
    s->lines = att_line_reader_start(file->text.data, file->text.length);
    if (status == ATT_OK)
        status = tag_all(s, err);
    att_conll_free(&s->in);
    att_string_free(&s->text);
    return status;
}

att_status att_model_tag_conll(att_string *out, const att_model *model, const char *path,
                               int64_t column, const att_tag_options *options, att_error *err)
{
    att_tag_options resolved;
    ATT_TRY(ATT_OPTIONS_COPY(att_tag_options, &resolved, options, err));
    if (resolved.input_overflow == ATT_OVERFLOW_TRUNCATE)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "input-overflow truncate leaves tokens without a label, which a CoNLL file "
                        "cannot have");
    if (column < 0)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "column %lld: expected the number of a column, from 1, or 0",
                        (long long)column);
    struct att_text_file file;
    conll_call call = { .model = model, .options = &resolved, .out = out };
    att_status status = att_text_file_load(&file, path, err);
    if (status == ATT_OK)
        status = tag_file(&call, &file, column, err);
    att_string_free(&file.text);
    return status;
}
