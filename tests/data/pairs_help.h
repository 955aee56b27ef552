/* Shared by tests of corpora: a temporary folder of files, and pairs read from them. */
#ifndef TESTS_DATA_PAIRS_HELP_H
#define TESTS_DATA_PAIRS_HELP_H

#include "base/alloc.h"
#include "base/string.h"
#include "data/corpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- a temporary folder, entered for each test */

static char folder[64];

static inline int enter_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/attend-pairs-XXXXXX");
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static inline int leave_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

static inline void put_bytes(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static inline void put(const char *path, const char *text)
{
    put_bytes(path, text, strlen(text));
}

/* ---- pairs with their finished vocabularies */

typedef struct pairs {
    att_corpus corpus;
    att_vocab *source, *target;
} pairs;

static inline void free_pairs(pairs *got)
{
    att_corpus_free(&got->corpus);
    att_vocab_free(got->source);
    att_vocab_free(got->target);
}

/* Reads pairs and finishes their vocabularies. */
static inline att_status try_pairs(pairs *out, const att_pair_files *files,
                                   att_tokenizer_kind tokens, att_pair_read_options options,
                                   att_error *err)
{
    *out = (pairs){ 0 };
    att_pair_text text;
    int32_t *source = NULL, *target = NULL;
    att_status status = att_vocab_new(&out->source, tokens, false, err);
    if (status == ATT_OK)
        status = att_vocab_new(&out->target, tokens, false, err);
    options.source_vocab = out->source;
    options.target_vocab = out->target;
    options.counted_source = out->source;
    options.counted_target = out->target;
    if (status == ATT_OK)
        status = att_pair_text_load(&text, files, err);
    if (status == ATT_OK) {
        status = att_corpus_read(&out->corpus, &text, &options, err);
        att_pair_text_free(&text);
    }
    if (status == ATT_OK)
        status = att_vocab_finalize(out->source, 1, &source, err);
    if (status == ATT_OK)
        status = att_vocab_finalize(out->target, 1, &target, err);
    if (status == ATT_OK)
        att_corpus_renumber(&out->corpus, source, target);
    att_free(source);
    att_free(target);
    if (status != ATT_OK)
        free_pairs(out);
    return status;
}

static inline pairs read_pairs(const att_pair_files *files, att_tokenizer_kind tokens,
                               att_pair_read_options options)
{
    pairs out;
    att_error err = { 0 };
    if (try_pairs(&out, files, tokens, options, &err) != ATT_OK)
        fail_msg("%s:%d: %s", err.place, err.line, err.message);
    return out;
}

/* Pairs of character tokens from a file with this text. */
static inline pairs pairs_of(const char *text)
{
    put("pairs.tsv", text);
    return read_pairs(&(att_pair_files){ .tsv = "pairs.tsv" }, ATT_TOKENIZER_CHAR,
                      (att_pair_read_options){ 0 });
}

/* Pair `index` reads `expected`, which is "source>target". */
static inline void assert_pair(const pairs *got, int64_t index, const char *expected)
{
    att_string text = { 0 };
    int64_t length;
    const int32_t *ids = att_sequences_get(&got->corpus.source, index, &length);
    assert_int_equal(att_vocab_decode(got->source, &text, ids, (size_t)length), ATT_OK);
    assert_int_equal(att_string_puts(&text, ">"), ATT_OK);
    ids = att_sequences_get(&got->corpus.target, index, &length);
    assert_int_equal(att_vocab_decode(got->target, &text, ids, (size_t)length), ATT_OK);
    assert_string_equal(text.data, expected);
    att_string_free(&text);
}

#endif
