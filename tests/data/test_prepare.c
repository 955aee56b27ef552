/* Token files: the batches of a prepared corpus are those of its text, in one window or in many,
 * part by part, for every task; weights repeat files; damaged, shrinking and foreign files are
 * refused. */
#include "data/prepare.h"

#include "data/batch_lm.h"
#include "data/data_hash.h"
#include "data/prepared.h"
#include "data/token_corpus.h"
#include "pairs_help.h"

#include <fcntl.h>
#include <sys/stat.h>

/* ---- data and settings */

static att_settings *settings_of(const char *task, const char *train)
{
    att_settings *settings;
    assert_int_equal(att_settings_new(&settings, task, NULL), ATT_OK);
    assert_int_equal(att_settings_set(settings, "train", train, NULL), ATT_OK);
    return settings;
}

static void set(att_settings *settings, const char *key, const char *value)
{
    att_error err = { 0 };
    if (att_settings_set(settings, key, value, &err) != ATT_OK)
        fail_msg("%s: %s", key, err.message);
}

/* Lines of words that occur again, with punctuation, characters beyond ASCII and empty lines. */
static void put_lines(const char *path, int lines, bool with_target, unsigned seed)
{
    static const char *const words[] = {
        "ein",  "Haus",    "für", "éins", "zwei", "drei,", "vier.", "fünf!", "e\xCC\x81t\xC3\xA9",
        "日本", "(sechs)", "7",   "88"
    };
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < lines; i++) {
        seed = seed * 1103515245 + 12345;
        int count = 1 + (int)(seed >> 16) % 7;
        for (int side = 0; side <= with_target; side++) {
            for (int w = 0; w < count + side; w++) {
                seed = seed * 1103515245 + 12345;
                fprintf(file, "%s%s", w ? " " : "", words[(seed >> 16) % 13]);
            }
            fputs(side < with_target ? "\t" : i % 11 == 3 && !with_target ? "\n\n" : "\n", file);
        }
    }
    assert_int_equal(fclose(file), 0);
}

static void prepare(att_settings *settings, const char *path)
{
    att_error err = { 0 };
    if (att_prepare(path, settings, NULL, NULL, &err) != ATT_OK)
        fail_msg("%s:%d: %s", err.place, err.line, err.message);
}

static att_data load(att_settings *settings)
{
    att_data data;
    att_error err = { 0 };
    if (att_prepared_settings(settings, &err) != ATT_OK ||
        att_data_load(&data, settings, &err) != ATT_OK)
        fail_msg("%s:%d: %s", err.place, err.line, err.message);
    return data;
}

/* ---- comparing batches */

static void assert_same_batch(const att_batch *a, const att_batch *b)
{
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->source_length, b->source_length);
    assert_int_equal(a->target_length, b->target_length);
    assert_int_equal(a->target_tokens, b->target_tokens);
    assert_int_equal(a->continues_previous, b->continues_previous);
    size_t targets = (size_t)(a->rows * a->target_length), rows = (size_t)a->rows;
    assert_memory_equal(a->target_in, b->target_in, targets * sizeof *a->target_in);
    assert_memory_equal(a->target_out, b->target_out, targets * sizeof *a->target_out);
    assert_memory_equal(a->target_lengths, b->target_lengths, rows * sizeof *a->target_lengths);
    assert_memory_equal(a->pair_index, b->pair_index, rows * sizeof *a->pair_index);
    if (a->source_length > 0)
        assert_memory_equal(a->source, b->source,
                            (size_t)(a->rows * a->source_length) * sizeof *a->source);
}

static void assert_same_order(att_batches *a, att_batches *b)
{
    assert_int_equal(att_batches_count(a), att_batches_count(b));
    assert_int_equal(att_batches_largest(a), att_batches_largest(b));
    for (int64_t i = 0; i < att_batches_count(a); i++)
        assert_same_batch(att_batches_get(a, i), att_batches_get(b, i));
    assert_int_equal(att_batches_status(a, NULL), ATT_OK);
    assert_int_equal(att_batches_status(b, NULL), ATT_OK);
}

