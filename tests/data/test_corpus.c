/* Reading pairs of lines from valid and invalid files. */
#include "data/pairs_help.h"
#include "failing_memory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void assert_refused(const att_pair_files *files, const char *place, int line,
                           const char *message)
{
    pairs got;
    att_error err = { 0 };
    size_t live = att_alloc_live();
    assert_int_equal(try_pairs(&got, files, ATT_TOKENIZER_CHAR,
                               (att_pair_read_options){ .max_length = 9 }, &err),
                     ATT_BAD_INPUT);
    assert_string_equal(err.message, message);
    assert_string_equal(err.place, place);
    assert_int_equal(err.line, line);
    assert_int_equal(att_alloc_live(), live);
}

static void assert_bytes_refused(const char *bytes, size_t size, int line, const char *message)
{
    put_bytes("f", bytes, size);
    assert_refused(&(att_pair_files){ .tsv = "f" }, "f", line, message);
}

#define REFUSED(bytes, line, message) assert_bytes_refused(bytes, sizeof bytes - 1, line, message)

/* ---- what is read */

static void lines_with_a_tab_are_pairs(void **state)
{
    (void)state;
    pairs got = pairs_of("ab\tx\nc\tyz\n");
    assert_int_equal(got.corpus.pairs, 2);
    assert_pair(&got, 0, "ab>x");
    assert_pair(&got, 1, "c>yz");
    assert_int_equal(got.corpus.line_numbers[1], 2);
    assert_int_equal(got.corpus.stats.lines, 2);
    assert_int_equal(got.corpus.stats.source.tokens, 3);
    assert_int_equal(got.corpus.stats.source.min_length, 1);
    assert_int_equal(got.corpus.stats.source.max_length, 2);
    assert_int_equal(got.corpus.stats.target.tokens, 3);
    assert_int_equal(att_vocab_size(got.source), 3 + 3);
    free_pairs(&got);
}

static void pairs_with_the_same_source_text_are_linked_in_a_circle(void **state)
{
    (void)state;
    put("f", "a\tx\nb\ty\na\tz\na\tx\nc\ty\nc\ty\n");
    pairs got = read_pairs(&(att_pair_files){ .tsv = "f" }, ATT_TOKENIZER_CHAR,
                           (att_pair_read_options){ .link_sources = true });
    static const int64_t expected[] = { 2, 1, 3, 0, 5, 4 };
    assert_memory_equal(got.corpus.same_source, expected, sizeof expected);
    assert_int_equal(got.corpus.stats.several_targets, 1); /* c has one target, twice */
    free_pairs(&got);
}

static void two_files_are_pairs_line_by_line(void **state)
{
    (void)state;
    put("s", "a b\nc\td\n");
    put("t", "x\ny\n");
    pairs got = read_pairs(&(att_pair_files){ .source = "s", .target = "t" }, ATT_TOKENIZER_SPACE,
                           (att_pair_read_options){ 0 });
    assert_int_equal(got.corpus.pairs, 2);
    assert_pair(&got, 0, "a b>x");
    assert_pair(&got, 1, "c d>y");
    free_pairs(&got);
}

static void a_last_line_without_newline_counts(void **state)
{
    (void)state;
    pairs got = pairs_of("a\tb\nc\td");
    assert_int_equal(got.corpus.pairs, 2);
    assert_pair(&got, 1, "c>d");
    free_pairs(&got);
}

static void crlf_line_ends_and_a_byte_order_mark_are_removed_and_counted(void **state)
{
    (void)state;
    pairs got = pairs_of("\xEF\xBB\xBF"
                         "a\tb\r\nc\td\n");
    assert_pair(&got, 0, "a>b");
    assert_pair(&got, 1, "c>d");
    assert_int_equal(got.corpus.stats.crlf_lines, 1);
    assert_true(got.corpus.stats.has_bom);
    free_pairs(&got);
}

static void spaces_around_a_side_do_not_matter(void **state)
{
    (void)state;
    pairs got = pairs_of("  a b \t c \n");
    assert_pair(&got, 0, "a b>c");
    free_pairs(&got);
}

