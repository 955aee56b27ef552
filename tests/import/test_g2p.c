/* Import of g2p_en: where each value goes, how words are tokenized, and which files are refused. */
#include "failing_memory.h"
#include "import/g2p_arrays.h"

#include "base/alloc.h"
#include "base/error.h"
#include "import/g2p.h"
#include "import/model_writer.h"
#include "model/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>
#include <string.h>

#include <cmocka.h>

/* All arrays except `without`; array `other` is replaced by `instead` of type `dtype`. */
static att_bundle *arrays(int without, int other, const g2p_array *instead, att_dtype dtype)
{
    att_bundle *bundle;
    assert_int_equal(att_bundle_new(&bundle, NULL), ATT_OK);
    for (int i = 0; i < G2P_ARRAYS; i++)
        if (i != without)
            g2p_add(bundle, i, i == other ? dtype : ATT_F32, i == other ? instead : &g2p_arrays[i]);
    return bundle;
}

static att_status convert_checked(att_bundle **out, const att_bundle *weights, att_error *err)
{
    ATT_TRY(att_g2p_convert(out, weights, "g2p.npz", err));
    return att_imported_model_check(out, "g2p.npz", err);
}

static att_bundle *convert(void)
{
    att_error err = { 0 };
    att_bundle *weights = arrays(-1, -1, NULL, ATT_F32), *bundle;
    if (convert_checked(&bundle, weights, &err) != ATT_OK)
        fail_msg("%s", err.message);
    att_bundle_free(weights);
    return bundle;
}

static double entry(const att_bundle *bundle, const char *name, int64_t row, int64_t column)
{
    const att_tensor *tensor = att_bundle_get(bundle, name);
    assert_non_null(tensor);
    assert_true(row < tensor->shape[0] && (tensor->rank < 2 || column < tensor->shape[1]));
    return att_tensor_get(tensor, (const int64_t[]){ row, column });
}

static void matrices_are_transposed_and_both_biases_kept(void **state)
{
    (void)state;
    att_bundle *bundle = convert();
    for (int64_t gate = 0; gate < 3 * G2P_WIDTH; gate++) {
        for (int64_t i = 0; i < G2P_EMBED; i++)
            assert_true(entry(bundle, "encoder.0.forward.w", i, gate) ==
                        g2p_value(1, gate * G2P_EMBED + i));
        for (int64_t i = 0; i < G2P_WIDTH; i++)
            assert_true(entry(bundle, "decoder.0.u", i, gate) == g2p_value(7, gate * 2 + i));
        assert_true(entry(bundle, "encoder.0.forward.bias", gate, 0) == g2p_value(3, gate));
        assert_true(entry(bundle, "decoder.0.bias_u", gate, 0) == g2p_value(9, gate));
    }
    att_bundle_free(bundle);
}

/* Our ids start with <unknown>, <start> and <end>; the letters have no <start>. */
static void token_rows_follow_our_ids(void **state)
{
    (void)state;
    att_bundle *bundle = convert();
    static const int64_t letter[] = { 1, -1, 2, 0, 3, 4 }, phoneme[] = { 1, 2, 3, 0, 4, 5 };
    for (int64_t id = 0; id < 6; id++) {
        assert_true(entry(bundle, "source.embed", id, 1) ==
                    (letter[id] < 0 ? 0 : g2p_value(0, letter[id] * G2P_EMBED + 1)));
        assert_true(entry(bundle, "target.embed", id, 2) ==
                    g2p_value(5, phoneme[id] * G2P_EMBED + 2));
        assert_true(entry(bundle, "output.w", 1, id) == g2p_value(10, phoneme[id] * 2 + 1));
        assert_true(entry(bundle, "output.bias", id, 0) == g2p_value(11, phoneme[id]));
    }
    assert_int_equal(att_bundle_get(bundle, "source.embed")->shape[0], G2P_LETTERS + 1);
    assert_int_equal(att_bundle_get(bundle, "target.embed")->shape[0], G2P_PHONEMES);
    att_bundle_free(bundle);
}

