/* Any bytes as the settings in a model's metadata. Settings that are read, written and read again
 * must be the same. */
#include "fuzz/fuzz.h"

#include "base/string.h"
#include "settings/settings.h"

static void check_again(const att_settings *settings)
{
    att_string first = { 0 }, second = { 0 };
    att_settings *again;
    att_error err = { 0 };
    PROMISE(att_settings_to_json(&first, settings, &err) == ATT_OK);
    PROMISE(att_settings_new(&again, NULL, &err) == ATT_OK);
    PROMISE(att_settings_from_json(again, first.data, "again", &err) == ATT_OK);
    PROMISE(att_settings_to_json(&second, again, &err) == ATT_OK);
    PROMISE(strcmp(first.data, second.data) == 0);
    att_settings_free(again);
    att_string_free(&first);
    att_string_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t live = att_alloc_live();
    att_string json = { 0 };
    att_settings *settings;
    att_error err = { 0 };
    PROMISE(att_string_append(&json, (const char *)data, size) == ATT_OK);
    PROMISE(att_settings_new(&settings, NULL, &err) == ATT_OK);
    att_status status = att_settings_from_json(settings, json.data, "model", &err);
    if (status == ATT_OK) {
        check_again(settings);
        status = att_settings_check(settings, &err);
    }
    if (status != ATT_OK)
        check_refusal(status, &err);
    att_settings_free(settings);
    att_string_free(&json);
    PROMISE(att_alloc_live() == live);
    return 0;
}
