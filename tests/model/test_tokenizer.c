/* The public tokenizer of a model, and models in memory. */
#include "failing_memory.h"
#include "model/public_models.h"

static att_model *words_model(void)
{
    static const char *const english[] = { "the", "caf\xC3\xA9", "is", "open" };
    static const char *const french[] = { "le", "ouvert" };
    const att_token_list source = { english, 4 }, target = { french, 2 };
    att_settings *settings;
    att_model *model;
    att_error err = { 0 };
    must(att_settings_new(&settings, "pairs", &err), &err);
    static const char *const pairs[][2] = { { "source-tokens", "word" },
                                            { "target-tokens", "word" },
                                            { "lowercase", "yes" },
                                            { "hidden-size", "8" } };
    for (size_t i = 0; i < 4; i++)
        must(att_settings_set(settings, pairs[i][0], pairs[i][1], &err), &err);
    must(att_model_build(&model, settings, &source, &target, &err), &err);
    att_settings_free(settings);
    return model;
}

static void a_line_becomes_ids_pieces_and_offsets(void **state)
{
    (void)state;
    att_model *model = words_model();
    att_encoded_text *encoded;
    att_error err = { 0 };
    /* "Cafe" with a combining accent: six bytes that become five */
    static const char line[] = "The  Cafe\xCC\x81 shut";
    must(att_model_encode(&encoded, model, ATT_SIDE_SOURCE, line, strlen(line), &err), &err);
    static const char *const pieces[] = { "the", "caf\xC3\xA9", "shut" };
    static const int32_t ids[] = { 3, 4, ATT_TOKEN_UNK };
    static const size_t ranges[][2] = { { 0, 3 }, { 5, 11 }, { 12, 16 } };
    assert_int_equal(att_encoded_text_count(encoded), 3);
    for (size_t i = 0; i < 3; i++) {
        size_t length, start, end;
        const char *piece = att_encoded_text_piece(encoded, i, &length);
        assert_int_equal(length, strlen(pieces[i]));
        assert_memory_equal(piece, pieces[i], length);
        assert_int_equal(att_encoded_text_ids(encoded)[i], ids[i]);
        assert_true(att_encoded_text_range(encoded, i, &start, &end));
        assert_int_equal(start, ranges[i][0]);
        assert_int_equal(end, ranges[i][1]);
    }
    size_t length, start, end;
    assert_null(att_encoded_text_piece(encoded, 3, &length));
    assert_false(att_encoded_text_range(encoded, 3, &start, &end));
    att_encoded_text_free(encoded);
    att_model_free(model);
}

static void tokens_and_ids_are_looked_up_in_both_vocabularies(void **state)
{
    (void)state;
    att_model *model = words_model(), *lm = lm_rnn();
    assert_int_equal(att_model_vocab_size(model, ATT_SIDE_SOURCE), 7);
    assert_int_equal(att_model_vocab_size(model, ATT_SIDE_TARGET), 5);
    assert_int_equal(att_model_vocab_size(lm, ATT_SIDE_SOURCE), 0);
    assert_string_equal(att_model_token(model, ATT_SIDE_SOURCE, 6), "open");
    assert_string_equal(att_model_token(model, ATT_SIDE_TARGET, ATT_TOKEN_EOS), "<end>");
    assert_null(att_model_token(model, ATT_SIDE_TARGET, 5));
    assert_null(att_model_token(model, ATT_SIDE_TARGET, ATT_TOKEN_PAD));
    assert_null(att_model_token(lm, ATT_SIDE_SOURCE, 3));
    assert_int_equal(att_model_token_id(model, ATT_SIDE_TARGET, "ouvert", 6), 4);
    assert_int_equal(att_model_token_id(model, ATT_SIDE_TARGET, "open", 4), -1);
    att_model_free(model);
    att_model_free(lm);
}

static void ids_become_text_and_invalid_ids_are_refused(void **state)
{
    (void)state;
    att_model *model = words_model(), *lm = lm_rnn();
    att_string text = { 0 };
    att_encoded_text *encoded;
    att_error err = { 0 };
    must(att_model_decode(&text, model, ATT_SIDE_TARGET, (int32_t[]){ 1, 3, 4, 2 }, 4, &err), &err);
    assert_string_equal(text.data, "le ouvert");
    assert_int_equal(att_model_decode(&text, model, ATT_SIDE_TARGET, (int32_t[]){ 5 }, 1, &err),
                     ATT_BAD_INPUT);
    assert_int_equal(att_model_encode(&encoded, model, ATT_SIDE_SOURCE, "\xFF", 1, &err),
                     ATT_BAD_INPUT);
    assert_null(encoded);
    assert_int_equal(att_model_encode(&encoded, lm, ATT_SIDE_SOURCE, "a", 1, &err), ATT_BAD_INPUT);
    assert_string_equal(
        err.message, "expected a model with a source vocabulary, found a language model (rnn-lm)");
    att_string_free(&text);
    att_model_free(model);
    att_model_free(lm);
}

