/* Import of CTranslate2 models: where each value goes, and which files are refused. */
#include "failing_memory.h"
#include "import/ct2_model.h"

#include "import/ctranslate2.h"
#include "tensor/files.h"

#include <stdlib.h>
#include <unistd.h>

static att_status convert_with_vocabulary(att_bundle **out, const att_string *bytes,
                                          const char *source, const char *target, att_error *err)
{
    const att_ct2_vocabularies words = { { "source.txt", source, strlen(source) },
                                         { "target.txt", target, strlen(target) } };
    att_ct2_file file;
    *out = NULL;
    att_status status = att_ct2_read(&file, bytes->data, bytes->length, "model.bin", err);
    if (status == ATT_OK) {
        status = att_ct2_convert(out, &file, &words, ATT_TOKENIZER_SPACE, err);
        att_ct2_free(&file);
    }
    return status == ATT_OK ? att_imported_model_check(out, "model.bin", err) : status;
}

static att_bundle *convert(const ct2_options *options)
{
    att_error err = { 0 };
    att_bundle *bundle;
    att_string file = ct2_model(options);
    if (convert_with_vocabulary(&bundle, &file, CT2_SOURCE_WORDS, CT2_TARGET_WORDS, &err) != ATT_OK)
        fail_msg("%s", err.message);
    att_string_free(&file);
    return bundle;
}

static double entry(const att_bundle *bundle, const char *name, int64_t row, int64_t column)
{
    const att_tensor *tensor = att_bundle_get(bundle, name);
    if (!tensor)
        fail_msg("no tensor %s", name);
    const int64_t index[] = { row, column };
    assert_true(row < tensor->shape[0] && (tensor->rank < 2 || column < tensor->shape[1]));
    return att_tensor_get(tensor, index);
}

static void matrices_are_transposed_and_vectors_copied(void **state)
{
    (void)state;
    static const struct {
        const char *from, *into;
        uint32_t in, out; /* of the matrix; in = 0: a vector */
    } rows[] = {
        { "encoder/layer_0/self_attention/linear_0/weight", "encoder.0.self.query_key_value", 4,
          12 },
        { "encoder/layer_0/self_attention/linear_1/weight", "encoder.0.self.out", 4, 4 },
        { "encoder/layer_0/ffn/linear_1/weight", "encoder.0.feed.second", 6, 4 },
        { "decoder/layer_0/attention/linear_0/weight", "decoder.0.cross.query", 4, 4 },
        { "decoder/layer_0/attention/linear_1/weight", "decoder.0.cross.key_value", 4, 8 },
        { "decoder/layer_0/attention/linear_2/weight", "decoder.0.cross.out", 4, 4 },
        { "decoder/layer_0/ffn/linear_0/bias", "decoder.0.feed.first_bias", 0, 6 },
        { "decoder/layer_0/attention/layer_norm/gamma", "decoder.0.cross.norm.gain", 0, 4 },
        { "decoder/layer_norm/beta", "decoder.norm.bias", 0, 4 },
    };
    att_bundle *bundle = convert(&(ct2_options){ .item = 4 });
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (uint32_t o = 0; o < rows[r].out; o++) {
            if (rows[r].in == 0)
                assert_true(entry(bundle, rows[r].into, o, 0) ==
                            (double)ct2_value(rows[r].from, o));
            for (uint32_t i = 0; i < rows[r].in; i++)
                assert_true(entry(bundle, rows[r].into, i, o) ==
                            (double)ct2_value(rows[r].from, o * rows[r].in + i));
        }
    att_bundle_free(bundle);
}

/* Our ids are <unknown>, <start>, <end> and the other tokens; those of the file are its line
 * numbers. */
