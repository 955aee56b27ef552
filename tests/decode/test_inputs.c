/* att_inputs: columns of tables as the inputs of a model, with the lines of the file they are from.
 */
#include "attend.h"

#include "failing_memory.h"
#include "text/text_help.h"

static att_model *make_classifier(const char *columns)
{
    static const char *const words[] = { "a", "b" }, *const names[] = { "yes", "no" };
    const att_token_list tokens = { words, 2 }, labels = { names, 2 };
    att_settings *settings;
    att_model *model;
    assert_int_equal(att_settings_new(&settings, "classify", NULL), ATT_OK);
    assert_int_equal(att_settings_set(settings, "hidden-size", "4", NULL), ATT_OK);
    if (columns)
        assert_int_equal(att_settings_set(settings, "columns", columns, NULL), ATT_OK);
    assert_int_equal(att_model_build(&model, settings, &tokens, &labels, NULL), ATT_OK);
    att_settings_free(settings);
    return model;
}

typedef struct table {
    const char *text, *format, *columns;
} table;

static att_status load(att_inputs **out, const att_model *model, const table *from, char path[64],
                       att_error *err)
{
    const att_inputs_options options = { .size = sizeof(att_inputs_options),
                                         .format = from->format,
                                         .columns = from->columns };
    text_file(path, from->text, strlen(from->text));
    att_status status = att_inputs_load(out, model, path, &options, err);
    text_remove(path);
    return status;
}

/* `lines` and `numbers` end with NULL and 0. */
static void assert_reads(const att_model *model, table from, const char *description,
                         const char *const *lines, const int64_t *numbers)
{
    char path[64];
    att_inputs *inputs;
    att_error err = { 0 };
    if (load(&inputs, model, &from, path, &err) != ATT_OK)
        fail_msg("%s: %s", from.text, err.message);
    assert_string_equal(att_inputs_description(inputs), description);
    size_t count = 0;
    for (; lines[count]; count++) {
        assert_true(count < att_inputs_count(inputs));
        assert_string_equal(att_inputs_lines(inputs)[count], lines[count]);
        assert_int_equal(att_inputs_line_number(inputs, count), numbers[count]);
    }
    assert_int_equal(att_inputs_count(inputs), count);
    assert_int_equal(att_inputs_line_number(inputs, count), 0);
    att_inputs_free(inputs);
}

#define LINES(...)   ((const char *const[]){ __VA_ARGS__, NULL })
#define NUMBERS(...) ((const int64_t[]){ __VA_ARGS__, 0 })

static void rows_of_csv_are_inputs(void **state)
{
    (void)state;
    att_model *model = make_classifier(NULL);
    const char *text = "id,text\n1,\"a, \"\"b\"\"\nc\"\n\n2,\n3,b\n";
    assert_reads(model, (table){ text, "csv", NULL }, "CSV: sentences in column 2, 'text'",
                 LINES("a, \"b\" c", "", "b"), NUMBERS(2, 5, 6));
    assert_reads(model, (table){ text, "csv", "id" }, "CSV: sentences in column 1, 'id'",
                 LINES("1", "2", "3"), NUMBERS(2, 5, 6));
    assert_reads(model, (table){ "x\ty\na\tb\n", "csv", "last" },
                 "tab-separated with a header: sentences in column 2, 'y'", LINES("b"), NUMBERS(2));
    assert_reads(model, (table){ "", "csv", NULL }, "", (const char *const[]){ NULL },
                 (const int64_t[]){ 0 });
    att_model_free(model);
}

static void empty_fields_are_rows_and_empty_lines_are_not(void **state)
{
    (void)state;
    att_model *model = make_classifier(NULL);
    assert_reads(model, (table){ "text\na\n\n\"\"\nb\n", "csv", NULL },
                 "CSV: sentences in column 1, 'text'", LINES("a", "", "b"), NUMBERS(2, 4, 5));
    att_model_free(model);
}

/* The training file itself is read as in training, whatever other columns it has. */
static void the_column_is_that_of_training(void **state)
{
    (void)state;
    att_model *model = make_classifier(NULL);
    assert_reads(model, (table){ "source,text,label\nx,a,yes\n", "csv", NULL },
                 "CSV: sentences in column 2, 'text'", LINES("a"), NUMBERS(2));
    assert_reads(model, (table){ "tags,source\nx,a\n", "csv", NULL },
                 "CSV: sentences in column 2, 'source'", LINES("a"), NUMBERS(2));
    att_model_free(model);
}

static void json_lines_and_columns_are_inputs(void **state)
{
    (void)state;
    att_model *model = make_classifier(NULL);
    assert_reads(model,
                 (table){ "{\"text\":\"a\\tb\"}\n\n{\"id\":1,\"text\":[\"a\",2]}", "jsonl", NULL },
                 "JSON lines: sentences in \"text\"", LINES("a b", "", "a 2"), NUMBERS(1, 2, 3));
    assert_reads(model, (table){ "a\tb\nb\n\n", "tsv", NULL },
                 "tab-separated: sentences in column 1", LINES("a", "b", ""), NUMBERS(1, 2, 3));
    assert_reads(model, (table){ "a\tb\n", "tsv", "2" }, "tab-separated: sentences in column 2",
                 LINES("b"), NUMBERS(1));
    att_model_free(model);
}

