/* Structs that begin with their size (options.h). */
#include "base/options.h"

#include "base/error.h"
#include "base/minmax.h"

#include <string.h>

static att_status check_size(size_t size, const char *type, att_error *err)
{
    if (size >= sizeof size)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, type, "has size %zu: start from ATT_INIT(%s)", size, type);
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

att_status att_options_copy(void *out, size_t size, const void *options, const char *type,
                            att_error *err)
{
    memset(out, 0, size);
    if (options) {
        size_t given;
        memcpy(&given, options, sizeof given);
        ATT_TRY(check_size(given, type, err));
        if (given > size && !is_zero((const unsigned char *)options + size, given - size))
            return att_fail(err, ATT_BAD_INPUT, type,
                            "sets a field that libattend %s does not know", ATT_VERSION);
        memcpy(out, options, att_min_size(given, size));
    }
    memcpy(out, &size, sizeof size);
    return ATT_OK;
}

att_status att_result_copy(void *out, const void *result, size_t size, const char *type,
                           att_error *err)
{
    size_t given;
    memcpy(&given, out, sizeof given);
    ATT_TRY(check_size(given, type, err));
    memset(out, 0, given);
    memcpy(out, result, att_min_size(given, size));
    memcpy(out, &given, sizeof given);
    return ATT_OK;
}
