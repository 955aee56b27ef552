/* A checkpoint of llama2.c and its tokeniser, which is another file; see llama2c.h. */
#include "import/llama2c.h"

#include "base/error.h"
#include "base/file.h"
#include "base/string.h"
#include "import/import.h"

#include <string.h>
#include <unistd.h>

enum { MAX_TOKENIZER_SIZE = 1 << 28 }; /* bytes */

/* Beside the weights: tokenizer.bin, or tok512.bin for a vocabulary of 512. */
static att_status find_tokenizer(att_string *out, const char *path, int64_t vocabulary,
                                 att_error *err)
{
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash + 1 - path) : 0;
    att_status status =
        att_string_printf(out, "%.*stok%lld.bin", folder, path, (long long)vocabulary);
    if (status == ATT_OK && access(out->data, F_OK) != 0) {
        out->length = 0;
        status = att_string_printf(out, "%.*stokenizer.bin", folder, path);
    }
    if (status != ATT_OK)
        return att_fail_memory(err);
    if (access(out->data, F_OK) == 0)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, path,
                    "its tokeniser is neither tok%lld.bin nor tokenizer.bin beside it, and none "
                    "was given",
                    (long long)vocabulary);
}

static att_status tokenizer_path(att_string *out, const att_llama_bytes *weights,
                                 const att_import_options *how, att_error *err)
{
    int64_t vocabulary;
    ATT_TRY(att_llama_vocab_size(&vocabulary, weights, err));
    if (!how->tokenizer)
        return find_tokenizer(out, weights->name, vocabulary, err);
    return att_string_puts(out, how->tokenizer) == ATT_OK ? ATT_OK : att_fail_memory(err);
}

/* What is read of both. */
typedef struct files {
    att_string weights, tokenizer, tokenizer_path;
} files;

static att_status import_files(att_bundle **out, files *f, const char *path,
                               const att_import_options *how, att_error *err)
{
    ATT_TRY(att_file_read(&f->weights, path, SIZE_MAX, err));
    const att_llama_bytes weights = { path, f->weights.data, f->weights.length };
    ATT_TRY(tokenizer_path(&f->tokenizer_path, &weights, how, err));
    ATT_TRY(att_file_read(&f->tokenizer, f->tokenizer_path.data, MAX_TOKENIZER_SIZE, err));
    const att_llama_bytes tokeniser = { f->tokenizer_path.data, f->tokenizer.data,
                                        f->tokenizer.length };
    return att_llama_convert(out, &weights, &tokeniser, err);
}

att_status att_import_llama2c(att_bundle **out, const char *path, const att_import_options *how,
                              att_error *err)
{
    files f = { 0 };
    *out = NULL;
    att_status status = import_files(out, &f, path, how, err);
    att_string_free(&f.weights);
    att_string_free(&f.tokenizer);
    att_string_free(&f.tokenizer_path);
    return status;
}
