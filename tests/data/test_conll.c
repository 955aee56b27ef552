/* CoNLL files and lines of tokens and labels: what is read, and what is refused by line. */
#include "data/conll.h"

#include "data/pairs_help.h"

static const att_tag_columns first_and_last = { 1, 0 };

static struct att_text_file file_of(const char *text)
{
    struct att_text_file file = { .name = "f" };
    assert_int_equal(att_string_append(&file.text, text, strlen(text)), ATT_OK);
    return file;
}

/* The sentences as "tokens|labels@line; …", or the message of the error. */
static void assert_sentences(const char *text, att_tag_columns columns, const char *wanted)
{
    struct att_text_file file = file_of(text);
    att_conll_reader in;
    att_error err = { 0 };
    att_string got = { 0 };
    bool found = true;
    att_status status = att_conll_start(&in, &file, columns, &err);
    while (status == ATT_OK && found) {
        status = att_conll_next(&in, &found, &err);
        if (status == ATT_OK && found)
            assert_int_equal(att_string_printf(&got, "%.*s|%.*s@%d; ", (int)in.tokens.length,
                                               in.tokens.data, (int)in.labels.length,
                                               in.labels.data, (int)in.first_line),
                             ATT_OK);
    }
    if (status != ATT_OK)
        assert_int_equal(att_string_printf(&got, "%d: %s", err.line, err.message), ATT_OK);
    assert_string_equal(got.data ? got.data : "", wanted);
    att_conll_free(&in);
    att_string_free(&got);
    att_string_free(&file.text);
}

static void sentences_end_at_blank_lines_and_document_starts(void **state)
{
    (void)state;
    assert_sentences("a x X\nb y Y\n\n \t\nc z Z", first_and_last, "a b|X Y@1; c|Z@5; ");
    assert_sentences("-DOCSTART- -X- O\n\na x X\n-DOCSTART- -X- O\nb y Y\n", first_and_last,
                     "a|X@3; b|Y@5; ");
    assert_sentences("", first_and_last, "");
    assert_sentences("\n\n", first_and_last, "");
}

static void columns_are_chosen_and_separated_by_tabs_or_white_space(void **state)
{
    (void)state;
    assert_sentences("1\ta b\tN\tX\n2\tc\tV\tY\n", (att_tag_columns){ 2, 4 }, "a_b c|X Y@1; ");
    assert_sentences("X  a\nY\tb\n", (att_tag_columns){ 2, 1 }, "a b|X Y@1; ");
    assert_sentences(" a  x   X \n", first_and_last, "a|X@1; ");
    assert_sentences("a X\r\nb Y\r\n\r\nc Z\r\n", first_and_last, "a b|X Y@1; c|Z@4; ");
}

static void comments_and_extra_nodes_are_skipped_but_a_hash_may_be_a_token(void **state)
{
    (void)state;
    assert_sentences("# sent_id = 1\n# a b\na X\n# Y\n\n# Z\n", first_and_last,
                     "a #|X Y@3; #|Z@6; ");
#define REST "\t_\t_\t_\t_\t_\t_\t_"
    assert_sentences("# text = x\n1-2\tdont\t_" REST "\n1\tdo\tA" REST "\n1.1\tx\t_" REST
                     "\n2\tnt\tB" REST "\n",
                     (att_tag_columns){ 2, 3 }, "do nt|A B@3; ");
}

static void bad_lines_are_named(void **state)
{
    (void)state;
    assert_sentences("a\nb\n", first_and_last,
                     "1: expected at least 2 columns, a token and its label, found 1");
    assert_sentences("a X\n\nb\n", first_and_last,
                     "a|X@1; 3: expected 2 columns as in line 1, found 1");
    assert_sentences("a\tx\tX\nb\ty\t\n", first_and_last,
                     "2: expected text in column 3, found none");
    assert_sentences("\tX\n", first_and_last, "1: expected text in column 1, found none");
    assert_sentences("a X\n", (att_tag_columns){ 1, 3 },
                     "1: expected at least 3 columns, a token and its label, found 2");
}

static void lines_of_tokens_and_labels_are_told_from_conll(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool conll;
    } cases[] = {
        { "a X\nb Y\n", true },        { "a\tX\nb\tY\n", true },
        { "a b\tX Y\nc\tZ\n", false }, { "c\tZ\na b\tX Y\n", false },
        { "a b c\tX\n", false },       { "1\ta b\tN\tX\n", true },
        { "# a\tb c\na\tX\n", true },  { "", true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (att_conll_detect(cases[i].text, strlen(cases[i].text)) != cases[i].conll)
            fail_msg("%s", cases[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences_end_at_blank_lines_and_document_starts),
        cmocka_unit_test(columns_are_chosen_and_separated_by_tabs_or_white_space),
        cmocka_unit_test(comments_and_extra_nodes_are_skipped_but_a_hash_may_be_a_token),
        cmocka_unit_test(bad_lines_are_named),
        cmocka_unit_test(lines_of_tokens_and_labels_are_told_from_conll),
    };
    return cmocka_run_group_tests_name("conll", tests, NULL, NULL);
}
