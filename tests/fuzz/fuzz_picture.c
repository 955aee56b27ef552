/* Any bytes as a photograph: a picture comes out whole, or a refusal. */
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t live = att_alloc_live();
    att_error err = { 0 };
    att_picture picture, square;
    att_status status = att_picture_read(&picture, data, size, "input", &err);
    if (status == ATT_OK) {
        PROMISE(picture.width > 0 && picture.height > 0 && picture.pixels);
        PROMISE(att_picture_square(&square, &picture, 31, &err) == ATT_OK);
        att_picture_free(&square);
    } else {
        check_refusal(status, &err);
        PROMISE(!picture.pixels);
    }
    att_picture_free(&picture);
    PROMISE(att_alloc_live() == live);
    return 0;
}
