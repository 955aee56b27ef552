/* The progress report of a training run: a table with one row per validation, one line on the
 * terminal that changes between them, and JSON lines for --log. */
#include "train.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "output.h"
#include "terminal.h"

/* Seconds between updates of the live line, and steps between lines of the log. */
static const double live_seconds = 0.1;
enum { LOG_STEPS = 50 };

/* ---- the metrics of a validation, by model type */

typedef struct type_metrics {
    const char *column_headers;                        /* of the columns after the losses */
    const char *speed_unit, *speed_key;                /* examples or tokens per second */
    void (*columns)(const att_validation *row);        /* prints those columns */
    void (*log)(FILE *log, const att_validation *row); /* writes members of a JSON object */
    void (*end)(const att_validation *best);           /* prints the final result */
} type_metrics;

/* A number that is not finite is null in JSON. */
static void log_real(FILE *log, const char *key, double value)
{
    if (isfinite(value))
        fprintf(log, ",\"%s\":%.9g", key, value);
    else
        fprintf(log, ",\"%s\":null", key);
}

/* A host's name has no characters that JSON would escape but these. */
static void log_string(FILE *log, const char *key, const char *value)
{
    fprintf(log, ",\"%s\":\"", key);
    for (; *value; value++)
        if ((unsigned char)*value >= ' ' && *value != '"' && *value != '\\')
            putc(*value, log);
    putc('"', log);
}

static void seq2seq_columns(const att_validation *row)
{
    printf(" %6.2f %% %6.2f %%", 100 * row->exact_match, 100 * row->token_error_rate);
    if (!isnan(row->bleu))
        printf(" %6.2f", row->bleu);
}

static void seq2seq_log(FILE *log, const att_validation *row)
{
    log_real(log, "token_accuracy", row->accuracy);
    log_real(log, "exact_match", row->exact_match);
    log_real(log, "token_error_rate", row->token_error_rate);
    log_real(log, "truncated_outputs", row->truncated_outputs);
    if (!isnan(row->bleu))
        log_real(log, "bleu", row->bleu);
}

/* Says how many outputs of the best validation were cut, if any. */
static void print_truncated(const att_validation *best)
{
    if (best->truncated_outputs > 0)
        printf("%.0f validation output%s cut at the maximum output length\n",
               best->truncated_outputs, best->truncated_outputs > 1 ? "s were" : " was");
}

static void seq2seq_end(const att_validation *best)
{
    printf("exact match %.2f %%, token error rate %.2f %%, loss %.4f (epoch %lld)\n",
           100 * best->exact_match, 100 * best->token_error_rate, best->loss,
           (long long)best->epoch);
    print_truncated(best);
}

static void lm_columns(const att_validation *row)
{
    char perplexity[PERPLEXITY_SIZE];
    printf(" %9.4f %10s", row->bits_per_character, perplexity_text(perplexity, row->perplexity, 3));
}

static void lm_log(FILE *log, const att_validation *row)
{
    log_real(log, "token_accuracy", row->accuracy);
    log_real(log, "bits_per_character", row->bits_per_character);
    log_real(log, "perplexity", row->perplexity);
}

static void lm_end(const att_validation *best)
{
    char perplexity[PERPLEXITY_SIZE];
    printf("loss %.4f, %.4f bits per character, perplexity %s (epoch %lld)\n", best->loss,
           best->bits_per_character, perplexity_text(perplexity, best->perplexity, 3),
           (long long)best->epoch);
}

static void classifier_columns(const att_validation *row)
{
    printf(" %6.2f %%", 100 * row->accuracy);
}

static void classifier_log(FILE *log, const att_validation *row)
{
    log_real(log, "accuracy", row->accuracy);
}

static void classifier_end(const att_validation *best)
{
    char loss[LOSS_SIZE];
    printf("accuracy %.2f %%, loss %s%s (epoch %lld)\n", 100 * best->accuracy,
           train_loss(loss, best->loss), isnan(best->loss) ? "" : " before calibration",
           (long long)best->epoch);
}

static void caption_end(const att_validation *best)
{
    if (!isnan(best->bleu))
        printf("BLEU-4 %.2f, ", best->bleu);
    printf("exact match %.2f %%, loss %.4f (epoch %lld)\n", 100 * best->exact_match, best->loss,
           (long long)best->epoch);
    print_truncated(best);
}

static void tagger_columns(const att_validation *row)
{
    printf(" %6.2f %%", 100 * row->accuracy);
    if (isnan(row->f1))
        printf("        -");
    else
        printf(" %6.2f %%", 100 * row->f1);
}

