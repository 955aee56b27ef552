/* Unpacking with zlib and libzstd; see unpack.h. Both are optional. */
#include "data/unpack.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "base/string.h"

#include <limits.h>
#include <string.h>

#ifdef ATT_HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef ATT_HAVE_ZSTD
#include <zstd.h>
#endif

static const struct {
    const char *bytes;
    size_t count;
    att_unpack_kind kind;
} first_bytes[] = {
    { "\x1F\x8B", 2, ATT_UNPACK_GZIP },
    { "\x28\xB5\x2F\xFD", 4, ATT_UNPACK_ZSTD },
};

att_unpack_kind att_unpack_detect(const char *bytes, size_t length)
{
    for (size_t i = 0; i < ATT_COUNT(first_bytes); i++)
        if (length >= first_bytes[i].count &&
            memcmp(bytes, first_bytes[i].bytes, first_bytes[i].count) == 0)
            return first_bytes[i].kind;
    return ATT_UNPACK_NONE;
}

att_status att_unpack_check(att_unpack_kind kind, const char *name, att_error *err)
{
#ifndef ATT_HAVE_ZLIB
    if (kind == ATT_UNPACK_GZIP)
        return att_fail(err, ATT_UNSUPPORTED, name,
                        "is a gzip file: this build lacks zlib; use <(zcat FILE) instead");
#endif
#ifndef ATT_HAVE_ZSTD
    if (kind == ATT_UNPACK_ZSTD)
        return att_fail(err, ATT_UNSUPPORTED, name,
                        "is a zstd file: this build lacks libzstd; use <(zstdcat FILE) instead");
#endif
    (void)kind;
    (void)name;
    (void)err;
    return ATT_OK;
}

static void copy_block(att_unpack_block *block)
{
    size_t size = att_min_size(block->in_size, block->out_size);
    memcpy(block->out, block->in, size);
    block->in_done = block->out_done = size;
}

#if defined ATT_HAVE_ZLIB || defined ATT_HAVE_ZSTD
static att_status fail_damaged(const char *name, const char *format, const char *reason,
                               att_error *err)
{
    return att_fail(err, ATT_BAD_INPUT, name, "is a damaged %s file: %s", format, reason);
}

static att_status fail_early_end(const char *name, const char *format, att_error *err)
{
    return fail_damaged(name, format, "it ends too early", err);
}
#endif

/* ---- gzip */

#ifdef ATT_HAVE_ZLIB
enum { GZIP_WINDOW = 15 + 16 };

static att_status start_gzip(att_unpack *unpack, att_error *err)
{
    z_stream *stream = unpack->state;
    if (stream)
        return inflateReset2(stream, GZIP_WINDOW) == Z_OK ? ATT_OK : att_fail_memory(err);
    stream = att_alloc_zero(1, sizeof *stream);
    if (!stream)
        return att_fail_memory(err);
    if (inflateInit2(stream, GZIP_WINDOW) != Z_OK) {
        att_free(stream);
        return att_fail_memory(err);
    }
    unpack->state = stream;
    return ATT_OK;
}

/* Zero bytes, with which a gzip file may be padded at its end. */
static size_t zeros_before(const char *bytes, size_t size)
{
    size_t count = 0;
    while (count < size && bytes[count] == 0)
        count++;
    return count;
}

static att_status run_gzip(att_unpack *unpack, att_unpack_block *block, const char *name,
                           att_error *err)
{
    z_stream *stream = unpack->state;
    size_t in_size = att_min_size(block->in_size, UINT_MAX);
    size_t out_size = att_min_size(block->out_size, UINT_MAX);
    if (in_size == 0 && block->is_last)
        return unpack->is_inside ? fail_early_end(name, "gzip", err) : ATT_OK;
    if (!unpack->is_inside && unpack->has_ended && block->in[0] == 0) {
        block->in_done = zeros_before(block->in, in_size);
        return ATT_OK;
    }
    stream->next_in = (Bytef *)(uintptr_t)block->in;
    stream->avail_in = (uInt)in_size;
    stream->next_out = (Bytef *)block->out;
    stream->avail_out = (uInt)out_size;
    int code = inflate(stream, Z_NO_FLUSH);
    block->in_done = in_size - stream->avail_in;
    block->out_done = out_size - stream->avail_out;
    unpack->is_inside = code != Z_STREAM_END;
    unpack->has_ended = unpack->has_ended || !unpack->is_inside;
    if (code == Z_STREAM_END)
        return start_gzip(unpack, err);
    if (code == Z_MEM_ERROR)
        return att_fail_memory(err);
    if (code != Z_OK && code != Z_BUF_ERROR)
        return fail_damaged(name, "gzip", stream->msg ? stream->msg : "unknown error", err);
    return ATT_OK;
}
#endif