/* ---- memory */

static void a_model_in_memory_comes_back_with_every_bit(void **state)
{
    (void)state;
    att_model *const models[] = { words_model(), lm_transformer(), classifier_rnn(),
                                  caption_rnn() };
    for (int m = 0; m < 4; m++) {
        att_string bytes = { 0 }, again = { 0 };
        att_model *read;
        att_error err = { 0 };
        must(att_model_write(&bytes, models[m], &err), &err);
        must(att_model_read(&read, bytes.data, bytes.length, "memory", &err), &err);
        must(att_model_write(&again, read, &err), &err);
        assert_int_equal(again.length, bytes.length);
        assert_memory_equal(again.data, bytes.data, bytes.length);
        att_model_free(read);
        assert_int_equal(att_model_read(&read, bytes.data, bytes.length - 8, "memory", &err),
                         ATT_BAD_INPUT);
        assert_null(read);
        assert_string_equal(err.place, "memory");
        att_string_free(&bytes);
        att_string_free(&again);
        att_model_free(models[m]);
    }
    att_model *read;
    att_error err = { 0 };
    assert_int_equal(att_model_read(&read, "hello", 5, "memory", &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "is text (5 bytes), expected a model");
}

static att_status write_read_and_encode(void *context)
{
    att_string bytes = { 0 };
    att_model *read = NULL;
    att_encoded_text *encoded = NULL;
    att_status status = att_model_write(&bytes, context, NULL);
    if (status == ATT_OK)
        status = att_model_read(&read, bytes.data, bytes.length, "memory", NULL);
    if (status == ATT_OK)
        status = att_model_encode(&encoded, read, ATT_SIDE_SOURCE, "the open", 8, NULL);
    att_encoded_text_free(encoded);
    att_model_free(read);
    att_string_free(&bytes);
    return status;
}

static void every_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    att_model *model = words_model();
    assert_true(every_arena_allocation_fails(write_read_and_encode, model, 10000) > 20);
    att_model_free(model);
}

/* A file has a joint vocabulary once: with two lists, the model could be saved and not loaded. */
static void a_joint_vocabulary_is_built_from_equal_lists_only(void **state)
{
    (void)state;
    static const char *const english[] = { "the", "open" }, *const french[] = { "le", "ouvert" };
    const att_token_list lists[] = { { english, 2 }, { english, 1 }, { french, 2 } };
    att_settings *settings;
    att_error err = { 0 };
    must(att_settings_new(&settings, "pairs", &err), &err);
    static const char *const pairs[][2] = { { "source-tokens", "word" },
                                            { "target-tokens", "word" },
                                            { "joint", "yes" },
                                            { "hidden-size", "8" } };
    for (size_t i = 0; i < 4; i++)
        must(att_settings_set(settings, pairs[i][0], pairs[i][1], &err), &err);
    att_model *model, *again;
    for (size_t i = 1; i < 3; i++) {
        assert_int_equal(att_model_build(&model, settings, &lists[0], &lists[i], &err),
                         ATT_BAD_INPUT);
        assert_null(model);
        assert_string_equal(err.message, "joint yes needs the same tokens in the same order for "
                                         "source and target, found different ones");
    }
    must(att_model_build(&model, settings, &lists[0], &lists[0], &err), &err);
    att_string bytes = { 0 };
    must(att_model_write(&bytes, model, &err), &err);
    must(att_model_read(&again, bytes.data, bytes.length, "m", &err), &err);
    assert_int_equal(att_model_vocab_size(again, ATT_SIDE_TARGET), 5);
    att_string_free(&bytes);
    att_model_free(again);
    att_model_free(model);
    att_settings_free(settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_becomes_ids_pieces_and_offsets),
        cmocka_unit_test(tokens_and_ids_are_looked_up_in_both_vocabularies),
        cmocka_unit_test(ids_become_text_and_invalid_ids_are_refused),
        cmocka_unit_test(a_model_in_memory_comes_back_with_every_bit),
        cmocka_unit_test(every_failing_allocation_is_reported_and_leaks_nothing),
        cmocka_unit_test(a_joint_vocabulary_is_built_from_equal_lists_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
