/* Fine-tuning: a run that starts from the weights of another model. */
#include "train/small_run.h"

#include "failing_memory.h"
#include "model/model.h"
#include "train/training.h"

#include <math.h>

/* ---- data and runs */

/* A run of `task` on the file `data`, to the output `out`, from the model `from` (or NULL). */
static att_settings *make(const char *folder, const char *task, const char *data, const char *out,
                          const char *from)
{
    static const char *const common[][2] = {
        { "dropout", "0" }, { "epochs", "2" }, { "batch-tokens", "32" }, { "save-every", "1000" }
    };
    att_settings *settings;
    assert_int_equal(att_settings_new(&settings, task, NULL), ATT_OK);
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        small_set(settings, common[i][0], common[i][1]);
    small_set_path(settings, "train", folder, data);
    small_set_path(settings, "valid", folder, data);
    small_set_path(settings, "out", folder, out);
    if (from)
        small_set_path(settings, "init-from", folder, from);
    return settings;
}

static att_training *open_run(att_settings *settings)
{
    att_training *training;
    att_error err = { 0 };
    if (att_training_new(&training, settings, NULL, &err) != ATT_OK)
        fail_msg("%s: %s", err.place, err.message);
    return training;
}

static void train(att_settings *settings)
{
    att_training *training = open_run(settings);
    att_error err = { 0 };
    if (att_training_run(training, NULL, NULL, &err) != ATT_OK)
        fail_msg("%s", err.message);
    att_training_free(training);
    att_settings_free(settings);
}

static att_model *load(const char *folder, const char *name)
{
    char path[256];
    att_model *model;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(att_model_load(&model, path, NULL), ATT_OK);
    return model;
}

/* Fails unless the tensors of `b` begin with those of `a`: rows and columns of new tokens follow.
 */
static void assert_contains(const att_model *a, const att_model *b, bool larger)
{
    bool grown = false;
    assert_int_equal(a->params.count, b->params.count);
    for (int i = 0; i < a->params.count; i++) {
        const att_param *x = &a->params.items[i], *y = &b->params.items[i];
        const float *from = a->params.value + x->offset, *to = b->params.value + y->offset;
        assert_string_equal(x->name, y->name);
        assert_int_equal(x->rank, y->rank);
        assert_true(x->rank <= 2);
        int64_t columns = x->shape[x->rank - 1], wider = y->shape[y->rank - 1];
        int64_t rows = x->rank == 2 ? x->shape[0] : 1;
        for (int64_t r = 0; r < rows; r++)
            assert_memory_equal(from + r * columns, to + r * wider, (size_t)columns * sizeof *from);
        grown = grown || y->count > x->count;
    }
    assert_int_equal(grown, larger);
}

/* ---- the same outputs before any step */

static const char pairs[] = "ab\tba\nabc\tcba\nbc\tcb\nca\tac\nb\tb\ncab\tbac\nac\tca\nbca\tacb\n";
static const char more_pairs[] =
    "ad\tda\nbd\tdb\nda\tad\nabd\tdba\nd\td\ndab\tbad\nad\tda\nbad\tdab\n";

static void check_same_outputs(const char *folder, const char *architecture, const char *vocab)
{
    static const char *const lines[] = { "ab", "abc", "cabab", "b" };
    att_settings *settings = make(folder, "pairs", "pairs", "old.safetensors", NULL);
    small_set(settings, "architecture", architecture);
    small_set(settings, "hidden-size", "8");
    train(settings);
    settings = make(folder, "pairs", "more", "new.safetensors", "old.safetensors");
    small_set(settings, "init-vocab", vocab);
    att_training *training = open_run(settings);
    assert_int_equal(settings->hidden_size, 8); /* taken from the model */
    att_model *old = load(folder, "old.safetensors"), *new;
    assert_int_equal(att_training_model(&new, training, NULL), ATT_OK);
    bool extended = strcmp(vocab, "extend") == 0;
    assert_contains(old, new, extended);
    if (extended)
        assert_int_equal(att_vocab_size(new->target_vocab), att_vocab_size(old->target_vocab) + 1);
    /* new tokens have probabilities of their own, so outputs may differ after an extension */
    for (size_t i = 0; !extended && i < sizeof lines / sizeof *lines; i++) {
        att_outputs *a, *b;
        assert_int_equal(att_model_generate(&a, old, &lines[i], 1, NULL, NULL), ATT_OK);
        assert_int_equal(att_model_generate(&b, new, &lines[i], 1, NULL, NULL), ATT_OK);
        assert_string_equal(att_outputs_get(a, 0)->text, att_outputs_get(b, 0)->text);
        assert_true(att_outputs_get(a, 0)->score == att_outputs_get(b, 0)->score);
        att_outputs_free(a);
        att_outputs_free(b);
    }
    att_model_free(old);
    att_model_free(new);
    att_training_free(training);
    att_settings_free(settings);
}

