/* Kinds of models; see kinds.h. */
#include "kinds.h"

const char *kind_name(att_kind kind)
{
    static const char *const names[ATT_KINDS] = {
        [ATT_KIND_PAIRS] = "a model that answers lines",
        [ATT_KIND_TEXT] = "a language model",
        [ATT_KIND_LABEL] = "a model that gives labels",
        [ATT_KIND_PICTURE] = "a model of pictures",
    };
    return names[kind];
}

exit_code kinds_check(const struct verb *verb, att_kind kind, bool served, const void *settings,
                      const void *usual)
{
    if (!served)
        return report_usage(verb, "this is %s, which the verb is not for", kind_name(kind));
    for (const option *row = verb->options; row->name; row++) {
        bool meant = row->kinds == 0 || (row->kinds >> kind & 1);
        if (!meant && option_given(row, settings, usual))
            return report_usage(verb, "--%s is not for %s", row->name, kind_name(kind));
    }
    return EXIT_DONE;
}
