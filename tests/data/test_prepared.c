/* Loading the dataset of a token file: metadata that contradict the tensors, validation data that
 * contradict themselves, settings and vocabularies that the tokens do not serve. */
#include "data/prepared.h"

#include "base/error.h"
#include "base/progress.h"
#include "data/batch.h"
#include "data/tokens_help.h"
#include "failing_memory.h"

/* ---- every task */

static void each_task_loads_what_was_prepared(void **state)
{
    (void)state;
    static const struct {
        const char *task;
        int64_t train, valid;
        bool labels;
    } rows[] = {
        { "pairs", 3, 2, false },
        { "classify", 3, 2, true },
        { "tag", 3, 2, true },
        { "lm", 1, 1, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        att_data data;
        att_error err = { 0 };
        prepare_task(rows[i].task, "t.tokens");
        if (load_tokens(&data, rows[i].task, "t.tokens", &err) != ATT_OK)
            fail_msg("%s: %s", rows[i].task, err.message);
        assert_int_equal(data.train.pairs, rows[i].train);
        assert_int_equal(data.valid.pairs, rows[i].valid);
        assert_int_equal(data.valid.has_labels, rows[i].labels);
        att_data_free(&data);
    }
}

/* ---- metadata */

typedef void change_text(const char *path, const char *from, const char *to);

/* Each row is a text of a valid file of pairs, what replaces it, and the error. */
static void refuse_changes(change_text *change_tokens, const char *const rows[][3], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        prepare_task("pairs", "t.tokens");
        change_tokens("t.tokens", rows[i][0], rows[i][1]);
        refuse_to_load("pairs", "t.tokens", rows[i][2]);
    }
}

static void missing_metadata_are_named(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        { "'attend.settings'", "'attend.settinga'", "has no settings" },
        { "'attend.data'", "'attend.date'", "lacks the metadata 'attend.data'" },
        { "'attend.source'", "'attend.sourca'", "lacks the metadata 'attend.source'" },
        { "'attend.target'", "'attend.targat'", "lacks the metadata 'attend.target'" },
    };
    refuse_changes(change_header, rows, sizeof rows / sizeof *rows);
}

static void settings_that_cannot_be_read_are_refused(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        { "{'settings':{", "{'setting':{",
          "the metadata 'attend.settings': expected an object for \"settings\", which is missing" },
        { "'chosen':{}", "'chosen':[]",
          "the metadata 'attend.settings': expected an object for \"chosen\", found an array" },
        { "'chosen':{}", "'chosen':{'layers':2}",
          "the metadata 'attend.settings': expected a string for \"layers\", found a whole "
          "number" },
        { "'chosen':{}", "'chosen':{'layers':'two'}",
          "the settings: layers expects a whole number from 1 to 64, not 'two'" },
        { "'task':'pairs'", "'task':1", "the settings: 'task' is not one of the tokens" },
        { "'task':'pairs'", "'layers':'2'", "the settings: 'layers' is not one of the tokens" },
        { "'chosen':{}}", "'chosen':{}",
          "the metadata 'attend.settings': line 1, column 228: expected ',' or '}', found the "
          "end of the text" },
    };
    refuse_changes(change_metadata, rows, sizeof rows / sizeof *rows);
}

static void settings_that_the_data_chose_are_set(void **state)
{
    (void)state;
    prepare_task("pairs", "t.tokens");
    change_metadata("t.tokens", "'chosen':{}", "'chosen':{'layers':'3'}");
    att_settings *settings = settings_for("pairs", "t.tokens");
    att_string value = { 0 };
    assert_int_equal(att_prepared_settings(settings, NULL), ATT_OK);
    assert_int_equal(att_settings_get(&value, settings, "layers", NULL), ATT_OK);
    assert_string_equal(value.data, "3");
    att_string_free(&value);
    att_settings_free(settings);
}