static void token_rows_follow_our_ids(void **state)
{
    (void)state;
    static const uint32_t source[] = { 5, 1, 2, 0, 3, 4 }, target[] = { 4, 1, 2, 0, 3, 5, 6 };
    att_bundle *bundle = convert(&(ct2_options){ .item = 4 });
    for (uint32_t id = 0; id < CT2_SOURCES; id++)
        for (uint32_t j = 0; j < CT2_WIDTH; j++)
            assert_true(entry(bundle, "source.embed", id, j) ==
                        (double)ct2_value("encoder/embeddings/weight", source[id] * 4 + j));
    for (uint32_t id = 0; id < CT2_TARGETS; id++) {
        assert_true(entry(bundle, "output.bias", id, 0) ==
                    (double)ct2_value("decoder/projection/bias", target[id]));
        for (uint32_t j = 0; j < CT2_WIDTH; j++) {
            assert_true(entry(bundle, "target.embed", id, j) ==
                        (double)ct2_value("decoder/embeddings/weight", target[id] * 4 + j));
            assert_true(entry(bundle, "output.w", j, id) ==
                        (double)ct2_value("decoder/projection/weight", target[id] * 4 + j));
        }
    }
    att_bundle_free(bundle);
}

static void positions_are_sines_before_cosines_and_count_from_one(void **state)
{
    (void)state;
    att_bundle *bundle = convert(&(ct2_options){ .item = 4 });
    for (int64_t p = 0; p < 1024; p += 341)
        for (int64_t i = 0; i < 2; i++) {
            double angle = (double)(p + 1) * (i == 0 ? 1 : 1e-4);
            assert_true(fabs(entry(bundle, "source.positions", p, i) - sin(angle)) < 1e-7);
            assert_true(fabs(entry(bundle, "target.positions", p, 2 + i) - cos(angle)) < 1e-7);
        }
    att_bundle_free(bundle);
}

static void positions_of_the_file_are_copied(void **state)
{
    (void)state;
    att_bundle *bundle = convert(&(ct2_options){ .item = 4, .positions = { 5, 5 } });
    for (int64_t i = 0; i < 5 * CT2_WIDTH; i++) {
        float value = ct2_value("decoder/position_encodings/encodings", (uint32_t)i);
        assert_true(entry(bundle, "target.positions", i / CT2_WIDTH, i % CT2_WIDTH) == value);
    }
    att_bundle_free(bundle);
}

/* The values are exact in both types. */
static void int16_weights_become_the_same_floats(void **state)
{
    (void)state;
    att_bundle *whole = convert(&(ct2_options){ .item = 4 });
    att_bundle *bundle = convert(&(ct2_options){ .item = 2 });
    assert_int_equal(att_bundle_count(bundle), att_bundle_count(whole));
    assert_null(att_bundle_meta_get(bundle, "attend.precision"));
    for (size_t i = 0; i < att_bundle_count(whole); i++) {
        const att_tensor *a = att_bundle_at(whole, i);
        const att_tensor *b = att_bundle_get(bundle, att_bundle_name(whole, i));
        assert_memory_equal(a->data, b->data, (size_t)att_tensor_count(a) * sizeof(float));
    }
    att_bundle_free(bundle);
    att_bundle_free(whole);
}

/* The integer and the scale of an element of an int8 tensor; `by_row`: outputs are its rows. */
static void assert_int8(const att_bundle *bundle, const char *name, int64_t row, int64_t column,
                        bool by_row, double integer, double scale)
{
    char scale_name[64];
    snprintf(scale_name, sizeof scale_name, "%s.scale", name);
    assert_int_equal(att_bundle_get(bundle, name)->dtype, ATT_I8);
    assert_true(entry(bundle, name, row, column) == integer);
    assert_true(entry(bundle, scale_name, by_row ? row : column, 0) == scale);
}

