/* docs/worksheets.md is correct: its sheets pass, and it names every function, option and
 * statement. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "sheet/function.h"
#include "sheet_help.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

static int read_page(void **state)
{
    static att_string page;
    att_error err = { 0 };
    if (att_file_read(&page, ATTEND_SOURCE_DIR "/docs/worksheets.md", 1 << 20, &err) != ATT_OK)
        return -1;
    *state = &page;
    return 0;
}

static int free_page(void **state)
{
    att_string_free(*state);
    return 0;
}

static void every_sheet_on_the_page_passes(void **state)
{
    static const char opening[] = "```attend\n";
    const att_string *page = *state;
    size_t sheets = 0;
    for (const char *at = strstr(page->data, opening); at; at = strstr(at, opening)) {
        at += strlen(opening);
        size_t length = (size_t)(strstr(at, "```\n") - at);
        char *text = malloc(length + 1);
        assert_non_null(text);
        memcpy(text, at, length);
        text[length] = '\0';
        assert_sheet_passes(text);
        free(text);
        sheets++;
    }
    assert_true(sheets >= 3);
}

static bool letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* True inside `code`: an odd number of backquotes before it on its line. */
static bool in_code(const att_string *page, const char *at)
{
    size_t quotes = 0;
    for (const char *c = at; c > page->data && *c != '\n'; c--)
        quotes += *c == '`';
    return quotes % 2 == 1;
}

static bool documented(const att_string *page, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = strstr(page->data, name); at; at = strstr(at + 1, name))
        if (!letter(at[-1]) && !letter(at[length]) && in_code(page, at))
            return true;
    return false;
}

/* The words that an option takes, and those that are its alternatives of one word in `accepts`. */
static void assert_words_documented(const att_string *page, const att_function *function,
                                    const att_option_spec *option)
{
    static const char separators[] = ", ";
    for (size_t i = 0; option->word && option->word(i); i++)
        if (!documented(page, option->word(i)))
            fail_msg("%s: the word %s of the option %s is not on the page", function->name,
                     option->word(i), option->name);
    for (const char *at = option->accepts; at && *at;) {
        char word[40] = "";
        size_t length = strcspn(at, separators);
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        if (att_option_accepts_word(option, word) && !documented(page, word))
            fail_msg("%s: the word %s of the option %s is not on the page", function->name, word,
                     option->name);
        at += length + strspn(at + length, separators);
    }
}

static void every_function_option_and_word_is_on_the_page(void **state)
{
    const att_string *page = *state;
    const att_function *row;
    for (size_t i = 0; (row = att_function_get(i)); i++) {
        if (!documented(page, row->name))
            fail_msg("the function %s is not on the page", row->name);
        for (const att_option_spec *option = row->options; option && option->name; option++) {
            if (!documented(page, option->name))
                fail_msg("the option %s of %s is not on the page", option->name, row->name);
            assert_words_documented(page, row, option);
        }
    }
}

/* The quoted words behind `mark` in a source file. Returns their number. */
static size_t assert_quoted_documented(const att_string *page, const att_string *source,
                                       const char *mark, const char *file)
{
    size_t count = 0;
    for (const char *at = strstr(source->data, mark); at; at = strstr(at + 1, mark)) {
        char word[40];
        const char *begin = at + strlen(mark);
        snprintf(word, sizeof word, "%.*s", (int)strcspn(begin, "\""), begin);
        if (!documented(page, word))
            fail_msg("%s: the word %s is not on the page", file, word);
        count++;
    }
    return count;
}

/* The first words of statements, `{ "expect", att_run_expect }`, and the words inside of them,
 * which parsers ask for by att_parser_at_word() and take_word(). */
static void every_word_of_a_statement_is_on_the_page(void **state)
{
    static const char *const marks[] = { "at_word(parser, \"", "take_word(parser, \"" };
    size_t words = 0, statements = 0;
    glob_t files;
    assert_int_equal(glob(ATTEND_SOURCE_DIR "/src/sheet/*.c", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        att_string source = { 0 };
        assert_int_equal(att_file_read(&source, files.gl_pathv[i], 1 << 20, NULL), ATT_OK);
        for (size_t m = 0; m < 2; m++)
            words += assert_quoted_documented(*state, &source, marks[m], files.gl_pathv[i]);
        for (const char *at = strstr(source.data, "\", att_run_"); at;
             at = strstr(at + 1, "\", att_run_")) {
            const char *begin = at;
            while (begin[-1] != '"')
                begin--;
            char word[40];
            snprintf(word, sizeof word, "%.*s", (int)(at - begin), begin);
            if (!documented(*state, word))
                fail_msg("the statement %s is not on the page", word);
            statements++;
        }
        att_string_free(&source);
    }
    globfree(&files);
    assert_true(statements >= 10 && words >= 25); /* the marks are still those of the sources */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sheet_on_the_page_passes),
        cmocka_unit_test(every_function_option_and_word_is_on_the_page),
        cmocka_unit_test(every_word_of_a_statement_is_on_the_page),
    };
    return cmocka_run_group_tests(tests, read_page, free_page);
}
