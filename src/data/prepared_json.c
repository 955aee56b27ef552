/* The metadata of token files as JSON, written and read by one table of numbers; see prepared.h. */
#include "data/prepared_json.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "data/prepared.h"
#include "settings/setting_specs.h"

#include <stddef.h>
#include <string.h>

/* ---- numbers that a struct has */

typedef struct number_field {
    const char *key;
    size_t offset;
} number_field;

#define FIELD(TYPE, MEMBER)                                                                        \
    {                                                                                              \
#MEMBER, offsetof(TYPE, MEMBER)                                                            \
    }
#define MEMBER_AT(BASE, ROW) ((int64_t *)(void *)((char *)(BASE) + (ROW)->offset))
#define CONST_MEMBER_AT(BASE, ROW)                                                                 \
    ((const int64_t *)(const void *)((const char *)(BASE) + (ROW)->offset))

static const number_field side_fields[] = {
    FIELD(att_sequence_stats, tokens),
    FIELD(att_sequence_stats, min_length),
    FIELD(att_sequence_stats, max_length),
    FIELD(att_sequence_stats, unknown_tokens),
};

static const number_field stats_fields[] = {
    FIELD(att_corpus_stats, lines),
    FIELD(att_corpus_stats, crlf_lines),
    FIELD(att_corpus_stats, characters),
    FIELD(att_corpus_stats, unknown_label_line),
};

static const number_field stored_fields[] = {
    FIELD(att_token_corpus, max_length),
    FIELD(att_token_corpus, shortest),
    FIELD(att_token_corpus, data_hash),
};

static const number_field data_fields[] = {
    FIELD(att_data, held_out),
    FIELD(att_data, overlapping_sources),
};

static void put_numbers(att_json_writer *json, const number_field *rows, size_t count,
                        const void *from)
{
    for (size_t i = 0; i < count; i++)
        att_json_put_integer(json, rows[i].key, *CONST_MEMBER_AT(from, &rows[i]));
}

static att_status get_numbers(const att_json *object, const number_field *rows, size_t count,
                              void *to, const char *name, att_error *err)
{
    for (size_t i = 0; i < count; i++)
        ATT_TRY(att_json_get_integer(MEMBER_AT(to, &rows[i]), object, rows[i].key, name, err));
    return ATT_OK;
}

#define PUT(JSON, ROWS, FROM)            put_numbers(JSON, ROWS, ATT_COUNT(ROWS), FROM)
#define GET(OBJECT, ROWS, TO, NAME, ERR) get_numbers(OBJECT, ROWS, ATT_COUNT(ROWS), TO, NAME, ERR)

/* ---- statistics */

static void put_skips(att_json_writer *json, const att_corpus_stats *stats)
{
    att_json_begin_array(json, "skipped");
    for (int i = 0; i < ATT_SKIP_COUNT; i++) {
        att_json_begin_array(json, NULL); /* how many, and the first lines */
        att_json_put_integer(json, NULL, stats->skipped[i]);
        for (int64_t k = 0; k < att_min_i64(stats->skipped[i], ATT_SKIP_MAX_LINES); k++)
            att_json_put_integer(json, NULL, stats->skipped_lines[i][k]);
        att_json_end(json);
    }
    att_json_end(json);
}

static void put_stats(att_json_writer *json, const char *key, const att_corpus_stats *stats)
{
    att_json_begin_object(json, key);
    PUT(json, stats_fields, stats);
    att_json_begin_object(json, "source");
    PUT(json, side_fields, &stats->source);
    att_json_end(json);
    att_json_begin_object(json, "target");
    PUT(json, side_fields, &stats->target);
    att_json_end(json);
    att_json_put_bool(json, "has_bom", stats->has_bom);
    att_json_put_string(json, "unknown_label", stats->unknown_label);
    att_json_put_string(json, "format", stats->format);
    put_skips(json, stats);
    att_json_end(json);
}

static att_status get_skips(const att_json *object, att_corpus_stats *stats, const char *name,
                            att_error *err)
{
    const att_json *list, *one, *number;
    ATT_TRY(att_json_get(&list, object, "skipped", ATT_JSON_ARRAY, name, err));
    for (size_t i = 0; i < ATT_SKIP_COUNT; i++) {
        ATT_TRY(att_json_get_item(&one, list, i, ATT_JSON_ARRAY, name, err));
        ATT_TRY(att_json_get_item(&number, one, 0, ATT_JSON_INTEGER, name, err));
        stats->skipped[i] = number->integer;
        for (int64_t k = 0; k < att_min_i64(number->integer, ATT_SKIP_MAX_LINES); k++) {
            const att_json *line;
            ATT_TRY(att_json_get_item(&line, one, (size_t)k + 1, ATT_JSON_INTEGER, name, err));
            stats->skipped_lines[i][k] = line->integer;
        }
    }
    return ATT_OK;
}