static void before_the_first_step_outputs_are_those_of_the_model(void **state)
{
    (void)state;
    char folder[64];
    folder_new(folder);
    small_write(folder, "pairs", pairs);
    small_write(folder, "more", more_pairs);
    check_same_outputs(folder, "rnn", "keep");
    check_same_outputs(folder, "rnn", "extend");
    check_same_outputs(folder, "transformer", "keep");
    check_same_outputs(folder, "transformer", "extend");
    folder_remove(folder);
}

/* ---- vocabularies */

static void the_report_says_what_is_unknown_or_new(void **state)
{
    (void)state;
    char folder[64];
    folder_new(folder);
    small_write(folder, "pairs", pairs);
    small_write(folder, "more", more_pairs);
    train(make(folder, "pairs", "pairs", "old.safetensors", NULL));
    static const char *const rows[][2] = {
        { "keep",
          "its vocabularies are kept: 8 source and 8 target tokens of the training data are "
          "unknown, such as 'd'\n" },
        { "extend", "its vocabularies were extended by 1 source and 1 target tokens\n" },
    };
    for (int i = 0; i < 2; i++) {
        att_string report = { 0 };
        att_settings *settings =
            make(folder, "pairs", "more", "new.safetensors", "old.safetensors");
        small_set(settings, "init-vocab", rows[i][0]);
        att_training *training = open_run(settings);
        assert_int_equal(att_training_report(&report, training, NULL), ATT_OK);
        if (!strstr(report.data, rows[i][1]))
            fail_msg("%s", report.data);
        att_string_free(&report);
        att_training_free(training);
        att_settings_free(settings);
    }
    folder_remove(folder);
}

/* Trains `task` on one file, extends the vocabulary by another, and checks the rows. */
static void check_extension(const char *task, const char *first, const char *second,
                            const char *const (*more)[2])
{
    char folder[64];
    folder_new(folder);
    small_write(folder, "first", first);
    small_write(folder, "second", second);
    att_settings *settings = make(folder, task, "first", "old.safetensors", NULL);
    for (const char *const(*row)[2] = more; (*row)[0]; row++)
        small_set(settings, (*row)[0], (*row)[1]);
    train(settings);
    settings = make(folder, task, "second", "new.safetensors", "old.safetensors");
    small_set(settings, "init-vocab", "extend");
    att_training *training = open_run(settings);
    att_model *old = load(folder, "old.safetensors"), *new;
    assert_int_equal(att_training_model(&new, training, NULL), ATT_OK);
    assert_contains(old, new, true);
    att_model_free(old);
    att_model_free(new);
    att_training_free(training);
    train(settings);
    folder_remove(folder);
}

static void labels_tags_and_texts_are_extended(void **state)
{
    (void)state;
    check_extension("classify", "a b\tx\nb c\ty\nc\tx\nd\ty\n", "a b\tx\nb e\tz\nc\tx\nd\tz\n",
                    (const char *const[][2]){ { "hidden-size", "8" }, { NULL, NULL } });
    check_extension(
        "tag", "a b\tO B-x\nb c\tB-x O\nc\tO\n", "a e\tO B-y\ne c\tB-y O\nc\tO\n",
        (const char *const[][2]){
            { "hidden-size", "8" }, { "crf", "yes" }, { "char-features", "cnn" }, { NULL, NULL } });
    check_extension("lm", "abab abab cab cab\n", "abab xbab cab cax\n",
                    (const char *const[][2]){ { "hidden-size", "8" }, { NULL, NULL } });
    check_extension("lm", "abab abab cab cab\n", "abab xbab cab cax\n",
                    (const char *const[][2]){ { "architecture", "transformer" },
                                              { "hidden-size", "8" },
                                              { NULL, NULL } });
    check_extension("pairs", "ab\tba\nbc\tcb\nca\tac\n", "ad\tda\nbc\tcb\nca\tac\n",
                    (const char *const[][2]){ { "joint", "yes" },
                                              { "architecture", "transformer" },
                                              { "tie-embeddings", "all" },
                                              { "hidden-size", "8" },
                                              { NULL, NULL } });
}

