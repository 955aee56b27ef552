/* Reading parts of a corpus from a token file; see token_corpus.h. */
#include "data/token_corpus.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"

void att_token_corpus_free(att_token_corpus *stored)
{
    if (!stored)
        return;
    att_token_file_free(stored->file);
    att_free(stored->mix.files);
    att_free(stored);
}

att_status att_token_corpus_read(const att_token_corpus *stored, int64_t epoch, int64_t begin,
                                 int64_t count, int32_t *ids, att_error *err)
{
    for (int64_t done = 0, run; done < count; done += run) {
        int64_t at = att_mix_at(&stored->mix, epoch, begin + done, &run);
        run = att_min_i64(run, count - done);
        ATT_TRY(att_token_file_read(stored->file, stored->split, ATT_SECTION_TARGET_IDS, at, run,
                                    ids + done, err));
    }
    return ATT_OK;
}

/* ---- pairs */

void att_loaded_pairs_free(att_loaded_pairs *loaded)
{
    att_free(loaded->source.ids);
    att_free(loaded->source.offsets);
    att_free(loaded->target.ids);
    att_free(loaded->target.offsets);
    *loaded = (att_loaded_pairs){ 0 };
}

static bool reserve_offsets(att_loaded_pairs *to, size_t pairs)
{
    if (pairs + 1 <= to->pair_capacity)
        return true;
    size_t capacity = pairs + pairs / 2 + 2, used = (size_t)to->pairs + 1;
    att_sequences *const sides[] = { &to->source, &to->target };
    for (int i = 0; i < 2; i++) {
        size_t kept = sides[i]->offsets ? used * sizeof *sides[i]->offsets : 0;
        int64_t *more = att_realloc(sides[i]->offsets, kept, capacity, sizeof *more);
        if (!more)
            return false;
        if (!kept)
            more[0] = 0;
        sides[i]->offsets = more;
    }
    to->pair_capacity = capacity;
    return true;
}

static bool reserve_ids(att_sequences *side, size_t *capacity, size_t used, size_t wanted)
{
    if (wanted <= *capacity && side->ids)
        return true;
    size_t more = wanted + wanted / 4 + 1;
    int32_t *ids = att_realloc(side->ids, side->ids ? used * sizeof *ids : 0, more, sizeof *ids);
    if (!ids)
        return false;
    side->ids = ids;
    *capacity = more;
    return true;
}

/* Appends one side of the pairs [at, at + count) of the file. */
static att_status load_side(const att_token_corpus *stored, bool target, int64_t at, int64_t count,
                            bool with_ids, att_loaded_pairs *to, att_error *err)
{
    att_sequences *side = target ? &to->target : &to->source;
    int64_t *offsets = side->offsets + to->pairs, end = offsets[0];
    ATT_TRY(att_token_file_offsets(stored->file, stored->split, target, at, count, offsets, err));
    int64_t first = offsets[0], tokens = offsets[count] - first;
    for (int64_t i = 0; i <= count; i++) {
        if (i > 0 && offsets[i] - first - (offsets[i - 1] - end) > stored->max_length)
            return att_fail(err, ATT_BAD_INPUT, stored->file->name,
                            "pair %lld has more tokens than the %lld of the longest",
                            (long long)(at + i), (long long)stored->max_length);
        offsets[i] += end - first;
    }
    if (!with_ids)
        return ATT_OK;
    if (!reserve_ids(side, target ? &to->target_capacity : &to->source_capacity, (size_t)end,
                     (size_t)(end + tokens)))
        return att_fail_memory(err);
    return att_token_file_read(stored->file, stored->split,
                               target ? ATT_SECTION_TARGET_IDS : ATT_SECTION_SOURCE_IDS, first,
                               tokens, side->ids + end, err);
}

att_status att_token_corpus_load(const att_token_corpus *stored, int64_t epoch, int64_t begin,
                                 int64_t count, bool with_ids, att_loaded_pairs *to, att_error *err)
{
    if (!reserve_offsets(to, (size_t)(to->pairs + count)))
        return att_fail_memory(err);
    if (to->pairs == 0)
        to->source.offsets[0] = to->target.offsets[0] = 0;
    for (int64_t done = 0, run; done < count; done += run) {
        int64_t at = att_mix_at(&stored->mix, epoch, begin + done, &run);
        run = att_min_i64(run, count - done);
        ATT_TRY(load_side(stored, false, at, run, with_ids, to, err));
        ATT_TRY(load_side(stored, true, at, run, with_ids, to, err));
        to->pairs += run;
    }
    return ATT_OK;
}
