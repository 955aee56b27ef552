/* The files that pairs come from, whole and looked over; see corpus.h. */
#include "text/corpus.h"

#include "base/error.h"
#include "base/file.h"
#include "text/lines.h"

#include <string.h>

/* A file of text beyond this is not what a model learns from on one machine. */
static const size_t LARGEST_FILE = (size_t)4 << 30;

/* What a file is that starts with these bytes. */
static const struct {
    const char *bytes;
    size_t count;
    const char *says;
} foreign[] = {
    { "\x1F\x8B", 2, "is compressed: unpack it first, or give <(zcat FILE) in its place" },
    { "\xFD"
      "7zXZ",
      5, "is compressed: unpack it first, or give <(xzcat FILE) in its place" },
    { "\x28\xB5\x2F\xFD", 4,
      "is compressed: unpack it first, or give <(zstdcat FILE) in its place" },
    { "PK\x03\x04", 4, "is a ZIP archive, expected UTF-8 text" },
    { "\xFF\xFE", 2, "is UTF-16, expected UTF-8: iconv -f UTF-16 -t UTF-8 converts it" },
    { "\xFE\xFF", 2, "is UTF-16, expected UTF-8: iconv -f UTF-16 -t UTF-8 converts it" },
};

static att_status refuse_foreign(const struct att_named_text *file, att_error *err)
{
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (file->text.length >= foreign[i].count &&
            memcmp(file->text.data, foreign[i].bytes, foreign[i].count) == 0)
            return att_fail(err, ATT_BAD_INPUT, file->name, "%s", foreign[i].says);
    return ATT_OK;
}

att_status att_named_text_load(struct att_named_text *out, const char *path, att_error *err)
{
    *out = (struct att_named_text){ 0 };
    if (!path)
        return ATT_OK;
    out->name = att_stream_name(path);
    ATT_TRY(att_file_read_stream(&out->text, path, LARGEST_FILE, err));
    return refuse_foreign(out, err);
}

static att_status load_all(att_pair_text *out, const att_pair_files *files, att_error *err)
{
    ATT_TRY(att_named_text_load(&out->both, files->both, err));
    if (!files->both) {
        ATT_TRY(att_named_text_load(&out->source, files->source, err));
        ATT_TRY(att_named_text_load(&out->target, files->target, err));
    }
    return att_named_text_load(&out->align, files->align, err);
}

att_status att_pair_text_load(att_pair_text *out, const att_pair_files *files, att_error *err)
{
    *out = (att_pair_text){ 0 };
    att_status status = load_all(out, files, err);
    if (status != ATT_OK)
        att_pair_text_free(out);
    return status;
}

void att_pair_text_free(att_pair_text *pairs)
{
    att_text_free(&pairs->both.text);
    att_text_free(&pairs->source.text);
    att_text_free(&pairs->target.text);
    att_text_free(&pairs->align.text);
    *pairs = (att_pair_text){ 0 };
}

/* Files that belong together line by line must have as many. */
static att_status compare_lines(const struct att_named_text *a, const struct att_named_text *b,
                                att_error *err)
{
    if (!a->name || !b->name)
        return ATT_OK;
    int64_t lines = att_lines_count(a->text.data, a->text.length);
    int64_t others = att_lines_count(b->text.data, b->text.length);
    if (lines == others)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, b->name,
                    "has %lld line%s and %s has %lld: they belong together line by line",
                    (long long)others, others == 1 ? "" : "s", a->name, (long long)lines);
}

att_status att_pair_text_check(const att_pair_text *pairs, att_error *err)
{
    ATT_TRY(compare_lines(&pairs->source, &pairs->target, err));
    return compare_lines(pairs->both.name ? &pairs->both : &pairs->source, &pairs->align, err);
}