static void int8_weights_keep_the_integers_and_scales_of_the_file(void **state)
{
    (void)state;
    static const struct {
        const char *from, *into;
        int64_t in, out;
    } rows[] = {
        { "encoder/layer_0/self_attention/linear_0/weight", "encoder.0.self.query_key_value", 4,
          12 },
        { "decoder/layer_0/attention/linear_1/weight", "decoder.0.cross.key_value", 4, 8 },
    };
    att_bundle *bundle = convert(
        &(ct2_options){ .item = 1, .one_scale = "decoder/layer_0/attention/linear_1/weight" });
    assert_string_equal(att_bundle_meta_get(bundle, "attend.precision"), "int8");
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int64_t o = 0; o < rows[r].out; o++)
            for (int64_t i = 0; i < rows[r].in; i++) {
                uint32_t at = (uint32_t)(o * rows[r].in + i);
                double scale = r == 1 ? 64 : (double)ct2_scale((uint32_t)o);
                assert_int8(bundle, rows[r].into, i, o, false,
                            64 * (double)ct2_value(rows[r].from, at), 1 / scale);
            }
    /* Too few outputs for int8: floats, of a scale for each row. */
    const att_tensor *first = att_bundle_get(bundle, "encoder.0.feed.first");
    assert_int_equal(first->dtype, ATT_F32);
    for (uint32_t at = 0; at < 24; at++)
        assert_true(entry(bundle, "encoder.0.feed.first", at % 4, at / 4) ==
                    64 * (double)ct2_value("encoder/layer_0/ffn/linear_0/weight", at) /
                        (double)ct2_scale(at / 4));
    att_bundle_free(bundle);
}

static void int8_weights_become_floats_where_that_is_asked_for(void **state)
{
    (void)state;
    static const char from[] = "encoder/layer_0/self_attention/linear_0/weight";
    att_string bytes = ct2_model(&(ct2_options){ .item = 1 });
    const att_ct2_vocabularies words = {
        { "source.txt", CT2_SOURCE_WORDS, strlen(CT2_SOURCE_WORDS) },
        { "target.txt", CT2_TARGET_WORDS, strlen(CT2_TARGET_WORDS) }
    };
    att_ct2_file file;
    att_bundle *bundle;
    assert_int_equal(att_ct2_read(&file, bytes.data, bytes.length, "model.bin", NULL), ATT_OK);
    file.widens_int8 = true;
    assert_int_equal(att_ct2_convert(&bundle, &file, &words, ATT_TOKENIZER_SPACE, NULL), ATT_OK);
    assert_null(att_bundle_meta_get(bundle, "attend.precision"));
    for (uint32_t at = 0; at < 48; at++)
        assert_true(entry(bundle, "encoder.0.self.query_key_value", at % 4, at / 4) ==
                    64 * (double)ct2_value(from, at) / (double)ct2_scale(at / 4));
    att_ct2_free(&file);
    att_bundle_free(bundle);
    att_string_free(&bytes);
}

#define MORE_WORDS "m\nn\no\np\n"

static att_bundle *convert_with_more_tokens(void)
{
    att_error err = { 0 };
    att_bundle *bundle;
    att_string file = ct2_model(&(ct2_options){ .item = 1, .more_tokens = 4 });
    if (convert_with_vocabulary(&bundle, &file, CT2_SOURCE_WORDS MORE_WORDS,
                                CT2_TARGET_WORDS MORE_WORDS, &err) != ATT_OK)
        fail_msg("%s", err.message);
    att_string_free(&file);
    return bundle;
}

static void int8_token_rows_follow_our_ids(void **state)
{
    (void)state;
    static const uint32_t source[] = { 9, 1, 2, 0, 3, 4, 5, 6, 7, 8 };
    static const uint32_t target[] = { 4, 1, 2, 0, 3, 5, 6, 7, 8, 9, 10 };
    att_bundle *bundle = convert_with_more_tokens();
    for (uint32_t id = 0; id < CT2_SOURCES + 4; id++)
        for (uint32_t j = 0; j < CT2_WIDTH; j++)
            assert_int8(bundle, "source.embed", id, j, true,
                        64 * (double)ct2_value("encoder/embeddings/weight", source[id] * 4 + j),
                        1 / (double)ct2_scale(source[id]));
    for (uint32_t id = 0; id < CT2_TARGETS + 4; id++)
        for (uint32_t j = 0; j < CT2_WIDTH; j++) {
            double scale = 1 / (double)ct2_scale(target[id]);
            assert_int8(bundle, "target.embed", id, j, true,
                        64 * (double)ct2_value("decoder/embeddings/weight", target[id] * 4 + j),
                        scale);
            assert_int8(bundle, "output.w", j, id, false,
                        64 * (double)ct2_value("decoder/projection/weight", target[id] * 4 + j),
                        scale);
        }
    att_bundle_free(bundle);
}

