/* The example sheets: each runs, all its checks pass, it has at least the expected number of
 * checks, its calculations hold, and changing a number of an expectation makes it fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/minmax.h"
#include "sheet/sheet_help.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>

#define FOLDER ATTEND_SOURCE_DIR "/examples"

/* The minimum contents of each sheet, so that a check lost in an edit is noticed. */
static const struct example {
    const char *file;
    size_t checks;
    size_t maps;
    size_t sums;
} examples[] = {
    { "debug-port.att", 13, 2, 60 },           { "h01-dot.att", 11, 1, 7 },
    { "h02-multiplicative.att", 17, 1, 14 },   { "h03-self-attention.att", 13, 1, 50 },
    { "h04-shapes.att", 17, 0, 40 },           { "h05-scores.att", 27, 1, 100 },
    { "h06-layers.att", 17, 2, 100 },          { "h07-multihead.att", 16, 2, 150 },
    { "h08-bengali.att", 10, 3, 100 },         { "h08-lets-go.att", 79, 3, 60 },
    { "h09-positions.att", 19, 1, 16 },        { "h10-pen-and-paper.att", 15, 3, 150 },
    { "h11-without-matrices.att", 9, 0, 40 },  { "h14-gradient-flow.att", 14, 0, 150 },
    { "h18-translation.att", 18, 1, 20 },      { "h19-attention-layer.att", 29, 1, 100 },
    { "h20-equivariance.att", 10, 2, 100 },    { "beam-search.att", 13, 0, 4 },
    { "h13-attentional-state.att", 9, 0, 15 }, { "h15-hello.att", 14, 0, 100 },
    { "h17-caption.att", 11, 1, 60 },          { "h21-stop-token.att", 7, 1, 200 },
    { "h22-transformer.att", 11, 1, 300 },
};
enum { EXAMPLES = ATT_COUNT(examples) };

static char *read_example(const char *file)
{
    char path[512];
    snprintf(path, sizeof path, FOLDER "/%s", file);
    FILE *in = fopen(path, "rb");
    if (!in)
        fail_msg("cannot open %s", path);
    char *text = calloc(1, 1 << 16);
    size_t length = fread(text, 1, (1 << 16) - 1, in);
    assert_true(length > 0 && length < (1 << 16) - 1);
    fclose(in);
    return text;
}

static void examples_pass_and_hold_what_they_should(void **state)
{
    (void)state;
    for (size_t i = 0; i < EXAMPLES; i++) {
        char path[512];
        att_sheet *sheet = NULL;
        att_error err = { 0 };
#ifndef ATT_HAVE_ZIP
        if (examples[i].file[0] != 'h') /* reads .npz, which this build cannot */
            continue;
#endif
        snprintf(path, sizeof path, FOLDER "/%s", examples[i].file);
        if (att_sheet_load(&sheet, path, &err) != ATT_OK)
            fail_msg("%s:%d:%d: %s\n%s", err.place, err.line, err.column, err.message, err.excerpt);
        show_failures(sheet);
        assert_int_equal(att_sheet_failures(sheet), 0);
        size_t sums = assert_workings_hold(sheet);
        if (att_sheet_checks(sheet) < examples[i].checks ||
            att_sheet_map_count(sheet) < examples[i].maps || sums < examples[i].sums)
            fail_msg("%s has %zu checks, %zu maps and %zu sums", examples[i].file,
                     att_sheet_checks(sheet), att_sheet_map_count(sheet), sums);
        assert_int_equal(sheet->steps[0].kind, ATT_STEP_HEADING);
        att_sheet_free(sheet);
    }
}

static void every_sheet_in_the_folder_is_tested(void **state)
{
    (void)state;
    DIR *folder = opendir(FOLDER);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (length < 4 || strcmp(entry->d_name + length - 4, ".att") != 0)
            continue;
        bool known = false;
        for (size_t i = 0; i < EXAMPLES; i++)
            known = known || strcmp(examples[i].file, entry->d_name) == 0;
        if (!known)
            fail_msg("%s is not in the table of this test", entry->d_name);
    }
    closedir(folder);
}

/* ---------------------------------------------------------------- changed numbers */

