/* Families that sort sentences: a source is read, summed up as one vector (nn/pooling.h), and its
 * label told from that. Shared by their own files alone:
 *
 *   label.c              what all do: loss, decoding (which is a single step), the output layer
 *   recurrent_label.c    sentences read by recurrent layers
 *   transformer_label.c  … by the encoder of a Transformer
 *   convolution_label.c  … and by convolutions
 */
#ifndef ATT_MODEL_LABEL_H
#define ATT_MODEL_LABEL_H

#include "model/model.h"
#include "nn/pooling.h"

typedef struct att_label_parts att_label_parts;

/* Reads sentences. */
typedef void att_label_read(const att_label_parts *parts, att_tape *tape,
                            const att_sources *sources, att_read *out);

struct att_label_parts {
    att_label_read *read;
    void *encoder; /* the family's */
    att_pooling pooling;
    att_affine output; /* [N, labels] */
    int64_t labels;    /* L: tokens of the target vocabulary but for those that every one has */
    float dropout;     /* of the sentence's vector */
    float word_dropout;
};

/* What a reader of padded rows, [sequences * length, N], gives. */
att_read att_label_padded(att_tape *tape, const att_sources *sources, att_node *rows);

/* Ends the making of a model whose sentences `read` reads with `encoder`, in rows of `width`: adds
 * what comes after, and gives the builder's status. */
att_status att_label_build(att_model *model, att_builder *builder, att_label_read *read,
                           void *encoder, int64_t width);

/* What can be said of the settings by any of them. */
att_status att_label_check(const att_settings *settings, att_error *err);

att_node *att_label_loss(att_model *model, att_tape *tape, const att_batch *batch,
                         const att_lesson *lesson, att_lesson_result *result);

att_status att_label_open(att_decoder *decoder, att_error *err);
void att_label_close(att_decoder *decoder);
att_status att_label_start(att_decoder *decoder, const att_sources *sources, att_error *err);
att_status att_label_step(att_decoder *decoder, int64_t rows, const int32_t *tokens,
                          const int64_t *order, att_decoded *out, att_error *err);

/* A family of these: they differ in how they are built alone. */
#define ATT_LABEL_FAMILY(NAME, BUILD)                                                              \
    {                                                                                              \
        .name = NAME, .build = BUILD, .loss = att_label_loss, .open = att_label_open,              \
        .close = att_label_close, .start = att_label_start, .step = att_label_step                 \
    }

extern const att_family att_recurrent_label_family, att_transformer_label_family,
    att_convolution_label_family;

#endif
