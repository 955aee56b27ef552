/* LaTeX documents compile: the sample with its hostile text, and every example. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "render/sample.h"
#include "render/writer.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_SHEETS = 64 };

static bool has(const char *program)
{
    char command[64];
    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", program);
    return system(command) == 0;
}

/* Compiles the document in a temporary folder, which is kept on failure. */
static void assert_compiles(const att_string *document)
{
    char folder[] = "/tmp/attend-latex-XXXXXX";
    char command[400];
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command, "%s/sheet.tex", folder);
    FILE *file = fopen(command, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(document->data, 1, document->length, file), document->length);
    assert_int_equal(fclose(file), 0);
    snprintf(command, sizeof command,
             "cd %s && pdflatex -interaction=nonstopmode -halt-on-error sheet.tex >out 2>&1 && "
             "test -s sheet.pdf",
             folder);
    if (system(command) != 0) {
        snprintf(command, sizeof command, "grep -A 4 '^!' %s/out | head -20", folder);
        print_message("%s/sheet.tex does not compile:\n", folder);
        fail_msg("%d", system(command));
    }
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

static void hostile_text_of_all_scripts_compiles(void **state)
{
    (void)state;
    if (!has("pdflatex"))
        skip();
    const att_render_options options = { .size = sizeof(att_render_options),
                                         .format = ATT_FORMAT_LATEX };
    sample *s = sample_new();
    att_string text = { 0 };
    assert_int_equal(att_sheet_render(&text, &s->sheet, &options, NULL), ATT_OK);
    assert_compiles(&text);
    att_string_free(&text);
    sample_free(s);
}

static void words_wider_than_the_page_may_break(void **state)
{
    (void)state;
    att_string text = { 0 };
    att_writer out = att_writer_on(&text);
    att_put_tex(&out, "abcdefghijklmnopqrstuvwxyz abcdefghijklmnopqrstuvwxyz");
    assert_null(strstr(text.data, "allowbreak"));
    att_put_tex(&out, "abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz");
    assert_non_null(strstr(text.data, "l\\allowbreak{}m"));
    att_string_free(&text);
}

static void raised_and_lowered_digits_need_no_font(void **state)
{
    (void)state;
    att_string text = { 0 };
    att_writer out = att_writer_on(&text);
    att_put_tex(&out, "W₁₂ 10⁻⁵");
    assert_string_equal(text.data, "W${}_{1}$${}_{2}$ 10${}^{-}$${}^{5}$");
    att_string_free(&text);
}

static void all_examples_compile_as_one_document(void **state)
{
    (void)state;
    if (!has("pdflatex"))
        skip();
    glob_t found;
    assert_int_equal(glob(ATTEND_EXAMPLES, 0, NULL, &found), 0);
    const att_sheet *sheets[MOST_SHEETS];
    att_sheet *owned[MOST_SHEETS];
    assert_in_range(found.gl_pathc, 14, MOST_SHEETS);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        att_error err = { 0 };
        if (att_sheet_load(&owned[i], found.gl_pathv[i], &err) != ATT_OK)
            fail_msg("%s: %s", found.gl_pathv[i], err.message);
        sheets[i] = owned[i];
    }
    const att_render_options options = { .size = sizeof(att_render_options),
                                         .format = ATT_FORMAT_LATEX };
    att_string text = { 0 };
    assert_int_equal(att_sheets_render(&text, sheets, found.gl_pathc, &options, NULL), ATT_OK);
    assert_compiles(&text);
    att_string_free(&text);
    for (size_t i = 0; i < found.gl_pathc; i++)
        att_sheet_free(owned[i]);
    globfree(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_text_of_all_scripts_compiles),
        cmocka_unit_test(words_wider_than_the_page_may_break),
        cmocka_unit_test(raised_and_lowered_digits_need_no_font),
        cmocka_unit_test(all_examples_compile_as_one_document),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