static void a_vocabulary_of_another_role_is_refused(void **state)
{
    (void)state;
    static const char *const rows[][4] = {
        { "pairs", "{'tokens':'char','lowercase':false,'words':['d'",
          "{'tokens':'char','lowercase':false,'tags':['+'],'words':['d'",
          "the vocabulary has \"tags\", but a target vocabulary has no use for them" },
        { "classify", "{'tokens':'line'", "{'tokens':'word'",
          "the vocabulary: labels have tokens of the kind 'word', expected 'line'" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        prepare_task(rows[i][0], "t.tokens");
        change_metadata("t.tokens", rows[i][1], rows[i][2]);
        refuse_to_load(rows[i][0], "t.tokens", rows[i][3]);
    }
}

#define DATA(WHAT) "the metadata 'attend.data': " WHAT " does not fit the tensors"
#define A_LENGTH   DATA("a length or a number of tokens")
#define FILES      DATA("\"files\"")
#define MAX_LENGTH DATA("\"max_length\" or \"shortest\"")
#define OUTPUT     DATA("\"output_ratio\" or \"output_excess\"")
#define TRAIN_SIDE "'source':{'tokens':6,'min_length':1,'max_length':3,'unknown_tokens':0}"
#define STORED     "'max_length':3,'shortest':3"

static void counts_that_do_not_fit_the_tensors_are_refused(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        { "'files':[[3,3]]", "'files':[]", FILES },
        { "'files':[[3,3]]", "'files':[[2,2]]", FILES },
        { "'files':[[3,3]]", "'files':[[4,3]]", FILES },
        { "'files':[[3,3]]", "'files':[[3,0]]", FILES },
        { "'files':[[3,3]]", "'files':[[0,3],[3,3]]", FILES },
        { "'files':[[3,3]]", "'files':[[3,3],[1,1]]", FILES },
        { "'files':[[3,3]]", "'files':[[-3,3]]", FILES },
        { "'files':[[3,3]]", "'files':[[3,4000000]]", FILES },
        { "'files':[[3,3]]", "'files':[[3,9223372036854775807]]", FILES },
        { "'files':[[3,3]]", "'files':[[3]]",
          "the metadata 'attend.data': expected more than 1 items, found 1" },
        { TRAIN_SIDE, "'source':{'tokens':-1,'min_length':1,'max_length':3,'unknown_tokens':0}",
          A_LENGTH },
        { TRAIN_SIDE,
          "'source':{'tokens':9223372036854775807,'min_length':1,'max_length':3,"
          "'unknown_tokens':0}",
          A_LENGTH },
        { TRAIN_SIDE, "'source':{'tokens':6,'min_length':-1,'max_length':3,'unknown_tokens':0}",
          A_LENGTH },
        { TRAIN_SIDE, "'source':{'tokens':6,'min_length':4,'max_length':3,'unknown_tokens':0}",
          A_LENGTH },
        { TRAIN_SIDE,
          "'source':{'tokens':6,'min_length':1,'max_length':2147483648,'unknown_tokens':0}",
          A_LENGTH },
        { TRAIN_SIDE, "'source':{'tokens':6,'min_length':1,'max_length':3,'unknown_tokens':-1}",
          A_LENGTH },
        { TRAIN_SIDE, "'source':{'tokens':6,'min_length':1,'max_length':7,'unknown_tokens':0}",
          DATA("the longest source or target") },
        { STORED, "'max_length':3,'shortest':0", MAX_LENGTH },
        { STORED, "'max_length':3,'shortest':5", MAX_LENGTH },
        { STORED, "'max_length':4,'shortest':3", MAX_LENGTH },
        { STORED, "'max_length':0,'shortest':1", MAX_LENGTH },
        { "'output_ratio':1.5", "'output_ratio':-1", OUTPUT },
        { "'output_ratio':1.5", "'output_ratio':1e300", OUTPUT },
        { "'output_excess':2", "'output_excess':-2", OUTPUT },
        { "'output_excess':2", "'output_excess':1e300", OUTPUT },
        { "'skipped':[[0],", "'skipped':[[-1],", DATA("\"skipped\"") },
        { "'train':{'lines':3", "'train':{'lines':-3", DATA("\"lines\"") },
        { "'skipped':[[0],", "'skipped':[[2,1],",
          "the metadata 'attend.data': expected more than 2 items, found 2" },
        { "'shortest':3,", "",
          "the metadata 'attend.data': expected a whole number for \"shortest\", which is "
          "missing" },
    };
    refuse_changes(change_metadata, rows, sizeof rows / sizeof *rows);
}