/* The row of each token and tag of the old model is in the row that the new one has for it. */
static void assert_rows_moved(const att_model *old, const att_model *new, const char *name)
{
    int a = att_params_find(&old->params, name), b = att_params_find(&new->params, name);
    assert_true(a >= 0 && b >= 0);
    att_tensor from = att_param_view(&old->params, a), to = att_param_view(&new->params, b);
    int64_t columns = from.shape[1];
    int32_t found = 0;
    for (int32_t i = 0; i < att_vocab_size(old->source_vocab); i++)
        for (int32_t k = 0; k < att_vocab_size(new->source_vocab); k++) {
            if (strcmp(att_vocab_token(old->source_vocab, i),
                       att_vocab_token(new->source_vocab, k)) != 0)
                continue;
            found++;
            assert_memory_equal((float *)from.data + i * columns, (float *)to.data + k * columns,
                                (size_t)columns * sizeof(float));
        }
    assert_int_equal(found, att_vocab_size(old->source_vocab));
}

static void tags_beside_the_text_stay_behind_new_characters(void **state)
{
    (void)state;
    static const char *const joint[] = { "no", "yes" };
    for (int i = 0; i < 2; i++) {
        char folder[64];
        folder_new(folder);
        small_write(folder, "first", "ab\tba\tV;P\nbc\tcb\tV\nca\tac\tP\n");
        small_write(folder, "second", "ad\tda\tV;Q\nbc\tcb\tV\nce\tec\tP\n");
        att_settings *settings = make(folder, "pairs", "first", "old.safetensors", NULL);
        small_set(settings, "architecture", i == 0 ? "rnn" : "transformer");
        small_set(settings, "joint", joint[i]);
        small_set(settings, "hidden-size", "8");
        if (i == 1)
            small_set(settings, "tie-embeddings", "all");
        train(settings);
        settings = make(folder, "pairs", "second", "new.safetensors", "old.safetensors");
        small_set(settings, "init-vocab", "extend");
        att_training *training = open_run(settings);
        att_model *old = load(folder, "old.safetensors"), *new;
        assert_int_equal(att_training_model(&new, training, NULL), ATT_OK);
        assert_int_equal(att_vocab_size(new->source_vocab), att_vocab_size(old->source_vocab) + 3);
        assert_int_equal(att_vocab_tag_count(new->source_vocab), 3);
        assert_rows_moved(old, new, i == 0 ? "source.embed" : "target.embed");
        att_model_free(old);
        att_model_free(new);
        att_training_free(training);
        train(settings);
        folder_remove(folder);
    }
}

static void captions_are_extended(void **state)
{
    (void)state;
    char folder[64];
    folder_new(folder);
    att_settings *settings = small_captions_new(folder, "rnn");
    small_set_path(settings, "out", folder, "old.safetensors");
    train(settings);
    small_write(folder, "more",
                "0\ta cat sleeps .\n1\ta dog runs .\n2\ta man jumps .\n3\ta cat sleeps .\n"
                "4\ta cat sleeps .\n5\ta cat sleeps .\n6\ta cat sleeps .\n7\ta cat sleeps .\n");
    settings = small_captions_new(folder, "rnn");
    small_set_path(settings, "train", folder, "more");
    small_set(settings, "valid-fraction", "0.5");
    small_set_path(settings, "init-from", folder, "old.safetensors");
    small_set(settings, "init-vocab", "extend");
    att_training *training = open_run(settings);
    att_model *old = load(folder, "old.safetensors"), *new;
    assert_int_equal(att_training_model(&new, training, NULL), ATT_OK);
    assert_int_equal(att_vocab_size(new->target_vocab), att_vocab_size(old->target_vocab) + 2);
    att_model_free(old);
    att_model_free(new);
    att_training_free(training);
    att_settings_free(settings);
    folder_remove(folder);
}

