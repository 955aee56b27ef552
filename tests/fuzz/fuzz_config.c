/* Any bytes as a config file. Values that are accepted must be accepted when set again. */
#include "fuzz/fuzz.h"

#include "settings/setting_specs.h"

/* Every value, written as text, is one that another settings takes and writes the same. Defaults
 * are applied once, and by the row of the table: otherwise this would take most of the time. */
static void check_values(const att_settings *settings)
{
    att_settings *again;
    att_string value = { 0 }, same = { 0 };
    att_error err = { 0 };
    PROMISE(att_settings_new(&again, NULL, &err) == ATT_OK);
    for (size_t i = 0; i < att_setting_spec_count; i++) {
        const att_setting_spec *row = &att_setting_specs[i];
        if (settings->origin[i] == ATT_FROM_DEFAULT)
            continue;
        value.length = same.length = 0;
        PROMISE(att_setting_spec_write(&value, row, settings) == ATT_OK);
        if (value.length == 0)
            continue;
        PROMISE(att_settings_set_deferred(again, row->info.key, value.data, ATT_FROM_CALLER,
                                          &err) == ATT_OK);
        PROMISE(att_setting_spec_write(&same, row, again) == ATT_OK);
        PROMISE(strcmp(value.data, same.data) == 0);
    }
    att_settings_apply_defaults(again);
    att_string_free(&value);
    att_string_free(&same);
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
