/* Kinds of models; see kinds.h. */
#include "kinds.h"

const char *model_type_name(att_model_type kind)
{
    static const char *const names[ATT_MODEL_TYPES] = {
        [ATT_MODEL_SEQ2SEQ] = "a model that answers lines",
        [ATT_MODEL_LM] = "a language model",
        [ATT_MODEL_CLASSIFIER] = "a model that gives labels",
        [ATT_MODEL_CAPTION] = "a model of pictures",
    };
    return names[kind];
}

exit_code model_type_check(const struct verb *verb, att_model_type kind, bool served,
                           const void *settings, const void *usual)
{
    if (!served)
        return report_usage(verb, "this is %s, which the verb is not for", model_type_name(kind));
    for (const option *row = verb->options; row->name; row++) {
        bool meant = row->model_types == 0 || (row->model_types >> kind & 1);
        if (!meant && option_given(row, settings, usual))
            return report_usage(verb, "--%s is not for %s", row->name, model_type_name(kind));
    }
    return EXIT_DONE;
}
