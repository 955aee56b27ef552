/* The model by which the Python package g2p_en pronounces words that it does not know: twelve
 * arrays in a .npz file. A GRU reads the letters and the end of the word; another starts in the
 * state where that ended and says phonemes. There is no attention.
 *
 * Matrices have a row for each result, gates in the order of PyTorch (reset, update, candidate),
 * which is ours, and both products of a gate have a bias. The tokens are not in the file: the
 * program knows them. */
#include "import/g2p.h"

#include "base/error.h"
#include "base/quote.h"
#include "import/graft.h"
#include "import/import.h"
#include "tensor/tensor.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* In the order of the rows of enc_emb. */
static const char *const letters[] = {
    "<pad>", "<unk>", "</s>", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l",
    "m",     "n",     "o",    "p", "q", "r", "s", "t", "u", "v", "w", "x", "y", "z",
};

/* In that of dec_emb: the phonemes of the CMU dictionary, vowels with their stress, by name. */
static const char *const phonemes[] = {
    "<pad>", "<unk>", "<s>", "</s>", "AA0", "AA1", "AA2", "AE0", "AE1", "AE2", "AH0", "AH1", "AH2",
    "AO0",   "AO1",   "AO2", "AW0",  "AW1", "AW2", "AY0", "AY1", "AY2", "B",   "CH",  "D",   "DH",
    "EH0",   "EH1",   "EH2", "ER0",  "ER1", "ER2", "EY0", "EY1", "EY2", "F",   "G",   "HH",  "IH0",
    "IH1",   "IH2",   "IY0", "IY1",  "IY2", "JH",  "K",   "L",   "M",   "N",   "NG",  "OW0", "OW1",
    "OW2",   "OY0",   "OY1", "OY2",  "P",   "R",   "S",   "SH",  "T",   "TH",  "UH0", "UH1", "UH2",
    "UW",    "UW0",   "UW1", "UW2",  "V",   "W",   "Y",   "Z",   "ZH",
};

enum {
    LETTER_UNKNOWN = 1,
    LETTER_END = 2,
    PHONEME_UNKNOWN = 1,
    PHONEME_START = 2,
    PHONEME_END = 3,
};

/* What becomes of an array. */
typedef enum manner {
    AS_IT_IS,
    TURNED,
    OF_LETTERS, /* a row for each */
    OF_PHONEMES,
    OUTPUT, /* a row for each phoneme, turned */
    OUTPUT_BIAS,
} manner;

static const struct part {
    const char *from, *into;
    int rank;
    manner manner;
} parts[] = {
    { "enc_emb", "source.embed", 2, OF_LETTERS },
    { "dec_emb", "target.embed", 2, OF_PHONEMES },
    { "enc_w_ih", "encoder.0.forward.w", 2, TURNED },
    { "enc_w_hh", "encoder.0.forward.u", 2, TURNED },
    { "enc_b_ih", "encoder.0.forward.bias", 1, AS_IT_IS },
    { "enc_b_hh", "encoder.0.forward.bias_u", 1, AS_IT_IS },
    { "dec_w_ih", "decoder.0.w", 2, TURNED },
    { "dec_w_hh", "decoder.0.u", 2, TURNED },
    { "dec_b_ih", "decoder.0.bias", 1, AS_IT_IS },
    { "dec_b_hh", "decoder.0.bias_u", 1, AS_IT_IS },
    { "fc_w", "output.w", 2, OUTPUT },
    { "fc_b", "output.bias", 1, OUTPUT_BIAS },
};

/* An import under way. */
typedef struct import {
    const att_bundle *weights;
    att_graft graft;
    att_graft_words letters, phonemes;
    att_error *err;
} import;

/* Whether the arrays are those of the list and no others. */
static att_status check_arrays(const import *in)
{
    char shape[ATT_SHAPE_TEXT], quoted[ATT_QUOTED];
    for (size_t i = 0; i < COUNT(parts); i++) {
        const att_tensor *array = att_bundle_get(in->weights, parts[i].from);
        if (!array)
            return att_fail(in->err, ATT_BAD_INPUT, in->graft.name, "lacks the array '%s'",
                            parts[i].from);
        if (array->rank != parts[i].rank || array->dtype != ATT_F32)
            return att_fail(in->err, ATT_BAD_INPUT, in->graft.name,
                            "the array '%s' is %s in %s, expected %d dimensions in float",
                            parts[i].from, att_shape_text(shape, array->rank, array->shape),
                            att_dtype_name(array->dtype), parts[i].rank);
    }
    for (size_t i = 0; i < att_bundle_count(in->weights); i++) {
        const char *name = att_bundle_name(in->weights, i);
        bool known = false;
        for (size_t j = 0; j < COUNT(parts); j++)
            known |= strcmp(parts[j].from, name) == 0;
        if (!known)
            return att_fail(in->err, ATT_BAD_INPUT, in->graft.name,
                            "what the array '%s' does is not known",
                            att_quote(quoted, name, strlen(name)));
    }
    return ATT_OK;
}