/* The '=' of an expectation: the first one outside brackets, or NULL. */
static char *equals_sign(char *line)
{
    int depth = 0;
    for (char *at = line; *at && (*at != '\n' || depth > 0); at++) {
        if (strchr("([{", *at))
            depth++;
        else if (strchr(")]}", *at))
            depth--;
        else if (*at == '=' && depth == 0)
            return at;
    }
    return NULL;
}

static char *next_line(char *line)
{
    char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

/* The first digit of each number in the right-hand side that starts at `*from`, one at a time;
 * digits of names and of indices are not numbers. NULL at the end. */
static char *next_number(char **from)
{
    int depth = 0;
    for (char *at = *from; *at && (*at != '\n' || depth > 0); at++) {
        if (*at == '[')
            depth++;
        else if (*at == ']')
            depth--;
        if (depth <= 0 && (strncmp(at, "within", 6) == 0 || strncmp(at, "to ", 3) == 0))
            break;
        bool in_word = at > *from && (isalnum((unsigned char)at[-1]) || at[-1] == '_' ||
                                      at[-1] == '.' || (unsigned char)at[-1] >= 0x80);
        if (isalpha((unsigned char)*at) || *at == '_') { /* a name and its indices */
            while (isalnum((unsigned char)*at) || *at == '_' || *at == '.')
                at++;
            if (*at == '[')
                at = strchr(at, ']');
            else
                at--;
        } else if (isdigit((unsigned char)*at) && !in_word) {
            *from = at;
            while (isdigit((unsigned char)**from) || **from == '.' || **from == 'e')
                (*from)++;
            return at;
        }
    }
    return NULL;
}

/* The number of failed checks; a sheet that cannot be read counts as one. */
static size_t failures_of(const char *text, size_t length, const char *file)
{
    att_sheet *sheet = NULL;
    att_error err = { 0 };
    if (att_sheet_read(&sheet, text, length, file, FOLDER, &err) != ATT_OK)
        return 1;
    size_t failures = att_sheet_failures(sheet);
    att_sheet_free(sheet);
    return failures;
}

/* Changes the first digit of every number of every plain expectation in turn. Only the statements
 * up to it run again. */
static size_t change_numbers(char *text, const char *file)
{
    size_t changed = 0;
    for (char *line = text; *line; line = next_line(line)) {
        bool plain = strncmp(line, "expect ", 7) == 0 && strncmp(line + 7, "not ", 4) != 0 &&
                     strncmp(line + 7, "error ", 6) != 0;
        char *from = plain ? equals_sign(line) : NULL;
        if (!from)
            continue;
        int number = 0;
        for (char *digit; (digit = next_number(&from)) != NULL; number++) {
            char before = *digit;
            *digit = before < '5' ? (char)(before + 5) : (char)(before - 5);
            if (failures_of(text, strlen(text), file) == 0)
                fail_msg("%s: number %d of this could be another:\n%.*s", file, number + 1,
                         (int)strcspn(line, "\n"), line);
            *digit = before;
            changed++;
        }
    }
    return changed;
}

static void a_changed_number_is_noticed(void **state)
{
    (void)state;
    for (size_t i = 0; i < EXAMPLES; i++) {
        char *text = read_example(examples[i].file);
        size_t changed = change_numbers(text, examples[i].file);
        if (changed < 2)
            fail_msg("%s: only %zu numbers to change", examples[i].file, changed);
        free(text);
    }
}

/* Changing an input must be noticed too: no sheet compares only computed values with each other. */
static void a_changed_input_is_noticed(void **state)
{
    (void)state;
    for (size_t i = 0; i < EXAMPLES; i++) {
        char *text = read_example(examples[i].file);
        char *bracket = strstr(text, "= [");
        assert_non_null(bracket);
        char *digit = bracket + strcspn(bracket, "0123456789");
        *digit = *digit < '5' ? (char)(*digit + 5) : (char)(*digit - 5);
        if (failures_of(text, strlen(text), examples[i].file) == 0)
            fail_msg("%s: its first input could be another", examples[i].file);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_pass_and_hold_what_they_should),
        cmocka_unit_test(every_sheet_in_the_folder_is_tested),
        cmocka_unit_test(a_changed_number_is_noticed),
        cmocka_unit_test(a_changed_input_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
