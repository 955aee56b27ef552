/* Any bytes as a model.bin of CTranslate2. Its vocabularies are valid: other targets fuzz text. One
 * file in 16 that can be converted is also loaded as a model, which takes ten times as long and is
 * what fuzz_model.c fuzzes. */
#include "fuzz/sampling.h"

#include "import/ct2_model.h"
#include "import/ctranslate2.h"

enum { LOADED_OF = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const att_ct2_vocabularies words = {
        { "source", CT2_SOURCE_WORDS, sizeof CT2_SOURCE_WORDS - 1 },
        { "target", CT2_TARGET_WORDS, sizeof CT2_TARGET_WORDS - 1 },
    };
    size_t live = att_alloc_live();
    att_error err = { 0 };
    att_ct2_file file;
    att_bundle *bundle = NULL;
    att_status status = att_ct2_read(&file, data, size, "input", &err);
    if (status == ATT_OK) {
        status = att_ct2_convert(&bundle, &file, &words, ATT_TOKENIZER_SPACE, &err);
        att_ct2_free(&file);
    }
    if (status == ATT_OK && one_input_in(LOADED_OF, data, size))
        status = att_imported_model_check(&bundle, "input", &err);
    if (status == ATT_OK)
        for (size_t i = 0; i < att_bundle_count(bundle); i++)
            check_tensor(att_bundle_at(bundle, i));
    else
        check_refusal(status, &err);
    att_bundle_free(bundle);
    PROMISE(att_alloc_live() == live);
    return 0;
}
