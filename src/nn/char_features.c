/* Character features of words; see char_features.h. */
#include "nn/char_features.h"

#include "base/error.h"
#include "base/string_set.h"
#include "tape/op.h"

#include <string.h>

enum {
    BYTES = 256,
    WORD_START = BYTES, /* borders around a word */
    WORD_END,
    TABLE_ROWS,
    MIN_WINDOW = 2,
    MAX_WINDOW = 4,
    WINDOWS = MAX_WINDOW - MIN_WINDOW + 1,
    MAX_BYTES = 48, /* of a longer word, the first and the last half of these */
};

/* The random stream of dropout; differs from the streams of encoders. */
#define DROPOUT_FEATURES (UINT64_C(3) << 59)

att_status att_char_features_check(const att_settings *settings, att_error *err)
{
    bool cnn = settings->char_features == ATT_CHAR_FEATURES_CNN;
    int64_t divisor = cnn ? WINDOWS : 2;
    if (settings->char_features == ATT_CHAR_FEATURES_NONE || settings->char_size % divisor == 0)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, NULL, "char-size %lld is not a multiple of %lld, the %s",
                    (long long)settings->char_size, (long long)divisor,
                    cnn ? "window sizes of char-features cnn" : "directions of char-features lstm");
}

void att_char_features_build(att_char_features *out, att_param_builder *builder,
                             const att_settings *settings)
{
    *out = (att_char_features){ .kind = (att_char_features_kind)settings->char_features };
    if (out->kind == ATT_CHAR_FEATURES_NONE)
        return;
    int64_t embedding = settings->char_embedding_size;
    out->size = settings->char_size;
    out->dropout = (float)settings->dropout;
    out->table = att_build_embedding(builder, TABLE_ROWS, embedding, 0.3f, "chars", "embed");
    if (out->kind == ATT_CHAR_FEATURES_CNN) {
        out->cnn = (att_text_cnn){ .min_window = MIN_WINDOW,
                                   .max_window = MAX_WINDOW,
                                   .input_size = embedding,
                                   .output_size = out->size };
        att_text_cnn_build(&out->cnn, builder, "chars");
        return;
    }
    att_rnn_layer_build(&out->forward, builder, ATT_RNN_CELL_LSTM, embedding, out->size / 2,
                        "chars.forward");
    att_rnn_layer_build(&out->backward, builder, ATT_RNN_CELL_LSTM, embedding, out->size / 2,
                        "chars.backward");
}

/* ---- the bytes of words */

/* Different words as rows of bytes. */
typedef struct byte_rows {
    int64_t words, width; /* W, and the longest with its borders */
    int32_t *ids;         /* [W,width] -1 beyond the end */
    int64_t *lengths;     /* [W] */
    int64_t *offsets;     /* [W] first byte of each row */
} byte_rows;

static size_t kept_bytes(size_t length)
{
    return length < MAX_BYTES ? length : MAX_BYTES;
}

static void fill_row(int32_t *row, int64_t width, const att_string_set_item *word)
{
    size_t count = kept_bytes(word->length);
    row[0] = WORD_START;
    for (size_t i = 0; i < count; i++) {
        size_t at = i < count / 2 ? i : word->length - count + i;
        row[1 + i] = (unsigned char)word->text[at];
    }
    row[1 + count] = WORD_END;
    for (int64_t i = (int64_t)count + 2; i < width; i++)
        row[i] = -1;
}

static bool make_rows(byte_rows *out, att_tape *tape, const att_string_set *words)
{
    *out = (byte_rows){ .words = (int64_t)words->count };
    for (size_t w = 0; w < words->count; w++) {
        int64_t width = (int64_t)kept_bytes(words->items[w].length) + 2;
        out->width = width > out->width ? width : out->width;
    }
    out->ids = att_tape_alloc(tape, out->words * out->width, sizeof *out->ids);
    out->lengths = att_tape_alloc(tape, out->words, sizeof *out->lengths);
    out->offsets = att_tape_alloc(tape, out->words, sizeof *out->offsets);
    if (!out->ids || !out->lengths || !out->offsets)
        return false;
    for (int64_t w = 0; w < out->words; w++) {
        out->offsets[w] = w * out->width;
        out->lengths[w] = (int64_t)kept_bytes(words->items[w].length) + 2;
        fill_row(out->ids + out->offsets[w], out->width, &words->items[w]);
    }
    return true;
}

