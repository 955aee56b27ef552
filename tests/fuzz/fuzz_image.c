/* Any bytes as a photograph: a picture comes out whole, or a refusal. */
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t live = att_alloc_live();
    att_error err = { 0 };
    att_image picture, square;
    att_status status = att_image_read(&picture, data, size, "input", &err);
    if (status == ATT_OK) {
        PROMISE(picture.width > 0 && picture.height > 0 && picture.pixels);
        PROMISE(att_image_center_crop(&square, &picture, 31, &err) == ATT_OK);
        att_image_free(&square);
    } else {
        check_refusal(status, &err);
        PROMISE(!picture.pixels);
    }
    att_image_free(&picture);
    PROMISE(att_alloc_live() == live);
    return 0;
}
