/* Small models of every kind: trained from the first step on data made here, then used. What is
 * hashed is every parameter, and every number and text that comes out. */
#include "selftest/selftest.h"

#include "base/error.h"
#include "base/minmax.h"
#include "base/random.h"
#include "base/string.h"

#include <stdio.h>
#include <string.h>

enum { EXAMPLES = 200, STEPS = 20 };

/* Every setting that has an influence is given: other defaults leave the digests as they are. */
#define COMMON                                                                                     \
    "steps = 20\nvalidate-every = 20\nbatch-tokens = 200\nclip-norm = 1\n"                         \
    "average-checkpoints = 0\nseed = 1\n"
#define SMOOTH "label-smoothing = 0.1\n"
#define SIZES  "hidden-size = 24\nembedding-size = 12\n"
#define RNN    "architecture = rnn\nlayers = 1\n" SIZES
#define TRANSFORMER                                                                                \
    "architecture = transformer\nlayers = 2\nhidden-size = 24\nheads = 4\nffn-size = 40\n"
#define ADAM                                                                                       \
    "optimizer = adam\nlearning-rate = 0.003\nschedule = cosine\nwarmup = 4\ndropout = 0.2\n"
#define STRINGS                                                                                    \
    "train-count = 200\nvalid-count = 20\nmax-string-length = 9\nmin-string-length = 1\nalphabet " \
    "= abcd\n"

static const struct model_case {
    const char *name, *help, *task, *settings;
    bool int8; /* quantized after training */
} models[] = {
    { "LSTM encoder-decoder", "reversal, dot attention", "reverse",
      COMMON SMOOTH RNN ADAM STRINGS "rnn-cell = lstm\nattention = dot\nbidirectional = yes\n",
      false },
    { "GRU encoder-decoder", "sorting, additive attention", "sort",
      COMMON SMOOTH RNN ADAM STRINGS "rnn-cell = gru\nattention = additive\nbidirectional = yes\n",
      false },
    { "vanilla RNN encoder-decoder", "copying, no attention", "copy",
      COMMON SMOOTH RNN ADAM STRINGS "rnn-cell = vanilla\nattention = none\nbidirectional = no\n",
      false },
    { "copying encoder-decoder", "pairs of words, pointer-generator", "pairs",
      COMMON RNN ADAM "rnn-cell = lstm\nattention = general\ncopy = yes\nsource-tokens = word\n"
                      "target-tokens = word\nbest-metric = loss\nepochs = 100\n",
      false },
    { "Transformer", "reversal, sinusoidal positions", "reverse",
      COMMON SMOOTH TRANSFORMER ADAM STRINGS
      "positions = sinusoidal\nnorm = pre\nactivation = relu\n",
      false },
    { "Transformer, rotary", "pairs of words, RMS norm, SwiGLU, grouped heads", "pairs",
      COMMON TRANSFORMER ADAM
      "positions = rotary\nnorm-kind = rms\nactivation = swiglu\nkv-heads = 2\nsource-tokens = "
      "bpe\n"
      "target-tokens = bpe\nbpe-merges = 40\nbest-metric = loss\nepochs = 100\ncopy = no\n",
      false },
    { "LSTM language model", "characters", "lm",
      COMMON RNN ADAM "rnn-cell = lstm\ntokens = char\nsequence-length = 24\nstate-reset = 0.1\n",
      false },
    { "Transformer language model", "bytes", "lm",
      COMMON TRANSFORMER ADAM "positions = learned\ntokens = byte\nsequence-length = 24\n", false },
    { "LSTM classifier", "attention pooling", "classify",
      COMMON RNN ADAM "rnn-cell = lstm\npool = attention\n", false },
    { "CNN classifier", "convolutions over words", "classify",
      COMMON "architecture = cnn\n" SIZES ADAM "min-window = 2\nmax-window = 4\n", false },
    { "tagger with a CRF", "LSTM, features of characters", "tag",
      COMMON RNN ADAM "rnn-cell = lstm\ncrf = yes\nchar-features = cnn\n", false },
    { "captions of images", "convolutions and LSTM", "shapes",
      COMMON RNN ADAM "train-count = 60\nvalid-count = 6\nconv-channels = 4\n", false },
    { "int8 LSTM encoder-decoder", "reversal, additive attention, quantized", "reverse",
      COMMON SMOOTH RNN ADAM STRINGS "rnn-cell = lstm\nattention = additive\nbidirectional = yes\n",
      true },
    { "int8 Transformer", "reversal, tied embeddings, quantized", "reverse",
      COMMON SMOOTH TRANSFORMER ADAM STRINGS
      "positions = sinusoidal\nnorm = pre\nactivation = relu\ntie-embeddings = all\n",
      true },
};