/* A token that the file lacks: <unk>, where nothing says which row it is. */
static void int8_rows_of_tokens_that_the_file_lacks_are_zero(void **state)
{
    (void)state;
    att_error err = { 0 };
    att_bundle *bundle;
    att_string file = ct2_model(&(ct2_options){ .item = 1, .more_tokens = 4 });
    if (convert_with_vocabulary(&bundle, &file, CT2_SOURCE_WORDS MORE_WORDS "q\n",
                                CT2_TARGET_WORDS MORE_WORDS, &err) != ATT_OK)
        fail_msg("%s", err.message);
    assert_int_equal(att_bundle_get(bundle, "source.embed")->shape[0], CT2_SOURCES + 5);
    for (int64_t j = 0; j < CT2_WIDTH; j++) {
        assert_int8(bundle, "source.embed", 0, j, true, 0, 0);
        assert_int8(bundle, "source.embed", 1, j, true,
                    64 * (double)ct2_value("encoder/embeddings/weight", (uint32_t)(4 + j)),
                    1 / (double)ct2_scale(1));
    }
    att_bundle_free(bundle);
    att_string_free(&file);
}

/* Our kernels exclude -128 (kern/int8.h): the weight becomes floats, the others stay int8. */
static void an_int8_weight_with_minus_128_becomes_floats(void **state)
{
    (void)state;
    att_bundle *bundle = convert(
        &(ct2_options){ .item = 1, .minus_128 = "decoder/layer_0/attention/linear_1/weight" });
    assert_int_equal(att_bundle_get(bundle, "decoder.0.cross.key_value")->dtype, ATT_F32);
    assert_true(entry(bundle, "decoder.0.cross.key_value", 0, 0) == -128.0 / 64);
    assert_int_equal(att_bundle_get(bundle, "decoder.0.self.query_key_value")->dtype, ATT_I8);
    att_bundle_free(bundle);
}

/* As a file and back: integers stay, floats of an int8 model (positions, small matrices) do too,
 * and both widen to the same floats. */
static void an_imported_int8_model_is_saved_and_widened(void **state)
{
    (void)state;
    static const att_model_load_options widened = { .size = sizeof(att_model_load_options),
                                                    .precision = ATT_PRECISION_FLOAT32 };
    att_bundle *bundle = convert_with_more_tokens();
    att_string file = { 0 }, again = { 0 };
    att_model *model, *floats;
    att_tensor positions, a, b;
    assert_int_equal(att_safetensors_write(&file, bundle, "m", NULL), ATT_OK);
    assert_int_equal(att_model_read(&model, file.data, file.length, "m", NULL), ATT_OK);
    assert_int_equal(att_model_precision(model), ATT_PRECISION_INT8);
    assert_int_equal(att_model_tensor_view(&positions, model, "target.positions", NULL), ATT_OK);
    assert_int_equal(att_model_tensor_view(&a, model, "output.w", NULL), ATT_BAD_INPUT);
    assert_int_equal(att_model_write(&again, model, NULL), ATT_OK);
    assert_int_equal(again.length, file.length);
    assert_int_equal(att_model_read_with(&floats, again.data, again.length, "m", &widened, NULL),
                     ATT_OK);
    assert_int_equal(att_model_precision(floats), ATT_PRECISION_FLOAT32);
    assert_int_equal(att_model_tensor_get(&a, model, "output.w", NULL), ATT_OK);
    assert_int_equal(att_model_tensor_get(&b, floats, "output.w", NULL), ATT_OK);
    assert_memory_equal(a.data, b.data, (size_t)att_tensor_count(&a) * sizeof(float));
    assert_true(att_tensor_get(&a, (int64_t[]){ 2, 1 }) ==
                64 * (double)ct2_value("decoder/projection/weight", 6) / (double)ct2_scale(1));
    att_tensor_free(&a);
    att_tensor_free(&b);
    att_model_free(model);
    att_model_free(floats);
    att_string_free(&file);
    att_string_free(&again);
    att_bundle_free(bundle);
}