static void pairs_with_an_empty_side_are_skipped_and_counted(void **state)
{
    (void)state;
    pairs got = pairs_of("a\tb\n\n\tx\ny\t  \n \t \nz\tw\n\n");
    const att_corpus_stats *stats = &got.corpus.stats;
    assert_int_equal(got.corpus.pairs, 2);
    assert_pair(&got, 1, "z>w");
    assert_int_equal(got.corpus.line_numbers[1], 6);
    assert_int_equal(stats->lines, 7);
    assert_int_equal(stats->skipped[ATT_SKIP_BLANK], 3);
    assert_int_equal(stats->skipped_lines[ATT_SKIP_BLANK][0], 2);
    assert_int_equal(stats->skipped_lines[ATT_SKIP_BLANK][1], 5);
    assert_int_equal(stats->skipped_lines[ATT_SKIP_BLANK][2], 7);
    assert_int_equal(stats->skipped[ATT_SKIP_EMPTY_SOURCE], 1);
    assert_int_equal(stats->skipped_lines[ATT_SKIP_EMPTY_SOURCE][0], 3);
    assert_int_equal(stats->skipped[ATT_SKIP_EMPTY_TARGET], 1);
    assert_int_equal(stats->skipped_lines[ATT_SKIP_EMPTY_TARGET][0], 4);
    assert_int_equal(att_vocab_id(got.source, "y", 1), ATT_ID_UNK);
    free_pairs(&got);
}

static void pairs_that_are_too_long_are_skipped_with_their_tokens(void **state)
{
    (void)state;
    put("f", "abc\tx\nabcd\tx\na\txyzw\n");
    pairs got = read_pairs(&(att_pair_files){ .tsv = "f" }, ATT_TOKENIZER_CHAR,
                           (att_pair_read_options){ .max_length = 3 });
    assert_int_equal(got.corpus.pairs, 1);
    assert_pair(&got, 0, "abc>x");
    assert_int_equal(got.corpus.stats.skipped[ATT_SKIP_LONG_SOURCE], 1);
    assert_int_equal(got.corpus.stats.skipped_lines[ATT_SKIP_LONG_SOURCE][0], 2);
    assert_int_equal(got.corpus.stats.skipped[ATT_SKIP_LONG_TARGET], 1);
    assert_int_equal(att_vocab_size(got.source), 3 + 3);
    assert_int_equal(att_vocab_size(got.target), 3 + 1);
    assert_int_equal(att_vocab_token_count(got.source, att_vocab_id(got.source, "a", 1)), 1);
    free_pairs(&got);
}

static void only_the_first_skipped_lines_are_remembered(void **state)
{
    (void)state;
    pairs got = pairs_of("a\tb\n\n\n\n\n\n\n\n\n");
    assert_int_equal(got.corpus.stats.skipped[ATT_SKIP_BLANK], 8);
    assert_int_equal(got.corpus.stats.skipped_lines[ATT_SKIP_BLANK][ATT_SKIP_MAX_LINES - 1], 6);
    free_pairs(&got);
}

static void a_very_long_line_is_skipped(void **state)
{
    (void)state;
    enum { SIZE = 20 << 20 };
    char *text = malloc(SIZE);
    assert_non_null(text);
    memset(text, 'x', SIZE);
    memcpy(text, "a\tb\n", 4);
    text[SIZE / 2] = '\t';
    text[SIZE - 1] = '\n';
    put_bytes("f", text, SIZE);
    free(text);
    pairs got = read_pairs(&(att_pair_files){ .tsv = "f" }, ATT_TOKENIZER_CHAR,
                           (att_pair_read_options){ .max_length = 500 });
    assert_int_equal(got.corpus.pairs, 1);
    assert_int_equal(got.corpus.stats.skipped[ATT_SKIP_LONG_SOURCE], 1);
    free_pairs(&got);
}

static void an_empty_file_has_no_pairs(void **state)
{
    (void)state;
    pairs got = pairs_of("");
    assert_int_equal(got.corpus.pairs, 0);
    assert_int_equal(got.corpus.stats.lines, 0);
    free_pairs(&got);
}

static void thousands_of_pairs_keep_their_places(void **state)
{
    (void)state;
    att_string text = { 0 };
    for (int i = 0; i < 3000; i++)
        assert_int_equal(att_string_printf(&text, "%d\t-%d\n", i, i), ATT_OK);
    pairs got = pairs_of(text.data);
    assert_int_equal(got.corpus.pairs, 3000);
    for (int i = 0; i < 3000; i++) {
        char expected[32];
        snprintf(expected, sizeof expected, "%d>-%d", i, i);
        assert_pair(&got, i, expected);
        assert_int_equal(got.corpus.line_numbers[i], i + 1);
    }
    att_string_free(&text);
    free_pairs(&got);
}

/* ---- with finished vocabularies */