/* Numbers the different words; false when memory is out. */
static bool number_words(att_string_set *set, int32_t *rows, const char *const *words,
                         int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        size_t index;
        rows[i] = -1;
        if (!words[i])
            continue;
        if (att_string_set_add(set, words[i], strlen(words[i]), &index) != ATT_OK)
            return false;
        rows[i] = (int32_t)index;
    }
    return true;
}

/* ---- features */

static att_node *run_lstm(const att_char_features *features, att_tape *tape, att_node *x,
                          const byte_rows *rows)
{
    int64_t half = features->size / 2;
    att_node *forward = att_rnn_layer_run(&features->forward, tape, x,
                                          &(att_rnn_layer_input){ .lengths = rows->lengths });
    att_node *backward =
        att_rnn_layer_run(&features->backward, tape, x,
                          &(att_rnn_layer_input){ .lengths = rows->lengths, .reverse = true });
    att_node *ends[] = { att_slice(tape, att_rnn_final_state(tape, forward), 0, half),
                         att_slice(tape, att_rnn_final_state(tape, backward), 0, half) };
    return att_concat(tape, ends, 2);
}

static att_node *run_words(const att_char_features *features, att_tape *tape, const byte_rows *rows)
{
    att_node *x = att_embedding_lookup(tape, att_tape_param(tape, features->table), rows->words,
                                       rows->width, rows->ids);
    att_node *out;
    if (features->kind == ATT_CHAR_FEATURES_LSTM) {
        out = run_lstm(features, tape, x, rows);
    } else {
        out = att_text_cnn_run(&features->cnn, tape, x, rows->lengths);
        out = att_sequence_pool(tape, out, ATT_POOL_MODE_MAX, rows->words, rows->offsets,
                                rows->lengths);
    }
    return att_tape_name_layer(tape, out, "character features", 0);
}

/* The features of all words once more, below the others, for the second half of the `count` words
 * of a batch that has its rows twice: so they have dropout of their own. */
static att_node *repeat_words(att_tape *tape, att_node *x, int32_t *rows, int64_t count)
{
    if (!x)
        return NULL;
    int64_t words = x->shape[0];
    int32_t *from = att_tape_alloc(tape, 2 * words, sizeof *from);
    if (!from)
        return NULL;
    for (int64_t i = 0; i < 2 * words; i++)
        from[i] = (int32_t)(i % words);
    for (int64_t i = count / 2; i < count; i++)
        rows[i] += rows[i] < 0 ? 0 : (int32_t)words;
    att_node *both = att_embedding_lookup(tape, x, 1, 2 * words, from);
    return att_reshape(tape, both, 2, (int64_t[]){ 2 * words, x->shape[1] });
}

att_node *att_char_features_run(const att_char_features *features, att_tape *tape,
                                const char *const *words, int64_t count, const int32_t **rows)
{
    if (!words) {
        att_tape_fail(tape, "character features", "expected the words of the sentences");
        return NULL;
    }
    att_string_set set = { 0 };
    byte_rows bytes;
    att_node *out = NULL;
    int32_t *numbers = att_tape_alloc(tape, count, sizeof *numbers);
    if (numbers && !number_words(&set, numbers, words, count))
        att_fail_memory(att_tape_error(tape));
    else if (numbers && make_rows(&bytes, tape, &set))
        out = run_words(features, tape, &bytes);
    if (features->dropout > 0 && att_tape_has_rows_twice(tape))
        out = repeat_words(tape, out, numbers, count);
    out = att_dropout(tape, out, features->dropout, DROPOUT_FEATURES);
    att_string_set_free(&set);
    *rows = numbers;
    return out;
}