/* ---- zstd */

#ifdef ATT_HAVE_ZSTD
static att_status start_zstd(att_unpack *unpack, att_error *err)
{
    if (!unpack->state)
        unpack->state = ZSTD_createDCtx();
    if (!unpack->state || ZSTD_isError(ZSTD_DCtx_reset(unpack->state, ZSTD_reset_session_only)))
        return att_fail_memory(err);
    return ATT_OK;
}

static att_status run_zstd(att_unpack *unpack, att_unpack_block *block, const char *name,
                           att_error *err)
{
    ZSTD_inBuffer in = { block->in, block->in_size, 0 };
    ZSTD_outBuffer out = { block->out, block->out_size, 0 };
    if (block->in_size == 0 && block->is_last && !unpack->is_inside)
        return ATT_OK;
    size_t code = ZSTD_decompressStream(unpack->state, &out, &in);
    block->in_done = in.pos;
    block->out_done = out.pos;
    if (ZSTD_isError(code))
        return fail_damaged(name, "zstd", ZSTD_getErrorName(code), err);
    unpack->is_inside = code != 0;
    if (unpack->is_inside && block->is_last && block->in_size == 0 && out.pos == 0)
        return fail_early_end(name, "zstd", err);
    return ATT_OK;
}
#endif

/* ---- any kind */

att_status att_unpack_start(att_unpack *unpack, const char *name, att_error *err)
{
    unpack->is_inside = unpack->has_ended = false;
#ifdef ATT_HAVE_ZLIB
    if (unpack->kind == ATT_UNPACK_GZIP)
        return start_gzip(unpack, err);
#endif
#ifdef ATT_HAVE_ZSTD
    if (unpack->kind == ATT_UNPACK_ZSTD)
        return start_zstd(unpack, err);
#endif
    return att_unpack_check(unpack->kind, name, err);
}

void att_unpack_free(att_unpack *unpack)
{
#ifdef ATT_HAVE_ZLIB
    if (unpack->kind == ATT_UNPACK_GZIP && unpack->state) {
        inflateEnd(unpack->state);
        att_free(unpack->state);
    }
#endif
#ifdef ATT_HAVE_ZSTD
    if (unpack->kind == ATT_UNPACK_ZSTD)
        ZSTD_freeDCtx(unpack->state);
#endif
    unpack->state = NULL;
}

att_status att_unpack_run(att_unpack *unpack, att_unpack_block *block, const char *name,
                          att_error *err)
{
    block->in_done = block->out_done = 0;
#ifdef ATT_HAVE_ZLIB
    if (unpack->kind == ATT_UNPACK_GZIP)
        return run_gzip(unpack, block, name, err);
#endif
#ifdef ATT_HAVE_ZSTD
    if (unpack->kind == ATT_UNPACK_ZSTD)
        return run_zstd(unpack, block, name, err);
#endif
    (void)unpack;
    (void)name;
    (void)err;
    copy_block(block);
    return ATT_OK;
}

/* ---- whole files */

/* Appends everything that `packed` contains to *out, a piece at a time. */
static att_status unpack_all(att_string *out, att_unpack *unpack, const att_string *packed,
                             size_t limit, const char *name, att_error *err)
{
    enum { PIECE = 1 << 20 };
    size_t used = 0;
    att_unpack_block block;
    do {
        ATT_TRY(att_progress_check(err));
        if (att_string_reserve(out, PIECE) != ATT_OK)
            return att_fail_memory(err);
        block = (att_unpack_block){ .in = packed->data + used,
                                    .in_size = packed->length - used,
                                    .out = out->data + out->length,
                                    .out_size = PIECE,
                                    .is_last = true };
        ATT_TRY(att_unpack_run(unpack, &block, name, err));
        used += block.in_done;
        out->length += block.out_done;
        out->data[out->length] = '\0';
        if (out->length > limit)
            return att_fail(
                err, ATT_BAD_INPUT, name,
                "contains more than %zu MB: att_prepare() (attend prepare) reads larger "
                "files",
                limit >> 20);
    } while (used < packed->length || unpack->is_inside || block.out_done > 0);
    return ATT_OK;
}

att_status att_unpack_text(att_string *text, size_t limit, const char *name, att_error *err)
{
    att_unpack unpack = { .kind = att_unpack_detect(text->data, text->length) };
    att_string out = { 0 };
    if (unpack.kind == ATT_UNPACK_NONE)
        return ATT_OK;
    att_status status = att_unpack_start(&unpack, name, err);
    if (status == ATT_OK)
        status = unpack_all(&out, &unpack, text, limit, name, err);
    att_unpack_free(&unpack);
    att_string_free(status == ATT_OK ? text : &out);
    if (status == ATT_OK)
        *text = out;
    return status;
}