static void unknown_tokens_are_counted_by_a_reading_that_does_not_add(void **state)
{
    (void)state;
    pairs got = pairs_of("ab\txy\n");
    int32_t source_size = att_vocab_size(got.source);
    put("more", "abc\tq\nb\txz\n");
    att_pair_text text;
    att_corpus more;
    assert_int_equal(att_pair_text_load(&text, &(att_pair_files){ .tsv = "more" }, NULL), ATT_OK);
    const att_pair_read_options options = { .source_vocab = got.source,
                                            .target_vocab = got.target };
    assert_int_equal(att_corpus_read(&more, &text, &options, NULL), ATT_OK);
    assert_int_equal(more.pairs, 2);
    assert_int_equal(more.stats.source.unknown_tokens, 1);
    assert_int_equal(more.stats.target.unknown_tokens, 2);
    assert_int_equal(more.source.ids[2], ATT_ID_UNK);
    assert_int_equal(att_vocab_size(got.source), source_size);
    att_corpus_free(&more);
    att_pair_text_free(&text);
    free_pairs(&got);
}

static void rare_tokens_count_as_unknown_in_training(void **state)
{
    (void)state;
    put("f", "aab\tx\n");
    att_vocab *source, *target;
    assert_int_equal(att_vocab_new(&source, ATT_TOKENIZER_CHAR, false, NULL), ATT_OK);
    assert_int_equal(att_vocab_new(&target, ATT_TOKENIZER_CHAR, false, NULL), ATT_OK);
    att_pair_text text;
    att_corpus corpus;
    assert_int_equal(att_pair_text_load(&text, &(att_pair_files){ .tsv = "f" }, NULL), ATT_OK);
    const att_pair_read_options options = { .source_vocab = source,
                                            .target_vocab = target,
                                            .counted_source = source,
                                            .counted_target = target };
    assert_int_equal(att_corpus_read(&corpus, &text, &options, NULL), ATT_OK);
    int32_t *final[2];
    assert_int_equal(att_vocab_finalize(source, 2, &final[0], NULL), ATT_OK);
    assert_int_equal(att_vocab_finalize(target, 1, &final[1], NULL), ATT_OK);
    att_corpus_renumber(&corpus, final[0], final[1]);
    assert_int_equal(corpus.stats.source.unknown_tokens, 1);
    assert_int_equal(corpus.stats.target.unknown_tokens, 0);
    att_free(final[0]);
    att_free(final[1]);
    att_corpus_free(&corpus);
    att_pair_text_free(&text);
    att_vocab_free(source);
    att_vocab_free(target);
}

static void a_part_held_out_and_the_rest_are_the_whole(void **state)
{
    (void)state;
    att_string text = { 0 };
    for (int i = 0; i < 1000; i++)
        assert_int_equal(att_string_printf(&text, "%d\t%d\n", i / 2, i), ATT_OK);
    put("f", text.data);
    att_string_free(&text);
    const att_pair_files files = { .tsv = "f" };
    att_pair_read_options options = { .valid_fraction = 0.2, .seed = 3 };
    pairs kept = read_pairs(&files, ATT_TOKENIZER_SPACE, options);
    options.read_valid = true;
    pairs held = read_pairs(&files, ATT_TOKENIZER_SPACE, options);
    assert_int_equal(kept.corpus.pairs + held.corpus.pairs, 1000);
    assert_in_range(held.corpus.pairs, 120,
                    280); /* 200 expected; both lines of a source are on one side */
    for (int32_t id = ATT_ID_FIRST; id < att_vocab_size(held.source); id++) {
        const char *word = att_vocab_token(held.source, id);
        assert_int_equal(att_vocab_id(kept.source, word, strlen(word)), ATT_ID_UNK);
    }
    options.seed = 4;
    pairs other = read_pairs(&files, ATT_TOKENIZER_SPACE, options);
    assert_true(other.corpus.pairs != held.corpus.pairs ||
                other.corpus.line_numbers[0] != held.corpus.line_numbers[0] ||
                other.corpus.line_numbers[1] != held.corpus.line_numbers[1] ||
                other.corpus.line_numbers[2] != held.corpus.line_numbers[2]);
    free_pairs(&kept);
    free_pairs(&held);
    free_pairs(&other);
}

/* ---- what is refused */

static void a_line_without_one_tab_is_refused(void **state)
{
    (void)state;
    REFUSED("a\tb\nno tab\n", 2, "expected source<TAB>target, found no tab");
    REFUSED("a\tb\tc\n", 1,
            "expected source<TAB>target, found more than one tab; columns 1,2 takes two of the "
            "columns, format sigmorphon the third as tags");
}

