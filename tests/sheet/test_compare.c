/* load and compare: arrays from files, and the first step at which another program's numbers
 * differ. data/make.py makes the files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/minmax.h"
#include "sheet_help.h"

#define FOLDER ATTEND_SOURCE_DIR "/tests/sheet/data"

#define PREAMBLE                                                                                   \
    "X = [1 0; 0 1; 1 1]\n"                                                                        \
    "a = attention(X, X, X, score = scaled)\n"                                                     \
    "P = [1 0; 0 1]\n"                                                                             \
    "m = multihead(X, {P, -P}, {P, P}, {P, P}, score = scaled)\n"

static att_status read_sheet(att_sheet **out, const char *statement, att_error *err)
{
    char text[1024];
    snprintf(text, sizeof text, PREAMBLE "%s\n", statement);
    return att_sheet_read(out, text, strlen(text), "test", FOLDER, err);
}

static att_sheet *work(const char *statement)
{
    att_sheet *sheet;
    att_error err = { 0 };
    if (read_sheet(&sheet, statement, &err) != ATT_OK)
        fail_msg("%s\n%d:%d: %s", statement, err.line, err.column, err.message);
    return sheet;
}

/* Whether this build can read the files that the text names. */
static bool readable(const char *text)
{
    bool zip = false;
#ifdef ATT_HAVE_ZIP
    zip = true;
#endif
    return zip || !strstr(text, ".npz");
}

/* ---- load */

static void load_makes_a_matrix_of_any_rank(void **state)
{
    (void)state;
    static const struct {
        const char *expression;
        int64_t rows;
        int64_t cols;
        double first;
        double last;
    } cases[] = {
        { "load \"x.npy\"", 3, 2, 1, 1 },
        { "load \"row.npy\"", 1, 3, 0, 2 },
        { "load \"number.npy\"", 1, 1, 7, 7 },
        { "load \"batch.npy\"", 2, 3, 0, 5 },
        { "load \"cube.npy\" at 2", 3, 4, 12, 23 },
        { "load \"cube.npy\" at 2 3", 1, 4, 20, 23 },
        { "load \"cube.npy\" at 1 2 3", 1, 1, 6, 6 },
        { "load \"truth.npz\" \"weights\"", 3, 3, 0.40111209, 0.50348984 },
        { "load \"heads.safetensors\" \"scores\" at 1 2", 3, 3, -0.70710678, -1.41421356 },
        { "2 * (load \"x.npy\")'", 2, 3, 2, 2 },
        { "load \"../data/x.npy\"", 3, 2, 1, 1 },
        { "load \"" FOLDER "/x.npy\"", 3, 2, 1, 1 },
    };
    for (size_t i = 0; i < ATT_COUNT(cases); i++) {
        if (!readable(cases[i].expression))
            continue;
        char statement[512];
        snprintf(statement, sizeof statement, "v = %s", cases[i].expression);
        att_sheet *sheet = work(statement);
        const att_matrix *v = step_named(sheet, "v")->value;
        assert_int_equal(v->rows, cases[i].rows);
        assert_int_equal(v->cols, cases[i].cols);
        assert_true(fabs(v->data[0] - cases[i].first) < 1e-8);
        assert_true(fabs(v->data[v->rows * v->cols - 1] - cases[i].last) < 1e-8);
        att_sheet_free(sheet);
    }
}

/* ---- compare */

