/* Holding out sources for validation; see hold_out.h. */
#include "data/hold_out.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"
#include "data/pair_reader.h"

#include <math.h>

double att_hold_out_place(uint64_t seed, const att_line_view *source)
{
    uint64_t hash = att_hash(source->text, source->length);
    return att_random_double(seed, ATT_STREAM_VALID_SPLIT, hash);
}

/* Reads until a source is held out; of large files, that is a few lines. */
static att_status find_places(double *first, double *last, att_pair_reader *pairs,
                              const att_settings *settings, att_error *err)
{
    att_string buffer = { 0 };
    att_status status = ATT_OK;
    while (status == ATT_OK && *first >= settings->valid_fraction && att_pair_reader_next(pairs)) {
        att_line_view source = pairs->sides[0];
        if (source.length == 0 || pairs->sides[1].length == 0)
            continue; /* such pairs are skipped */
        if (pairs->is_one_file)
            status = att_example_source(&source, &buffer, &pairs->examples, err);
        double place = att_hold_out_place((uint64_t)settings->data_seed, &source);
        *first = fmin(*first, place);
        *last = fmax(*last, place);
    }
    att_string_free(&buffer);
    return status;
}

att_status att_hold_out_fraction(double *out, const att_pair_text *train,
                                 const att_settings *settings, att_error *err)
{
    double first = 1, last = 0;
    att_pair_reader pairs;
    *out = settings->valid_fraction;
    if (*out == 0)
        return ATT_OK;
    att_status status = att_pair_reader_start(&pairs, train, settings, INT64_MAX, err);
    if (status == ATT_OK)
        status = find_places(&first, &last, &pairs, settings, err);
    att_pair_reader_free(&pairs);
    if (first >= *out && first < last)
        *out = nextafter(first, 1);
    return status;
}