/* A tensor gets the name of one that the split has no use for: the split lacks it. */
static void missing_tensors_are_refused(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        { "'train.source.offsets'", "'train.lines'", DATA("the number of pairs") },
        { "'train.target.offsets'", "'train.lines'", DATA("the number of pairs") },
        { "'valid.source.offsets'", "'train.lines'", DATA("the number of validation pairs") },
        { "'valid.target.offsets'", "'train.lines'", DATA("the number of validation pairs") },
        { "'valid.lines'", "'train.lines'", DATA("the number of validation pairs") },
        { "'valid.source.hashes'", "'train.lines'", DATA("the number of validation pairs") },
        { "'valid.target.text'", "'train.target.text'", DATA("the text of the targets") },
    };
    refuse_changes(change_header, rows, sizeof rows / sizeof *rows);
}

/* ---- the text of a language model */

static void a_text_of_fewer_than_two_tokens_is_refused(void **state)
{
    (void)state;
    prepare_task("lm", "t.tokens");
    change_metadata("t.tokens", "'files':[[20,20]]", "'files':[[20,1]]");
    refuse_to_load("lm", "t.tokens", DATA("the number of tokens"));
    prepare_task("lm", "t.tokens");
    change_header("t.tokens", "'shape':[20],'data_offsets':[0,40]",
                  "'shape':[39],'data_offsets':[0,78]");
    change_header("t.tokens", "'shape':[20],'data_offsets':[40,80]",
                  "'shape':[1],'data_offsets':[78,80]");
    change_metadata("t.tokens", "'files':[[20,20]]", "'files':[[39,39]]");
    refuse_to_load("lm", "t.tokens", DATA("the number of validation tokens"));
}

/* Replaces the file while its checksum is compared. */
static bool replace_file(void *context, const att_progress *progress)
{
    (void)context;
    (void)progress;
    return rename("other.tokens", "t.tokens") == 0 || access("other.tokens", F_OK) != 0;
}

static void a_text_that_is_replaced_by_another_is_refused(void **state)
{
    (void)state;
    prepare_task("lm", "t.tokens");
    prepare_task("lm", "other.tokens");
    change_header("other.tokens", "'shape':[20],'data_offsets':[0,40]",
                  "'shape':[21],'data_offsets':[0,42]");
    change_header("other.tokens", "'shape':[20],'data_offsets':[40,80]",
                  "'shape':[19],'data_offsets':[42,80]");
    att_callback_set(replace_file, NULL);
    att_progress_set_interval(0);
    att_data data;
    att_error err = { 0 };
    att_status status = load_tokens(&data, "lm", "t.tokens", &err);
    att_progress_set_interval(-1);
    att_callback_set(NULL, NULL);
    assert_refused(status, &err, "t.tokens", "changed while being read");
}

/* ---- validation data */

static void validation_data_that_contradict_themselves_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *task;
        att_token_section section;
        int64_t index, value;
        const char *message;
    } rows[] = {
        { "pairs", ATT_SECTION_TARGET_OFFSETS, 2, 3, DATA("the number of validation tokens") },
        { "pairs", ATT_SECTION_SOURCE_OFFSETS, 0, 1, DATA("the number of validation tokens") },
        { "pairs", ATT_SECTION_TARGET_OFFSETS, 1, 0, DATA("an empty validation pair") },
        { "pairs", ATT_SECTION_SOURCE_OFFSETS, 1, 3, DATA("an empty validation pair") },
        { "pairs", ATT_SECTION_SOURCE_OFFSETS, 1, 4,
          "the tensor 'valid.source.offsets' has 4 at index 1, expected a rising number up to 3" },
        { "pairs", ATT_SECTION_SOURCE_IDS, 1, 7,
          "the tensor 'valid.source.ids' has the token 7 at index 1, expected 0 to 6" },
        { "pairs", ATT_SECTION_TARGET_IDS, 3, 65535,
          "the tensor 'valid.target.ids' has the token 65535 at index 3, expected 0 to 7" },
        { "pairs", ATT_SECTION_TARGET_TEXT, 2, 'x', DATA("the text of the targets") },
        { "pairs", ATT_SECTION_TARGET_TEXT, 1, 0, DATA("the text of the targets") },
        { "pairs", ATT_SECTION_TARGET_TEXT, 5, 'x', DATA("the text of the targets") },
        { "tag", ATT_SECTION_TARGET_OFFSETS, 1, 1, DATA("the number of labels") },
        { "classify", ATT_SECTION_TARGET_OFFSETS, 1, 2, DATA("an empty validation pair") },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        prepare_task(rows[i].task, "t.tokens");
        change_element("t.tokens", ATT_TOKENS_VALID, rows[i].section, rows[i].index, rows[i].value);
        refuse_to_load(rows[i].task, "t.tokens", rows[i].message);
    }
}

