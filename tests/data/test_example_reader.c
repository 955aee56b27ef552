/* Examples of files in every format: what is guessed, what is read, and what is refused by line. */
#include "data/example_reader.h"

#include "data/pairs_help.h"

static struct att_text_file file_of(const char *name, const char *text)
{
    struct att_text_file file = { .name = name };
    assert_int_equal(att_string_append(&file.text, text, strlen(text)), ATT_OK);
    return file;
}

/* The columns "a,b" or "a,b,c" as the settings parse them. */
static att_columns columns_of(att_settings **settings, const char *columns)
{
    att_columns out;
    assert_int_equal(att_settings_new(settings, "pairs", NULL), ATT_OK);
    if (columns)
        assert_int_equal(att_settings_set(*settings, "columns", columns, NULL), ATT_OK);
    assert_int_equal(att_settings_columns(&out, *settings, NULL), ATT_OK);
    return out;
}

/* Appends the examples as "source>target|tags@line; …", and the message of an error. */
static void read_all(att_string *got, const struct att_text_file *file, att_example_format format)
{
    att_example_reader in;
    att_error err = { 0 };
    bool found = true;
    att_status status = att_example_reader_start(&in, file, &format, &err);
    while (status == ATT_OK) {
        status = att_example_reader_next(&in, &found, &err);
        if (status != ATT_OK || !found)
            break;
        const att_line_view *s = in.sides;
        assert_int_equal(att_string_printf(got, "%.*s>%.*s%s%.*s@%d; ", (int)s[0].length, s[0].text,
                                           (int)s[1].length, s[1].text, in.has_tags ? "|" : "",
                                           in.has_tags ? (int)s[2].length : 0,
                                           in.has_tags ? s[2].text : "", (int)s[0].number),
                         ATT_OK);
    }
    if (status != ATT_OK)
        assert_int_equal(att_string_printf(got, "%d: %s", err.line, err.message), ATT_OK);
    att_example_reader_free(&in);
}

static void assert_examples(att_example_kind kind, att_data_format format, const char *columns,
                            const char *text, const char *wanted)
{
    struct att_text_file file = file_of("f", text);
    att_settings *settings;
    att_string got = { 0 };
    size_t live;
    att_example_format how = { .kind = kind,
                               .format = format,
                               .columns = columns_of(&settings, columns) };
    live = att_alloc_live();
    read_all(&got, &file, how);
    assert_string_equal(got.data ? got.data : "", wanted);
    att_string_free(&got);
    assert_int_equal(att_alloc_live(), live);
    att_string_free(&file.text);
    att_settings_free(settings);
}

#define PAIRS(text, wanted) assert_examples(ATT_EXAMPLES_PAIRS, ATT_DATA_AUTO, NULL, text, wanted)
#define TOO_MANY                                                                                   \
    "1: expected source<TAB>target, found more than one tab; columns 1,2 takes two of the "        \
    "columns, format sigmorphon the third as tags"
#define SENTENCES(text, wanted)                                                                    \
    assert_examples(ATT_EXAMPLES_SENTENCES, ATT_DATA_AUTO, NULL, text, wanted)
#define TAGGED(text, wanted) assert_examples(ATT_EXAMPLES_TAGGED, ATT_DATA_AUTO, NULL, text, wanted)

static void lines_with_one_tab_are_read_as_ever(void **state)
{
    (void)state;
    PAIRS("a b\tc\n\nd\te\n", "a b>c@1; >@2; d>e@3; ");
    PAIRS("{\"source\":1}\tx\n", "{\"source\":1}>x@1; ");
    PAIRS("source,target\tx\n", "source,target>x@1; ");
    PAIRS("IN: a OUT: b\tx\n", "IN: a OUT: b>x@1; ");
    PAIRS("a\n", "1: expected source<TAB>target, found no tab");
    PAIRS("a\tb\tc d\n", TOO_MANY);
    PAIRS("dog\tHund\tchien\n", TOO_MANY);
    PAIRS("dog\tHund\t12\ncat\tKatze\t0.5\n", TOO_MANY);
    PAIRS("a, b\n",
          "1: expected source<TAB>target, found no tab; format csv with columns A,B reads "
          "CSV");
    PAIRS("a\tb\nc, d\n", "a>b@1; 2: expected source<TAB>target, found no tab");
    PAIRS("", "");
}

