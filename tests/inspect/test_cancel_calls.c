/* Every long call that tests/decode/test_cancel.c does not have is cancelled by the callback of its
 * thread, at every tenth callback in turn: it returns ATT_CANCELLED, leaks nothing, and the same
 * call then gives what it gives alone. */
#include "dev/attend_dev.h"
#include "base/alloc.h"
#include "base/progress.h"
#include "import/llama2c_model.h"
#include "model/public_models.h"
#include "train/small_run.h"

#include <stdlib.h>

enum { EVERY = 10, ATTEMPTS = 12 };

typedef struct counter {
    int calls, cancel_at; /* cancel_at 0: never */
} counter;

static bool count_calls(void *context, const att_progress *progress)
{
    counter *c = context;
    assert_true(progress->size >= sizeof *progress && progress->phase);
    assert_true(progress->total == 0 || progress->done <= progress->total);
    return ++c->calls != c->cancel_at;
}

/* Makes the call once; *digest receives a number that depends on its result. */
typedef att_status run(void *context, double *digest, att_error *err);

static att_status run_counting(run *call, void *context, counter *c, double *digest, att_error *err)
{
    *err = (att_error){ 0 };
    *digest = 0;
    att_callback_set(count_calls, c);
    att_status status = call(context, digest, err);
    att_callback_set(NULL, NULL);
    return status;
}

/* Cancels the call at callback `at`; false where it ended before. How often parallel loops call
 * back varies. */
static bool cancel_at(run *call, void *context, int at)
{
    counter c = { .cancel_at = at };
    double digest;
    att_error err;
    size_t live = att_alloc_live();
    att_status status = run_counting(call, context, &c, &digest, &err);
    assert_int_equal(att_alloc_live(), live);
    if (c.calls < at) {
        must(status, &err);
        return false;
    }
    assert_int_equal(status, ATT_CANCELLED);
    assert_int_equal(err.status, ATT_CANCELLED);
    assert_int_equal(c.calls, at); /* the callback is not called again */
    return true;
}

static void assert_cancelled(run *call, void *context)
{
    counter whole = { 0 }, again = { 0 };
    double expected, digest;
    att_error err;
    int cancelled = 0, step;
    att_progress_set_interval(0);
    must(run_counting(call, context, &whole, &expected, &err), &err);
    assert_true(whole.calls > 0);
    step = whole.calls / ATTEMPTS / EVERY * EVERY;
    for (int at = 1; at <= whole.calls; at += step > EVERY ? step : EVERY)
        cancelled += cancel_at(call, context, at);
    assert_true(cancelled > 0);
    must(run_counting(call, context, &again, &digest, &err), &err);
    att_progress_set_interval(-1);
    assert_true(digest == expected);
}

/* ---- attention and products */

enum { ROWS = 320, SIZE = 64 };