static void assert_same_epochs(att_batches *a, att_batches *b)
{
    const att_batch_limits one = att_batches_limits(a), other = att_batches_limits(b);
    assert_memory_equal(&one, &other, sizeof one);
    for (int64_t epoch = 0; epoch < 3; epoch++) {
        att_batches_start_epoch(a, epoch);
        att_batches_start_epoch(b, epoch);
        assert_same_order(a, b);
    }
    att_batches_start_sequential(a);
    att_batches_start_sequential(b);
    assert_same_order(a, b);
}

static void assert_same_stats(const att_corpus *a, const att_corpus *b)
{
    assert_int_equal(a->pairs, b->pairs);
    assert_int_equal(a->stats.lines, b->stats.lines);
    assert_int_equal(a->stats.characters, b->stats.characters);
    assert_int_equal(a->stats.several_targets, b->stats.several_targets);
    assert_memory_equal(a->stats.skipped, b->stats.skipped, sizeof a->stats.skipped);
    assert_memory_equal(a->stats.skipped_lines, b->stats.skipped_lines,
                        sizeof a->stats.skipped_lines);
    assert_memory_equal(&a->stats.source, &b->stats.source, sizeof a->stats.source);
    assert_memory_equal(&a->stats.target, &b->stats.target, sizeof a->stats.target);
}

/* Windows of 3 blocks of 4 pairs: a corpus of a few hundred pairs has many. */
static const att_window_size small_windows = { 4, 3, 1 << 20 };

static void assert_same_pairs(const att_data *text, const att_data *tokens)
{
    att_batches *a, *b;
    assert_same_stats(&text->train, &tokens->train);
    assert_same_stats(&text->valid, &tokens->valid);
    assert_int_equal(text->overlapping_sources, tokens->overlapping_sources);
    assert_int_equal(att_data_hash(text), att_data_hash(tokens));
    const att_output_length one = att_output_length_measure(&text->train);
    const att_output_length other = att_output_length_measure(&tokens->train);
    assert_memory_equal(&one, &other, sizeof one);
    for (int windows = 0; windows < 2; windows++) {
        const att_window_size *size = windows ? &small_windows : NULL;
        assert_int_equal(att_pair_batches_in_windows(&a, &text->train, 64, 9, size, NULL), ATT_OK);
        assert_int_equal(att_pair_batches_in_windows(&b, &tokens->train, 64, 9, size, NULL),
                         ATT_OK);
        assert_same_epochs(a, b);
        att_batches_free(a);
        att_batches_free(b);
    }
    assert_int_equal(att_pair_batches_new(&a, &text->valid, 64, 9, NULL), ATT_OK);
    assert_int_equal(att_pair_batches_new(&b, &tokens->valid, 64, 9, NULL), ATT_OK);
    assert_same_epochs(a, b);
    for (int64_t p = 0; text->valid.same_source && p < text->valid.pairs; p++)
        assert_int_equal(text->valid.same_source[p], tokens->valid.same_source[p]);
    att_batches_free(a);
    att_batches_free(b);
}

static void assert_same_texts(const att_data *text, const att_data *tokens)
{
    const att_corpus *const corpora[][2] = { { &text->train, &tokens->train },
                                             { &text->valid, &tokens->valid } };
    assert_same_stats(&text->train, &tokens->train);
    assert_same_stats(&text->valid, &tokens->valid);
    assert_int_equal(att_data_hash(text), att_data_hash(tokens));
    for (int i = 0; i < 2; i++)
        for (int carried = 0; carried < 2; carried++)
            for (int64_t listed = 0; listed < 3; listed += 2) {
                const att_lm_batches_options options = { .batch_tokens = 96,
                                                         .sequence_length = 16,
                                                         .carry_state = carried,
                                                         .seed = 4,
                                                         .max_listed_chunks = listed };
                att_batches *a, *b;
                assert_int_equal(att_lm_batches_new(&a, corpora[i][0], &options, NULL), ATT_OK);
                assert_int_equal(att_lm_batches_new(&b, corpora[i][1], &options, NULL), ATT_OK);
                assert_same_epochs(a, b);
                att_batches_free(a);
                att_batches_free(b);
            }
}

/* ---- pairs */

typedef struct token_case {
    const char *task, *source, *target, *more;
} token_case;

