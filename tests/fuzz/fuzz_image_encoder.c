/* Any bytes as the header of an image encoder's file, followed by as many zeros as it says tensors
 * have: the real ones have 5 MB, of which only the shapes matter to the reader. */
#include "fuzz/budget.h"

#include "base/json.h"
#include "fuzz/zero_tensors.h"

static void check_encoder(const att_image_encoder *encoder)
{
    size_t labels = att_image_encoder_label_count(encoder);
    for (size_t i = 0; i < labels; i++)
        PROMISE(att_image_encoder_label(encoder, i) != NULL);
    PROMISE(att_image_encoder_label(encoder, labels) == NULL);
    PROMISE(att_image_encoder_channels(encoder) > 0);
}

static void check_written(const att_image_encoder *encoder)
{
    att_string file = { 0 };
    att_image_encoder *again = NULL;
    att_error err = { 0 };
    if (succeeded(att_image_encoder_write(&file, encoder, &err), &err) &&
        succeeded(att_image_encoder_read(&again, file.data, file.length, "again", &err), &err))
        check_encoder(again);
    PROMISE(err.status != ATT_BAD_INPUT);
    att_image_encoder_free(again);
    att_string_free(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t live = att_alloc_live();
    size_t file_size;
    att_error err = { 0 };
    att_image_encoder *encoder;
    budget_start();
    const void *file = with_zero_tensors(data, size, &file_size);
    if (!file)
        return 0;
    if (succeeded(att_image_encoder_read(&encoder, file, file_size, "input", &err), &err)) {
        check_encoder(encoder);
        if (size % 4 == 0) /* it takes longer than all the rest */
            check_written(encoder);
    } else {
        PROMISE(!encoder);
    }
    att_image_encoder_free(encoder);
    PROMISE(att_alloc_live() == live);
    return 0;
}