static float *numbers(size_t count)
{
    float *values = malloc(count * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(i * 2654435761u % 1000) / 1000 - 0.5f;
    return values;
}

static att_status attend_forward(void *context, double *digest, att_error *err)
{
    bool reference = context != NULL;
    float *values = numbers(ROWS * SIZE), *result = numbers(ROWS * SIZE);
    const int64_t shape[] = { 1, ROWS, 1, SIZE };
    att_tensor in = att_tensor_view(values, ATT_F32, 4, shape);
    att_tensor output = att_tensor_view(result, ATT_F32, 4, shape);
    const att_attention_inputs inputs = { .query = &in, .key = &in, .value = &in };
    const att_attention_outputs outputs = { .output = &output };
    att_status status = reference ? att_attention_forward_reference(NULL, &inputs, &outputs, err)
                                  : att_attention_forward(NULL, &inputs, &outputs, NULL, err);
    *digest = status == ATT_OK ? (double)result[77] : 0;
    free(values);
    free(result);
    return status;
}

static att_status attend_backward(void *context, double *digest, att_error *err)
{
    bool reference = context != NULL;
    float *values = numbers(ROWS * SIZE), *result = calloc(ROWS * SIZE, sizeof *result);
    const int64_t shape[] = { 1, ROWS, 1, SIZE };
    att_tensor in = att_tensor_view(values, ATT_F32, 4, shape);
    att_tensor grad = att_tensor_view(result, ATT_F32, 4, shape);
    const att_attention_inputs inputs = { .query = &in, .key = &in, .value = &in };
    const att_attention_grads grads = { .query = &grad };
    att_status status = reference
                            ? att_attention_backward_reference(NULL, &inputs, &in, &grads, err)
                            : att_attention_backward(NULL, &inputs, NULL, &in, &grads, NULL, err);
    *digest = status == ATT_OK ? (double)result[77] : 0;
    free(values);
    free(result);
    return status;
}

static att_status multiply(void *context, double *digest, att_error *err)
{
    (void)context;
    float *values = numbers(ROWS * ROWS), *result = numbers(ROWS * ROWS);
    const int64_t shape[] = { ROWS, ROWS };
    att_tensor a = att_tensor_view(values, ATT_F32, 2, shape);
    att_tensor c = att_tensor_view(result, ATT_F32, 2, shape);
    att_status status = att_matmul(&c, &a, &a, NULL, err);
    *digest = status == ATT_OK ? (double)result[77] : 0;
    free(values);
    free(result);
    return status;
}

static void attention_and_products_are_cancelled(void **state)
{
    (void)state;
    int reference = 1;
    assert_cancelled(attend_forward, NULL);
    assert_cancelled(attend_forward, &reference);
    assert_cancelled(attend_backward, NULL);
    assert_cancelled(attend_backward, &reference);
    assert_cancelled(multiply, NULL);
}

/* Few queries and many keys: one unit of work, which a thread computes alone. */
enum { LONG = 1 << 16, NARROW = 8, BLOCK = 64 * 128 };

static att_status attend_long(void *context, double *digest, att_error *err)
{
    bool entropy = context != NULL;
    float *values = numbers(LONG * NARROW), result[NARROW] = { 0 }, spread = 0;
    const int64_t one[] = { 1, 1, 1, NARROW }, all[] = { 1, LONG, 1, NARROW },
                  number[] = { 1, 1, 1 };
    att_tensor query = att_tensor_view(values, ATT_F32, 4, one);
    att_tensor key = att_tensor_view(values, ATT_F32, 4, all);
    att_tensor output = att_tensor_view(result, ATT_F32, 4, one);
    att_tensor entropies = att_tensor_view(&spread, ATT_F32, 3, number);
    const att_attention_inputs inputs = { .query = &query, .key = &key, .value = &key };
    const att_attention_outputs outputs = { .output = &output,
                                            .entropy = entropy ? &entropies : NULL };
    att_status status = att_attention_forward(NULL, &inputs, &outputs, NULL, err);
    *digest = status == ATT_OK ? (double)(result[3] + spread) : 0;
    free(values);
    return status;
}

/* Few rows and many columns. */
static att_status multiply_wide(void *context, double *digest, att_error *err)
{
    (void)context;
    float *values = numbers(LONG * NARROW), *result = numbers(LONG);
    const int64_t row[] = { 1, NARROW }, wide[] = { NARROW, LONG }, out[] = { 1, LONG };
    att_tensor a = att_tensor_view(values, ATT_F32, 2, row);
    att_tensor b = att_tensor_view(values, ATT_F32, 2, wide);
    att_tensor c = att_tensor_view(result, ATT_F32, 2, out);
    att_status status = att_matmul(&c, &a, &b, NULL, err);
    *digest = status == ATT_OK ? (double)result[LONG - 1] : 0;
    free(values);
    free(result);
    return status;
}

/* Otherwise the time until the callback is asked would grow with the input. */
static void assert_calls(run *call, void *context, int at_least)
{
    counter c = { 0 };
    double digest;
    att_error err;
    att_progress_set_interval(0);
    must(run_counting(call, context, &c, &digest, &err), &err);
    att_progress_set_interval(-1);
    assert_true(c.calls >= at_least);
}

static void one_unit_of_work_polls_on_the_way(void **state)
{
    (void)state;
    int threads = att_threads_get(), entropy = 1;
    att_threads_set(1);
    assert_calls(attend_long, NULL, LONG / BLOCK);
    assert_cancelled(attend_long, NULL);
    assert_calls(attend_long, &entropy, LONG / BLOCK + 1);
    assert_cancelled(attend_long, &entropy);
    assert_calls(multiply_wide, NULL, 4);
    assert_cancelled(multiply_wide, NULL);
    att_threads_set(threads);
}

/* ---- worksheets, metrics */

static att_status work_sheet(void *context, double *digest, att_error *err)
{
    (void)context;
    att_string text = { 0 };
    static const char lines[] = "x = [1 2\n     3 4]\na = attention(x, x, x)\n";
    for (int i = 0; i < 40; i++)
        must(att_string_append(&text, lines, sizeof lines - 1), NULL);
    att_sheet *sheet = NULL;
    att_status status = att_sheet_read(&sheet, text.data, text.length, "sheet", NULL, err);
    *digest = sheet ? (double)att_sheet_checks(sheet) : 0;
    att_sheet_free(sheet);
    att_string_free(&text);
    return status;
}

static att_status score_lines(void *context, double *digest, att_error *err)
{
    (void)context;
    enum { LINES = 30 };
    static const char *const names[] = { "bleu", "ter" };
    const char *hypotheses[LINES], *targets[LINES];
    for (int i = 0; i < LINES; i++) {
        hypotheses[i] = i % 3 ? "a b c d e f" : "b a d e";
        targets[i] = "a b d c e f";
    }
    const char *const *references[] = { targets };
    const att_hypotheses texts = { hypotheses, references, LINES, 1 };
    att_metric_options options = ATT_INIT(att_metric_options);
    att_metric_scores *scores;
    options.resamples = 50;
    att_status status = att_metrics_score(&scores, names, 2, &texts, &options, err);
    *digest = scores ? att_metric_scores_get(scores, 1)->interval.high : 0;
    att_metric_scores_free(scores);
    return status;
}

static void worksheets_and_metrics_are_cancelled(void **state)
{
    (void)state;
    assert_cancelled(work_sheet, NULL);
    assert_cancelled(score_lines, NULL);
}

/* ---- loading and importing */

static att_status load_model(void *context, double *digest, att_error *err)
{
    const att_string *bytes = context;
    att_model *model;
    att_status status = att_model_read(&model, bytes->data, bytes->length, "model", err);
    *digest = model ? (double)att_model_tensor_count(model) : 0;
    att_model_free(model);
    return status;
}

static att_status load_bundle(void *context, double *digest, att_error *err)
{
    const att_string *bytes = context;
    att_bundle *bundle;
    att_status status = att_bundle_read(&bundle, bytes->data, bytes->length, "bundle", err);
    *digest = bundle ? (double)att_bundle_count(bundle) : 0;
    att_bundle_free(bundle);
    return status;
}

static void loading_is_cancelled(void **state)
{
    (void)state;
    att_model *model = seq2seq_transformer();
    att_string bytes = { 0 };
    att_error err = { 0 };
    must(att_model_write(&bytes, model, &err), &err);
    assert_cancelled(load_model, &bytes);
    assert_cancelled(load_bundle, &bytes);
    att_string_free(&bytes);
    att_model_free(model);
}

/* The weights and the tokenizer of a small llama2.c model in a folder. */
static att_status import_model(void *context, double *digest, att_error *err)
{
    char path[128];
    att_bundle *bundle;
    snprintf(path, sizeof path, "%s/model.bin", (const char *)context);
    att_status status = att_import(&bundle, "llama2c", path, NULL, err);
    *digest = bundle ? (double)att_bundle_count(bundle) : 0;
    att_bundle_free(bundle);
    return status;
}

static void importing_is_cancelled(void **state)
{
    (void)state;
    char folder[64], path[128];
    att_string weights = llama_weights(llama_header, false), tokenizer = llama_good_tokenizer();
    folder_new(folder);
    snprintf(path, sizeof path, "%s/model.bin", folder);
    must(att_file_save(path, weights.data, weights.length, NULL), NULL);
    snprintf(path, sizeof path, "%s/tokenizer.bin", folder);
    must(att_file_save(path, tokenizer.data, tokenizer.length, NULL), NULL);
    assert_cancelled(import_model, folder);
    att_string_free(&weights);
    att_string_free(&tokenizer);
    folder_remove(folder);
}

/* ---- inside a model */

static const char *long_text(void)
{
    static char text[4001];
    for (int i = 0; i < 4000; i++)
        text[i] = i % 61 == 60 ? '\n' : " abcd"[(i * 7 + i / 11) % 5];
    return text;
}

static att_status find_cells(void *context, double *digest, att_error *err)
{
    att_cells_options options = ATT_INIT(att_cells_options);
    att_cells *cells;
    options.text = long_text();
    options.length = 4000;
    att_status status = att_model_cells(&cells, context, NULL, &options, err);
    *digest = cells ? att_cells_get(cells, 0)->mean : 0;
    att_cells_free(cells);
    return status;
}

static att_status record_unit(void *context, double *digest, att_error *err)
{
    att_unit_activations *unit;
    att_status status = att_model_unit_activations(
        &unit, context, long_text(), 4000, (att_layer_unit){ 1, 1 }, ATT_SIGNAL_DEFAULT, err);
    *digest = unit ? att_unit_activations_get(unit)->values[3000] : 0;
    att_unit_activations_free(unit);
    return status;
}

static att_status flow_back(void *context, double *digest, att_error *err)
{
    att_gradient_flow *flow;
    att_status status = att_model_gradient_flow(&flow, context, long_text(), 200, err);
    *digest = flow ? att_gradient_flow_loss(flow) : 0;
    att_gradient_flow_free(flow);
    return status;
}

static att_status map_attention(void *context, double *digest, att_error *err)
{
    const att_head_selection which = { .block = ATT_BLOCK_CROSS, .input = "abcdabcdab" };
    att_attention_map *map;
    att_status status = att_model_attention_map(&map, context, &which, true, err);
    *digest = map ? att_attention_map_get(map)->weights[3] : 0;
    att_attention_map_free(map);
    return status;
}

static att_status write_head(void *context, double *digest, att_error *err)
{
    const att_head_selection which = { .block = ATT_BLOCK_CROSS, .input = "abcdab" };
    att_string sheet = { 0 };
    att_status status = att_model_head_sheet(&sheet, context, "m.safetensors", &which, err);
    *digest = (double)sheet.length;
    att_string_free(&sheet);
    return status;
}

static void inspecting_a_model_is_cancelled(void **state)
{
    (void)state;
    att_model *rnn = lm_rnn(), *transformer = seq2seq_transformer();
    assert_cancelled(find_cells, rnn);
    assert_cancelled(record_unit, rnn);
    assert_cancelled(flow_back, rnn);
    assert_cancelled(map_attention, transformer);
    assert_cancelled(write_head, transformer);
    att_model_free(rnn);
    att_model_free(transformer);
}

/* ---- evaluation */

typedef struct dataset {
    int next;
    att_model_type type;
} dataset;

static bool next_example(void *context, att_example *out)
{
    dataset *data = context;
    static const char *const labels[] = { "few", "many", "none" };
    if (data->next == 24)
        return false;
    int n = data->next++;
    out->source = n % 2 ? "abcd" : "bcad";
    out->target = data->type == ATT_MODEL_CLASSIFIER ? labels[n % 3] : "dcba";
    if (data->type == ATT_MODEL_LM)
        out->target = "abcd dcba\nbcda ";
    return true;
}

static att_status evaluate(void *context, double *digest, att_error *err)
{
    const att_model *model = context;
    dataset data = { .type = att_model_type_get(model) };
    att_eval_options options = ATT_INIT(att_eval_options);
    att_metric_options bootstrap = ATT_INIT(att_metric_options);
    bootstrap.resamples = 20;
    options.metric_options = &bootstrap;
    options.examples = next_example;
    options.examples_context = &data;
    att_status status;
    if (data.type == ATT_MODEL_LM) {
        att_lm_eval eval = ATT_INIT(att_lm_eval);
        status = att_model_evaluate_lm(&eval, model, NULL, &options, NULL, err);
        *digest = eval.loss;
    } else if (data.type == ATT_MODEL_CLASSIFIER) {
        att_classifier_eval *eval;
        status = att_model_evaluate_classifier(&eval, model, NULL, &options, NULL, err);
        *digest = eval ? eval->loss : 0;
        att_classifier_eval_free(eval);
    } else {
        att_seq2seq_eval eval = ATT_INIT(att_seq2seq_eval);
        status = att_model_evaluate_seq2seq(&eval, NULL, model, NULL, &options, NULL, err);
        *digest = eval.perplexity;
    }
    return status;
}

static void evaluation_is_cancelled(void **state)
{
    (void)state;
    att_model *models[] = { seq2seq_rnn(), seq2seq_transformer(), lm_rnn(), lm_transformer(),
                            classifier_rnn() };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        assert_cancelled(evaluate, models[i]);
        att_model_free(models[i]);
    }
}

