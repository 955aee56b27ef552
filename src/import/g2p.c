/* Import of the grapheme-to-phoneme model of the Python package g2p_en, which pronounces unknown
 * words: twelve arrays in a .npz file. A GRU encoder reads the letters and </s>; a GRU decoder
 * starts from its final state and generates phonemes. There is no attention.
 *
 * Matrices are [out, in]; the order of the gates is that of PyTorch (reset, update, candidate), as
 * in our models, and both products of a gate have a bias. The tokens are not in the file, but in
 * the code of g2p_en. */
#include "import/g2p.h"

#include "base/error.h"
#include "base/minmax.h"
#include "base/quote.h"
#include "import/model_writer.h"
#include "import/import.h"
#include "tensor/tensor.h"

#include <string.h>

/* In the order of the rows of enc_emb. */
static const char *const letters[] = {
    "<pad>", "<unk>", "</s>", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l",
    "m",     "n",     "o",    "p", "q", "r", "s", "t", "u", "v", "w", "x", "y", "z",
};

/* In the order of the rows of dec_emb: the phonemes of the CMU dictionary, vowels with stress
 * marks. */
static const char *const phonemes[] = {
    "<pad>", "<unk>", "<s>", "</s>", "AA0", "AA1", "AA2", "AE0", "AE1", "AE2", "AH0", "AH1", "AH2",
    "AO0",   "AO1",   "AO2", "AW0",  "AW1", "AW2", "AY0", "AY1", "AY2", "B",   "CH",  "D",   "DH",
    "EH0",   "EH1",   "EH2", "ER0",  "ER1", "ER2", "EY0", "EY1", "EY2", "F",   "G",   "HH",  "IH0",
    "IH1",   "IH2",   "IY0", "IY1",  "IY2", "JH",  "K",   "L",   "M",   "N",   "NG",  "OW0", "OW1",
    "OW2",   "OY0",   "OY1", "OY2",  "P",   "R",   "S",   "SH",  "T",   "TH",  "UH0", "UH1", "UH2",
    "UW",    "UW0",   "UW1", "UW2",  "V",   "W",   "Y",   "Z",   "ZH",
};

enum {
    LETTER_UNK = 1,
    LETTER_EOS = 2,
    PHONEME_UNK = 1,
    PHONEME_BOS = 2,
    PHONEME_EOS = 3,
};

/* How an array is converted. */
typedef enum conversion {
    COPY,
    TRANSPOSE,
    SOURCE_EMBEDDING, /* one row per token */
    TARGET_EMBEDDING,
    OUTPUT, /* one row per phoneme; transposed */
    OUTPUT_BIAS,
} conversion;

static const struct tensor_mapping {
    const char *from, *into;
    int rank;
    conversion conversion;
} tensor_mappings[] = {
    { "enc_emb", "source.embed", 2, SOURCE_EMBEDDING },
    { "dec_emb", "target.embed", 2, TARGET_EMBEDDING },
    { "enc_w_ih", "encoder.0.forward.w", 2, TRANSPOSE },
    { "enc_w_hh", "encoder.0.forward.u", 2, TRANSPOSE },
    { "enc_b_ih", "encoder.0.forward.bias", 1, COPY },
    { "enc_b_hh", "encoder.0.forward.bias_u", 1, COPY },
    { "dec_w_ih", "decoder.0.w", 2, TRANSPOSE },
    { "dec_w_hh", "decoder.0.u", 2, TRANSPOSE },
    { "dec_b_ih", "decoder.0.bias", 1, COPY },
    { "dec_b_hh", "decoder.0.bias_u", 1, COPY },
    { "fc_w", "output.w", 2, OUTPUT },
    { "fc_b", "output.bias", 1, OUTPUT_BIAS },
};

/* The state of a conversion. */
typedef struct converter {
    const att_bundle *weights;
    att_model_writer writer;
    att_imported_vocab letters, phonemes;
    att_error *err;
} converter;

/* Refuses missing, unexpected and unknown arrays. */
static att_status check_arrays(const converter *in)
{
    char shape[ATT_SHAPE_STRING_SIZE], quoted[ATT_QUOTED_SIZE];
    for (size_t i = 0; i < ATT_COUNT(tensor_mappings); i++) {
        const att_tensor *array = att_bundle_get(in->weights, tensor_mappings[i].from);
        if (!array)
            return att_fail(in->err, ATT_BAD_INPUT, in->writer.name, "the array '%s' is missing",
                            tensor_mappings[i].from);
        if (array->rank != tensor_mappings[i].rank || array->dtype != ATT_F32)
            return att_fail(in->err, ATT_BAD_INPUT, in->writer.name,
                            "the array '%s' is %s of %s, expected %d dimensions of float32",
                            tensor_mappings[i].from,
                            att_shape_to_string(shape, array->rank, array->shape),
                            att_dtype_name(array->dtype), tensor_mappings[i].rank);
    }
    for (size_t i = 0; i < att_bundle_count(in->weights); i++) {
        const char *name = att_bundle_name(in->weights, i);
        bool known = false;
        for (size_t j = 0; j < ATT_COUNT(tensor_mappings); j++)
            known |= strcmp(tensor_mappings[j].from, name) == 0;
        if (!known)
            return att_fail(in->err, ATT_BAD_INPUT, in->writer.name, "unknown array '%s'",
                            att_quote(quoted, name, strlen(name)));
    }
    return ATT_OK;
}