static void pairs_are_those_of_the_text(void **state)
{
    (void)state;
    static const token_case cases[] = {
        { "pairs", "char", "char", NULL },   { "pairs", "word", "space", NULL },
        { "pairs", "bpe", "bpe", NULL },     { "pairs", "byte", "codepoint", NULL },
        { "pairs", "bpe", "bpe", "joint" },  { "pairs", "word", "char", "joint" },
        { "pairs", "char", "char", "max" },  { "pairs", "char", "char", "none" },
        { "translate", "bpe", "bpe", NULL },
    };
    put_lines("p.tsv", 300, true, 1);
    FILE *file = fopen("p.tsv", "a");
    fputs("\t\nallein\t\n\tohne\nein\tein\nein\tein Haus\n", file);
    fclose(file);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *more = cases[i].more ? cases[i].more : "";
        att_settings *text = settings_of(cases[i].task, "p.tsv");
        set(text, "source-tokens", cases[i].source);
        set(text, "target-tokens", cases[i].target);
        set(text, "copy", "no");
        if (strcmp(more, "joint") == 0)
            set(text, "joint", "yes");
        if (strcmp(more, "max") == 0)
            set(text, "max-length", "12");
        if (strcmp(more, "none") == 0)
            set(text, "valid-fraction", "0");
        if (strcmp(cases[i].source, "bpe") == 0)
            set(text, "bpe-merges", "30");
        att_prepare_set_part_size(200 + 100 * i);
        prepare(text, "p.tokens");
        att_prepare_set_part_size(0);
        att_settings *tokens = settings_of(cases[i].task, "p.tokens");
        att_data a = load(text), b = load(tokens);
        assert_same_pairs(&a, &b);
        att_data_free(&a);
        att_data_free(&b);
        att_settings_free(text);
        att_settings_free(tokens);
    }
}

static void what_the_data_chose_is_chosen_again(void **state)
{
    (void)state;
    put_lines("p.tsv", 400, true, 5);
    att_settings *text = settings_of("pairs", "p.tsv"), *tokens = settings_of("pairs", "p.tokens");
    set(text, "copy", "no");
    set(tokens, "copy", "no");
    prepare(text, "p.tokens");
    att_settings_free(text);
    text = settings_of("pairs", "p.tsv");
    set(text, "copy", "no");
    att_data a = load(text), b = load(tokens);
    assert_true(a.choices.length > 0);
    assert_string_equal(a.choices.data, b.choices.data);
    assert_same_pairs(&a, &b);
    const att_setting *row;
    for (size_t i = 0; (row = att_setting_get(i)); i++) {
        att_string one = { 0 }, other = { 0 };
        assert_int_equal(att_settings_get(&one, text, row->key, NULL), ATT_OK);
        assert_int_equal(att_settings_get(&other, tokens, row->key, NULL), ATT_OK);
        if (strcmp(row->key, "train") != 0)
            assert_string_equal(one.data ? one.data : "", other.data ? other.data : "");
        att_string_free(&one);
        att_string_free(&other);
    }
    att_data_free(&a);
    att_data_free(&b);
    att_settings_free(text);
    att_settings_free(tokens);
}

/* ---- texts */

static void texts_are_those_of_the_file(void **state)
{
    (void)state;
    static const char *const kinds[] = { "char", "word", "bpe", "byte", "codepoint" };
    static const char *const fractions[] = { "0.05", "0.3", "0" };
    put_lines("t.txt", 400, false, 3);
    for (size_t i = 0; i < 5; i++)
        for (size_t f = 0; f < 3; f++) {
            att_settings *text = settings_of("lm", "t.txt");
            set(text, "tokens", kinds[i]);
            set(text, "valid-fraction", fractions[f]);
            if (strcmp(kinds[i], "bpe") == 0)
                set(text, "bpe-merges", "40");
            att_prepare_set_part_size(97 + 50 * f);
            prepare(text, "t.tokens");
            att_prepare_set_part_size(0);
            att_settings *tokens = settings_of("lm", "t.tokens");
            att_data a = load(text), b = load(tokens);
            assert_same_texts(&a, &b);
            att_data_free(&a);
            att_data_free(&b);
            att_settings_free(text);
            att_settings_free(tokens);
        }
}