/* ---- sessions */

static att_status step_session(void *context, double *digest, att_error *err)
{
    static const char *const line = "abcdabcd";
    att_session *session;
    const att_session_output *out = NULL;
    att_status status = att_session_new(&session, context, NULL, err);
    if (status == ATT_OK)
        status = att_session_start_lines(session, &line, 1, err);
    for (int i = 0; i < 10 && status == ATT_OK; i++) {
        int32_t token = ATT_TOKEN_BOS + 2 * (i > 0);
        status = att_session_step(session, 1, &token, NULL, &out, err);
    }
    *digest = status == ATT_OK ? (double)out->log_probs[4] : 0;
    att_session_free(session);
    return status;
}

static void sessions_are_cancelled(void **state)
{
    (void)state;
    att_model *models[] = { seq2seq_rnn(), seq2seq_transformer() };
    for (size_t i = 0; i < 2; i++) {
        assert_cancelled(step_session, models[i]);
        att_model_free(models[i]);
    }
}

/* ---- benchmarks, and training data with BPE */

static att_status measure(void *context, double *digest, att_error *err)
{
    (void)context;
    const att_bench_options options = { .seconds = 0.01 };
    att_bench_times times;
    *digest = 1;
    return att_bench_run(&times, att_bench_count() - 1, &options, err);
}