static void sigmorphon_lines_have_a_column_of_tags(void **state)
{
    (void)state;
    PAIRS("go\twent\tV;PST\ngo\tgoes\tV;3;SG;PRS\n", "go>went|V;PST@1; go>goes|V;3;SG;PRS@2; ");
    PAIRS("a\tb\tCase=Nom|Number=Sing\n\n", "a>b|Case=Nom|Number=Sing@1; >|@2; ");
    PAIRS("a\tb\tV\nc\td\n", TOO_MANY);
    PAIRS("a\tb\t\nc\td\tV\ne\tf\tN\n", "a>b|@1; c>d|V@2; e>f|N@3; ");
    PAIRS("a\tb\tV\nc\td\tN\ne\tf\n",
          "a>b|V@1; c>d|N@2; 3: expected source<TAB>target<TAB>tags, found 2 columns");
    assert_examples(ATT_EXAMPLES_PAIRS, ATT_DATA_SIGMORPHON, NULL, "a\tb\tV\nc\td\t\ne\tf\n",
                    "a>b|V@1; c>d|@2; 3: expected source<TAB>target<TAB>tags, found 2 columns");
    assert_examples(ATT_EXAMPLES_PAIRS, ATT_DATA_AUTO, "1,3,2", "a\tV\tb\n", "a>b|V@1; ");
    assert_examples(ATT_EXAMPLES_PAIRS, ATT_DATA_SIGMORPHON, "1,2", "a\tV\tb\n",
                    "0: format sigmorphon: expected the columns of source, target and tags, found "
                    "two");
}

static void columns_of_tab_separated_lines_are_chosen_by_number(void **state)
{
    (void)state;
    assert_examples(ATT_EXAMPLES_PAIRS, ATT_DATA_AUTO, "3,1", "a\tb\tc d\n\ne\tf\tg\n",
                    "c d>a@1; >@2; g>e@3; ");
    assert_examples(ATT_EXAMPLES_PAIRS, ATT_DATA_TSV, "1,last", "a\tb\tc\n", "a>c@1; ");
    assert_examples(ATT_EXAMPLES_PAIRS, ATT_DATA_TSV, "1,4", "a\tb\tc\n",
                    "1: expected at least 4 columns, found 3 columns");
    assert_examples(ATT_EXAMPLES_PAIRS, ATT_DATA_TSV, "x,y", "a\tb\n",
                    "0: columns: expected numbers, since tab-separated lines have no names of "
                    "columns, found 'x'; format csv reads a file with a header");
}

static void lines_of_in_and_out_are_split(void **state)
{
    (void)state;
    PAIRS("IN: jump twice OUT: JUMP JUMP\n\nIN:  OUT: A\n",
          " jump twice> JUMP JUMP@1; >@2;  > A@3; ");
    PAIRS("IN: a OUT: b\nIN: c\n", " a> b@1; 2: expected IN: source OUT: target, found no OUT:");
    PAIRS("IN: a\nIN: b OUT: c\n", "1: expected IN: source OUT: target, found no OUT:");
    PAIRS("IN: a OUT: b\nx\n", " a> b@1; 2: expected IN: source OUT: target, found no IN:");
    assert_examples(ATT_EXAMPLES_PAIRS, ATT_DATA_SCAN, NULL, "IN: OUT: x\n", "> x@1; ");
}

static void csv_columns_are_found_by_name_or_number(void **state)
{
    (void)state;
    PAIRS("id,source,target\n1,a,b\n\n2,\"c, d\",\"\"\"e\"\"\"\n", "a>b@2; >@3; c, d>\"e\"@4; ");
    PAIRS("\xEF\xBB\xBFSRC, Tgt\r\na,b\r\n\"x\r\ny\",z", "a>b@2; x y>z@3; ");
    PAIRS("lemma,form,tags\ngo,went,V;PST\n", "go>went|V;PST@2; ");
    SENTENCES("label,text\npos,\"a\nb\"\nneg,c\n", "a b>pos@2; c>neg@4; ");
    TAGGED("tokens,labels\na b,X Y\n", "a b>X Y@2; ");
    assert_examples(ATT_EXAMPLES_SENTENCES, ATT_DATA_AUTO, "review,stars",
                    "stars,title,review\n5,x,good\n", "good>5@2; ");
    assert_examples(ATT_EXAMPLES_SENTENCES, ATT_DATA_CSV, "last,1", "a,b\n5,good\n", "good>5@2; ");
    assert_examples(ATT_EXAMPLES_PAIRS, ATT_DATA_CSV, NULL, "", "");
}