static void unknown_and_invalid_files_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        ct2_options options;
        const char *message;
    } rows[] = {
        { { .version = 6 },
          "is a CTranslate2 model of binary version 6, expected version 2, whose "
          "vocabularies are text files of one token per line" },
        { { .version = 65 }, "is not a CTranslate2 model.bin: it does not start with a version" },
        { { .kind = "WhisperSpec" },
          "is a CTranslate2 model of type 'WhisperSpec', expected an encoder-decoder Transformer" },
        { { .revision = 9 }, "is revision 9 of a TransformerSpec, expected 2 to 3" },
        { { .no_heads = true }, "the variable 'num_heads' is missing" },
        { { .extra = "decoder/alibi" }, "unknown variable 'decoder/alibi'" },
        { { .twice = "decoder/projection/bias" },
          "the variable 'decoder/projection/bias' occurs twice" },
        { { .without = "encoder/layer_0/ffn/linear_1/weight" },
          "the variable 'encoder/layer_0/ffn/linear_1/weight' is missing" },
        { { .without = "encoder/embeddings/weight" },
          "the variable 'encoder/embeddings/weight' is missing" },
        { { .narrow = "decoder/projection/bias" },
          "the array for 'output.bias' is [6], expected one row for each of 7 tokens" },
        { { .narrow = "encoder/layer_norm/beta" },
          "the tensor 'encoder.norm.bias': expected shape [4] by the settings, found [3]" },
        { { .narrow = "encoder/layer_0/self_attention/linear_0/weight" },
          "the embedding size is 4, but 'encoder/layer_0/self_attention/linear_0/weight' is [11, "
          "4]" },
        /* Otherwise the decoder would get sinusoids of this length. */
        { { .positions = { 4000000 }, .empty_positions = true },
          "the variable 'encoder/position_encodings/encodings' is [4000000, 0], expected 4 "
          "columns" },
        { { .positions = { 5, 6 } },
          "the tensor 'target.positions': expected shape [5, 4] by the settings, found [6, 4]" },
        { { .item = 3 },
          "the variable 'encoder/embeddings/weight' has elements of 3 bytes, expected 4, 2 or "
          "1" },
        { { .item = 1, .no_scale = "decoder/layer_0/attention/linear_0/weight" },
          "the variable 'decoder/layer_0/attention/linear_0/weight' is quantized, but its scale "
          "'decoder/layer_0/attention/linear_0/weight_scale' is missing" },
        { { .item = 1, .short_scale = "decoder/layer_0/attention/linear_0/weight" },
          "the variable 'decoder/layer_0/attention/linear_0/weight_scale' has shape [2] and "
          "elements of 4 bytes, expected one float or 4" },
        { { .item = 2, .zero_scale = "decoder/layer_0/ffn/linear_0/weight" },
          "the variable 'decoder/layer_0/ffn/linear_0/weight_scale' has a scale that is not "
          "positive" },
        { { .flat = "decoder/layer_0/ffn/linear_0/weight" },
          "the variable 'decoder/layer_0/ffn/linear_0/weight' has shape [24], expected 2 "
          "dimensions" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ct2_options options = rows[i].options;
        options.item = options.item ? options.item : 4;
        att_string file = ct2_model(&options);
        att_bundle *bundle;
        att_error err = { 0 };
        assert_int_equal(
            convert_with_vocabulary(&bundle, &file, CT2_SOURCE_WORDS, CT2_TARGET_WORDS, &err),
            ATT_BAD_INPUT);
        assert_message(err.message, rows[i].message, "file");
        assert_string_equal(err.place, "model.bin");
        assert_null(bundle);
        att_string_free(&file);
    }
}

