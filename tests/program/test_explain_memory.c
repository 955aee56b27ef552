/* Every allocation of `attend explain` fails in turn: exit code 3, nothing is written and nothing
 * leaks. */
#include "program/in_process.h"

#include <glob.h>

static const char *const formats[] = { "text", "md", "latex", "html", "json" };
enum { FORMATS = sizeof formats / sizeof *formats };

static void every_example_fails_cleanly_in_every_format(void **state)
{
    (void)state;
    glob_t found;
    assert_int_equal(glob(ATTEND_EXAMPLES, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        for (size_t j = 0; j < FORMATS; j++) {
            const char *const words[] = { "explain", found.gl_pathv[i], "-f", formats[j], NULL };
            fails_cleanly(words);
        }
    globfree(&found);
}

#define SHEETS ATTEND_SOURCE_DIR "/tests/program/sheets/"

static void several_sheets_fail_cleanly_in_every_format(void **state)
{
    (void)state;
    for (size_t i = 0; i < FORMATS; i++) {
        const char *const words[] = { "explain", SHEETS "one.att", SHEETS "two.att",
                                      "-f",      formats[i],       NULL };
        fails_cleanly(words);
    }
}

static void files_and_pictures_fail_cleanly(void **state)
{
    (void)state;
    static const char *const kinds[] = {
        "--output",
        "--svg",
#ifdef ATT_HAVE_RSVG
        "--png",
        "--pdf",
#endif
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *const words[] = { "explain", SHEETS "one.att", kinds[i], file_path, NULL };
        fails_cleanly(words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_example_fails_cleanly_in_every_format),
        cmocka_unit_test(several_sheets_fail_cleanly_in_every_format),
        cmocka_unit_test(files_and_pictures_fail_cleanly),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