static void words_are_lowercased_and_end_in_an_end_token(void **state)
{
    (void)state;
    att_bundle *bundle = convert();
    att_model *model;
    assert_int_equal(att_model_from_bundle(&model, bundle, "g2p", NULL), ATT_OK);
    att_ids ids = { 0 };
    assert_int_equal(att_vocab_encode(model->source_vocab, NULL, &ids, "Ab!", 3, NULL), ATT_OK);
    static const int32_t expected[] = { 4, 5, ATT_ID_UNK, ATT_ID_EOS };
    assert_int_equal(ids.count, 4);
    assert_memory_equal(ids.items, expected, sizeof expected);
    ids.count = 0;
    assert_int_equal(att_vocab_encode(model->target_vocab, NULL, &ids, "AA0 ZH", 6, NULL), ATT_OK);
    assert_int_equal(ids.count, 2);
    assert_int_equal(ids.items[1], G2P_PHONEMES - 1);
    att_ids_free(&ids);

    const char *lines[] = { "ab", "" };
    att_outputs *outputs;
    assert_int_equal(att_model_generate(&outputs, model, lines, 2,
                                        &(att_generate_options)ATT_INIT(att_generate_options),
                                        NULL),
                     ATT_OK);
    const att_output *output = att_outputs_get(outputs, 0);
    assert_int_equal(output->source_count, 3);
    assert_string_equal(output->source_tokens[1], "b");
    assert_string_equal(output->source_tokens[2], "<end>");
    assert_int_equal(att_outputs_get(outputs, 1)->source_count, 0);
    att_outputs_free(outputs);
    att_model_free(model);
    att_bundle_free(bundle);
}

static void it_is_evaluated_only_on_a_given_file(void **state)
{
    (void)state;
    att_bundle *bundle = convert();
    att_model *model;
    att_seq2seq_eval scores = ATT_INIT(att_seq2seq_eval);
    att_error err = { 0 };
    assert_int_equal(att_model_from_bundle(&model, bundle, "g2p", NULL), ATT_OK);
    assert_int_equal(att_model_evaluate_seq2seq(&scores, NULL, model, NULL, NULL, NULL, &err),
                     ATT_BAD_INPUT);
    assert_string_equal(err.message, "the model does not name its validation data: name a file");
    att_model_free(model);
    att_bundle_free(bundle);
}

static void info_shows_the_import_and_no_training(void **state)
{
    (void)state;
    att_bundle *bundle = convert();
    att_model *model;
    att_string text = { 0 };
    assert_int_equal(att_model_from_bundle(&model, bundle, "g2p", NULL), ATT_OK);
    assert_int_equal(att_model_info(&text, model, false, NULL), ATT_OK);
    assert_non_null(strstr(text.data, "imported\n  format                   g2p\n"));
    assert_non_null(strstr(text.data, "  rnn-cell                 gru\n"));
    assert_null(strstr(text.data, "optimizer"));
    text.length = 0;
    assert_int_equal(att_model_info(&text, model, true, NULL), ATT_OK);
    assert_non_null(strstr(text.data, "\"import\":{\"format\":\"g2p\",\"weights\":\"float32\"}"));
    att_string_free(&text);
    att_model_free(model);
    att_bundle_free(bundle);
}