static att_status get_text(const att_json *object, const char *key, char *out, size_t size,
                           const char *name, att_error *err)
{
    const char *text;
    ATT_TRY(att_json_get_string(&text, object, key, name, err));
    size_t length = strnlen(text, size - 1);
    memcpy(out, text, length);
    out[length] = '\0';
    return ATT_OK;
}

static att_status get_stats(const att_json *root, const char *key, att_corpus_stats *stats,
                            const char *name, att_error *err)
{
    const att_json *object, *side;
    ATT_TRY(att_json_get(&object, root, key, ATT_JSON_OBJECT, name, err));
    ATT_TRY(GET(object, stats_fields, stats, name, err));
    ATT_TRY(att_json_get(&side, object, "source", ATT_JSON_OBJECT, name, err));
    ATT_TRY(GET(side, side_fields, &stats->source, name, err));
    ATT_TRY(att_json_get(&side, object, "target", ATT_JSON_OBJECT, name, err));
    ATT_TRY(GET(side, side_fields, &stats->target, name, err));
    ATT_TRY(att_json_get_bool(&stats->has_bom, object, "has_bom", name, err));
    ATT_TRY(get_text(object, "unknown_label", stats->unknown_label, sizeof stats->unknown_label,
                     name, err));
    ATT_TRY(get_text(object, "format", stats->format, sizeof stats->format, name, err));
    return get_skips(object, stats, name, err);
}

/* ---- the dataset */

att_status att_prepared_data_json(att_string *out, const att_data *data, att_error *err)
{
    const att_token_corpus *stored = data->train.stored;
    att_json_writer json = att_json_begin(out, ATT_JSON_EXACT);
    att_json_begin_object(&json, NULL);
    PUT(&json, data_fields, data);
    PUT(&json, stored_fields, stored);
    att_json_put_bool(&json, "valid_in_train", data->valid_in_train);
    att_json_put_number(&json, "output_ratio", stored->output_length.ratio);
    att_json_put_number(&json, "output_excess", stored->output_length.excess);
    att_json_begin_array(&json, "files"); /* examples, and those that an epoch reads */
    for (size_t i = 0; i < stored->mix.file_count; i++) {
        att_json_begin_array(&json, NULL);
        att_json_put_integer(&json, NULL, stored->mix.files[i].count);
        att_json_put_integer(&json, NULL, stored->mix.files[i].read);
        att_json_end(&json);
    }
    att_json_end(&json);
    att_json_put_string(&json, "choices", data->choices.data ? data->choices.data : "");
    put_stats(&json, "train", &data->train.stats);
    put_stats(&json, "valid", &data->valid.stats);
    att_json_end(&json);
    return att_json_finish(&json, "the token file", err);
}

static att_status get_files(const att_json *root, att_mix *mix, const char *name, att_error *err)
{
    const att_json *list, *one, *count, *read;
    ATT_TRY(att_json_get(&list, root, "files", ATT_JSON_ARRAY, name, err));
    mix->files = att_alloc_zero(list->count, sizeof *mix->files);
    if (!mix->files)
        return att_fail_memory(err);
    mix->file_count = list->count;
    for (size_t i = 0; i < list->count; i++) {
        ATT_TRY(att_json_get_item(&one, list, i, ATT_JSON_ARRAY, name, err));
        ATT_TRY(att_json_get_item(&count, one, 0, ATT_JSON_INTEGER, name, err));
        ATT_TRY(att_json_get_item(&read, one, 1, ATT_JSON_INTEGER, name, err));
        mix->files[i] = (att_mix_file){ count->integer, read->integer };
    }
    return ATT_OK;
}

static att_status get_data(att_data *out, const att_json *root, const char *name, att_error *err)
{
    att_token_corpus *stored = out->train.stored;
    const char *choices;
    ATT_TRY(GET(root, data_fields, out, name, err));
    ATT_TRY(GET(root, stored_fields, stored, name, err));
    ATT_TRY(att_json_get_bool(&out->valid_in_train, root, "valid_in_train", name, err));
    ATT_TRY(att_json_get_number(&stored->output_length.ratio, root, "output_ratio", name, err));
    ATT_TRY(att_json_get_number(&stored->output_length.excess, root, "output_excess", name, err));
    ATT_TRY(get_files(root, &stored->mix, name, err));
    ATT_TRY(att_json_get_string(&choices, root, "choices", name, err));
    if (att_string_append(&out->choices, choices, strlen(choices)) != ATT_OK)
        return att_fail_memory(err);
    ATT_TRY(get_stats(root, "train", &out->train.stats, name, err));
    return get_stats(root, "valid", &out->valid.stats, name, err);
}

att_status att_prepared_data_parse(att_data *out, const char *json, const char *name,
                                   att_error *err)
{
    att_json_doc doc;
    att_error cause = { 0 };
    att_status status = att_json_read(&doc, json, strlen(json), name, NULL, &cause);
    if (status == ATT_OK)
        status = get_data(out, doc.root, name, &cause);
    att_json_free(&doc);
    return status == ATT_OK
               ? ATT_OK
               : att_json_fail_in(err, &cause, "the metadata '" ATT_PREPARED_DATA "'", name);
}