static void a_comparison_names_the_first_array_and_element_that_differ(void **state)
{
    (void)state;
    static const struct {
        const char *statement;
        bool passed;
        const char *part;
        const char *message;
    } cases[] = {
        { "compare X \"x.npy\" within 0", true, NULL, "all 6 elements agree exactly" },
        { "compare X \"x32.npy\" within 1e-5", true, NULL,
          "all 6 elements agree within 1e-05, the largest difference is 1e-06" },
        { "compare X \"x32.npy\" within 1e-7", false, "X",
          "element [1,1] is 1, expected 1.000001: off by 9.54e-07, allowed 1e-07; 6 of 6 elements "
          "are out of tolerance" },
        { "compare a \"truth.npz\" within 1e-12", true, NULL, "all 3 arrays agree" },
        { "compare a \"device.npz\" within 1e-3", false, "a.weights",
          "a.weights is the first that differs: element [2,3] is 0.401112, expected 0.411112: off "
          "by 0.01, allowed 0.001; 1 of 9 elements is out of tolerance; 2 of 3 arrays differ" },
        { "compare a.scores \"device.npz\" within 1e-12", true, NULL,
          "all 9 elements agree exactly" },
        { "compare a.weights \"device.npz\" \"output\" within 1", false, "a.weights",
          "the shapes differ: found 3 × 3, the file's array is [3, 2]" },
        { "compare all \"all.npz\" within 0.1", true, NULL,
          "all 4 arrays agree; in the file, but not in the sheet: 'strange'" },
        { "compare all \"all.npz\" to 2 digits", false, "a.weights",
          "a.weights is the first that differs: element [2,3] is 0.401112, expected 0.411112: off "
          "by 0.01, allowed 0.005; 1 of 9 elements is out of tolerance; 2 of 4 arrays differ; in "
          "the file, but not in the sheet: 'strange'" },
        { "compare m \"heads.safetensors\" within 1e-12", false, "m.head[2].weights",
          "m.head[2].weights is the first that differs: element [1,1] is 0.248255, expected "
          "0.748255: off by 0.5, allowed 1e-12; 1 of 9 elements is out of tolerance; 1 of 4 arrays "
          "differ" },
        { "compare all \"head2.npz\" within 0.01", true, NULL,
          "all 9 elements agree within 0.01, the largest difference is 0.001" },
        { "compare m \"mixed.npz\" within 1e-12", true, NULL, "all 3 arrays agree" },
        { "compare all \"flat.npz\" within 9", true, NULL,
          "all 6 elements agree exactly; in the file, but not in the sheet: 'm.weights'" },
        { "compare X \"cube.npy\" within 1", false, "X",
          "the shapes differ: found 3 × 2, the file's array is [2, 3, 4]" },
        { "compare [20 21 22 23] \"cube.npy\" at 2 3 within 0", true, NULL,
          "all 4 elements agree exactly" },
        { "compare [1 2 3 4] \"cube.npy\" at 1 1 within 1 %", false, "[1 2 3 4]",
          "element [1,1] is 1, expected 0: off by 1, allowed 0; 4 of 4 elements are out of "
          "tolerance" },
        { "compare X[1] \"row.npy\" within 1", false, "X[1]",
          "the shapes differ: found 1 × 2, the file's array is [3]" },
    };
    for (size_t i = 0; i < ATT_COUNT(cases); i++) {
        if (!readable(cases[i].statement))
            continue;
        att_sheet *sheet = work(cases[i].statement);
        const att_check *check = sheet->steps[sheet->step_count - 1].check;
        if (check->passed != cases[i].passed || strcmp(check->message, cases[i].message) != 0)
            fail_msg("%s\nfound    %d %s\nexpected %d %s", cases[i].statement, check->passed,
                     check->message, cases[i].passed, cases[i].message);
        assert_int_equal(check->part == NULL, cases[i].part == NULL);
        if (cases[i].part)
            assert_string_equal(check->part, cases[i].part);
        assert_non_null(check->file);
        assert_int_equal(att_sheet_checks(sheet), 1);
        assert_int_equal(att_sheet_failures(sheet), !cases[i].passed);
        att_sheet_free(sheet);
    }
}

static void of_a_name_assigned_twice_only_the_last_value_is_compared(void **state)
{
    (void)state;
    if (!readable(".npz"))
        skip();
    att_sheet *sheet =
        work("X = X + 1\nX = X - 1\nlist = {X, a}\ncompare all \"all.npz\" within 1");
    assert_int_equal(att_sheet_failures(sheet), 0);
    assert_string_equal(sheet->steps[sheet->step_count - 1].check->message,
                        "all 4 arrays agree; in the file, but not in the sheet: 'strange'");
    att_sheet_free(sheet);
}

#define BACKWARD "L = sum(a .* a)\ngradient L\n"

