/* docs/worksheets.md is correct: its sheets pass, and it names every function and option. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "sheet/function.h"
#include "sheet_help.h"

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

static void assert_documented(const att_string *page, const att_function *table)
{
    for (const att_function *row = table; row->name; row++) {
        if (!documented(page, row->name))
            fail_msg("the function %s is not on the page", row->name);
        for (const att_option_spec *option = row->options; option && option->name; option++)
            if (!documented(page, option->name))
                fail_msg("the option %s of %s is not on the page", option->name, row->name);
    }
}

static void every_function_and_option_is_on_the_page(void **state)
{
    assert_documented(*state, att_plain_functions);
    assert_documented(*state, att_block_functions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sheet_on_the_page_passes),
        cmocka_unit_test(every_function_and_option_is_on_the_page),
    };
    return cmocka_run_group_tests(tests, read_page, free_page);
}
