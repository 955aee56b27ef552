/* Word vectors in a model that is trained: the initial embedding of the source, and its freezing.
 */
#include "train/training.h"

#include "base/alloc.h"
#include "base/error.h"

#include <math.h>
#include <string.h>

static const att_param *source_table(const att_training *training)
{
    const att_params *params = &training->model->params;
    int index = att_params_find(params, "source.embed");
    return index < 0 ? NULL : &params->items[index];
}

/* The root of the mean square of the vectors that were found. */
static double root_mean_square(const att_word_vectors *vectors, int64_t rows)
{
    double sum = 0;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; vectors->is_found[r] && i < vectors->size; i++) {
            double value = (double)vectors->values[r * vectors->size + i];
            sum += value * value;
        }
    return sqrt(sum / (double)(vectors->found * vectors->size));
}

att_status att_training_set_vectors(att_training *training, att_error *err)
{
    const att_word_vectors *vectors = &training->data.vectors;
    const att_settings *settings = training->settings;
    if (vectors->size == 0)
        return ATT_OK;
    const att_param *table = source_table(training);
    if (!table || table->shape[1] != vectors->size)
        return att_fail(err, ATT_BAD_INPUT, settings->vectors,
                        "has vectors of %lld numbers, expected %lld, the size of an embedding",
                        (long long)vectors->size, table ? (long long)table->shape[1] : 0);
    /* A Transformer multiplies embeddings; words without a vector keep their random one, of the
     * size of the others (Kim 2014). */
    bool scaled =
        settings->architecture == ATT_ARCHITECTURE_TRANSFORMER && settings->embedding_scale;
    float scale = scaled ? 1 / sqrtf((float)vectors->size) : 1;
    float *values = training->model->params.value + table->offset;
    float other = (float)root_mean_square(vectors, table->shape[0]) * scale / table->init_scale;
    for (int64_t r = 0; r < table->shape[0]; r++)
        for (int64_t i = r * vectors->size; i < (r + 1) * vectors->size; i++)
            values[i] = vectors->is_found[r] ? vectors->values[i] * scale : values[i] * other;
    att_params_mark_changed(&training->model->params);
    return ATT_OK;
}

att_status att_training_freeze_new(att_training *training, att_error *err)
{
    const att_settings *settings = training->settings;
    const att_param *table =
        settings->vectors && !settings->vectors_tune ? source_table(training) : NULL;
    if (!table)
        return ATT_OK;
    training->frozen = *table;
    training->frozen_values = att_alloc(table->count, sizeof *training->frozen_values);
    return training->frozen_values ? ATT_OK : att_fail_memory(err);
}

void att_training_freeze_gradient(att_training *training)
{
    if (training->frozen_values)
        memset(training->model->params.grad + training->frozen.offset, 0,
               training->frozen.count * sizeof(float));
}

void att_training_freeze_values(att_training *training, bool restore)
{
    float *values = training->model->params.value;
    if (!training->frozen_values)
        return;
    values += training->frozen.offset;
    memcpy(restore ? values : training->frozen_values, restore ? training->frozen_values : values,
           training->frozen.count * sizeof(float));
}