static void gradients_are_compared_by_the_names_of_the_sheet(void **state)
{
    (void)state;
    static const struct {
        const char *statement;
        bool passed;
        const char *message;
    } cases[] = {
        { "compare all \"gradients.safetensors\" within 1e-12", true, "all 5 arrays agree" },
        { "compare a.grad \"gradients.safetensors\" within 1e-12", true, "all 4 arrays agree" },
        { "compare X.grad \"gradients.safetensors\" within 1e-12", true, "agree within 1e-12" },
        { "compare a.grad.q \"gradients.safetensors\" \"a.grad.q\" within 1e-12", true,
          "agree within 1e-12" },
        { "compare all \"gradients_device.safetensors\" within 1e-12", false,
          "a.grad.scores is the first that differs" },
        { "compare a.grad \"gradients_device.safetensors\" within 1e-12", false,
          "is the first that differs" },
    };
    for (size_t i = 0; i < ATT_COUNT(cases); i++) {
        char text[256];
        snprintf(text, sizeof text, BACKWARD "%s", cases[i].statement);
        att_sheet *sheet = work(text);
        const att_check *check = sheet->steps[sheet->step_count - 1].check;
        if (check->passed != cases[i].passed || !strstr(check->message, cases[i].message))
            fail_msg("%s\n%s", cases[i].statement, check->message);
        att_sheet_free(sheet);
    }
    /* Only the last backward pass counts. */
    att_sheet *sheet =
        work(BACKWARD "gradient 2 * L\ncompare all \"gradients.safetensors\" within 1e-12");
    assert_int_equal(att_sheet_failures(sheet), 1);
    att_sheet_free(sheet);
}

static void a_comparison_keeps_the_array_that_was_named_and_its_rule_whatever_the_shapes(
    void **state)
{
    (void)state;
    if (!readable(".npz"))
        skip();
    att_sheet *sheet = work("compare X \"truth.npz\" \"weights\"\ncompare X \"x.npy\"");
    const att_check *named = sheet->steps[sheet->step_count - 2].check;
    assert_string_equal(named->array, "weights");
    assert_int_equal(named->rule, ATT_RULE_DEFAULT);
    assert_true(named->tolerance == 1e-9);
    assert_null(sheet->steps[sheet->step_count - 1].check->array);
    att_sheet_free(sheet);
}

static void a_sheet_lists_the_files_it_named_even_unreadable_ones(void **state)
{
    (void)state;
    att_sheet *sheet = work("v = load \"x.npy\"\ncompare v \"row.npy\"\n"
                            "expect error load \"none.npy\"\nexpect error load \"/none.npz\"");
    static const char *const files[] = { FOLDER "/x.npy", FOLDER "/row.npy", FOLDER "/none.npy",
                                         "/none.npz" };
    size_t first = att_sheet_file_count(sheet) - 4; /* behind the common first lines */
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(att_sheet_file_get(sheet, first + i), files[i]);
    assert_null(att_sheet_file_get(sheet, first + 4));
    att_sheet_free(sheet);
}

/* ---- Errors */

