/* Any bytes as an image file: decoding gives a valid image or a refusal. */
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t live = att_alloc_live();
    att_error err = { 0 };
    att_image image, square;
    att_status status = att_image_read(&image, data, size, "input", &err);
    if (status == ATT_OK) {
        PROMISE(image.width > 0 && image.height > 0 && image.pixels);
        PROMISE(att_image_center_crop(&square, &image, 31, &err) == ATT_OK);
        att_image_free(&square);
    } else {
        check_refusal(status, &err);
        PROMISE(!image.pixels);
    }
    att_image_free(&image);
    PROMISE(att_alloc_live() == live);
    return 0;
}