static void columns_are_those_of_training(void **state)
{
    (void)state;
    att_model *named = make_classifier("review,stars"), *numbered = make_classifier("2,1");
    assert_reads(named, (table){ "text,review\na,b\n", "csv", NULL },
                 "CSV: sentences in column 2, 'review'", LINES("b"), NUMBERS(2));
    assert_reads(named, (table){ "{\"text\":\"a\",\"review\":\"b\"}", "jsonl", NULL },
                 "JSON lines: sentences in \"review\"", LINES("b"), NUMBERS(1));
    assert_reads(numbered, (table){ "a\tb\n", "tsv", NULL }, "tab-separated: sentences in column 2",
                 LINES("b"), NUMBERS(1));
    assert_reads(numbered, (table){ "a\n", "tsv", NULL }, "tab-separated: sentences in column 1",
                 LINES("a"), NUMBERS(1));
    assert_reads(named, (table){ "a\tb\n", "tsv", NULL }, "tab-separated: sentences in column 1",
                 LINES("a"), NUMBERS(1));
    assert_reads(numbered, (table){ "{\"text\":\"a\"}", "jsonl", NULL },
                 "JSON lines: sentences in \"text\"", LINES("a"), NUMBERS(1));
    att_model_free(named);
    att_model_free(numbered);
}

static void what_cannot_be_read_is_named(void **state)
{
    (void)state;
    static const struct {
        table from;
        const char *message;
        int line;
    } cases[] = {
        { { "a\n", NULL, NULL }, "format of inputs: expected csv, jsonl or tsv", 0 },
        { { "a\n", "conll", NULL }, "expected csv, jsonl or tsv, found 'conll'", 0 },
        { { "a,b\n", "csv", NULL }, "expected a column such as text, tokens or source", 1 },
        { { "text\na\n", "csv", "b" }, "expected the column 'b' in the header, found text", 1 },
        { { "text,n\na\n", "csv", NULL }, "expected 2 columns as in the header, found 1", 2 },
        { { "text\n\"a\n", "csv", NULL }, "expected a quote that closes the one of this line", 2 },
        { { "{\"a\":1}\n", "jsonl", NULL }, "expected members such as text, tokens or source", 1 },
        { { "{\"text\":\"a\"}\n{}\n", "jsonl", NULL }, "expected the member \"text\"", 2 },
        { { "{\"text\":null}\n", "jsonl", NULL }, "expected a string, a whole number", 1 },
        { { "a\tb\nc\n", "tsv", "2" }, "expected at least 2 columns, found 1 column", 2 },
        { { "a\n", "tsv", "b" }, "columns: expected numbers", 0 },
        { { "a\n", "tsv", "1,2" }, "the model has no tags beside the text", 0 },
        { { "a\n", "tsv", "1,2,3" }, "columns expects the column of the inputs", 0 },
        { { "a\n", "tsv", "0" }, "columns expects the column of the inputs", 0 },
        { { "a\xff\n", "tsv", NULL }, "0xFF, is not UTF-8", 1 },
    };
    att_model *model = make_classifier(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[64];
        att_inputs *inputs;
        att_error err = { 0 };
        assert_int_equal(load(&inputs, model, &cases[i].from, path, &err), ATT_BAD_INPUT);
        assert_null(inputs);
        if (!strstr(err.message, cases[i].message) || err.line != cases[i].line)
            fail_msg("case %zu: line %d: %s", i, err.line, err.message);
        if (err.line > 0)
            assert_string_equal(err.place, path);
    }
    att_model_free(model);
}

static const char *table_path;

static att_status load_once(void *context)
{
    const att_inputs_options options = { .size = sizeof(att_inputs_options), .format = "jsonl" };
    att_inputs *inputs;
    att_status status = att_inputs_load(&inputs, context, table_path, &options, NULL);
    att_inputs_free(inputs);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    char path[64];
    const char text[] = "{\"text\":\"a\"}\n{\"text\":\"b\"}\n";
    att_model *model = make_classifier(NULL);
    text_file(path, text, strlen(text));
    table_path = path;
    every_allocation_fails(load_once, model, 200);
    text_remove(path);
    att_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_csv_are_inputs),
        cmocka_unit_test(empty_fields_are_rows_and_empty_lines_are_not),
        cmocka_unit_test(the_column_is_that_of_training),
        cmocka_unit_test(json_lines_and_columns_are_inputs),
        cmocka_unit_test(columns_are_those_of_training),
        cmocka_unit_test(what_cannot_be_read_is_named),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