/* ---- resuming */

static bool stop_at_three(void *context, const att_training_progress *progress)
{
    (void)context;
    return progress->step < 3;
}

/* Also without the model that it started from. */
static void a_resumed_run_ends_in_the_same_bytes(void **state)
{
    (void)state;
    static const char *const vocabs[] = { "keep", "extend" };
    for (int i = 0; i < 2; i++) {
        char folder[64], path[256];
        att_string whole[2] = { 0 }, resumed[2] = { 0 };
        folder_new(folder);
        small_write(folder, "pairs", pairs);
        small_write(folder, "more", more_pairs);
        att_settings *settings = make(folder, "pairs", "pairs", "old.safetensors", NULL);
        small_set(settings, "hidden-size", "8");
        train(settings);
        for (int stopped = 0; stopped < 2; stopped++) {
            settings = make(folder, "pairs", "more", "new.safetensors", "old.safetensors");
            small_set(settings, "init-vocab", vocabs[i]);
            att_training *training = open_run(settings);
            assert_int_equal(att_training_run(training, stopped ? stop_at_three : NULL, NULL, NULL),
                             ATT_OK);
            att_training_free(training);
            att_settings_free(settings);
            if (stopped) {
                snprintf(path, sizeof path, "%s/old.safetensors", folder);
                assert_int_equal(remove(path), 0);
                assert_int_equal(att_settings_new(&settings, NULL, NULL), ATT_OK);
                small_set_path(settings, "resume", folder, "new.last.safetensors");
                train(settings);
            }
            att_string *files = stopped ? resumed : whole;
            folder_file(&files[0], folder, "new.safetensors");
            folder_file(&files[1], folder, "new.last.safetensors");
        }
        for (int k = 0; k < 2; k++) {
            assert_int_equal(whole[k].length, resumed[k].length);
            assert_memory_equal(whole[k].data, resumed[k].data, whole[k].length);
            att_string_free(&whole[k]);
            att_string_free(&resumed[k]);
        }
        folder_remove(folder);
    }
}

/* ---- errors */

typedef struct refusal {
    const char *task, *data;
    const char *key, *value; /* besides init-from */
    const char *message;
} refusal;

static void expect_refusal(const char *folder, const char *from, const refusal *row)
{
    att_training *training;
    att_error err = { 0 };
    att_settings *settings = make(folder, row->task, row->data, "new.safetensors", from);
    if (row->key)
        small_set(settings, row->key, row->value);
    assert_int_equal(att_training_new(&training, settings, NULL, &err), ATT_BAD_INPUT);
    if (!strstr(err.message, row->message))
        fail_msg("'%s' instead of '%s'", err.message, row->message);
    att_settings_free(settings);
}