static void a_text_may_be_of_any_bytes(void **state)
{
    (void)state;
    char bytes[3000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * i * 31 + i / 7);
    put_bytes("b.bin", bytes, sizeof bytes);
    att_settings *text = settings_of("lm", "b.bin");
    set(text, "tokens", "byte");
    att_prepare_set_part_size(100);
    prepare(text, "b.tokens");
    att_prepare_set_part_size(0);
    att_settings *tokens = settings_of("lm", "b.tokens");
    att_data a = load(text), b = load(tokens);
    assert_same_texts(&a, &b);
    att_data_free(&a);
    att_data_free(&b);
    att_settings_free(text);
    att_settings_free(tokens);
}

/* ---- several files */

static void weights_repeat_files(void **state)
{
    (void)state;
    put_lines("a.tsv", 60, true, 11);
    put_lines("b.tsv", 40, true, 12);
    put_lines("v.tsv", 20, true, 13);
    assert_int_equal(system("cat a.tsv b.tsv b.tsv > abb.tsv"), 0);
    att_settings *text = settings_of("pairs", "abb.tsv"), *mixed = settings_of("pairs", "x");
    att_settings *tokens = settings_of("pairs", "m.tokens");
    att_settings *const all[] = { text, mixed };
    for (int i = 0; i < 2; i++) {
        set(all[i], "valid", "v.tsv");
        set(all[i], "source-tokens", "byte");
        set(all[i], "target-tokens", "byte");
        set(all[i], "copy", "no");
    }
    const att_corpus_input inputs[] = { { "a.tsv", NULL, 0 }, { "b.tsv", NULL, 2 } };
    att_prepare_options options = ATT_INIT(att_prepare_options);
    options.inputs = inputs;
    options.input_count = 2;
    assert_int_equal(att_prepare("m.tokens", mixed, &options, NULL, NULL), ATT_OK);
    att_data a = load(text), b = load(tokens);
    att_batches *one, *other;
    assert_int_equal(b.train.pairs, 140);
    assert_int_equal(att_pair_batches_in_windows(&one, &a.train, 200, 9, &small_windows, NULL),
                     ATT_OK);
    assert_int_equal(att_pair_batches_in_windows(&other, &b.train, 200, 9, &small_windows, NULL),
                     ATT_OK);
    assert_same_epochs(one, other);
    att_batches_free(one);
    att_batches_free(other);
    att_data_free(&a);
    att_data_free(&b);
    att_settings_free(text);
    att_settings_free(mixed);
    att_settings_free(tokens);
}

/* ---- windows */

static void every_window_has_its_pairs_once_an_epoch(void **state)
{
    (void)state;
    put_lines("p.tsv", 101, true, 21);
    pairs got = read_pairs(&(att_pair_files){ .tsv = "p.tsv" }, ATT_TOKENIZER_CHAR,
                           (att_pair_read_options){ 0 });
    att_batches *batches;
    assert_int_equal(
        att_pair_batches_in_windows(&batches, &got.corpus, 64, 3, &small_windows, NULL), ATT_OK);
    int64_t last[101] = { 0 }, moved = 0;
    for (int64_t epoch = 0; epoch < 3; epoch++) {
        int times[101] = { 0 };
        int64_t place = 0;
        att_batches_start_epoch(batches, epoch);
        for (int64_t i = 0; i < att_batches_count(batches); i++) {
            const att_batch *batch = att_batches_get(batches, i);
            assert_true(batch->rows == 1 ||
                        batch->rows * (batch->source_length > batch->target_length
                                           ? batch->source_length
                                           : batch->target_length) <=
                            64);
            for (int64_t r = 0; r < batch->rows; r++) {
                times[batch->pair_index[r]]++;
                moved += last[batch->pair_index[r]] != place;
                last[batch->pair_index[r]] = place++;
            }
        }
        for (int p = 0; p < 101; p++)
            assert_int_equal(times[p], 1);
    }
    assert_true(moved > 250); /* of 303: another order in every epoch */
    att_batches_free(batches);
    free_pairs(&got);
}

/* ---- bad files */