static void tagger_log(FILE *log, const att_validation *row)
{
    log_real(log, "token_accuracy", row->accuracy);
    log_real(log, "sentence_accuracy", row->exact_match);
    if (!isnan(row->f1))
        log_real(log, "f1", row->f1);
}

static void tagger_end(const att_validation *best)
{
    char loss[LOSS_SIZE];
    if (!isnan(best->f1))
        printf("F1 %.2f %%, ", 100 * best->f1);
    printf("token accuracy %.2f %%, sentence accuracy %.2f %%, loss %s (epoch %lld)\n",
           100 * best->accuracy, 100 * best->exact_match, train_loss(loss, best->loss),
           (long long)best->epoch);
}

#define TOKENS    "tokens/s", "tokens_per_second"
#define SENTENCES "sentences/s", "sentences_per_second"

static const type_metrics metrics_of_type[ATT_MODEL_TYPES] = {
    [ATT_MODEL_CAPTION] = { "    exact    TokER", TOKENS, seq2seq_columns, seq2seq_log,
                            caption_end },
    [ATT_MODEL_SEQ2SEQ] = { "    exact    TokER", TOKENS, seq2seq_columns, seq2seq_log,
                            seq2seq_end },
    [ATT_MODEL_LM] = { " bits/char perplexity", TOKENS, lm_columns, lm_log, lm_end },
    [ATT_MODEL_CLASSIFIER] = { " accuracy", SENTENCES, classifier_columns, classifier_log,
                               classifier_end },
    [ATT_MODEL_TAGGER] = { " accuracy       F1", TOKENS, tagger_columns, tagger_log, tagger_end },
};

/* ---- the log */

/* Keeps the first failure, which ends the run. */
static void log_failed(train_progress *show)
{
    if (show->status == ATT_OK)
        show->status = error_system(&show->err, show->log_path.data, "write", errno);
}

/* A device, which keeps no lines, cannot be emptied: EINVAL. */
static void empty_log(train_progress *show)
{
    if (ftruncate(fileno(show->log), 0) != 0 && errno != EINVAL)
        log_failed(show);
}

static void log_event(train_progress *show, const att_training_progress *at)
{
    FILE *log = show->log;
    const att_validation *row = at->event == ATT_TRAINING_VALIDATED ? at->last : NULL;
    fprintf(log, "{\"event\":\"%s\",\"step\":%lld,\"epoch\":%lld", row ? "validation" : "step",
            (long long)at->step, (long long)at->epoch);
    log_real(log, "learning_rate", at->learning_rate);
    log_real(log, "train_loss", row ? row->train_loss : at->loss);
    if (row) {
        log_real(log, "valid_loss", row->loss);
        metrics_of_type[show->model_type].log(log, row);
        fprintf(log, ",\"is_best\":%s", at->improved ? "true" : "false");
    }
    log_real(log, "gradient_norm", at->gradient_norm);
    log_real(log, metrics_of_type[show->model_type].speed_key, at->tokens_per_second);
    log_real(log, "seconds", at->seconds);
    if (at->processes > 1) {
        fprintf(log, ",\"processes\":%d,\"process\":0", at->processes);
        log_string(log, "host", at->host);
        log_real(log, "sent_bytes", at->sent_bytes);
        log_real(log, "overlapped_bytes", at->overlapped_bytes);
        log_real(log, "wait_seconds", at->wait_seconds);
    }
    fputs("}\n", log);
    if (fflush(log) != 0)
        log_failed(show);
    show->last_logged_step = at->step;
}

/* ---- the screen */

static void clear_line(train_progress *show)
{
    if (show->line_open)
        fputs("\r\033[K", stdout);
    show->line_open = false;
}

const char *train_metric_headers(att_model_type type)
{
    return metrics_of_type[type].column_headers;
}

void train_print_metrics(att_model_type type, const att_validation *row)
{
    metrics_of_type[type].columns(row);
}

const char *train_loss(char out[LOSS_SIZE], double loss)
{
    if (isnan(loss))
        return "-";
    snprintf(out, LOSS_SIZE, "%.4f", loss);
    return out;
}

