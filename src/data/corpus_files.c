/* Loading the files of pairs; see corpus.h. */
#include "data/corpus.h"

#include "base/error.h"
#include "base/file.h"
#include "base/minmax.h"
#include "base/string.h"
#include "data/memory_files.h"
#include "data/unpack.h"
#include "text/pretokenizer.h"

#include <string.h>

/* No corpus for training on one machine is larger. */
static const size_t MAX_FILE_SIZE = (size_t)(SIZE_MAX > UINT32_MAX ? UINT64_C(4) << 30 : 1 << 30);

/* Formats that are recognized by their first bytes and refused. */
static const struct {
    const char *bytes;
    size_t count;
    const char *message;
} unsupported_formats[] = {
    { "\x1F\x8B", 2, "is compressed: unpack it, or use <(zcat FILE) instead" },
    { "\xFD"
      "7zXZ",
      5, "is compressed: unpack it, or use <(xzcat FILE) instead" },
    { "\x28\xB5\x2F\xFD", 4, "is compressed: unpack it, or use <(zstdcat FILE) instead" },
    { "PK\x03\x04", 4, "is a ZIP archive, expected UTF-8 text" },
    { "\xFF\xFE", 2, "is UTF-16, expected UTF-8: iconv -f UTF-16 -t UTF-8 converts it" },
    { "\xFE\xFF", 2, "is UTF-16, expected UTF-8: iconv -f UTF-16 -t UTF-8 converts it" },
};

att_status att_text_format_check(const char *name, const char *bytes, size_t length, att_error *err)
{
    for (size_t i = 0; i < ATT_COUNT(unsupported_formats); i++)
        if (length >= unsupported_formats[i].count &&
            memcmp(bytes, unsupported_formats[i].bytes, unsupported_formats[i].count) == 0)
            return att_fail(err, ATT_BAD_INPUT, name, "%s", unsupported_formats[i].message);
    if (length > 9 && bytes[7] == '\0' && memcmp(bytes + 8, "{\"", 2) == 0)
        return att_fail(err, ATT_BAD_INPUT, name,
                        "is a .safetensors file (a model, or a token file), expected UTF-8 text");
    return ATT_OK;
}

att_status att_text_file_load(struct att_text_file *out, const char *path, att_error *err)
{
    *out = (struct att_text_file){ 0 };
    if (!path)
        return ATT_OK;
    const att_memory_file *mounted = att_memory_file_find(path);
    if (mounted && mounted->text) {
        out->name = att_file_display_name(mounted->name);
        out->is_lines = mounted->is_lines;
        return att_string_append(&out->text, mounted->text, mounted->length) == ATT_OK
                   ? ATT_OK
                   : att_fail_memory(err);
    }
    out->name = att_file_display_name(path);
    ATT_TRY(att_file_read_stream(&out->text, path, MAX_FILE_SIZE, err));
    ATT_TRY(att_unpack_text(&out->text, MAX_FILE_SIZE, out->name, err));
    return att_text_format_check(out->name, out->text.data, out->text.length, err);
}

att_line_reader att_text_file_lines(const struct att_text_file *file)
{
    att_line_reader lines = att_line_reader_start(file->text.data, file->text.length);
    lines.number = file->lines_before;
    if (file->bytes_before > 0) { /* a byte order mark is only at the start of a file */
        lines.has_bom = false;
        lines.position = 0;
    }
    return lines;
}

static att_status load_all(att_pair_text *out, const att_pair_files *files, att_error *err)
{
    ATT_TRY(att_text_file_load(&out->tsv, files->tsv, err));
    if (!files->tsv) {
        ATT_TRY(att_text_file_load(&out->source, files->source, err));
        ATT_TRY(att_text_file_load(&out->target, files->target, err));
    }
    return att_text_file_load(&out->alignment, files->alignment, err);
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
    att_string_free(&pairs->tsv.text);
    att_string_free(&pairs->source.text);
    att_string_free(&pairs->target.text);
    att_string_free(&pairs->alignment.text);
    *pairs = (att_pair_text){ 0 };
}

att_status att_text_line_check(const struct att_text_file *file, const att_line_view *line,
                               att_error *err)
{
    att_error inner = { 0 };
    att_status status = att_line_validate(line->text, line->length, &inner);
    if (status == ATT_OK)
        return ATT_OK;
    size_t offset = (size_t)file->bytes_before + (size_t)(line->text - file->text.data);
    offset += att_line_valid_prefix(line->text, line->length);
    return att_fail_at(err, status, file->name, (int)line->number, 0, NULL,
                       "%s (offset %zu in the file)", inner.message, offset);
}

/* Parallel files must have the same number of lines. */
static att_status compare_lines(const struct att_text_file *a, const struct att_text_file *b,
                                att_error *err)
{
    if (!a->name || !b->name)
        return ATT_OK;
    int64_t lines = att_line_reader_count(a->text.data, a->text.length);
    int64_t others = att_line_reader_count(b->text.data, b->text.length);
    if (lines == others)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, b->name,
                    "has %lld line%s and %s has %lld: they must correspond line by line",
                    (long long)others, others == 1 ? "" : "s", a->name, (long long)lines);
}

att_status att_pair_text_check_lines(const att_pair_text *pairs, att_error *err)
{
    ATT_TRY(compare_lines(&pairs->source, &pairs->target, err));
    return compare_lines(pairs->tsv.name ? &pairs->tsv : &pairs->source, &pairs->alignment, err);
}