static void prepare_small(const char *path)
{
    put_lines("s.tsv", 50, true, 31);
    att_settings *settings = settings_of("pairs", "s.tsv");
    set(settings, "copy", "no");
    prepare(settings, path);
    att_settings_free(settings);
}

static void every_flipped_byte_is_found(void **state)
{
    (void)state;
    prepare_small("s.tokens");
    struct stat info;
    assert_int_equal(stat("s.tokens", &info), 0);
    int fd = open("s.tokens", O_RDWR);
    for (off_t at = 0; at < info.st_size; at += 1 + info.st_size / 200) {
        unsigned char byte;
        att_token_file *file;
        att_error err = { 0 };
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte ^= 4;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        assert_int_equal(att_token_file_open(&file, "s.tokens", true, &err), ATT_BAD_INPUT);
        assert_string_equal(err.place, "s.tokens");
        byte ^= 4;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    }
    close(fd);
    att_token_file *file;
    assert_int_equal(att_token_file_open(&file, "s.tokens", true, NULL), ATT_OK);
    att_token_file_free(file);
}

static void a_file_that_shrinks_is_an_error_and_stays_one(void **state)
{
    (void)state;
    prepare_small("s.tokens");
    att_settings *settings = settings_of("pairs", "s.tokens");
    att_data data = load(settings);
    att_batches *batches;
    att_error err = { 0 };
    assert_int_equal(
        att_pair_batches_in_windows(&batches, &data.train, 64, 3, &small_windows, NULL), ATT_OK);
    att_batches_start_epoch(batches, 0);
    assert_int_equal(att_batches_status(batches, &err), ATT_OK);
    assert_int_equal(truncate("s.tokens", 3000), 0);
    const att_batch *batch = att_batches_get(batches, 0);
    assert_true(batch->rows > 0 && batch->target_length > 0);
    assert_int_equal(att_batches_status(batches, &err), ATT_BAD_INPUT);
    assert_string_equal(err.place, "s.tokens");
    assert_non_null(strstr(err.message, "shrank while being read"));
    att_batches_get(batches, 1);
    att_batches_start_epoch(batches, 1);
    assert_int_equal(att_batches_count(batches), 1);
    assert_int_equal(att_batches_status(batches, NULL), ATT_BAD_INPUT);
    att_batches_free(batches);
    att_data_free(&data);
    att_settings_free(settings);
}

static void a_file_that_is_written_to_is_an_error(void **state)
{
    (void)state;
    prepare_small("s.tokens");
    att_token_file *file;
    int64_t offset;
    att_error err = { 0 };
    assert_int_equal(att_token_file_open(&file, "s.tokens", true, NULL), ATT_OK);
    assert_int_equal(att_token_file_read(file, ATT_TOKENS_TRAIN, ATT_SECTION_TARGET_OFFSETS, 0, 1,
                                         &offset, NULL),
                     ATT_OK);
    const struct timespec times[2] = { { 1000, 0 }, { 1000, 0 } };
    assert_int_equal(utimensat(AT_FDCWD, "s.tokens", times, 0), 0);
    assert_int_equal(att_token_file_read(file, ATT_TOKENS_TRAIN, ATT_SECTION_TARGET_OFFSETS, 0, 1,
                                         &offset, &err),
                     ATT_BAD_INPUT);
    assert_string_equal(err.message, "changed while being read");
    att_token_file_free(file);
}