/* ---- training data, which are read by windows */

static void training_pairs_that_contradict_the_metadata_are_refused(void **state)
{
    (void)state;
    static const struct {
        att_token_section section;
        int64_t index, value;
        const char *message;
    } rows[] = {
        { ATT_SECTION_SOURCE_OFFSETS, 1, 1, "pair 2 has more tokens than the 3 of the longest" },
        { ATT_SECTION_SOURCE_OFFSETS, 2, 6, "pair 2 has more tokens than the 3 of the longest" },
        { ATT_SECTION_TARGET_OFFSETS, 2, 5,
          "pair 2 of the epoch has 3 source and 3 target tokens, which contradicts the lengths in "
          "the metadata" },
        { ATT_SECTION_TARGET_OFFSETS, 1, 7,
          "the tensor 'train.target.offsets' has 7 at index 1, expected a rising number up to 6" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        att_data data;
        att_batches *batches;
        att_error err = { 0 };
        prepare_task("pairs", "t.tokens");
        change_element("t.tokens", ATT_TOKENS_TRAIN, rows[i].section, rows[i].index, rows[i].value);
        assert_int_equal(load_tokens(&data, "pairs", "t.tokens", NULL), ATT_OK);
        att_status status = att_pair_batches_new(&batches, &data.train, 64, 1, &err);
        if (status == ATT_OK) {
            att_batches_start_epoch(batches, 0);
            status = att_batches_status(batches, &err);
            att_batches_free(batches);
        }
        assert_refused(status, &err, "t.tokens", rows[i].message);
        att_data_free(&data);
    }
}

/* ---- settings and vocabularies */

static void settings_that_need_the_text_are_refused(void **state)
{
    (void)state;
    static const char *const rows[][4] = {
        { "pairs", "guided-alignment", "a.txt",
          "has no alignments: guided-alignment needs the text of the pairs" },
        { "pairs", "copy", "yes",
          "has no text: copy needs the words of the source; train from the text" },
        { "classify", "char-features", "cnn",
          "has no text: char-features needs the characters of the words; train from the text" },
        { "tag", "char-features", "lstm",
          "has no text: char-features needs the characters of the words; train from the text" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        att_data data;
        att_error err = { 0 };
        prepare_task(rows[i][0], "t.tokens");
        att_settings *settings = settings_for(rows[i][0], "t.tokens");
        give(settings, rows[i][1], rows[i][2]);
        att_status status = att_prepared_settings(settings, &err);
        if (status == ATT_OK)
            status = att_data_load(&data, settings, &err);
        assert_refused(status, &err, "t.tokens", rows[i][3]);
        att_settings_free(settings);
    }
}

/* Loads p.tokens for a model whose vocabularies are those of a token file. */
static att_status load_initial(const char *model, bool extend, att_error *err)
{
    att_data of_model, data;
    assert_int_equal(load_tokens(&of_model, "pairs", model, NULL), ATT_OK);
    const att_initial_vocabs initial = { of_model.source_vocab, of_model.target_vocab, extend };
    att_settings *settings = settings_for("pairs", "p.tokens");
    assert_int_equal(att_prepared_settings(settings, NULL), ATT_OK);
    att_status status = att_data_load_initial(&data, settings, &initial, err);
    if (status == ATT_OK)
        att_data_free(&data);
    att_data_free(&of_model);
    att_settings_free(settings);
    return status;
}

static void a_model_to_fine_tune_must_have_the_vocabularies_of_the_file(void **state)
{
    (void)state;
    static const char message[] =
        "was prepared with other vocabularies than those of the model in init-from: give init-from "
        "to prepare too";
    static const char *const words[][2] = { { "['a','b','c','x']", "['a','b','c','y']" },
                                            { "['d','c','e','y','z']", "['d','c','e','y','x']" } };
    prepare_task("pairs", "p.tokens");
    assert_int_equal(load_initial("p.tokens", false, NULL), ATT_OK);
    att_error err = { 0 };
    assert_refused(load_initial("p.tokens", true, &err), &err, "p.tokens", message);
    for (int side = 0; side < 2; side++) {
        prepare_task("pairs", "m.tokens");
        change_metadata("m.tokens", words[side][0], words[side][1]);
        assert_refused(load_initial("m.tokens", false, &err), &err, "p.tokens", message);
    }
}

static void validation_data_of_other_vocabularies_are_refused(void **state)
{
    (void)state;
    att_data data;
    att_corpus valid;
    att_error err = { 0 };
    prepare_task("pairs", "t.tokens");
    att_settings *settings = settings_for("pairs", "t.tokens");
    assert_int_equal(att_prepared_settings(settings, NULL), ATT_OK);
    assert_int_equal(att_data_load(&data, settings, NULL), ATT_OK);
    att_data_read_options options = { .settings = settings,
                                      .source_vocab = data.source_vocab,
                                      .target_vocab = data.target_vocab };
    assert_int_equal(att_prepared_read_valid(&valid, &options, "t.tokens", NULL), ATT_OK);
    assert_int_equal(valid.pairs, 2);
    att_corpus_free(&valid);
    options.source_vocab = data.target_vocab;
    assert_refused(att_prepared_read_valid(&valid, &options, "t.tokens", &err), &err, "t.tokens",
                   "was prepared with other vocabularies than those of the model");
    att_data_free(&data);
    att_settings_free(settings);
}

/* ---- memory */

typedef struct loading {
    const char *task;
    att_settings *settings; /* after att_prepared_settings() */
} loading;

static att_status load_and_read(void *context)
{
    const loading *in = context;
    att_data data;
    att_batches *batches;
    ATT_TRY(att_data_load(&data, in->settings, NULL));
    att_status status = att_data_batches(&batches, &data.train, in->settings, 64, 1, NULL);
    if (status == ATT_OK) {
        att_batches_start_epoch(batches, 0);
        status = att_batches_status(batches, NULL);
        att_batches_free(batches);
    }
    att_data_free(&data);
    return status;
}

static att_status apply_settings(void *context)
{
    const loading *in = context;
    att_settings *settings;
    ATT_TRY(att_settings_new(&settings, in->task, NULL));
    att_status status = att_settings_set(settings, "train", "t.tokens", NULL);
    if (status == ATT_OK)
        status = att_prepared_settings(settings, NULL);
    att_settings_free(settings);
    return status;
}

static void every_failing_allocation_is_reported(void **state)
{
    (void)state;
    static const char *const tasks[] = { "pairs", "classify", "tag", "lm" };
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        prepare_task(tasks[i], "t.tokens");
        loading in = { tasks[i], settings_for(tasks[i], "t.tokens") };
        assert_int_equal(att_prepared_settings(in.settings, NULL), ATT_OK);
        every_arena_allocation_fails(load_and_read, &in, 5000);
        every_allocation_fails(apply_settings, &in, 1000);
        att_settings_free(in.settings);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(each_task_loads_what_was_prepared),
        IN_FOLDER(missing_metadata_are_named),
        IN_FOLDER(settings_that_cannot_be_read_are_refused),
        IN_FOLDER(a_vocabulary_of_another_role_is_refused),
        IN_FOLDER(settings_that_the_data_chose_are_set),
        IN_FOLDER(counts_that_do_not_fit_the_tensors_are_refused),
        IN_FOLDER(missing_tensors_are_refused),
        IN_FOLDER(a_text_of_fewer_than_two_tokens_is_refused),
        IN_FOLDER(a_text_that_is_replaced_by_another_is_refused),
        IN_FOLDER(validation_data_that_contradict_themselves_are_refused),
        IN_FOLDER(training_pairs_that_contradict_the_metadata_are_refused),
        IN_FOLDER(settings_that_need_the_text_are_refused),
        IN_FOLDER(a_model_to_fine_tune_must_have_the_vocabularies_of_the_file),
        IN_FOLDER(validation_data_of_other_vocabularies_are_refused),
        IN_FOLDER(every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
