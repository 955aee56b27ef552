/* Reads the files of a CTranslate2 model: model.bin and the vocabularies in the same folder. */
#include "import/ctranslate2.h"

#include "base/error.h"
#include "base/file.h"
#include "base/minmax.h"
#include "base/string.h"
#include "import/import.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_VOCABULARY_SIZE = 1 << 28 }; /* bytes */

typedef struct folder {
    att_string model, source, target;
    att_string source_path, target_path;
} folder;

static void folder_free(folder *f)
{
    att_string *const all[] = { &f->model, &f->source, &f->target, &f->source_path,
                                &f->target_path };
    for (size_t i = 0; i < ATT_COUNT(all); i++)
        att_string_free(all[i]);
}

/* The path of a file in the folder of the model. */
static att_status sibling_path(att_string *out, const char *path, const char *file, att_error *err)
{
    const char *slash = strrchr(path, '/');
    bool ok = att_string_append(out, path, slash ? (size_t)(slash + 1 - path) : 0) == ATT_OK &&
              att_string_puts(out, file) == ATT_OK;
    return ok ? ATT_OK : att_fail_memory(err);
}

/* Later versions of CTranslate2 write vocabularies as JSON: refuses such a file by name. */
static att_status refuse_json(const char *path, const char *name, att_error *err)
{
    att_string json = { 0 };
    char file[64];
    snprintf(file, sizeof file, "%s.json", name);
    att_status status = sibling_path(&json, path, file, err);
    if (status == ATT_OK && access(json.data, F_OK) == 0)
        status = att_fail(err, ATT_BAD_INPUT, json.data,
                          "is a vocabulary in JSON; expected %s.txt with one token per line", name);
    att_string_free(&json);
    return status;
}

/* The shared vocabulary if there is one; else one for each side. */
static att_status find_vocabularies(folder *f, const char *path, att_error *err)
{
    ATT_TRY(sibling_path(&f->source_path, path, "shared_vocabulary.txt", err));
    if (access(f->source_path.data, F_OK) == 0)
        return sibling_path(&f->target_path, path, "shared_vocabulary.txt", err);
    f->source_path.length = 0;
    ATT_TRY(sibling_path(&f->source_path, path, "source_vocabulary.txt", err));
    ATT_TRY(sibling_path(&f->target_path, path, "target_vocabulary.txt", err));
    if (access(f->source_path.data, F_OK) == 0)
        return ATT_OK;
    ATT_TRY(refuse_json(path, "shared_vocabulary", err));
    return refuse_json(path, "source_vocabulary", err);
}

static att_status read_vocabularies(folder *f, const char *path, att_error *err)
{
    ATT_TRY(find_vocabularies(f, path, err));
    ATT_TRY(att_file_read(&f->source, f->source_path.data, MAX_VOCABULARY_SIZE, err));
    return att_file_read(&f->target, f->target_path.data, MAX_VOCABULARY_SIZE, err);
}

/* The model comes first: where its version is not supported, nor is the format of the vocabularies,
 * and the version says why. */
static att_status convert(att_bundle **out, folder *f, const char *path, att_tokenizer_kind tokens,
                          bool widens_int8, att_error *err)
{
    att_ct2_file file;
    ATT_TRY(att_file_read(&f->model, path, SIZE_MAX, err));
    ATT_TRY(att_ct2_read(&file, f->model.data, f->model.length, path, err));
    file.widens_int8 = widens_int8;
    att_status status = read_vocabularies(f, path, err);
    if (status == ATT_OK) {
        const att_ct2_vocabularies vocabularies = {
            { f->source_path.data, f->source.data, f->source.length },
            { f->target_path.data, f->target.data, f->target.length }
        };
        status = att_ct2_convert(out, &file, &vocabularies, tokens, err);
    }
    att_ct2_free(&file);
    return status == ATT_OK ? att_imported_model_check(out, path, err) : status;
}

/* Those that need nothing but the tokens of the vocabularies. */
static bool find_tokenizer(att_tokenizer_kind *out, const char *name)
{
    static const att_tokenizer_kind kinds[] = { ATT_TOKENIZER_SPACE, ATT_TOKENIZER_CHAR,
                                                ATT_TOKENIZER_CODEPOINT };
    for (size_t i = 0; i < ATT_COUNT(kinds); i++)
        if (strcmp(name, att_tokenizer_kind_names[kinds[i]]) == 0) {
            *out = kinds[i];
            return true;
        }
    return false;
}

att_status att_import_ctranslate2(att_bundle **out, const char *path,
                                  const att_import_options *options, att_error *err)
{
    folder f = { 0 };
    *out = NULL;
    att_tokenizer_kind tokens = ATT_TOKENIZER_SPACE;
    if (options->tokens && !find_tokenizer(&tokens, options->tokens))
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "tokens is '%s', expected space, char or codepoint", options->tokens);
    att_status status =
        convert(out, &f, path, tokens, options->precision == ATT_PRECISION_FLOAT32, err);
    folder_free(&f);
    return status;
}
