/* Features of words from their characters: a small convolution (Ma and Hovy 2016, "End-to-end
 * sequence labeling via bi-directional LSTM-CNNs-CRF") or bidirectional LSTM (Lample et al. 2016)
 * over the bytes of a word in UTF-8, so that no character is unknown. */
#ifndef ATT_NN_CHAR_FEATURES_H
#define ATT_NN_CHAR_FEATURES_H

#include "nn/rnn_layer.h"
#include "nn/text_cnn.h"
#include "settings/settings.h"

typedef struct att_char_features {
    att_char_features_kind kind; /* ATT_CHAR_FEATURES_NONE: all others are unused */
    int64_t size;                /* F of a word */
    int table;                   /* [bytes and borders, E] */
    att_text_cnn cnn;
    att_rnn_layer forward, backward;
    float dropout;
} att_char_features;

/* Checks the settings. */
att_status att_char_features_check(const att_settings *settings, att_error *err);

/* Adds the parameters, named "chars.…", if the settings ask for them. */
void att_char_features_build(att_char_features *out, att_param_builder *builder,
                             const att_settings *settings);

/* The features of different words, [W,F], and in *rows, [count], the row of each of `count` words
 * (-1 where a word is NULL: padding), in the memory of the tape; NULL on failure. In training with
 * rows twice (att_tape_set_rows_twice), [2W,F]: the second half of the words has rows of its own.
 */
att_node *att_char_features_run(const att_char_features *features, att_tape *tape,
                                const char *const *words, int64_t count, const int32_t **rows);

#endif