/* Words are read in small letters; phonemes are capitals. */
static att_status make_words(import *in)
{
    const att_foreign_words source = { .tokens = letters,
                                       .count = COUNT(letters),
                                       .unknown = LETTER_UNKNOWN,
                                       .start = -1,
                                       .end = LETTER_END,
                                       .kind = ATT_TOKENS_CHAR,
                                       .lower = true };
    const att_foreign_words target = { .tokens = phonemes,
                                       .count = COUNT(phonemes),
                                       .unknown = PHONEME_UNKNOWN,
                                       .start = PHONEME_START,
                                       .end = PHONEME_END,
                                       .kind = ATT_TOKENS_SPACE };
    ATT_TRY(att_graft_words_new(&in->letters, &source, in->err));
    att_vocab_end_lines(in->letters.vocab);
    return att_graft_words_new(&in->phonemes, &target, in->err);
}

static att_status add_part(const import *in, const struct part *part)
{
    const att_tensor *array = att_bundle_get(in->weights, part->from);
    const att_graft *graft = &in->graft;
    att_tensor view = *array;
    switch (part->manner) {
    case OF_LETTERS:
        return att_graft_table(graft, part->into, array, &in->letters, in->err);
    case OF_PHONEMES:
        return att_graft_table(graft, part->into, array, &in->phonemes, in->err);
    case OUTPUT:
        return att_graft_output(graft, part->into, array, &in->phonemes, in->err);
    case OUTPUT_BIAS:
        return att_graft_output_bias(graft, part->into, array, &in->phonemes, in->err);
    case TURNED:
        ATT_TRY(att_tensor_transpose(&view, array, 0, 1, in->err));
        break;
    case AS_IT_IS:
        break;
    }
    return att_graft_add(graft, part->into, &view, in->err);
}

static att_status convert(import *in)
{
    ATT_TRY(check_arrays(in));
    ATT_TRY(make_words(in));
    for (size_t i = 0; i < COUNT(parts); i++)
        ATT_TRY(add_part(in, &parts[i]));
    const att_graft_choice choices[] = {
        { "family", "recurrent", 0 },
        { "cell", "gru", 0 },
        { "layers", NULL, 1 },
        { "width", NULL, att_bundle_get(in->weights, "enc_w_hh")->shape[1] },
        { "embed", NULL, att_bundle_get(in->weights, "enc_emb")->shape[1] },
        { "bidirectional", "no", 0 },
        { "attention", "none", 0 },
        { "source-tokens", "char", 0 },
        { "target-tokens", "space", 0 },
    };
    const att_note notes[] = { { "format", "g2p", 0 }, { "weights", "float32", 0 } };
    const att_graft_model model = { choices, COUNT(choices), in->letters.vocab, in->phonemes.vocab,
                                    notes,   COUNT(notes) };
    return att_graft_finish(&in->graft, &model, in->err);
}

att_status att_g2p_convert(att_bundle **out, const att_bundle *weights, const char *name,
                           att_error *err)
{
import in = {.weights = weights, .graft = {.name = name }, .err = err };
    *out = NULL;
    ATT_TRY(att_bundle_new(&in.graft.bundle, err));
    att_status status = convert(&in);
    att_graft_words_free(&in.letters);
    att_graft_words_free(&in.phonemes);
    if (status == ATT_OK)
        *out = in.graft.bundle;
    else
        att_bundle_free(in.graft.bundle);
    return status;
}

att_status att_import_g2p(att_bundle **out, const char *path, const att_import_how *how,
                          att_error *err)
{
    (void)how; /* there is nothing to choose */
    att_bundle *weights;
    *out = NULL;
    ATT_TRY(att_bundle_load(&weights, path, err));
    att_status status = att_g2p_convert(out, weights, path, err);
    att_bundle_free(weights);
    return status;
}
