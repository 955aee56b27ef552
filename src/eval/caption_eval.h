/* Evaluation of a caption model: the one caption generated for each image is compared with all
 * reference captions of that image. */
#ifndef ATT_EVAL_CAPTION_EVAL_H
#define ATT_EVAL_CAPTION_EVAL_H

#include "eval/corpus_eval.h"

/* Number of images that have at least one caption. */
att_status att_caption_eval_image_count(int64_t *out, const att_corpus *corpus, att_error *err);

/* Generates a caption for every image that has one, in the order of the images, and adds its counts
 * to *metrics. Of the reference captions of an image, the one with the fewest edits counts.
 * options->output_texts is indexed by the position in that order. options->per_pair holds the
 * counts of each caption on entry; on return its first entries hold, by the same position, the sums
 * per image. */
att_status att_caption_eval_outputs(att_token_metrics *metrics, const att_model *model,
                                    const att_corpus *corpus,
                                    const att_corpus_eval_options *options, att_error *err);

/* All captions of each image as references, in the order of the outputs. The corpus, whose text
 * they are, must outlive them (att_data_read_options.keep_target_text). */
att_status att_caption_references_new(att_references *out, const att_corpus *corpus,
                                      att_error *err);

#endif
