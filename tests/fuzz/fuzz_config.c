/* Any bytes as a config file. Values that are accepted must be accepted when set again. */
#include "fuzz/fuzz.h"

#include "settings/settings.h"

/* Every value, written as text, is one that another settings takes and writes the same. */
static void check_values(const att_settings *settings)
{
    att_settings *again;
    att_error err = { 0 };
    PROMISE(att_settings_new(&again, NULL, &err) == ATT_OK);
    for (size_t i = 0; i < att_setting_count(); i++) {
        const char *key = att_setting_get(i)->key;
        att_string value = { 0 }, same = { 0 };
        PROMISE(att_settings_get(&value, settings, key, &err) == ATT_OK);
        if (value.length > 0) {
            PROMISE(att_settings_set(again, key, value.data, &err) == ATT_OK);
            PROMISE(att_settings_get(&same, again, key, &err) == ATT_OK);
            PROMISE(strcmp(value.data, same.data) == 0);
        }
        att_string_free(&value);
        att_string_free(&same);
    }
    att_settings_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t live = att_alloc_live();
    att_error err = { 0 };
    att_settings *settings;
    PROMISE(att_settings_new(&settings, NULL, &err) == ATT_OK);
    att_status status = att_settings_read(settings, (const char *)data, size, "input", &err);
    if (status == ATT_OK) {
        check_values(settings);
        status = att_settings_check(settings, &err);
        if (status != ATT_OK)
            check_refusal(status, &err);
    } else {
        check_refusal(status, &err);
        PROMISE(err.line > 0 && strcmp(err.place, "input") == 0);
    }
    att_settings_free(settings);
    PROMISE(att_alloc_live() == live);
    return 0;
}
