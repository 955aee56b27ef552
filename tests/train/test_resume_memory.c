/* Memory that runs out while a run is prepared, from its data and from its checkpoint, is reported
 * as that, never as a fault of the files, and leaks nothing. */
#include "train/small_run.h"

#include "failing_memory.h"

static char folder[64];

static int train(void **state)
{
    (void)state;
    return small_lm_train(folder, 7);
}

static int remove_all(void **state)
{
    (void)state;
    folder_remove(folder);
    return 0;
}

static att_status resume(void *context)
{
    (void)context;
    att_training *training;
    att_error err = { 0 };
    char path[128];
    att_settings *settings;
    snprintf(path, sizeof path, "%s/m.last.safetensors", folder);
    att_status status = att_settings_new(&settings, "lm", &err);
    if (status != ATT_OK)
        return status;
    status = att_settings_set(settings, "resume", path, &err);
    if (status == ATT_OK)
        status = att_training_new(&training, settings, NULL, &err);
    if (status == ATT_OK)
        att_training_free(training);
    att_settings_free(settings);
    if (status == ATT_NO_MEMORY)
        assert_string_equal(err.message, "out of memory");
    return status;
}

static void resuming_without_memory_says_so(void **state)
{
    (void)state;
    assert_int_equal(resume(NULL), ATT_OK); /* what is allocated once and kept is there */
    assert_true(every_allocation_fails(resume, NULL, 10000) > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resuming_without_memory_says_so),
    };
    return cmocka_run_group_tests(tests, train, remove_all);
}