/* ---- settings */

/* The settings on which the tokens depend. */
static const char *const fixed_keys[] = {
    "task",       "valid-fraction", "data-seed", "source-tokens", "target-tokens", "tokens",
    "bpe-merges", "joint",          "lowercase", "min-count",     "max-length",
};

static bool is_fixed(const char *key)
{
    for (size_t i = 0; i < ATT_COUNT(fixed_keys); i++)
        if (strcmp(fixed_keys[i], key) == 0)
            return true;
    return false;
}

static bool is_chosen(const att_settings *settings, size_t row)
{
    return settings->origin[row] == ATT_FROM_DATA && !is_fixed(att_setting_specs[row].info.key);
}

static att_status put_settings(att_json_writer *json, const att_settings *settings, bool chosen,
                               att_error *err)
{
    att_status status = ATT_OK;
    for (size_t i = 0; status == ATT_OK && i < att_setting_spec_count; i++) {
        const char *key = att_setting_specs[i].info.key;
        att_string value = { 0 };
        if (chosen ? !is_chosen(settings, i) : !is_fixed(key))
            continue;
        status = att_settings_get(&value, settings, key, err);
        if (status == ATT_OK)
            att_json_put_string(json, key, value.data ? value.data : "");
        att_string_free(&value);
    }
    return status;
}

att_status att_prepared_settings_json(att_string *out, const att_settings *settings, att_error *err)
{
    att_json_writer json = att_json_begin(out, ATT_JSON_EXACT);
    att_json_begin_object(&json, NULL);
    att_json_begin_object(&json, "settings");
    ATT_TRY(put_settings(&json, settings, false, err));
    att_json_end(&json);
    att_json_begin_object(&json, "chosen");
    ATT_TRY(put_settings(&json, settings, true, err));
    att_json_end(&json);
    att_json_end(&json);
    return att_json_finish(&json, "the token file", err);
}

/* Sets a setting that the token file states. */
static att_status set(att_settings *settings, const att_json *item, att_setting_origin origin,
                      const char *name, att_error *err)
{
    att_error cause = { 0 };
    att_status status = att_settings_set_from(settings, item->key, item->string, origin, &cause);
    if (status == ATT_BAD_INPUT)
        return att_fail(err, status, name, "the settings: %.300s", cause.message);
    if (status != ATT_OK && err)
        *err = cause;
    return status;
}

static att_status apply_fixed(att_settings *settings, const att_json *list, const char *name,
                              att_error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        const att_json *item = &list->items[i];
        att_string own = { 0 };
        if (item->type != ATT_JSON_STRING || !is_fixed(item->key))
            return att_fail(err, ATT_BAD_INPUT, name, "the settings: '%s' is not one of the tokens",
                            item->key);
        att_status status = att_settings_get(&own, settings, item->key, err);
        bool differs = status == ATT_OK && strcmp(own.data ? own.data : "", item->string) != 0;
        if (differs && att_settings_is_given(settings, item->key))
            status = att_fail(err, ATT_BAD_INPUT, name, "was prepared with %s %s, not %s",
                              item->key, item->string, own.data ? own.data : "nothing");
        else if (differs)
            status = set(settings, item, ATT_FROM_MODEL, name, err);
        att_string_free(&own);
        ATT_TRY(status);
    }
    return ATT_OK;
}

static att_status get_lists(const att_json **fixed, const att_json **chosen, const att_json *root,
                            const char *name, att_error *err)
{
    ATT_TRY(att_json_get(fixed, root, "settings", ATT_JSON_OBJECT, name, err));
    ATT_TRY(att_json_get(chosen, root, "chosen", ATT_JSON_OBJECT, name, err));
    for (size_t i = 0; i < (*chosen)->count; i++)
        ATT_TRY(att_json_expect(&(*chosen)->items[i], ATT_JSON_STRING, name, err));
    return ATT_OK;
}

static att_status apply(att_settings *settings, const att_json *fixed, const att_json *chosen,
                        const char *name, att_error *err)
{
    ATT_TRY(apply_fixed(settings, fixed, name, err));
    for (size_t i = 0; i < chosen->count; i++)
        ATT_TRY(set(settings, &chosen->items[i], ATT_FROM_DATA, name, err));
    return ATT_OK;
}

att_status att_prepared_settings_apply(att_settings *settings, const char *json, const char *name,
                                       att_error *err)
{
    att_json_doc doc;
    att_error cause = { 0 };
    const att_json *fixed, *chosen;
    att_status status = att_json_read(&doc, json, strlen(json), name, NULL, &cause);
    if (status == ATT_OK)
        status = get_lists(&fixed, &chosen, doc.root, name, &cause);
    status = status == ATT_OK
                 ? apply(settings, fixed, chosen, name, err)
                 : att_json_fail_in(err, &cause, "the metadata '" ATT_PREPARED_SETTINGS "'", name);
    att_json_free(&doc);
    return status;
}