static void vocabularies_that_do_not_match_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *source, *place, *message;
        int line;
    } rows[] = {
        { "<s>\n</s>\na\n", "source.txt", "has 3 tokens, but the model has 6 embeddings", 0 },
        { "<blank>\n<s>\n</s>\na\nb\nc\nd\n", "source.txt",
          "has 7 tokens, but the model has 6 embeddings", 0 },
        { "<blank>\n<s>\n</s>\na\na\n", "source.txt", "the vocabulary has the token 'a' twice", 0 },
        { "<blank>\n<s>\nend\na\nb\n", "source.txt", "the token '</s>' is missing", 0 },
        { "<blank>\n<s>\n</s>\n\xff\nb\n", "source.txt", "the token is not UTF-8", 4 },
        { "<blank>\n<s>\n</s>\n\nb\n", "source.txt", "token 2 of the vocabulary is empty", 0 },
    };
    att_string file = ct2_model(&(ct2_options){ .item = 4 });
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        att_bundle *bundle;
        att_error err = { 0 };
        assert_int_equal(
            convert_with_vocabulary(&bundle, &file, rows[i].source, CT2_TARGET_WORDS, &err),
            ATT_BAD_INPUT);
        assert_message(err.message, rows[i].message, rows[i].source);
        assert_string_equal(err.place, rows[i].place);
        assert_int_equal(err.line, rows[i].line);
    }
    att_string_free(&file);
}

static void a_file_truncated_anywhere_is_refused(void **state)
{
    (void)state;
    att_string file = ct2_model(&(ct2_options){ .item = 1 });
    size_t whole = file.length;
    for (size_t length = 0; length < whole; length++) {
        att_bundle *bundle;
        att_error err = { 0 };
        file.length = length;
        att_string cut = { .data = exact_copy(&file), .length = length };
        assert_int_equal(
            convert_with_vocabulary(&bundle, &cut, CT2_SOURCE_WORDS, CT2_TARGET_WORDS, &err),
            ATT_BAD_INPUT);
        att_free(cut.data);
    }
    file.length = whole;
    put(&file, "!", 1);
    att_bundle *bundle;
    att_error err = { 0 };
    assert_int_equal(
        convert_with_vocabulary(&bundle, &file, CT2_SOURCE_WORDS, CT2_TARGET_WORDS, &err),
        ATT_BAD_INPUT);
    assert_string_equal(err.message, "has 1 bytes after its last variable");
    att_string_free(&file);
}

static att_status convert_once(void *context)
{
    att_bundle *bundle;
    att_status status =
        convert_with_vocabulary(&bundle, context, CT2_SOURCE_WORDS, CT2_TARGET_WORDS, NULL);
    att_bundle_free(bundle);
    return status;
}

/* Its size in bytes is 4 modulo 2^32: where size_t has 32 bits, the 4 bytes must not be enough. */
static void a_variable_beyond_the_address_space_is_refused(void **state)
{
    (void)state;
    att_string file = { 0 };
    put_number(&file, 2, 4);
    ct2_name(&file, "TransformerSpec");
    put_number(&file, 3, 4);
    put_number(&file, 1, 4);
    ct2_head(&file, "encoder/embeddings_0/weight", (UINT32_C(1) << 30) + 1, 0, 4);
    ct2_float(&file, 1);
    att_ct2_file read;
    att_error err = { 0 };
    assert_int_equal(att_ct2_read(&read, file.data, file.length, "model.bin", &err), ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, ": 4294967296 bytes of it are missing"));
    att_string_free(&file);
}

