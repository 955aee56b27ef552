/* Training in slices: a Worker that is inside a call hears no Stop button. */
#include "web.h"

#include <math.h>
#include <time.h>

typedef struct slice {
    double *numbers;
    double deadline; /* in milliseconds of now() */
} slice;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

/* A validation is never broken off: it would start again in the next slice. */
static bool on_event(void *context, const att_training_progress *progress)
{
    slice *at = context;
    const double numbers[WEB_PROGRESS_NUMBERS] = {
        (double)progress->step,      (double)progress->steps, (double)progress->epoch,
        (double)progress->epochs,    progress->loss,          progress->learning_rate,
        progress->tokens_per_second, progress->seconds_left,
    };
    for (int i = 0; i < WEB_PROGRESS_NUMBERS; i++)
        at->numbers[i] = numbers[i];
    return progress->event == ATT_TRAINING_VALIDATING || now() < at->deadline;
}

att_status web_training_advance(att_training *training, double steps, double milliseconds,
                                double *numbers, att_error *err)
{
    slice at = { numbers, now() + milliseconds };
    for (int i = 0; i < WEB_PROGRESS_NUMBERS; i++)
        numbers[i] = (double)NAN;
    return att_training_advance(training, (int64_t)steps, on_event, &at, err);
}

bool web_training_validation(const att_training *training, int index, double *numbers)
{
    const att_validation *at = att_training_validation(training, (size_t)index);
    if (!at)
        return false;
    const double row[WEB_VALIDATION_NUMBERS] = {
        (double)at->step,       (double)at->epoch,
        at->learning_rate,      at->train_loss,
        at->train_accuracy,     at->loss,
        at->accuracy,           at->exact_match,
        at->token_error_rate,   at->bleu,
        at->bits_per_character, at->perplexity,
        at->truncated_outputs,  at->f1,
    };
    for (int i = 0; i < WEB_VALIDATION_NUMBERS; i++)
        numbers[i] = row[i];
    return true;
}