static void bad_utf8_is_refused_with_its_offset(void **state)
{
    (void)state;
    REFUSED("a\tb\ncd\te\xFF\n", 2,
            "byte 5 of the line, 0xFF, is not UTF-8 (offset 8 in the file)");
    REFUSED("a\tb\n\xC3(\te\n", 2, "byte 1 of the line, 0xC3, is not UTF-8 (offset 4 in the file)");
    REFUSED("a\tb\nc\0\te\n", 2, "byte 2 of the line, 0x00, is not text (offset 5 in the file)");
}

static void bad_utf8_is_found_even_in_a_line_too_long(void **state)
{
    (void)state;
    REFUSED("0123456789abcdef\xFF\tb\n", 1,
            "byte 17 of the line, 0xFF, is not UTF-8 (offset 16 in the file)");
}

static void bad_utf8_in_the_second_file_names_that_file(void **state)
{
    (void)state;
    put("s", "a\nb\n");
    put("t", "x\ny\xE2\x82\n");
    assert_refused(&(att_pair_files){ .source = "s", .target = "t" }, "t", 2,
                   "byte 2 of the line, 0xE2, is not UTF-8 (offset 3 in the file)");
}

static void files_of_different_length_are_refused(void **state)
{
    (void)state;
    put("s", "a\nb\nc\n");
    put("t", "x\ny");
    assert_refused(&(att_pair_files){ .source = "s", .target = "t" }, "t", 0,
                   "has 2 lines and s has 3: they must correspond line by line");
    put("empty", "");
    assert_refused(&(att_pair_files){ .source = "s", .target = "empty" }, "empty", 0,
                   "has 0 lines and s has 3: they must correspond line by line");
}

static void a_file_that_is_not_text_is_refused_by_its_format(void **state)
{
    (void)state;
    REFUSED("\xFD"
            "7zXZ rest",
            0, "is compressed: unpack it, or use <(xzcat FILE) instead");
    REFUSED("\xFF\xFE"
            "a\0\t\0",
            0, "is UTF-16, expected UTF-8: iconv -f UTF-16 -t UTF-8 converts it");
    REFUSED("PK\x03\x04zip", 0, "is a ZIP archive, expected UTF-8 text");
    assert_int_equal(mkdir("dir", 0777), 0);
    assert_refused(&(att_pair_files){ .tsv = "dir" }, "dir", 0, "is a directory, expected a file");
    assert_refused(&(att_pair_files){ .tsv = "none" }, "none", 0,
                   "cannot open: No such file or directory");
}

/* ---- alignments */

static void alignments_go_with_their_targets(void **state)
{
    (void)state;
    put("f", "a b c\tx y\n\nd\tz w v\n");
    put("align", "0-0 2-1 1-1\n9-9\n0-2\n"); /* the alignment of an empty line is ignored */
    pairs got = read_pairs(&(att_pair_files){ .tsv = "f", .alignment = "align" },
                           ATT_TOKENIZER_SPACE, (att_pair_read_options){ 0 });
    static const int32_t expected[] = { 0, 1, -1, -1, 0 };
    assert_int_equal(got.corpus.pairs, 2);
    assert_memory_equal(got.corpus.alignment, expected, sizeof expected);
    free_pairs(&got);
}

static void bad_alignments_are_refused_with_their_line(void **state)
{
    (void)state;
    static const struct {
        const char *line, *message;
    } cases[] = {
        { "0-3",
          "0-3 is outside the pair, which has 2 source and 3 target tokens, counted from 0" },
        { "0-0 2-0",
          "2-0 is outside the pair, which has 2 source and 3 target tokens, counted from 0" },
        { "0", "expected source-target alignments such as 0-0 1-2" },
        { "0-", "expected source-target alignments such as 0-0 1-2" },
        { "-1-0", "expected source-target alignments such as 0-0 1-2" },
        { "0-0,1-1", "expected source-target alignments such as 0-0 1-2" },
        { "0-9999999999", "expected source-target alignments such as 0-0 1-2" },
    };
    put("f", "ab\txyz\nab\txyz\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        snprintf(text, sizeof text, "0-0\n%s\n", cases[i].line);
        put("align", text);
        assert_refused(&(att_pair_files){ .tsv = "f", .alignment = "align" }, "align", 2,
                       cases[i].message);
    }
    put("align", "0-0\n");
    assert_refused(&(att_pair_files){ .tsv = "f", .alignment = "align" }, "align", 0,
                   "has 1 line and f has 2: they must correspond line by line");
}

/* ---- through a pipe */

