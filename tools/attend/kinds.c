/* Kinds of models; see kinds.h. */
#include "kinds.h"

#include <string.h>

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

static size_t size_of(option_kind kind)
{
    static const size_t sizes[] = { [OPTION_FLAG] = sizeof(bool),
                                    [OPTION_TEXT] = sizeof(const char *),
                                    [OPTION_NUMBER] = sizeof(long),
                                    [OPTION_REAL] = sizeof(double),
                                    [OPTION_WORD] = sizeof(int) };
    return sizes[kind];
}

exit_code kinds_check(const struct verb *verb, att_kind kind, bool served, const void *settings,
                      const void *usual)
{
    if (!served)
        return report_usage(verb, "this is %s, which the verb is not for", kind_name(kind));
    for (const option *row = verb->options; row->name; row++) {
        bool meant = row->kinds == 0 || (row->kinds >> kind & 1);
        if (!meant && memcmp((const char *)settings + row->offset,
                             (const char *)usual + row->offset, size_of(row->kind)) != 0)
            return report_usage(verb, "--%s is not for %s", row->name, kind_name(kind));
    }
    return EXIT_DONE;
}
