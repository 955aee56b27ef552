/* The table of import formats, and att_import(), which selects one by name. */
#include "import/import.h"

#include "base/error.h"
#include "base/minmax.h"
#include "base/options.h"
#include "base/progress.h"
#include "base/quote.h"

#include <stdio.h>
#include <string.h>

static const att_importer importers[] = {
    { { .name = "ctranslate2",
        .file = "model.bin",
        .help = "CTranslate2 Transformer, version 2, with its vocabulary files in the same folder",
        .has_token_kinds = true },
      att_import_ctranslate2 },
    { { .name = "g2p",
        .file = "checkpoint20.npz",
        .help = "GRU of g2p_en (English grapheme to phoneme)" },
      att_import_g2p },
    { { .name = "llama2c",
        .file = "stories260K.bin",
        .help = "llama2.c checkpoint; tokenizer in the same folder, or --tokenizer",
        .needs_tokenizer = true },
      att_import_llama2c },
    { { .name = "squeezenet",
        .file = "squeezenet_v1.0.f32",
        .help =
            "SqueezeNet v1.0 image encoder, with its manifest and label list in the same folder" },
      att_import_squeezenet },
};

enum { IMPORTERS = ATT_COUNT(importers) };

const att_import_format *att_import_format_get(size_t index)
{
    return index < IMPORTERS ? &importers[index].format : NULL;
}

static att_status unknown_format(const char *format, att_error *err)
{
    const char *known[IMPORTERS];
    char quoted[ATT_QUOTED_SIZE];
    for (size_t i = 0; i < IMPORTERS; i++)
        known[i] = importers[i].format.name;
    const char *nearest = att_suggest(format, known, IMPORTERS);
    att_quote(quoted, format, strlen(format));
    if (nearest)
        return att_fail(err, ATT_BAD_INPUT, NULL, "unknown format '%s'; did you mean %s?", quoted,
                        nearest);
    char all[256] = "";
    for (size_t i = 0, length = 0; i < IMPORTERS && length < sizeof all; i++)
        length += (size_t)snprintf(all + length, sizeof all - length, "%s%s", i > 0 ? ", " : "",
                                   known[i]);
    return att_fail(err, ATT_BAD_INPUT, NULL, "unknown format '%s', expected one of %s", quoted,
                    all);
}

static att_status check_options(const att_import_format *format, const att_import_options *options,
                                att_error *err)
{
    if (options->tokens && !format->has_token_kinds)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "the tokens option does not apply to the format %s", format->name);
    if (options->tokenizer && !format->needs_tokenizer)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "the tokenizer option does not apply to the format %s", format->name);
    if (options->precision != ATT_PRECISION_STORED && options->precision != ATT_PRECISION_FLOAT32)
        return att_fail(err, ATT_BAD_INPUT, "precision",
                        "an import can be stored or float32; quantize makes int8 of it");
    return ATT_OK;
}

att_status att_import(att_bundle **out, const char *format, const char *path,
                      const att_import_options *options, att_error *err)
{
    att_import_options resolved;
    *out = NULL;
    ATT_TRY(ATT_OPTIONS_COPY(att_import_options, &resolved, options, err));
    for (size_t i = 0; i < IMPORTERS; i++) {
        if (strcmp(importers[i].format.name, format) != 0)
            continue;
        ATT_TRY(check_options(&importers[i].format, &resolved, err));
        att_progress_scope scope;
        att_progress_begin(&scope, "importing", 0);
        att_status status = importers[i].read(out, path, &resolved, err);
        status = att_progress_end(&scope, status, err);
        if (status != ATT_OK) {
            att_bundle_free(*out);
            *out = NULL;
        }
        return status;
    }
    return unknown_format(format, err);
}