static void settings_that_contradict_the_file_are_refused(void **state)
{
    (void)state;
    prepare_small("s.tokens");
    static const char *const rows[][3] = {
        { "source-tokens", "bpe", "was prepared with source-tokens" },
        { "max-length", "7", "was prepared with max-length 500, not 7" },
        { "valid", "s.tsv", "has its validation data" },
    };
    for (size_t i = 0; i < 3; i++) {
        att_settings *settings = settings_of("pairs", "s.tokens");
        att_error err = { 0 };
        set(settings, rows[i][0], rows[i][1]);
        assert_int_equal(att_prepared_settings(settings, &err), ATT_BAD_INPUT);
        assert_non_null(strstr(err.message, rows[i][2]));
        att_settings_free(settings);
    }
    att_settings *lm = settings_of("lm", "s.tokens");
    att_error err = { 0 };
    assert_int_equal(att_prepared_settings(lm, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "was prepared with task pairs, not lm");
    att_settings_free(lm);
}

/* ---- data that cannot be prepared */

static void data_that_cannot_be_prepared_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *task, *train, *valid, *key, *value, *message;
    } rows[] = {
        { "classify", "a\tx\nb\tx\n", "a\tx\n", NULL, NULL,
          "has only one label, 'x'; expected at least two" },
        { "classify", "a\tx\nb\ty\n", "a\tx\n", "char-features", "cnn",
          "char-features needs the characters of the words, which a token file lacks: train from "
          "the text" },
        { "pairs", "a\tx\nb\ty\n", "a\tx\n", "copy", "yes",
          "copy needs the words of the source, which a token file lacks: train from the text, or "
          "give --no-copy" },
        { "pairs", "a\tx\nb\ty\n", "a\tx\n", "guided-alignment", "t.txt",
          "guided-alignment: a token file has no alignments; train from the text" },
        { "pairs", "a\tx\nb\ty\n", "", NULL, NULL, "has no pairs to validate on" },
        { "pairs", "a\tx\nb\ty\n", "\tx\na\t\n", NULL, NULL,
          "has no pairs to validate on: each of its 2 lines has an empty side or more tokens than "
          "max-length" },
        { "pairs", "source,target\na,x\nb,y\n", "a\tx\n", "format", "csv",
          "is CSV, expected one example per line: tab-separated, JSON lines, or two parallel "
          "files" },
        { "tag", "a A\n\nb B\n", "a\tA\n", "format", "conll",
          "is a CoNLL file, expected one example per line: tab-separated, JSON lines, or two "
          "parallel files" },
        { "lm", "abc", "a", "tokens", "char", "has 1 token to validate on, expected at least 2" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        att_error err = { 0 };
        put("t.txt", rows[i].train);
        put("v.txt", rows[i].valid);
        att_settings *settings = settings_of(rows[i].task, "t.txt");
        set(settings, "valid", "v.txt");
        if (strcmp(rows[i].task, "pairs") == 0)
            set(settings, "copy", "no");
        if (rows[i].key)
            set(settings, rows[i].key, rows[i].value);
        att_status status = att_prepare("t.tokens", settings, NULL, NULL, &err);
        assert_string_equal(err.message, rows[i].message);
        assert_int_equal(status, ATT_BAD_INPUT);
        assert_int_not_equal(access("t.tokens", F_OK), 0);
        att_settings_free(settings);
    }
}

/* A sample of so few pairs may have none: then all of them are validation data. */
static void labels_of_json_lines_are_those_of_the_text(void **state)
{
    (void)state;
    put("c.jsonl", "{\"text\": \"ein Haus\", \"label\": \"x\"}\n"
                   "{\"text\": \"zwei\", \"label\": \"y\"}\n");
    att_settings *text = settings_of("classify", "c.jsonl");
    set(text, "valid-fraction", "0");
    prepare(text, "c.tokens");
    att_settings *tokens = settings_of("classify", "c.tokens");
    att_data a = load(text), b = load(tokens);
    assert_int_equal(b.train.pairs, 2);
    assert_int_equal(b.valid.pairs, 2);
    assert_same_pairs(&a, &b);
    att_data_free(&a);
    att_data_free(&b);
    att_settings_free(text);
    att_settings_free(tokens);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(pairs_are_those_of_the_text),
        IN_FOLDER(what_the_data_chose_is_chosen_again),
        IN_FOLDER(texts_are_those_of_the_file),
        IN_FOLDER(a_text_may_be_of_any_bytes),
        IN_FOLDER(weights_repeat_files),
        IN_FOLDER(every_window_has_its_pairs_once_an_epoch),
        IN_FOLDER(every_flipped_byte_is_found),
        IN_FOLDER(a_file_that_shrinks_is_an_error_and_stays_one),
        IN_FOLDER(a_file_that_is_written_to_is_an_error),
        IN_FOLDER(settings_that_contradict_the_file_are_refused),
        IN_FOLDER(data_that_cannot_be_prepared_are_refused),
        IN_FOLDER(labels_of_json_lines_are_those_of_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
