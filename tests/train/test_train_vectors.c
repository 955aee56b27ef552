/* Word vectors in training: the rows of words that were found start from them, and stay as they are
 * if they are frozen, also with weight decay. */
#include "train/small_run.h"

#include "train/training.h"

#include <math.h>

static att_training *start(const char *folder, att_settings **settings, const char *architecture,
                           const char *tune)
{
    att_training *training;
    att_error err = { 0 };
    small_write(folder, "s", "good film\tpos\nbad film\tneg\nso good\tpos\nso bad\tneg\n");
    small_write(folder, "v", "good 1 2 3 -4\nbad 5 6 7 8\n");
    assert_int_equal(att_settings_new(settings, "classify", NULL), ATT_OK);
    small_set_path(*settings, "train", folder, "s");
    small_set_path(*settings, "valid", folder, "s");
    small_set_path(*settings, "vectors", folder, "v");
    small_set_path(*settings, "out", folder, "m.safetensors");
    small_set(*settings, "architecture", architecture);
    small_set(*settings, "vectors-tune", tune);
    small_set(*settings, "optimizer", "adamw");
    small_set(*settings, "weight-decay", "0.1");
    small_set(*settings, "epochs", "3");
    if (strcmp(architecture, "transformer") == 0)
        small_set(*settings, "heads", "2");
    if (att_training_new(&training, *settings, NULL, &err) != ATT_OK)
        fail_msg("%s: %s", err.place, err.message);
    return training;
}

/* The embedding of a word as the network reads it. */
static const float *row_of(const att_training *training, const char *word)
{
    const att_params *params = &training->model->params;
    const att_param *table = &params->items[att_params_find(params, "source.embed")];
    int32_t id = att_vocab_id(training->data.source_vocab, word, strlen(word));
    assert_int_equal(table->shape[1], 4);
    return params->value + table->offset + id * table->shape[1];
}

static bool has_vectors(const att_training *training, float scale)
{
    static const float good[] = { 1, 2, 3, -4 }, bad[] = { 5, 6, 7, 8 };
    const float *rows[] = { row_of(training, "good"), row_of(training, "bad") };
    bool equal = true;
    for (int i = 0; i < 4; i++)
        equal = equal && rows[0][i] == good[i] * scale && rows[1][i] == bad[i] * scale;
    return equal;
}

static void vectors_are_the_first_embedding_and_stay_if_they_are_frozen(void **state)
{
    (void)state;
    static const char *const architectures[] = { "rnn", "transformer", "cnn" };
    for (int i = 0; i < 6; i++) {
        char folder[64];
        att_settings *settings;
        bool tune = i % 2 == 0;
        float scale = i / 2 == 1 ? 0.5f : 1; /* a Transformer multiplies by sqrt(4) */
        folder_new(folder);
        att_training *training =
            start(folder, &settings, architectures[i / 2], tune ? "yes" : "no");
        assert_true(has_vectors(training, scale));
        float other[4];
        memcpy(other, row_of(training, "film"), sizeof other);
        assert_int_equal(att_training_run(training, NULL, NULL, NULL), ATT_OK);
        assert_int_equal(has_vectors(training, scale), !tune);
        assert_int_equal(memcmp(other, row_of(training, "film"), sizeof other) == 0, !tune);
        att_training_free(training);
        att_settings_free(settings);
        folder_remove(folder);
    }
}

/* Words without a vector have random ones of the same size. */
static void other_words_have_vectors_of_the_same_size(void **state)
{
    (void)state;
    char folder[64];
    att_settings *settings;
    folder_new(folder);
    att_training *training = start(folder, &settings, "rnn", "yes");
    const float *film = row_of(training, "film"), *so = row_of(training, "so");
    double sum = 0;
    for (int i = 0; i < 4; i++)
        sum += (double)(film[i] * film[i] + so[i] * so[i]);
    double mean = sqrt(sum / 8); /* expected: sqrt(204 / 8) = 5.05; initially about 1 */
    assert_true(mean > 2 && mean < 12);
    att_training_free(training);
    att_settings_free(settings);
    folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_are_the_first_embedding_and_stay_if_they_are_frozen),
        cmocka_unit_test(other_words_have_vectors_of_the_same_size),
    };
    return cmocka_run_group_tests_name("train_vectors", tests, NULL, NULL);
}