static void columns_with_a_header_may_be_separated_by_tabs_or_semicolons(void **state)
{
    (void)state;
    PAIRS("Source\tTARGET\na\tb, c\n\"x\ty\n", "a>b, c@2; \"x>y@3; ");
    PAIRS("source;target\na;b, c\n\"x;y\";z\n", "a>b, c@2; x;y>z@3; ");
    PAIRS("lemma\tform\ttags\ngo\twent\tV;PST\n", "go>went|V;PST@2; ");
    PAIRS("source;target\n\"a\"x;b\n",
          "2: expected a semicolon or the end of the line after a closing quote");
    SENTENCES("id\tsentence\tlabel\n1\ta b\tpos\n", "a b>pos@2; ");
    SENTENCES("label\tsentence\n1\ta b\tc\n", "2: expected 2 columns as in the header, found 3");
    TAGGED("words\ttags\na\tX\n", "words a>tags X@1; "); /* a CoNLL file */
    assert_examples(ATT_EXAMPLES_SENTENCES, ATT_DATA_AUTO, "review,stars",
                    "stars\ttitle\treview\n5\tx\tgood\n", "good>5@2; ");
    assert_examples(ATT_EXAMPLES_SENTENCES, ATT_DATA_TSV, "2,1", "label\ttext\n5\ta\n",
                    "text>label@1; a>5@2; "); /* as given: lines without a header */
}

static void bad_csv_is_named_by_line(void **state)
{
    (void)state;
    PAIRS("source,target\na,b\nc\n", "a>b@2; 3: expected 2 columns as in the header, found 1");
    PAIRS("source,target\na,\"b\n\nc\n",
          "2: expected a quote that closes the one of this line, found none");
    PAIRS("source,target\n\"a\"x,b\n",
          "2: expected a comma or the end of the line after a closing quote");
    assert_examples(ATT_EXAMPLES_PAIRS, ATT_DATA_CSV, NULL, "a,b\n1,2\n",
                    "1: expected columns such as source and target (columns A,B names others) in "
                    "the header, found a, b");
    assert_examples(ATT_EXAMPLES_PAIRS, ATT_DATA_CSV, "a,z", "a,b\n1,2\n",
                    "1: expected the column 'z' in the header, found a, b");
    assert_examples(ATT_EXAMPLES_PAIRS, ATT_DATA_AUTO, "a,z", "a,b\n1,2\n",
                    "1: expected the column 'z' in the header, found a, b");
    assert_examples(ATT_EXAMPLES_PAIRS, ATT_DATA_CSV, "1,3", "a,b\n1,2\n",
                    "1: expected the column '3' in the header, found a, b");
}

static void json_lines_are_objects(void **state)
{
    (void)state;
    PAIRS("{\"source\":\"a\\tb\\n\",\"target\":\"\\u00e4\"}\n\n{\"target\":1,\"source\":true}\n",
          "a b >\xC3\xA4@1; >@2; true>1@3; ");
    PAIRS("{\"lemma\":\"go\",\"form\":\"went\",\"tags\":[\"V\",\"PST\"]}\n", "go>went|V;PST@1; ");
    SENTENCES("{\"sentence\":\"a\",\"label\":\"x\"}\n", "a>x@1; ");
    TAGGED("{\"tokens\":[\"a b\",\"c\"],\"tags\":[\"X\",2]}\n", "a_b c>X 2@1; ");
    assert_examples(ATT_EXAMPLES_PAIRS, ATT_DATA_AUTO, "q,a", "{\"q\":\"x\",\"a\":\"y\"}\n",
                    "x>y@1; ");
    PAIRS("{\"source\":\"a\",\"target\":\"b\"}\n{\"source\":\"a\"}\n",
          "a>b@1; 2: expected the member \"target\", found source");
    PAIRS("{\"source\":\"a\",\"target\":null}\n",
          "1: expected a string, a whole number, true, false or a list of them for \"target\"");
    PAIRS("{\"source\":\"a\",\"target\":\"b\"}\n{\"source\":\n",
          "a>b@1; 2: JSON: expected a value, found the end of the text");
    PAIRS("{\"source\":\"a\",\"target\":\"b\"}\n[1]\n",
          "a>b@1; 2: expected an object, {\"source\": …}, found another value");
    PAIRS("{\"x\":\"a\",\"y\":\"b\"}\n",
          "1: expected members such as source and target; columns names others, found x, y");
}

