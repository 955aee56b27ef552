/* A checkpoint of llama2.c and its tokeniser, which is another file; see llama2c.h. */
#include "import/llama2c.h"

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "import/import.h"

#include <string.h>
#include <unistd.h>

enum { MOST_TOKENISER = 1 << 28 }; /* bytes */

/* Beside the weights: tokenizer.bin, or tok512.bin for a vocabulary of 512. */
static att_status find_tokeniser(att_text *out, const char *path, int64_t vocabulary,
                                 att_error *err)
{
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash + 1 - path) : 0;
    att_status status = att_text_print(out, "%.*stok%lld.bin", folder, path, (long long)vocabulary);
    if (status == ATT_OK && access(out->data, F_OK) != 0) {
        out->length = 0;
        status = att_text_print(out, "%.*stokenizer.bin", folder, path);
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

static att_status name_tokeniser(att_text *out, const att_llama_bytes *weights,
                                 const att_import_how *how, att_error *err)
{
    int64_t vocabulary;
    ATT_TRY(att_llama_vocabulary(&vocabulary, weights, err));
    if (!how->tokeniser)
        return find_tokeniser(out, weights->name, vocabulary, err);
    return att_text_puts(out, how->tokeniser) == ATT_OK ? ATT_OK : att_fail_memory(err);
}

/* What is read of both. */
typedef struct files {
    att_text weights, tokeniser, tokeniser_path;
} files;

static att_status import_files(att_bundle **out, files *f, const char *path,
                               const att_import_how *how, att_error *err)
{
    ATT_TRY(att_file_read(&f->weights, path, SIZE_MAX, err));
    const att_llama_bytes weights = { path, f->weights.data, f->weights.length };
    ATT_TRY(name_tokeniser(&f->tokeniser_path, &weights, how, err));
    ATT_TRY(att_file_read(&f->tokeniser, f->tokeniser_path.data, MOST_TOKENISER, err));
    const att_llama_bytes tokeniser = { f->tokeniser_path.data, f->tokeniser.data,
                                        f->tokeniser.length };
    return att_llama_convert(out, &weights, &tokeniser, err);
}

att_status att_import_llama2c(att_bundle **out, const char *path, const att_import_how *how,
                              att_error *err)
{
    files f = { 0 };
    *out = NULL;
    att_status status = import_files(out, &f, path, how, err);
    att_text_free(&f.weights);
    att_text_free(&f.tokeniser);
    att_text_free(&f.tokeniser_path);
    return status;
}
