/* Reading the lines of pairs; see pair_reader.h. */
#include "data/pair_reader.h"

#include "base/error.h"
#include "data/data_loaders.h"

att_status att_pair_reader_start(att_pair_reader *out, const att_pair_text *text,
                                 const att_settings *settings, int64_t max_pairs, att_error *err)
{
    *out = (att_pair_reader){ .is_one_file = text->tsv.name != NULL, .left = max_pairs };
    if (!out->is_one_file) {
        out->lines[0] = att_line_reader_start(text->source.text.data, text->source.text.length);
        out->lines[1] = att_line_reader_start(text->target.text.data, text->target.text.length);
        return ATT_OK;
    }
    att_example_format format;
    ATT_TRY(att_data_example_format(&format, settings, err));
    return att_example_reader_start(&out->examples, &text->tsv, &format, err);
}

static bool next_example(att_pair_reader *in)
{
    bool found;
    if (att_example_reader_next(&in->examples, &found, NULL) != ATT_OK || !found)
        return false;
    in->sides[0] = in->examples.sides[ATT_COLUMN_SOURCE];
    in->sides[1] = in->examples.sides[ATT_COLUMN_TARGET];
    return true;
}

static bool next_lines(att_pair_reader *in)
{
    return att_line_reader_next(&in->lines[0], &in->sides[0]) &&
           att_line_reader_next(&in->lines[1], &in->sides[1]);
}

bool att_pair_reader_next(att_pair_reader *in)
{
    while (in->left-- > 0 && (in->is_one_file ? next_example(in) : next_lines(in)))
        if (in->sides[0].length > 0 || in->sides[1].length > 0)
            return true;
    in->left = 0;
    return false;
}

void att_pair_reader_free(att_pair_reader *in)
{
    att_example_reader_free(&in->examples);
}