static void what_does_not_fit_is_refused_by_name(void **state)
{
    (void)state;
    static const refusal rows[] = {
        { "pairs", "pairs", "hidden-size", "16", "has hidden-size 8, found 16" },
        { "pairs", "pairs", "layers", "2", "has layers 1, found 2" },
        { "pairs", "pairs", "architecture", "transformer",
          "has architecture rnn, found transformer" },
        { "pairs", "pairs", "source-tokens", "word", "has source-tokens char, found word" },
        { "pairs", "pairs", "lowercase", "yes", "has lowercase no, found yes" },
        { "classify", "pairs", NULL, NULL, "is a seq2seq model, but the task trains a classifier" },
        { "pairs", "pairs", "out", NULL, "would be overwritten: it is also the input 'init-from'" },
    };
    char folder[64], path[256];
    folder_new(folder);
    small_write(folder, "pairs", pairs);
    small_write(folder, "labels", "a b\tx\nb c\ty\nc\tx\nd\ty\n");
    small_write(folder, "labels2", "a b\tx\nb c\tz\n");
    small_write(folder, "foreign", "xyxyx\tab\nyxxyy\tba\n");
    small_write(folder, "foreign words", "u v\tx\na w\ty\n");
    att_settings *settings = make(folder, "pairs", "pairs", "old.safetensors", NULL);
    small_set(settings, "hidden-size", "8");
    train(settings);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        refusal row = rows[i];
        snprintf(path, sizeof path, "%s/old.safetensors", folder);
        if (row.key && !row.value)
            row.value = path;
        expect_refusal(folder, "old.safetensors", &row);
    }
    settings = make(folder, "pairs", "pairs", "bpe.safetensors", NULL);
    small_set(settings, "hidden-size", "8");
    small_set(settings, "source-tokens", "bpe");
    train(settings);
    expect_refusal(folder, "bpe.safetensors",
                   &(refusal){ "pairs", "pairs", "init-vocab", "extend",
                               "init-vocab extend has no use here, expected keep" });
    settings = make(folder, "classify", "labels", "labels.safetensors", NULL);
    small_set(settings, "hidden-size", "8");
    train(settings);
    expect_refusal(folder, "labels.safetensors",
                   &(refusal){ "classify", "labels2", NULL, NULL,
                               "the label 'z' is not one of the model in init-from; init-vocab "
                               "extend adds it" });
    expect_refusal(folder, "old.safetensors",
                   &(refusal){ "pairs", "foreign", NULL, NULL,
                               "10 of 10 source tokens are not in the vocabulary of the model in "
                               "init-from; init-vocab extend adds them" });
    settings = make(folder, "pairs", "pairs", "copy.safetensors", NULL);
    small_set(settings, "hidden-size", "8");
    small_set(settings, "copy", "yes"); /* what is unknown is in no target, either */
    train(settings);
    expect_refusal(folder, "copy.safetensors",
                   &(refusal){ "pairs", "foreign", NULL, NULL,
                               "10 of 10 source tokens are not in the vocabulary" });
    expect_refusal(folder, "labels.safetensors",
                   &(refusal){ "classify", "foreign words", NULL, NULL,
                               "3 of 4 source tokens are not in the vocabulary" });
    settings = make(folder, "lm", "pairs", "lm.safetensors", NULL);
    small_set(settings, "hidden-size", "8");
    train(settings);
    expect_refusal(folder, "lm.safetensors",
                   &(refusal){ "lm", "foreign", NULL, NULL,
                               "tokens are not in the vocabulary of the model in init-from; "
                               "init-vocab extend adds them" });
    expect_refusal(folder, "none.safetensors",
                   &(refusal){ "pairs", "pairs", NULL, NULL, "cannot open" });
    folder_remove(folder);
}

/* ---- memory */

static att_status open_once(void *context)
{
    att_training *training;
    att_settings *settings;
    const char *folder = context;
    att_status status = att_settings_new(&settings, "pairs", NULL);
    static const char *const keys[] = { "train", "valid", "init-from", "out" };
    static const char *const names[] = { "more", "more", "old.safetensors", "new.safetensors" };
    for (int i = 0; i < 4 && status == ATT_OK; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        status = att_settings_set(settings, keys[i], path, NULL);
    }
    if (status == ATT_OK)
        status = att_settings_set(settings, "init-vocab", "extend", NULL);
    if (status == ATT_OK) {
        status = att_training_new(&training, settings, NULL, NULL);
        att_training_free(training);
    }
    att_settings_free(settings);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    char folder[64];
    folder_new(folder);
    small_write(folder, "pairs", "a\tb\nb\ta\n");
    small_write(folder, "more", "a\tc\nc\ta\n");
    att_settings *settings = make(folder, "pairs", "pairs", "old.safetensors", NULL);
    small_set(settings, "hidden-size", "2");
    small_set(settings, "embedding-size", "2");
    train(settings);
    every_allocation_fails(open_once, folder, 2000);
    folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_the_first_step_outputs_are_those_of_the_model),
        cmocka_unit_test(the_report_says_what_is_unknown_or_new),
        cmocka_unit_test(labels_tags_and_texts_are_extended),
        cmocka_unit_test(tags_beside_the_text_stay_behind_new_characters),
        cmocka_unit_test(captions_are_extended),
        cmocka_unit_test(a_resumed_run_ends_in_the_same_bytes),
        cmocka_unit_test(what_does_not_fit_is_refused_by_name),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
