/* Parsing word alignments; see alignment.h. */
#include "data/alignment.h"

#include "base/error.h"

#include <string.h>

enum { MAX_DIGITS = 9 };

static att_status fail(const att_line_view *line, const char *name, att_error *err,
                       const char *message)
{
    return att_fail_at(err, ATT_BAD_INPUT, name, (int)line->number, 0, NULL, "%s", message);
}

/* Parses the number at *at and moves *at past it; -1 if there is none. */
static int64_t parse_number(const att_line_view *line, size_t *at)
{
    int64_t number = 0;
    size_t start = *at;
    for (; *at < line->length && line->text[*at] >= '0' && line->text[*at] <= '9'; ++*at) {
        if (*at - start == MAX_DIGITS)
            return -1;
        number = number * 10 + (line->text[*at] - '0');
    }
    return *at > start ? number : -1;
}

static bool at_space(const att_line_view *line, size_t at)
{
    return at < line->length &&
           (line->text[at] == ' ' || line->text[at] == '\t' || line->text[at] == '\r');
}

/* Parses one "source-target" link. Of several sources of a target, the first counts. */
static att_status read_link(int32_t *first, const att_line_view *line, size_t *at, const char *name,
                            int64_t sources, int64_t targets, att_error *err)
{
    int64_t source = parse_number(line, at);
    bool dash = *at < line->length && line->text[*at] == '-';
    *at += dash;
    int64_t target = dash ? parse_number(line, at) : -1;
    if (source < 0 || target < 0 || (*at < line->length && !at_space(line, *at)))
        return fail(line, name, err, "expected source-target alignments such as 0-0 1-2");
    if (source >= sources || target >= targets)
        return att_fail_at(err, ATT_BAD_INPUT, name, (int)line->number, 0, NULL,
                           "%lld-%lld is outside the pair, which has %lld source and %lld target "
                           "tokens, counted from 0",
                           (long long)source, (long long)target, (long long)sources,
                           (long long)targets);
    if (first[target] < 0 || source < first[target])
        first[target] = (int32_t)source;
    return ATT_OK;
}

att_status att_alignment_read(att_ids *out, const att_line_view *line, const char *name,
                              int64_t sources, int64_t targets, att_error *err)
{
    size_t start = out->count;
    for (int64_t t = 0; t < targets; t++)
        if (att_ids_add(out, -1) != ATT_OK)
            return att_fail_memory(err);
    int32_t *first = targets > 0 ? out->items + start : NULL; /* every link is then outside */
    for (size_t at = 0; at < line->length;) {
        if (at_space(line, at))
            at++;
        else
            ATT_TRY(read_link(first, line, &at, name, sources, targets, err));
    }
    return ATT_OK;
}