/* A file with one variable, up to and including its head, which is invalid. */
static void invalid_heads_of_variables_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t length;
        unsigned rank, dimension, item, count;
        const char *message;
    } rows[] = {
        { "weight", 6, 1, 2, 4, 2,
          "the name of a variable at byte 32: expected one zero byte, at its end" },
        { "we\0ght", 7, 1, 2, 4, 2,
          "the name of a variable at byte 32: expected one zero byte, at its end" },
        { "", 0, 1, 2, 4, 2,
          "the name of a variable at byte 32: expected one zero byte, at its end" },
        { "weight", 7, 9, 1, 4, 1, "the variable 'weight' has 9 dimensions, expected at most 8" },
        { "weight", 7, 2, 3, 4, 6, "the variable 'weight' has shape [3, 3] but 6 elements" },
        { "weight", 7, 8, UINT32_MAX, 4, 1, "the variable 'weight' has shape [4294967295, …" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        att_string file = { 0 };
        put_number(&file, 2, 4);
        ct2_name(&file, "TransformerSpec");
        put_number(&file, 3, 4);
        put_number(&file, 1, 4);
        put_number(&file, rows[i].length, 2);
        put(&file, rows[i].name, rows[i].length);
        put_number(&file, rows[i].rank, 1);
        for (unsigned d = 0; d < rows[i].rank; d++)
            put_number(&file, rows[i].dimension, 4);
        put_number(&file, rows[i].item, 1);
        put_number(&file, rows[i].count, 4);
        att_ct2_file read;
        att_error err = { 0 };
        assert_int_equal(att_ct2_read(&read, file.data, file.length, "model.bin", &err),
                         ATT_BAD_INPUT);
        assert_message(err.message, rows[i].message, rows[i].name);
        att_string_free(&file);
    }
}

static void positions_of_the_file_replace_the_sinusoids(void **state)
{
    (void)state;
    att_bundle *bundle = convert(&(ct2_options){ .item = 4, .positions = { 5 } });
    assert_int_equal(att_bundle_get(bundle, "source.positions")->shape[0], 5);
    for (uint32_t p = 0; p < 5; p++)
        assert_true(entry(bundle, "source.positions", p, 3) ==
                    (double)ct2_value("encoder/position_encodings/encodings", p * 4 + 3));
    assert_true(fabs(entry(bundle, "target.positions", 0, 0) - sin(1)) < 1e-7);
    att_bundle_free(bundle);
}

static void write_file(const char *folder, const char *name, const char *data, size_t length)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static att_status import_folder(att_bundle **out, const char *folder, const char *tokens,
                                att_error *err)
{
    char path[64];
    const att_import_options options = { .size = sizeof options, .tokens = tokens };
    snprintf(path, sizeof path, "%s/model.bin", folder);
    return att_import(out, "ctranslate2", path, &options, err);
}

/* The vocabularies are files beside the model; a shared one is preferred. */
static void a_model_is_imported_with_the_vocabularies_of_its_folder(void **state)
{
    (void)state;
    char folder[] = "/tmp/attend-ct2-XXXXXX", path[64];
    static const char *const files[] = { "model.bin", "source_vocabulary.txt",
                                         "target_vocabulary.txt", "shared_vocabulary.txt" };
    att_string model = ct2_model(&(ct2_options){ .item = 4 });
    att_bundle *bundle;
    att_error err = { 0 };
    assert_non_null(mkdtemp(folder));
    write_file(folder, files[0], model.data, model.length);
    write_file(folder, files[1], CT2_SOURCE_WORDS, strlen(CT2_SOURCE_WORDS));
    assert_int_equal(import_folder(&bundle, folder, NULL, &err), ATT_BAD_INPUT);
    assert_non_null(strstr(err.place, "/target_vocabulary.txt"));
    write_file(folder, files[2], CT2_TARGET_WORDS, strlen(CT2_TARGET_WORDS));
    static const char *const tokens[] = { "space", "char", "codepoint" };
    for (int i = 0; i < 3; i++) {
        if (import_folder(&bundle, folder, tokens[i], &err) != ATT_OK)
            fail_msg("%s", err.message);
        att_string file = { 0 };
        att_model *loaded;
        assert_int_equal(att_safetensors_write(&file, bundle, "m", NULL), ATT_OK);
        assert_int_equal(att_model_read(&loaded, file.data, file.length, "m", NULL), ATT_OK);
        assert_int_equal(att_model_vocab_size(loaded, ATT_SIDE_SOURCE), CT2_SOURCES);
        att_model_free(loaded);
        att_string_free(&file);
        att_bundle_free(bundle);
    }
    assert_int_equal(import_folder(&bundle, folder, "bpe", &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "tokens is 'bpe', expected space, char or codepoint");
    write_file(folder, files[3], CT2_SOURCE_WORDS, strlen(CT2_SOURCE_WORDS));
    assert_int_equal(import_folder(&bundle, folder, NULL, &err), ATT_BAD_INPUT);
    assert_non_null(strstr(err.place, "/shared_vocabulary.txt")); /* not of the target's size */
    assert_null(bundle);
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(folder), 0);
    att_string_free(&model);
}

