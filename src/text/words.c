/* The words of a line; see words.h. */
#include "text/words.h"

#include "base/error.h"
#include "text/pretokenizer.h"

att_status att_words_split(att_string *out, att_string *scratch, const char *line, size_t length,
                           size_t max_words, size_t *count, att_error *err)
{
    *count = 0;
    ATT_TRY(att_line_normalize_nfc(scratch, line, length, false, err));
    att_pretokenizer splitter = { .text = scratch->data,
                                  .length = scratch->length,
                                  .kind = ATT_TOKENIZER_SPACE };
    const char *word;
    size_t bytes;
    while (*count < max_words && att_pretokenizer_next(&splitter, &word, &bytes)) {
        if (att_string_append(out, word, bytes) != ATT_OK ||
            att_string_append(out, "", 1) != ATT_OK)
            return att_fail_memory(err);
        ++*count;
    }
    return ATT_OK;
}