/* ---- data */

static const char *const words[] = { "the",   "a",    "red",  "green", "old",   "small",
                                     "dog",   "cat",  "bird", "sees",  "finds", "wants",
                                     "under", "near", "rain", "tree" };

typedef struct sentences {
    const char *task;
    uint64_t next;
    char source[256], target[256];
} sentences;

static void append(char out[256], const char *before, const char *word)
{
    size_t length = strlen(out);
    snprintf(out + length, 256 - length, "%s%s", length > 0 ? before : "", word);
}

/* Sentence `next` of random words; its target is what the task needs. */
static bool next_sentence(void *context, att_example *out)
{
    sentences *s = context;
    if (s->next == EXAMPLES)
        return false;
    s->source[0] = s->target[0] = '\0';
    uint32_t length = 2 + att_random_bits(1, s->next, 0) % 6, sum = 0;
    for (uint32_t i = 1; i <= length; i++) {
        uint32_t word = att_random_bits(1, s->next, i) % (uint32_t)ATT_COUNT(words);
        append(s->source, " ", words[word]);
        append(s->target, " ", word % 3 ? "O" : "B-x");
        sum += word;
    }
    bool tags = strcmp(s->task, "tag") == 0, labels = strcmp(s->task, "classify") == 0,
         text = strcmp(s->task, "lm") == 0;
    if (labels)
        snprintf(s->target, sizeof s->target, "%s", sum % 2 ? "odd" : "even");
    else if (text)
        snprintf(s->target, sizeof s->target, "%.250s.\n", s->source);
    else if (!tags)
        snprintf(s->target, sizeof s->target, "%.40s %.200s", words[sum % ATT_COUNT(words)],
                 s->source);
    *out = (att_example){ .source = text ? NULL : s->source, .target = s->target };
    s->next++;
    return true;
}

/* ---- training */

static bool has_own_data(const char *task)
{
    static const char *const own[] = { "reverse", "sort", "copy", "shapes" };
    for (size_t i = 0; i < ATT_COUNT(own); i++)
        if (strcmp(task, own[i]) == 0)
            return true;
    return false;
}

static att_status train_with(att_model **out, att_settings *settings, const char *task,
                             att_error *err)
{
    sentences data = { .task = task };
    att_training_options options = ATT_INIT(att_training_options);
    if (!has_own_data(task)) {
        options.train = next_sentence;
        options.train_context = &data;
    }
    att_training *training = NULL;
    ATT_TRY(att_training_new(&training, settings, &options, err));
    att_status status = att_training_advance(training, STEPS, NULL, NULL, err);
    if (status == ATT_OK)
        status = att_training_model(out, training, err);
    att_training_free(training);
    return status;
}

static att_status train(att_model **out, const struct model_case *c, att_error *err)
{
    att_settings *settings = NULL;
    ATT_TRY(att_settings_new(&settings, c->task, err));
    att_status status = att_settings_read(settings, c->settings, strlen(c->settings), c->name, err);
    if (status == ATT_OK)
        status = train_with(out, settings, c->task, err);
    att_settings_free(settings);
    return status;
}

static att_status add_parameters(att_sha256 *hash, const att_model *model, att_error *err)
{
    for (size_t i = 0; i < att_model_tensor_count(model); i++) {
        att_tensor tensor = { 0 };
        ATT_TRY(att_model_tensor_get(&tensor, model, att_model_tensor_name(model, i), err));
        att_selftest_add_tensor(hash, &tensor);
        att_tensor_free(&tensor);
    }
    return ATT_OK;
}

/* ---- use */

static void add_outputs(att_sha256 *hash, const att_outputs *outputs)
{
    for (size_t i = 0; i < att_outputs_count(outputs); i++) {
        const att_output *output = att_outputs_get(outputs, i);
        att_selftest_add_text(hash, output->text);
        att_selftest_add_doubles(hash, &output->score, 1);
        if (output->weights)
            att_selftest_add_doubles(hash, output->weights,
                                     (size_t)(output->target_count * output->source_count));
    }
}

static const char *const lines[] = { "abcd", "dcbaabcd", "the old dog", "a green bird sees rain" };