static void assert_refused(att_bundle *weights, const char *message)
{
    att_bundle *bundle;
    att_error err = { 0 };
    assert_int_equal(convert_checked(&bundle, weights, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, message);
    assert_string_equal(err.place, "g2p.npz");
    assert_null(bundle);
    att_bundle_free(weights);
}

static void unknown_and_invalid_arrays_are_refused_by_name(void **state)
{
    (void)state;
    static const g2p_array flat = { "enc_w_ih", 1, { 18 } }, few = { "dec_emb", 2, { 73, 3 } },
                           narrow = { "dec_b_ih", 1, { 5 } }, extra = { "attention", 1, { 1 } };
    assert_refused(arrays(10, -1, NULL, ATT_F32), "the array 'fc_w' is missing");
    assert_refused(arrays(-1, 1, &flat, ATT_F32),
                   "the array 'enc_w_ih' is [18] of float32, expected 2 dimensions of float32");
    assert_refused(arrays(-1, 1, &g2p_arrays[1], ATT_F64),
                   "the array 'enc_w_ih' is [6, 3] of float64, expected 2 dimensions of float32");
    assert_refused(
        arrays(-1, 5, &few, ATT_F32),
        "the array for 'target.embed' is [73, 3], expected one row for each of 74 tokens");
    att_bundle *more = arrays(-1, -1, NULL, ATT_F32);
    g2p_add(more, 0, ATT_F32, &extra);
    assert_refused(more, "unknown array 'attention'");
    assert_refused(arrays(-1, 8, &narrow, ATT_F32),
                   "the tensor 'decoder.0.bias': expected shape [6] by the settings, found [5]");
}

static att_status convert_once(void *context)
{
    att_bundle *bundle;
    att_status status = convert_checked(&bundle, context, NULL);
    att_bundle_free(bundle);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    att_bundle *weights = arrays(-1, -1, NULL, ATT_F32);
    every_arena_allocation_fails(convert_once, weights, 10000);
    att_bundle_free(weights);
}

/* The bundle of an import is that of a model: its file gets a checksum. */
static void an_imported_model_gets_a_checksum(void **state)
{
    (void)state;
    att_bundle *bundle = convert();
    att_string file = { 0 };
    att_model *model;
    att_error err = { 0 };
    assert_int_equal(att_safetensors_write(&file, bundle, "m", NULL), ATT_OK);
    file.data[file.length - 1] ^= 1;
    assert_int_equal(att_model_read(&model, file.data, file.length, "m", &err), ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, "its SHA-256 differs from the recorded one"));
    att_string_free(&file);
    att_bundle_free(bundle);
}

/* The arrays are read by the same name from any file of arrays. */
static void a_file_of_arrays_is_imported(void **state)
{
    (void)state;
    char path[] = "/tmp/attend-g2p-XXXXXX.safetensors";
    int made = mkstemps(path, 12);
    att_bundle *weights = arrays(-1, -1, NULL, ATT_F32), *expected = convert(), *bundle;
    att_error err = { 0 };
    assert_true(made >= 0 && close(made) == 0);
    assert_int_equal(att_safetensors_save(weights, path, NULL), ATT_OK);
    if (att_import(&bundle, "g2p", path, NULL, &err) != ATT_OK)
        fail_msg("%s", err.message);
    assert_int_equal(att_bundle_count(bundle), att_bundle_count(expected));
    for (size_t i = 0; i < att_bundle_count(bundle); i++) {
        const att_tensor *a = att_bundle_at(bundle, i), *b = att_bundle_at(expected, i);
        assert_string_equal(att_bundle_name(bundle, i), att_bundle_name(expected, i));
        assert_int_equal(att_tensor_count(a), att_tensor_count(b));
        assert_memory_equal(a->data, b->data, (size_t)att_tensor_count(a) * sizeof(float));
    }
    assert_int_equal(unlink(path), 0);
    att_bundle_free(weights);
    assert_int_equal(att_import(&weights, "g2p", path, NULL, &err), ATT_BAD_INPUT);
    att_bundle_free(bundle);
    att_bundle_free(expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(an_imported_model_gets_a_checksum),
        cmocka_unit_test(a_file_of_arrays_is_imported),
        cmocka_unit_test(matrices_are_transposed_and_both_biases_kept),
        cmocka_unit_test(token_rows_follow_our_ids),
        cmocka_unit_test(words_are_lowercased_and_end_in_an_end_token),
        cmocka_unit_test(it_is_evaluated_only_on_a_given_file),
        cmocka_unit_test(info_shows_the_import_and_no_training),
        cmocka_unit_test(unknown_and_invalid_arrays_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