/* Words are lowercased; phonemes are uppercase. */
static att_status make_vocabularies(converter *in)
{
    const att_foreign_vocab source = { .tokens = letters,
                                       .count = ATT_COUNT(letters),
                                       .unk_id = LETTER_UNK,
                                       .bos_id = -1,
                                       .eos_id = LETTER_EOS,
                                       .kind = ATT_TOKENIZER_CHAR,
                                       .lowercase = true };
    const att_foreign_vocab target = { .tokens = phonemes,
                                       .count = ATT_COUNT(phonemes),
                                       .unk_id = PHONEME_UNK,
                                       .bos_id = PHONEME_BOS,
                                       .eos_id = PHONEME_EOS,
                                       .kind = ATT_TOKENIZER_SPACE };
    ATT_TRY(att_imported_vocab_new(&in->letters, &source, in->err));
    att_vocab_set_append_eos(in->letters.vocab);
    return att_imported_vocab_new(&in->phonemes, &target, in->err);
}

static att_status add_tensor(const converter *in, const struct tensor_mapping *mapping)
{
    const att_tensor *array = att_bundle_get(in->weights, mapping->from);
    const att_model_writer *writer = &in->writer;
    att_tensor view = *array;
    switch (mapping->conversion) {
    case SOURCE_EMBEDDING:
        return att_model_writer_add_embedding(writer, mapping->into, array, &in->letters, in->err);
    case TARGET_EMBEDDING:
        return att_model_writer_add_embedding(writer, mapping->into, array, &in->phonemes, in->err);
    case OUTPUT:
        return att_model_writer_add_output(writer, mapping->into, array, &in->phonemes, in->err);
    case OUTPUT_BIAS:
        return att_model_writer_add_output_bias(writer, mapping->into, array, &in->phonemes,
                                                in->err);
    case TRANSPOSE:
        ATT_TRY(att_tensor_transpose(&view, array, 0, 1, in->err));
        break;
    case COPY:
        break;
    }
    return att_model_writer_add(writer, mapping->into, &view, in->err);
}

static att_status convert(converter *in)
{
    ATT_TRY(check_arrays(in));
    ATT_TRY(make_vocabularies(in));
    for (size_t i = 0; i < ATT_COUNT(tensor_mappings); i++)
        ATT_TRY(add_tensor(in, &tensor_mappings[i]));
    const att_model_writer_setting settings[] = {
        { "architecture", "rnn", 0 },
        { "rnn-cell", "gru", 0 },
        { "layers", NULL, 1 },
        { "hidden-size", NULL, att_bundle_get(in->weights, "enc_w_hh")->shape[1] },
        { "embedding-size", NULL, att_bundle_get(in->weights, "enc_emb")->shape[1] },
        { "bidirectional", "no", 0 },
        { "attention", "none", 0 },
        { "source-tokens", "char", 0 },
        { "target-tokens", "space", 0 },
    };
    const att_metadata_entry metadata[] = { { "format", "g2p", 0 }, { "weights", "float32", 0 } };
    const att_model_writer_metadata model = { settings,          ATT_COUNT(settings),
                                              in->letters.vocab, in->phonemes.vocab,
                                              metadata,          ATT_COUNT(metadata) };
    return att_model_writer_finish(&in->writer, &model, in->err);
}

att_status att_g2p_convert(att_bundle **out, const att_bundle *weights, const char *name,
                           att_error *err)
{
    converter in = { .weights = weights, .writer = { .name = name }, .err = err };
    *out = NULL;
    ATT_TRY(att_bundle_new(&in.writer.bundle, err));
    att_status status = convert(&in);
    att_imported_vocab_free(&in.letters);
    att_imported_vocab_free(&in.phonemes);
    if (status == ATT_OK)
        *out = in.writer.bundle;
    else
        att_bundle_free(in.writer.bundle);
    return status;
}

att_status att_import_g2p(att_bundle **out, const char *path, const att_import_options *options,
                          att_error *err)
{
    (void)options; /* this format has no options */
    att_bundle *weights;
    *out = NULL;
    ATT_TRY(att_bundle_load(&weights, path, err));
    att_status status = att_g2p_convert(out, weights, path, err);
    att_bundle_free(weights);
    return status == ATT_OK ? att_imported_model_check(out, path, err) : status;
}
