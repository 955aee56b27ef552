/* Any bytes as a regular expression, up to the first line end, and a text. Matches are within a
 * line, and marking them again gives the same marks. */
#include "fuzz/fuzz.h"

#include "base/alloc.h"
#include "inspect/regex.h"

#include <stdlib.h>

static void mark(const att_regex *regex, const char *text, size_t length)
{
    uint8_t *marks = malloc(length + 1), *again = malloc(length + 1);
    PROMISE(marks && again);
    PROMISE(att_regex_mark(regex, text, length, marks, NULL) == ATT_OK);
    PROMISE(att_regex_mark(regex, text, length, again, NULL) == ATT_OK);
    PROMISE(memcmp(marks, again, length) == 0);
    for (size_t i = 0; i < length; i++)
        PROMISE(marks[i] <= (text[i] != '\n'));
    free(marks);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = memchr(data, '\n', size);
    size_t length = end ? (size_t)(end - data) : size;
    size_t live = att_alloc_live();
    char *pattern = strndup((const char *)data, length);
    att_regex *regex;
    att_error err = { 0 };
    PROMISE(pattern);
    att_status status = att_regex_new(&regex, pattern, &err);
    if (status != ATT_OK)
        check_refusal(status, &err);
    else if (end && size - length < 4096)
        mark(regex, (const char *)end + 1, size - length - 1);
    att_regex_free(regex);
    free(pattern);
    PROMISE(att_alloc_live() == live);
    return 0;
}