static void a_fifo_is_read_to_its_end(void **state)
{
    (void)state;
    assert_int_equal(mkfifo("pipe", 0666), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int fd = open("pipe", O_WRONLY);
        bool good = fd >= 0;
        for (int i = 0; good && i < 30000; i++) /* more than a pipe holds */
            good = write(fd, "ab\tcd\n", 6) == 6;
        _exit(good ? 0 : 1);
    }
    pairs got = read_pairs(&(att_pair_files){ .tsv = "pipe" }, ATT_TOKENIZER_CHAR,
                           (att_pair_read_options){ 0 });
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(got.corpus.pairs, 30000);
    free_pairs(&got);
}

static void a_dash_is_standard_input(void **state)
{
    (void)state;
    put("f", "a\tb\nc\n");
    int before = dup(STDIN_FILENO), fd = open("f", O_RDONLY);
    assert_true(before >= 0 && fd >= 0);
    assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
    close(fd);
    pairs got;
    att_error err = { 0 };
    att_status status = try_pairs(&got, &(att_pair_files){ .tsv = "-" }, ATT_TOKENIZER_CHAR,
                                  (att_pair_read_options){ 0 }, &err);
    dup2(before, STDIN_FILENO);
    close(before);
    assert_int_equal(status, ATT_BAD_INPUT);
    assert_string_equal(err.place, "<stdin>");
    assert_int_equal(err.line, 2);
}

/* ---- without memory */

static att_status read_aligned(void *context)
{
    (void)context;
    pairs got;
    att_error err = { 0 };
    att_status status = try_pairs(&got, &(att_pair_files){ .tsv = "f", .alignment = "align" },
                                  ATT_TOKENIZER_CHAR, (att_pair_read_options){ 0 }, &err);
    if (status == ATT_OK)
        free_pairs(&got);
    else
        assert_string_equal(err.message, "out of memory");
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    put("f", "ab\tx\né\tyz\n\n");
    put("align", "0-0\n0-1\n\n");
    every_allocation_fails(read_aligned, NULL, 100);
}

static void target_texts_are_kept_unchanged_on_request(void **state)
{
    (void)state;
    put("f", "a\tOne  Two \r\nb\t\nc\tThree\n");
    pairs got = read_pairs(&(att_pair_files){ .tsv = "f" }, ATT_TOKENIZER_WORD,
                           (att_pair_read_options){ .keep_target_text = true });
    assert_int_equal(got.corpus.pairs, 2);
    assert_string_equal(att_corpus_target_text(&got.corpus, 0), "One  Two ");
    assert_string_equal(att_corpus_target_text(&got.corpus, 1), "Three");
    free_pairs(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(lines_with_a_tab_are_pairs),
        IN_FOLDER(pairs_with_the_same_source_text_are_linked_in_a_circle),
        IN_FOLDER(two_files_are_pairs_line_by_line),
        IN_FOLDER(a_last_line_without_newline_counts),
        IN_FOLDER(crlf_line_ends_and_a_byte_order_mark_are_removed_and_counted),
        IN_FOLDER(spaces_around_a_side_do_not_matter),
        IN_FOLDER(pairs_with_an_empty_side_are_skipped_and_counted),
        IN_FOLDER(pairs_that_are_too_long_are_skipped_with_their_tokens),
        IN_FOLDER(only_the_first_skipped_lines_are_remembered),
        IN_FOLDER(a_very_long_line_is_skipped),
        IN_FOLDER(an_empty_file_has_no_pairs),
        IN_FOLDER(thousands_of_pairs_keep_their_places),
        IN_FOLDER(unknown_tokens_are_counted_by_a_reading_that_does_not_add),
        IN_FOLDER(rare_tokens_count_as_unknown_in_training),
        IN_FOLDER(a_part_held_out_and_the_rest_are_the_whole),
        IN_FOLDER(a_line_without_one_tab_is_refused),
        IN_FOLDER(bad_utf8_is_refused_with_its_offset),
        IN_FOLDER(bad_utf8_is_found_even_in_a_line_too_long),
        IN_FOLDER(bad_utf8_in_the_second_file_names_that_file),
        IN_FOLDER(files_of_different_length_are_refused),
        IN_FOLDER(a_file_that_is_not_text_is_refused_by_its_format),
        IN_FOLDER(alignments_go_with_their_targets),
        IN_FOLDER(bad_alignments_are_refused_with_their_line),
        IN_FOLDER(a_fifo_is_read_to_its_end),
        IN_FOLDER(a_dash_is_standard_input),
        IN_FOLDER(every_allocation_may_fail),
        IN_FOLDER(target_texts_are_kept_unchanged_on_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
