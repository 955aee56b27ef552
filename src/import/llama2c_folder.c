/* Reads the files of a llama2.c model: the checkpoint and its tokenizer. */
#include "import/llama2c.h"

#include "base/error.h"
#include "base/file.h"
#include "base/string.h"
#include "import/import.h"
#include "import/model_writer.h"

#include <string.h>
#include <unistd.h>

enum { MAX_TOKENIZER_SIZE = 1 << 28 }; /* bytes */

/* In the folder of the weights: tok512.bin for a vocabulary of 512 tokens, else tokenizer.bin. */
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
                    "expected tok%lld.bin or tokenizer.bin in the same folder, or the option "
                    "tokenizer",
                    (long long)vocabulary);
}

static att_status tokenizer_path(att_string *out, const att_llama_bytes *weights,
                                 const att_import_options *options, att_error *err)
{
    int64_t vocabulary;
    ATT_TRY(att_llama_vocab_size(&vocabulary, weights, err));
    if (!options->tokenizer)
        return find_tokenizer(out, weights->name, vocabulary, err);
    return att_string_puts(out, options->tokenizer) == ATT_OK ? ATT_OK : att_fail_memory(err);
}

/* The contents of both files. */
typedef struct files {
    att_string weights, tokenizer, tokenizer_path;
} files;

static att_status import_files(att_bundle **out, files *f, const char *path,
                               const att_import_options *options, att_error *err)
{
    ATT_TRY(att_file_read(&f->weights, path, SIZE_MAX, err));
    const att_llama_bytes weights = { path, f->weights.data, f->weights.length };
    ATT_TRY(tokenizer_path(&f->tokenizer_path, &weights, options, err));
    ATT_TRY(att_file_read(&f->tokenizer, f->tokenizer_path.data, MAX_TOKENIZER_SIZE, err));
    const att_llama_bytes tokenizer = { f->tokenizer_path.data, f->tokenizer.data,
                                        f->tokenizer.length };
    ATT_TRY(att_llama_convert(out, &weights, &tokenizer, err));
    return att_imported_model_check(out, path, err);
}

att_status att_import_llama2c(att_bundle **out, const char *path, const att_import_options *options,
                              att_error *err)
{
    files f = { 0 };
    *out = NULL;
    att_status status = import_files(out, &f, path, options, err);
    att_string_free(&f.weights);
    att_string_free(&f.tokenizer);
    att_string_free(&f.tokenizer_path);
    return status;
}