static void the_format_is_described(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        { "a\tb\n", "" },
        { "a\tb\tV\n", "SIGMORPHON: source in column 1, target in column 2, tags in column 3" },
        { "a\tb\tV;3\nc\td\t3\ne\tf\tV\n",
          "SIGMORPHON: source in column 1, target in column 2, tags in column 3" },
        { "IN: a OUT: b\n", "lines of IN: … OUT: …" },
        { "src,tgt\n", "CSV: source in column 1, 'src'; target in column 2, 'tgt'" },
        { "src\ttgt\n",
          "tab-separated with a header: source in column 1, 'src'; target in column 2, 'tgt'" },
        { "src;tgt\n",
          "CSV with semicolons: source in column 1, 'src'; target in column 2, 'tgt'" },
        { "{\"src\":1,\"tgt\":2}", "JSON lines: source in \"src\", target in \"tgt\"" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct att_text_file file = file_of("f", cases[i].text);
        att_example_reader in;
        assert_int_equal(att_example_reader_start(&in, &file, &(att_example_format){ 0 }, NULL),
                         ATT_OK);
        assert_string_equal(in.description, cases[i].wanted);
        att_example_reader_free(&in);
        att_string_free(&file.text);
    }
}

static void tags_are_tokens_after_those_of_the_source(void **state)
{
    (void)state;
    put("t", "ab\tx\tV;P\nb\ty\tP\n");
    att_pair_text text;
    att_corpus corpus;
    att_vocab *source, *target;
    int32_t *final, *targets;
    assert_int_equal(att_pair_text_load(&text, &(att_pair_files){ .tsv = "t" }, NULL), ATT_OK);
    assert_int_equal(att_vocab_new(&source, ATT_TOKENIZER_CHAR, false, NULL), ATT_OK);
    assert_int_equal(att_vocab_new(&target, ATT_TOKENIZER_CHAR, false, NULL), ATT_OK);
    att_vocab_set_tags(source);
    const att_pair_read_options options = { .source_vocab = source,
                                            .target_vocab = target,
                                            .counted_source = source,
                                            .counted_target = target };
    assert_int_equal(att_corpus_read(&corpus, &text, &options, NULL), ATT_OK);
    assert_int_equal(att_vocab_finalize(source, 1, &final, NULL), ATT_OK);
    assert_int_equal(att_vocab_finalize(target, 1, &targets, NULL), ATT_OK);
    att_corpus_renumber(&corpus, final, targets);
    static const char *const wanted[] = { "a", "b", "[V]", "[P]", "b", "[P]" };
    assert_int_equal(corpus.source.offsets[corpus.pairs], 6);
    for (int i = 0; i < 6; i++)
        assert_string_equal(att_vocab_token(source, corpus.source.ids[i]), wanted[i]);
    att_free(final);
    att_free(targets);
    att_corpus_free(&corpus);
    att_pair_text_free(&text);
    att_vocab_free(source);
    att_vocab_free(target);
}

static void tags_are_refused_where_the_model_has_none(void **state)
{
    (void)state;
    put("t", "ab\tx\tV;P\n");
    pairs got;
    att_error err = { 0 };
    assert_int_equal(try_pairs(&got, &(att_pair_files){ .tsv = "t" }, ATT_TOKENIZER_CHAR,
                               (att_pair_read_options){ 0 }, &err),
                     ATT_BAD_INPUT);
    assert_string_equal(err.message, "has tags beside the text, but the training data had none; "
                                     "columns chooses source and target");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_with_one_tab_are_read_as_ever),
        cmocka_unit_test(sigmorphon_lines_have_a_column_of_tags),
        cmocka_unit_test(columns_of_tab_separated_lines_are_chosen_by_number),
        cmocka_unit_test(lines_of_in_and_out_are_split),
        cmocka_unit_test(csv_columns_are_found_by_name_or_number),
        cmocka_unit_test(columns_with_a_header_may_be_separated_by_tabs_or_semicolons),
        cmocka_unit_test(bad_csv_is_named_by_line),
        cmocka_unit_test(json_lines_are_objects),
        cmocka_unit_test(the_format_is_described),
        IN_FOLDER(tags_are_tokens_after_those_of_the_source),
        IN_FOLDER(tags_are_refused_where_the_model_has_none),
    };
    return cmocka_run_group_tests_name("example_reader", tests, NULL, NULL);
}