static void errors_of_load_and_compare_point_at_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *statement;
        int column;
        const char *message;
    } cases[] = {
        { "v = load \"none.npy\"", 10, "none.npy: cannot open: No such file or directory" },
        { "v = load \".\"", 10, ".: is a directory, expected a file" },
        { "v = load \"cube.npy\"", 5,
          "the array has the shape [2, 3, 4]: expected 'at' and an index for each of its first 1 "
          "dimensions" },
        { "v = load \"cube.npy\" at 3", 24,
          "index 3 is out of range: dimension 1 of the array has size 2" },
        { "compare 1 \"cube.npy\" at 3 within 1", 25,
          "index 3 is out of range: dimension 1 of the array has size 2" },
        { "compare 1 \"heads.safetensors\" at 1 within 1", 34,
          "'at' needs one array: expected its name in quotes after the file" },
        { "v = load \"cube.npy\" at 1 0", 26,
          "index 0 is out of range: dimension 2 of the array has size 3" },
        { "v = load \"cube.npy\" at 1.5", 24,
          "index 1.5 is out of range: dimension 1 of the array has size 2" },
        { "v = load \"row.npy\" at 1 1", 25, "the array has 1 dimension, found 2 indices" },
        { "v = load \"truth.npz\"", 10,
          "truth.npz holds 3 arrays: expected the name of one in quotes after it ('scores', "
          "'weights', 'output')" },
        { "v = load \"truth.npz\" \"wieghts\"", 22,
          "truth.npz has no array 'wieghts': did you mean 'weights'?" },
        { "v = load \"all.npz\" \"zonk\"", 20,
          "all.npz has no array 'zonk': it holds 'X', 'a.scores', 'a.weights', 'a.output', …" },
        { "v = load \"truth.npz\" \"zonk\"", 22,
          "truth.npz has no array 'zonk': it holds 'scores', 'weights', 'output'" },
        { "v = load \"x.npy\" \"x\"", 18,
          "x.npy holds a single array without a name: expected no name, found 'x'" },
        { "compare all \"x.npy\" within 1", 13,
          "'compare all' needs a .npz or .safetensors file of named arrays" },
        { "compare P \"truth.npz\" within 1", 11,
          "no array of truth.npz has the name of a value of the sheet" },
        { "compare zonk \"x.npy\"", 9, "unknown name 'zonk'" },
        { "compare {P, P} \"x.npy\"", 9, "{P, P} is a list of 2, expected a matrix" },
        { "compare P \"truth.npz\" \"zonk\" within 1", 11,
          "truth.npz has no array 'zonk': it holds 'scores', 'weights', 'output'" },
    };
    for (size_t i = 0; i < ATT_COUNT(cases); i++) {
        att_sheet *sheet;
        att_error err = { 0 };
        att_status expected = readable(cases[i].statement) ? ATT_BAD_INPUT : ATT_UNSUPPORTED;
        if (read_sheet(&sheet, cases[i].statement, &err) != expected)
            fail_msg("not refused: %s", cases[i].statement);
        assert_int_equal(err.status, expected);
        assert_int_equal(err.line, 5);
        assert_string_equal(err.place, "test");
        if (expected == ATT_UNSUPPORTED)
            continue;
        if (strcmp(err.message, cases[i].message) != 0 || err.column != cases[i].column)
            fail_msg("%s\nfound    %d: %s\nexpected %d: %s", cases[i].statement, err.column,
                     err.message, cases[i].column, cases[i].message);
    }
}

static void a_sheet_without_a_folder_loads_nothing(void **state)
{
    (void)state;
    static const char text[] = "x = load \"/etc/passwd\"";
    att_sheet *sheet;
    att_error err = { 0 };
    assert_int_equal(att_sheet_read(&sheet, text, strlen(text), "test", NULL, &err), ATT_BAD_INPUT);
    assert_string_equal(
        err.message,
        "cannot load '/etc/passwd': the sheet was not read from a file, so it has no folder");
}

static void a_sheet_from_a_file_loads_from_its_own_folder(void **state)
{
    (void)state;
    att_sheet *sheet;
    att_error err = { 0 };
    if (att_sheet_load(&sheet, FOLDER "/loads.att", &err) != ATT_OK)
        fail_msg("%d:%d: %s", err.line, err.column, err.message);
    assert_int_equal(att_sheet_checks(sheet), 1);
    assert_int_equal(att_sheet_failures(sheet), 0);
    assert_string_equal(sheet->name, FOLDER "/loads.att");
    att_sheet_free(sheet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(load_makes_a_matrix_of_any_rank),
        cmocka_unit_test(a_comparison_names_the_first_array_and_element_that_differ),
        cmocka_unit_test(of_a_name_assigned_twice_only_the_last_value_is_compared),
        cmocka_unit_test(gradients_are_compared_by_the_names_of_the_sheet),
        cmocka_unit_test(a_sheet_lists_the_files_it_named_even_unreadable_ones),
        cmocka_unit_test(
            a_comparison_keeps_the_array_that_was_named_and_its_rule_whatever_the_shapes),
        cmocka_unit_test(errors_of_load_and_compare_point_at_their_place),
        cmocka_unit_test(a_sheet_without_a_folder_loads_nothing),
        cmocka_unit_test(a_sheet_from_a_file_loads_from_its_own_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