/* The error of a folder with the model and one vocabulary. */
static void import_with(const char *vocabulary, att_error *err)
{
    char folder[] = "/tmp/attend-ct2-XXXXXX", path[96];
    att_string model = ct2_model(&(ct2_options){ .item = 4 });
    att_bundle *bundle;
    assert_non_null(mkdtemp(folder));
    write_file(folder, "model.bin", model.data, model.length);
    write_file(folder, vocabulary, "[\"a\"]", 5);
    assert_int_equal(import_folder(&bundle, folder, NULL, err), ATT_BAD_INPUT);
    const char *const files[] = { "model.bin", vocabulary };
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(folder), 0);
    att_string_free(&model);
}

static void vocabularies_in_json_are_refused_by_name(void **state)
{
    (void)state;
    const char *const names[] = { "shared_vocabulary", "source_vocabulary" };
    for (int i = 0; i < 2; i++) {
        char file[64], text[64];
        att_error err = { 0 };
        snprintf(file, sizeof file, "%s.json", names[i]);
        snprintf(text, sizeof text, "expected %s.txt", names[i]);
        import_with(file, &err);
        assert_non_null(strstr(err.place, file));
        assert_non_null(strstr(err.message, "is a vocabulary in JSON"));
        assert_non_null(strstr(err.message, text));
    }
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    att_string file = ct2_model(&(ct2_options){ .item = 1 });
    every_arena_allocation_fails(convert_once, &file, 10000);
    att_string_free(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_and_invalid_files_are_refused_by_name),
        cmocka_unit_test(vocabularies_that_do_not_match_are_refused),
        cmocka_unit_test(a_file_truncated_anywhere_is_refused),
        cmocka_unit_test(a_variable_beyond_the_address_space_is_refused),
        cmocka_unit_test(invalid_heads_of_variables_are_refused),
        cmocka_unit_test(positions_of_the_file_replace_the_sinusoids),
        cmocka_unit_test(a_model_is_imported_with_the_vocabularies_of_its_folder),
        cmocka_unit_test(vocabularies_in_json_are_refused_by_name),
        cmocka_unit_test(matrices_are_transposed_and_vectors_copied),
        cmocka_unit_test(token_rows_follow_our_ids),
        cmocka_unit_test(positions_are_sines_before_cosines_and_count_from_one),
        cmocka_unit_test(positions_of_the_file_are_copied),
        cmocka_unit_test(int16_weights_become_the_same_floats),
        cmocka_unit_test(int8_weights_keep_the_integers_and_scales_of_the_file),
        cmocka_unit_test(int8_weights_become_floats_where_that_is_asked_for),
        cmocka_unit_test(int8_token_rows_follow_our_ids),
        cmocka_unit_test(int8_rows_of_tokens_that_the_file_lacks_are_zero),
        cmocka_unit_test(an_int8_weight_with_minus_128_becomes_floats),
        cmocka_unit_test(an_imported_int8_model_is_saved_and_widened),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