static att_status learn_bpe(void *context, double *digest, att_error *err)
{
    const char *folder = context;
    dataset data = { .type = ATT_MODEL_SEQ2SEQ };
    att_training_options options = ATT_INIT(att_training_options);
    att_settings *settings;
    att_training *training = NULL;
    char path[200];
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    options.train = next_example;
    options.train_context = &data;
    must(att_settings_new(&settings, "pairs", err), err);
    must(att_settings_set(settings, "source-tokens", "bpe", err), err);
    must(att_settings_set(settings, "target-tokens", "bpe", err), err);
    must(att_settings_set(settings, "bpe-merges", "8", err), err);
    must(att_settings_set(settings, "valid-fraction", "0.3", err), err);
    must(att_settings_set(settings, "hidden-size", "8", err), err);
    must(att_settings_set(settings, "out", path, err), err);
    att_status status = att_training_new(&training, settings, &options, err);
    *digest = status == ATT_OK;
    att_training_free(training);
    att_settings_free(settings);
    return status;
}

static void benchmarks_and_reading_of_training_data_are_cancelled(void **state)
{
    (void)state;
    char folder[64];
    folder_new(folder);
    assert_cancelled(measure, NULL);
    assert_cancelled(learn_bpe, folder);
    folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_and_products_are_cancelled),
        cmocka_unit_test(one_unit_of_work_polls_on_the_way),
        cmocka_unit_test(worksheets_and_metrics_are_cancelled),
        cmocka_unit_test(loading_is_cancelled),
        cmocka_unit_test(importing_is_cancelled),
        cmocka_unit_test(inspecting_a_model_is_cancelled),
        cmocka_unit_test(evaluation_is_cancelled),
        cmocka_unit_test(sessions_are_cancelled),
        cmocka_unit_test(benchmarks_and_reading_of_training_data_are_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
