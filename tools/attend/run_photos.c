/* attend run, with a network that looks at photographs: what is on each. */
#include "run.h"

#include <string.h>

#include "images.h"

/* Nothing of how a model answers means anything here. */
static bool has_only_json(const run_settings *set)
{
    run_settings plain;
    memset(&plain, 0, sizeof plain);
    plain.json = set->json;
    return memcmp(set, &plain, sizeof plain) == 0;
}

bool run_image_encoder(exit_code *code, const struct verb *verb, const run_settings *set,
                       char **args, int count)
{
    att_error err = { 0 };
    att_image_encoder *eyes = NULL;
    if (att_image_encoder_load(&eyes, args[0], NULL) != ATT_OK)
        return false;
    *code = EXIT_DONE;
    if (!has_only_json(set))
        *code = report_usage(verb, "photographs are told by their labels: of the options only "
                                   "--json is for them");
    else if (images_classify(eyes, (const char *const *)args + 1, (size_t)count - 1, set->json,
                             &err) != ATT_OK)
        *code = report(err.status, &err);
    att_image_encoder_free(eyes);
    return true;
}