/* Greedy search, a beam, and sampling. */
static att_status use_search(att_sha256 *hash, const att_model *model, const att_tensor *images,
                             att_error *err)
{
    for (int way = 0; way < 3; way++) {
        att_decoding_options decoding = ATT_INIT(att_decoding_options);
        decoding.beam = way == 1 ? 4 : 0;
        decoding.sample = way == 2;
        decoding.seed = 7;
        decoding.max_output_length = 24;
        att_generate_options options = ATT_INIT(att_generate_options);
        options.decoding = &decoding;
        options.attention = true;
        att_outputs *outputs = NULL;
        ATT_TRY(images
                    ? att_model_caption(&outputs, model, images, &options, err)
                    : att_model_generate(&outputs, model, lines, ATT_COUNT(lines), &options, err));
        add_outputs(hash, outputs);
        att_outputs_free(outputs);
    }
    return ATT_OK;
}

static att_status use_seq2seq(att_sha256 *hash, const att_model *model, att_error *err)
{
    return use_search(hash, model, NULL, err);
}

static att_status use_caption(att_sha256 *hash, const att_model *model, att_error *err)
{
    att_tensor images = { 0 };
    att_status status = att_model_images(&images, model, NULL, true, err);
    if (status == ATT_OK)
        status = use_search(hash, model, &images, err);
    att_tensor_free(&images);
    return status;
}

static bool add_token(void *hash, const char *text, size_t length, double score)
{
    att_sha256_add(hash, text, length);
    att_selftest_add_doubles(hash, &score, 1);
    return true;
}

static att_status use_lm(att_sha256 *hash, const att_model *model, att_error *err)
{
    att_decoding_options decoding = ATT_INIT(att_decoding_options);
    decoding.sample = true;
    decoding.seed = 7;
    att_complete_options options = ATT_INIT(att_complete_options);
    options.decoding = &decoding;
    options.max_new_tokens = 60;
    att_completion done = ATT_INIT(att_completion);
    return att_model_complete(&done, model, "the", strlen("the"), &options, add_token, hash, err);
}

static att_status use_classifier(att_sha256 *hash, const att_model *model, att_error *err)
{
    att_predictions *predictions = NULL;
    ATT_TRY(att_model_classify(&predictions, model, lines, ATT_COUNT(lines), NULL, err));
    for (size_t i = 0; i < att_predictions_count(predictions); i++) {
        const att_prediction *one = att_predictions_get(predictions, i);
        att_selftest_add_doubles(hash, one->probabilities, (size_t)one->label_count);
    }
    att_predictions_free(predictions);
    return ATT_OK;
}

static att_status use_tagger(att_sha256 *hash, const att_model *model, att_error *err)
{
    att_taggings *taggings = NULL;
    ATT_TRY(att_model_tag(&taggings, model, lines, ATT_COUNT(lines), NULL, err));
    for (size_t i = 0; i < att_taggings_count(taggings); i++) {
        const att_tagging *one = att_taggings_get(taggings, i);
        att_selftest_add_doubles(hash, one->probabilities,
                                 (size_t)(one->token_count * one->label_count));
    }
    att_taggings_free(taggings);
    return ATT_OK;
}

static att_status use(att_sha256 *hash, const att_model *model, att_error *err)
{
    static att_status (*const by_type[])(att_sha256 *, const att_model *, att_error *) = {
        [ATT_MODEL_SEQ2SEQ] = use_seq2seq,       [ATT_MODEL_LM] = use_lm,
        [ATT_MODEL_CLASSIFIER] = use_classifier, [ATT_MODEL_CAPTION] = use_caption,
        [ATT_MODEL_TAGGER] = use_tagger,
    };
    return by_type[att_model_type_get(model)](hash, model, err);
}

/* ---- the list */

size_t att_selftest_model_count(void)
{
    return ATT_COUNT(models);
}

void att_selftest_model_get(att_selftest *out, size_t index)
{
    out->name = models[index].name;
    out->help = models[index].help;
}

static att_status replace_by_int8(att_model **model, att_error *err)
{
    att_model *small = NULL;
    ATT_TRY(att_model_quantize(&small, *model, err));
    att_model_free(*model);
    *model = small;
    return ATT_OK;
}

att_status att_selftest_model_run(att_sha256 *hash, size_t index, att_error *err)
{
    att_model *model = NULL;
    ATT_TRY(train(&model, &models[index], err));
    att_status status = add_parameters(hash, model, err);
    if (status == ATT_OK && models[index].int8)
        status = replace_by_int8(&model, err);
    if (status == ATT_OK)
        status = use(hash, model, err);
    att_model_free(model);
    return status;
}