const char *train_duration(char out[DURATION_SIZE], double seconds)
{
    long whole = isfinite(seconds) && seconds < 1e9 ? (long)ceil(seconds) : 0;
    if (whole >= 3600)
        snprintf(out, DURATION_SIZE, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
    else
        snprintf(out, DURATION_SIZE, "%ld:%02ld", whole / 60, whole % 60);
    return out;
}

/* Truncated to the width of the terminal: a line that wrapped could not be replaced. */
static void show_live(train_progress *show, const att_training_progress *at)
{
    char left[DURATION_SIZE], line[256];
    int width = output_width();
    if (at->event == ATT_TRAINING_VALIDATING)
        snprintf(line, sizeof line, "epoch %lld/%lld  step %lld/%lld  validating",
                 (long long)at->epoch, (long long)at->epochs, (long long)at->step,
                 (long long)at->steps);
    else
        snprintf(line, sizeof line,
                 "epoch %lld/%lld  step %lld/%lld  loss %.4f  gradient norm %.3g  %.0f %s  %s left",
                 (long long)at->epoch, (long long)at->epochs, (long long)at->step,
                 (long long)at->steps, at->loss, at->gradient_norm, at->tokens_per_second,
                 metrics_of_type[show->model_type].speed_unit,
                 train_duration(left, at->seconds_left));
    if (width > 0 && (size_t)width < sizeof line)
        line[width - 1] = '\0';
    printf("\r\033[K%s", line);
    fflush(stdout);
    show->line_open = true;
    show->last_shown = at->seconds;
}

static void show_validation(train_progress *show, const att_training_progress *at)
{
    const att_validation *row = at->last;
    char left[DURATION_SIZE], loss[LOSS_SIZE];
    clear_line(show);
    if (!show->header_printed)
        printf("%5s %7s %10s %10s%s%s %11s %7s\n", "epoch", "step", "train loss", "valid loss",
               metrics_of_type[show->model_type].column_headers, isnan(row->bleu) ? "" : "   BLEU",
               metrics_of_type[show->model_type].speed_unit, "left");
    show->header_printed = true;
    printf("%5lld %7lld %10.4f %10s", (long long)row->epoch, (long long)row->step, row->train_loss,
           train_loss(loss, row->loss));
    metrics_of_type[show->model_type].columns(row);
    printf(" %11.0f %7s%s\n", at->tokens_per_second, train_duration(left, at->seconds_left),
           at->improved ? "  best" : "");
    fflush(stdout);
}

void train_progress_event(train_progress *show, const att_training_progress *progress)
{
    bool validated = progress->event == ATT_TRAINING_VALIDATED;
    bool step = progress->event == ATT_TRAINING_STEP;
    if (show->last.processes == 0)
        show->first_step = progress->step - step;
    show->last = *progress;
    if (show->log && show->empty_log)
        empty_log(show);
    show->empty_log = false;
    if (show->log && (validated || (step && progress->step >= show->last_logged_step + LOG_STEPS)))
        log_event(show, progress);
    if (show->quiet)
        return;
    if (validated)
        show_validation(show, progress);
    else if (show->live &&
             (!show->line_open || progress->seconds >= show->last_shown + live_seconds))
        show_live(show, progress);
}

/* What more time would bring; nothing where there is no memory for it. */
static void print_outlook(const att_training *training)
{
    att_string text = { 0 };
    if (att_training_outlook(&text, training, NULL) == ATT_OK)
        printf("%s", text.data);
    att_string_free(&text);
}

/* What several processes cost, as process 0 has measured it. */
static void print_exchange(const train_progress *show)
{
    const att_training_progress *at = &show->last;
    double steps = (double)(at->step - show->first_step);
    if (show->quiet || at->processes <= 1 || steps <= 0)
        return;
    printf(
        "%-12s%.3g MB sent by process 0 in a step, %.0f %% of it during the backward pass; %.0f %% "
        "of the time waiting\n",
        "exchange", at->sent_bytes / steps / 1e6,
        at->sent_bytes > 0 ? 100 * at->overlapped_bytes / at->sent_bytes : 0,
        100 * at->wait_seconds / at->seconds);
}

void train_progress_end(train_progress *show, const att_training *training, bool finished,
                        double seconds)
{
    char time[DURATION_SIZE];
    clear_line(show);
    const char *checkpoint = att_training_checkpoint_path(training);
    if (!finished) {
        terminal_printf(stdout, "stopped at step %lld; resume with: attend train --resume %s\n",
                        (long long)att_training_steps(training), checkpoint);
        return;
    }
    const att_validation *best = att_training_best(training);
    if (best)
        metrics_of_type[show->model_type].end(best);
    print_exchange(show);
    if (show->has_budget)
        print_outlook(training);
    terminal_printf(stdout, "wrote %s in %s (checkpoint: %s)\n", att_training_model_path(training),
                    train_duration(time, seconds), checkpoint);
}
