/* What JavaScript cannot do with attend.h itself: fill option structs, and be called back. All
 * other calls of attend.h are exported as they are, and lib/attend.js makes them. Functions here
 * have numbers and pointers as arguments; strings are UTF-8 and end in a zero byte; NULL: not
 * given. */
#ifndef ATT_WEB_H
#define ATT_WEB_H

#include "attend.h"

#define WEB_EXPORT __attribute__((visibility("default")))

/* Options, each in one static struct: valid until the function is called again. */
WEB_EXPORT const att_render_options *web_render_options(int format, int digits, int detail,
                                                        const char *only, int row, int head,
                                                        int width, bool arcs);
WEB_EXPORT const att_decoding_options *web_decoding_options(int beam, int n_best, bool sample,
                                                            double temperature, int top_k,
                                                            double top_p, double seed,
                                                            int max_output_length);
/* `target` (or NULL) is a forced output of the one line, `prefix` what it starts with. */
WEB_EXPORT const att_generate_options *web_generate_options(const att_decoding_options *decoding,
                                                            bool all_heads, int layer, int head,
                                                            const char *target, const char *prefix);
WEB_EXPORT const att_alternatives_options *web_alternatives_options(
    int count, const char *target, const att_decoding_options *decoding);
WEB_EXPORT const att_head_selection *web_head_selection(int block, int layer, int head,
                                                        const char *input, const char *target);

/* One line through a model: appends the output, the prediction or the tagging as JSON. */
WEB_EXPORT att_status web_model_run(att_string *out, const att_model *model, const char *line,
                                    const att_generate_options *options, att_error *err);
/* Appends the attention map of the output of one line. */
WEB_EXPORT att_status web_model_map(att_string *out, const att_model *model, const char *line,
                                    const att_generate_options *options,
                                    const att_render_options *render, att_error *err);
/* Appends image `index`, from 0, of the validation images that the training of a caption model
 * generated, as bytes of red, green and blue; nothing where it is not of colors. shape [4] receives
 * images, rows, columns and channels; it is left alone where the images have no rows. */
WEB_EXPORT att_status web_model_image(att_string *out, const att_model *model, int index,
                                      int32_t *shape, att_error *err);
/* The caption of an image, pixels [rows,columns,3]: appends it as JSON, or with `render` its
 * attention over the image (nothing, if the model has none). */
WEB_EXPORT att_status web_model_caption(att_string *out, const att_model *model,
                                        const uint8_t *pixels, int rows, int columns,
                                        const att_generate_options *options,
                                        const att_render_options *render, att_error *err);
/* Appends an attention map, or with `overview` all layers and heads, of a Transformer. */
WEB_EXPORT att_status web_attention_map(att_string *out, const att_model *model,
                                        const att_head_selection *which, bool every_head,
                                        bool overview, const att_render_options *render,
                                        att_error *err);
/* Appends the continuation of a prompt by at most `tokens` tokens. */
WEB_EXPORT att_status web_model_complete(att_string *out, const att_model *model,
                                         const char *prompt, const att_decoding_options *decoding,
                                         int tokens, att_error *err);
/* A copy of a Transformer without `count` heads: numbers [count,3] has block, layer and head. */
enum { WEB_MAX_HEADS = 256 };
WEB_EXPORT att_status web_model_without_heads(att_model **out, const att_model *model,
                                              const int32_t *numbers, int count, att_error *err);
/* Appends a text colored by a unit; `signal` is an att_unit_signal. */
WEB_EXPORT att_status web_unit_render(att_string *out, const att_model *model, const char *text,
                                      int layer, int unit, int signal,
                                      const att_render_options *render, att_error *err);
/* Finds the units that track properties of a text; `pattern` (or NULL) is one more, NAME=REGEX. */
WEB_EXPORT att_status web_cells_new(att_cells **out, const att_model *model, const char *text,
                                    int signal, int n_best, const char *pattern, att_error *err);
/* Appends a passage colored by the best unit of property `index`; nothing where none was found. */
WEB_EXPORT att_status web_cells_sample(att_string *out, const att_cells *cells, int index,
                                       const att_render_options *render, att_error *err);

/* Appends one or two curves as SVG: values [curves,count], over x_first to x_last. */
WEB_EXPORT att_status web_plot(att_string *out, const char *title, const char *x_label,
                               const char *y_label, const char *first_name, const char *second_name,
                               const double *values, int curves, int count, bool linear,
                               double x_first, double x_last, att_error *err);

/* Trains until `steps` steps were made, `milliseconds` have passed or the run is finished.
 * `numbers` receives step, steps, epoch, epochs, loss, learning rate, tokens per second and seconds
 * left of the last event. */
enum { WEB_PROGRESS_NUMBERS = 8 };
WEB_EXPORT att_status web_training_advance(att_training *training, double steps,
                                           double milliseconds, double *numbers, att_error *err);
/* Validation `index`, from 0, as numbers: step, epoch, learning rate, training loss, training
 * accuracy, loss, accuracy, exact match, token error rate, BLEU, bits per character, perplexity,
 * truncated outputs, F1. false past the last. */
enum { WEB_VALIDATION_NUMBERS = 14 };
WEB_EXPORT bool web_training_validation(const att_training *training, int index, double *numbers);

#endif
