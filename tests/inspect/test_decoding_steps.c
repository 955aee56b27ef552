/* Alternatives at each step, and beam searches as trees, of models of every type: they agree with
 * the outputs. */
#include "attend.h"
#include "data/synthetic_shapes.h"
#include "model/tagger_help.h"

#include <math.h>

static att_alternatives *list(const att_model *model, const char *line,
                              att_alternatives_options options)
{
    att_alternatives *found;
    att_error err = { 0 };
    options.size = sizeof options;
    if (att_model_alternatives(&found, model, line, &options, &err) != ATT_OK)
        fail_msg("%s", err.message);
    return found;
}

static void assert_refused(const att_model *model, const char *line,
                           att_alternatives_options options, const char *message)
{
    att_alternatives *found;
    att_error err = { 0 };
    options.size = sizeof options;
    assert_int_equal(att_model_alternatives(&found, model, line, &options, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, message);
    assert_null(found);
}

static void alternatives_are_the_most_probable_tokens_of_each_step(void **state)
{
    (void)state;
    scene s;
    scene_new(&s, NULL, 0);
    scene_learn(&s, 2, NULL);
    const char *line = "abca", *target = "acb";
    const att_generate_options options = { .size = sizeof(att_generate_options),
                                           .targets = &target };
    att_outputs *outputs;
    att_alternatives *found;
    assert_int_equal(att_model_generate(&outputs, s.model, &line, 1, &options, NULL), ATT_OK);
    found = list(s.model, line, (att_alternatives_options){ .count = 3, .target = target });
    const att_output *output = att_outputs_get(outputs, 0);
    for (int64_t t = 0; t < output->target_count; t++) {
        const att_alternative_step *step = att_alternatives_get(found, (size_t)t);
        assert_string_equal(step->token, output->target_tokens[t]);
        assert_true(fabs(step->probability - exp(output->token_scores[t])) < 1e-6);
        assert_int_equal(step->count, 3);
        for (int64_t i = 1; i < step->count; i++)
            assert_true(step->probabilities[i] <= step->probabilities[i - 1]);
        assert_true((step->rank <= 3) == (step->probability >= step->probabilities[2]));
        if (step->rank <= 3)
            assert_string_equal(step->tokens[step->rank - 1], step->token);
    }
    assert_null(att_alternatives_get(found, (size_t)output->target_count));
    att_alternatives_free(found);
    att_outputs_free(outputs);
    assert_refused(s.model, line, (att_alternatives_options){ .count = -1 },
                   "expected 1 to 100 alternatives, found -1");
    assert_refused(s.model, line, (att_alternatives_options){ .count = 101 },
                   "expected 1 to 100 alternatives, found 101");
    assert_refused(s.model, "", (att_alternatives_options){ 0 }, "the input has no tokens");
    scene_free(&s);
}

/* The output that a beam search or sampling found, token by token; words that a model copies are
 * alternatives too. Five by default. */
static void alternatives_of_the_models_own_output_have_its_tokens(void **state)
{
    (void)state;
    static const setting_pair copies[] = { { "copy", "yes" }, { "attention", "general" } };
    static const att_decoding_options searches[] = {
        { .size = sizeof(att_decoding_options) },
        { .size = sizeof(att_decoding_options), .beam = 3 },
        { .size = sizeof(att_decoding_options), .sample = true, .seed = 3 },
        { .size = sizeof(att_decoding_options), .max_output_length = 2 },
    };
    scene s;
    scene_new(&s, copies, 2);
    scene_learn(&s, 10, NULL);
    const char *line = "abxca";
    for (size_t i = 0; i < sizeof searches / sizeof *searches; i++) {
        const att_generate_options options = { .size = sizeof(att_generate_options),
                                               .decoding = &searches[i] };
        att_outputs *outputs;
        assert_int_equal(att_model_generate(&outputs, s.model, &line, 1, &options, NULL), ATT_OK);
        att_alternatives *found =
            list(s.model, line, (att_alternatives_options){ .decoding = &searches[i] });
        const att_output *output = att_outputs_get(outputs, 0);
        for (int64_t t = 0; t < output->target_count; t++) {
            const att_alternative_step *step = att_alternatives_get(found, (size_t)t);
            assert_string_equal(step->token, output->target_tokens[t]);
            assert_true(fabs(log(step->probability) - output->token_scores[t]) < 1e-5);
            assert_int_equal(step->count, 5);
            assert_null(step->source);
        }
        assert_null(att_alternatives_get(found, (size_t)output->target_count));
        att_alternatives_free(found);
        att_outputs_free(outputs);
    }
    scene_free(&s);
}

/* By the session, before it encodes the line. */
static void a_line_that_is_too_long_is_refused(void **state)
{
    (void)state;
    static const setting_pair short_lines[] = { { "max-length", "2" } };
    enum { LIMIT = 20 }; /* ten times max-length */
    char line[LIMIT + 2] = { 0 };
    scene s;
    scene_new(&s, short_lines, 1);
    memset(line, 'a', LIMIT);
    att_alternatives_free(list(s.model, line, (att_alternatives_options){ 0 }));
    line[LIMIT] = 'b';
    assert_refused(s.model, line, (att_alternatives_options){ 0 },
                   "expected at most 20 source tokens, found 21");
    const att_decoding_options decoding = { .size = sizeof(att_decoding_options), .beam = 2 };
    att_beam_tree *tree;
    att_error err = { 0 };
    assert_int_equal(att_model_beam_tree(&tree, s.model, line, &decoding, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "expected at most 20 source tokens, found 21");
    scene_free(&s);
}

/* ---- labels */

static double sum_of(const att_alternative_step *step)
{
    double sum = 0;
    for (int64_t i = 0; i < step->count; i++) {
        sum += step->probabilities[i];
        assert_true(i == 0 || step->probabilities[i] <= step->probabilities[i - 1]);
    }
    return sum;
}

static void alternatives_of_a_classifier_are_its_labels(void **state)
{
    (void)state;
    scene s;
    label_scene_of(&s, &label_variants[0]);
    scene_learn(&s, 5, NULL);
    const char *line = "a b a c";
    att_predictions *predictions;
    assert_int_equal(att_model_classify(&predictions, s.model, &line, 1, NULL, NULL), ATT_OK);
    const att_prediction *prediction = att_predictions_get(predictions, 0);
    att_alternatives *found = list(s.model, line, (att_alternatives_options){ .count = 100 });
    const att_alternative_step *step = att_alternatives_get(found, 0);
    assert_string_equal(step->token, prediction->label_text);
    assert_int_equal(step->rank, 1);
    assert_int_equal(step->count, prediction->label_count);
    assert_true(step->probability == prediction->probabilities[prediction->label]);
    assert_true(fabs(sum_of(step) - 1) < 1e-6);
    assert_null(att_alternatives_get(found, 1));
    att_alternatives_free(found);
    att_predictions_free(predictions);
    assert_refused(s.model, "", (att_alternatives_options){ 0 }, "the input has no tokens");
    assert_refused(s.model, line, (att_alternatives_options){ .target = "many" },
                   "expected a model that generates an output, found a classifier");
    scene_free(&s);
}

/* A label has its marginal probability, so that the rank of one that Viterbi chose follows from all
 * of them. Of an ensemble it is the mean. */
static void alternatives_of_a_tagger_are_the_labels_of_each_token(void **state)
{
    (void)state;
    static const setting_pair sets[][MAX_VARIANT_SETTINGS] = { { { "crf", "yes" } },
                                                               { { "seed", "2" } } };
    scene s[2];
    for (int i = 0; i < 2; i++) {
        tag_scene_new(&s[i], sets[i]);
        scene_learn(&s[i], 4, NULL);
    }
    const char *line = "a a b c z";
    for (int models = 1; models <= 2; models++) {
        const att_tag_options options = { .size = sizeof(att_tag_options),
                                          .ensemble = &s[1].model,
                                          .ensemble_count = (size_t)models - 1 };
        const att_decoding_options decoding = { .size = sizeof(att_decoding_options),
                                                .ensemble = &s[1].model,
                                                .ensemble_count = (size_t)models - 1 };
        att_taggings *taggings;
        assert_int_equal(att_model_tag(&taggings, s[0].model, &line, 1, &options, NULL), ATT_OK);
        const att_tagging *tagging = att_taggings_get(taggings, 0);
        att_alternatives *found =
            list(s[0].model, line, (att_alternatives_options){ .count = 9, .decoding = &decoding });
        for (int64_t t = 0; t < tagging->token_count; t++) {
            const double *row = tagging->probabilities + t * tagging->label_count;
            const att_alternative_step *step = att_alternatives_get(found, (size_t)t);
            assert_string_equal(step->source, tagging->tokens[t]);
            assert_string_equal(step->token, tagging->labels[t]);
            assert_true(step->probability == row[tagging->label_indices[t]]);
            assert_string_equal(step->tokens[step->rank - 1], step->token);
            assert_int_equal(step->count, tagging->label_count);
            assert_true(fabs(sum_of(step) - 1) < 1e-5);
        }
        assert_null(att_alternatives_get(found, (size_t)tagging->token_count));
        att_alternatives_free(found);
        att_taggings_free(taggings);
    }
    assert_refused(s[0].model, " ", (att_alternatives_options){ 0 }, "the input has no tokens");
    for (int i = 0; i < 2; i++)
        scene_free(&s[i]);
}

/* ---- captions */

#define SHAPES ATTEND_SOURCE_DIR "/tests/decode/golden/shapes.safetensors"

static void make_image(att_tensor *image, int64_t count)
{
    enum { SIZE = 32 };
    const int64_t shape[] = { count, SIZE, SIZE, 3 };
    att_scene drawn;
    assert_int_equal(att_tensor_new(image, ATT_F32, 4, shape, NULL), ATT_OK);
    att_scene_sample(&drawn, 1, 0, true, SIZE);
    att_scene_render(image->data, &drawn, SIZE);
}

static void alternatives_and_the_tree_of_a_caption_have_its_words(void **state)
{
    (void)state;
    att_model *model;
    att_tensor image;
    assert_int_equal(att_model_load(&model, SHAPES, NULL), ATT_OK);
    make_image(&image, 1);
    const att_decoding_options decoding = { .size = sizeof(att_decoding_options), .beam = 3 };
    const att_generate_options options = { .size = sizeof(att_generate_options),
                                           .decoding = &decoding };
    const att_alternatives_options asked = { .size = sizeof asked,
                                             .count = 2,
                                             .decoding = &decoding };
    att_outputs *outputs;
    att_alternatives *found;
    att_beam_tree *tree;
    assert_int_equal(att_model_caption(&outputs, model, &image, &options, NULL), ATT_OK);
    assert_int_equal(att_model_caption_alternatives(&found, model, &image, &asked, NULL), ATT_OK);
    assert_int_equal(att_model_caption_beam_tree(&tree, model, &image, &decoding, NULL), ATT_OK);
    const att_output *output = att_outputs_get(outputs, 0);
    for (int64_t t = 0; t < output->target_count; t++)
        assert_string_equal(att_alternatives_get(found, (size_t)t)->token,
                            output->target_tokens[t]);
    assert_null(att_alternatives_get(found, (size_t)output->target_count));
    int64_t best = 0;
    const att_beam_node *node;
    for (size_t i = 0; (node = att_beam_tree_get(tree, i)) != NULL; i++)
        if (node->fate == ATT_BEAM_BEST)
            assert_string_equal(node->token, output->target_tokens[best++]);
    assert_int_equal(best, output->target_count);
    att_beam_tree_free(tree);
    att_alternatives_free(found);
    att_outputs_free(outputs);

    const att_alternatives_options forced = { .size = sizeof forced, .target = "a red circle" };
    assert_int_equal(att_model_caption_alternatives(&found, model, &image, &forced, NULL), ATT_OK);
    assert_string_equal(att_alternatives_get(found, 1)->token, "red");
    assert_string_equal(att_alternatives_get(found, 3)->token, "<end>");
    att_alternatives_free(found);
    att_tensor_free(&image);
    att_model_free(model);
}

static void captions_are_of_one_image(void **state)
{
    (void)state;
    att_model *model;
    att_tensor images;
    att_alternatives *found;
    att_beam_tree *tree;
    att_error err = { 0 };
    const att_decoding_options decoding = { .size = sizeof(att_decoding_options), .beam = 2 };
    assert_int_equal(att_model_load(&model, SHAPES, NULL), ATT_OK);
    make_image(&images, 2);
    assert_int_equal(att_model_caption_alternatives(&found, model, &images, NULL, &err),
                     ATT_BAD_INPUT);
    assert_string_equal(err.message, "expected features of 1 image, found 2");
    assert_int_equal(att_model_caption_beam_tree(&tree, model, &images, &decoding, &err),
                     ATT_BAD_INPUT);
    assert_refused(model, "a line", (att_alternatives_options){ 0 },
                   "a caption model reads an image: use att_model_caption_alternatives()");
    assert_int_equal(att_model_beam_tree(&tree, model, "a line", &decoding, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message,
                        "a caption model reads an image: use att_model_caption_beam_tree()");
    att_tensor_free(&images);
    att_model_free(model);

    scene s;
    scene_new(&s, NULL, 0);
    make_image(&images, 1);
    assert_int_equal(att_model_caption_alternatives(&found, s.model, &images, NULL, &err),
                     ATT_BAD_INPUT);
    assert_int_equal(att_model_caption_beam_tree(&tree, s.model, &images, &decoding, &err),
                     ATT_BAD_INPUT);
    assert_null(tree);
    att_tensor_free(&images);
    scene_free(&s);
}

/* ---- beam trees */

/* A candidate that the beam drops and that goes on as the greedy hypothesis is one node. */
static void assert_each_candidate_once(const att_beam_tree *tree)
{
    const att_beam_node *node, *other;
    for (size_t i = 0; (node = att_beam_tree_get(tree, i)) != NULL; i++)
        for (size_t j = 0; j < i && (other = att_beam_tree_get(tree, j)) != NULL; j++)
            assert_false(other->parent == node->parent && strcmp(other->token, node->token) == 0);
}

/* The path of the best output in the tree has its tokens and its scores; no step keeps more than
 * the beam and the greedy hypothesis beside it; parents come before their children. */
static void the_tree_of_a_beam_search_has_its_best_output(void **state)
{
    (void)state;
    static const char *const names[] = { "dot", "copy", "transformer", "coverage" };
    for (const variant *row = variants; row->name; row++) {
        bool chosen = false;
        for (size_t i = 0; i < 4; i++)
            chosen |= strcmp(names[i], row->name) == 0;
        if (!chosen)
            continue;
        scene s;
        scene_of(&s, row);
        scene_learn(&s, 2, NULL);
        const char *line = "abcxa";
        const att_decoding_options decoding = { .size = sizeof(att_decoding_options), .beam = 3 };
        const att_generate_options options = { .size = sizeof(att_generate_options),
                                               .decoding = &decoding };
        att_outputs *outputs;
        att_beam_tree *tree;
        assert_int_equal(att_model_generate(&outputs, s.model, &line, 1, &options, NULL), ATT_OK);
        assert_int_equal(att_model_beam_tree(&tree, s.model, line, &decoding, NULL), ATT_OK);
        const att_output *output = att_outputs_get(outputs, 0);
        int64_t best = 0, dropped = 0, kept[1000] = { 0 };
        const att_beam_node *node;
        for (size_t i = 0; (node = att_beam_tree_get(tree, i)) != NULL; i++) {
            assert_true(node->parent < (int64_t)i);
            assert_true(node->step >= 1 && node->step < 1000);
            if (node->parent >= 0)
                assert_int_equal(att_beam_tree_get(tree, (size_t)node->parent)->step,
                                 node->step - 1);
            dropped += node->fate == ATT_BEAM_DROPPED;
            kept[node->step] += node->fate != ATT_BEAM_DROPPED;
            assert_true(kept[node->step] <= 7); /* 3 extended, 3 finished, one beside the beam */
            if (node->fate != ATT_BEAM_BEST)
                continue;
            assert_string_equal(node->token, output->target_tokens[best]);
            assert_true(fabs(node->log_prob - output->token_scores[best]) < 1e-6);
            if (++best == output->target_count)
                assert_true(fabs(node->normalized_score - output->normalized_score) < 1e-9);
        }
        assert_int_equal(best, output->target_count);
        assert_true(dropped > 0);
        assert_each_candidate_once(tree);
        att_beam_tree_free(tree);
        att_outputs_free(outputs);
        scene_free(&s);
    }
}

/* Without end token, an output is over when each token of the vocabulary is in it. */
static void an_output_that_no_token_may_follow_is_the_best(void **state)
{
    (void)state;
    scene s;
    scene_new(&s, NULL, 0);
    const char *line = "abc";
    const att_decoding_options decoding = { .size = sizeof(att_decoding_options),
                                            .beam = 2,
                                            .no_repeat_ngram = 1,
                                            .min_output_length = 100,
                                            .max_output_length = 100 };
    const att_generate_options options = { .size = sizeof(att_generate_options),
                                           .decoding = &decoding };
    att_outputs *outputs;
    att_beam_tree *tree;
    assert_int_equal(att_model_generate(&outputs, s.model, &line, 1, &options, NULL), ATT_OK);
    assert_int_equal(att_model_beam_tree(&tree, s.model, line, &decoding, NULL), ATT_OK);
    const att_output *output = att_outputs_get(outputs, 0);
    assert_true(output->truncated && output->target_count < 100);
    int64_t best = 0;
    double last = NAN;
    const att_beam_node *node;
    for (size_t i = 0; (node = att_beam_tree_get(tree, i)) != NULL; i++)
        if (node->fate == ATT_BEAM_BEST) {
            assert_string_equal(node->token, output->target_tokens[best++]);
            last = node->normalized_score;
        }
    assert_int_equal(best, output->target_count);
    assert_true(fabs(last - output->normalized_score) < 1e-9);
    att_beam_tree_free(tree);
    att_outputs_free(outputs);
    scene_free(&s);
}

static void a_tree_needs_a_beam(void **state)
{
    (void)state;
    scene s;
    scene_new(&s, NULL, 0);
    att_beam_tree *tree;
    att_error err = { 0 };
    assert_int_equal(att_model_beam_tree(&tree, s.model, "ab", NULL, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "expected a beam of at least 2, found greedy search");
    const att_decoding_options decoding = { .size = sizeof(att_decoding_options), .beam = 2 };
    assert_int_equal(att_model_beam_tree(&tree, s.model, "", &decoding, &err), ATT_BAD_INPUT);
    assert_null(tree);
    scene_free(&s);
}

/* A classifier chooses among its labels, without a beam. */
static void a_tree_is_of_a_model_that_generates_tokens(void **state)
{
    (void)state;
    scene s;
    label_scene_of(&s, &label_variants[0]);
    att_beam_tree *tree;
    att_error err = { 0 };
    const att_decoding_options decoding = { .size = sizeof(att_decoding_options), .beam = 2 };
    assert_int_equal(att_model_beam_tree(&tree, s.model, "a b", &decoding, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message,
                        "expected a model that generates tokens, found a classifier: it searches "
                        "no beam; att_model_alternatives() has its most probable labels");
    assert_null(tree);
    scene_free(&s);
}

/* ---- language models */

static att_model *make_lm(const char *const *set)
{
    static const char *const characters[] = { "a", "b", "c", "\n", " " };
    const att_token_list tokens = { characters, 5 };
    att_settings *settings;
    att_model *model;
    assert_int_equal(att_settings_new(&settings, "lm", NULL), ATT_OK);
    assert_int_equal(att_settings_set(settings, "hidden-size", "8", NULL), ATT_OK);
    assert_int_equal(att_settings_set(settings, "sequence-length", "16", NULL), ATT_OK);
    for (; set && set[0]; set += 2)
        assert_int_equal(att_settings_set(settings, set[0], set[1], NULL), ATT_OK);
    assert_int_equal(att_model_build(&model, settings, NULL, &tokens, NULL), ATT_OK);
    att_settings_free(settings);
    return model;
}

typedef struct completed {
    double scores[16];
    int tokens;
} completed;

static bool receive(void *context, const char *text, size_t length, double score)
{
    (void)text;
    (void)length;
    completed *c = context;
    c->scores[c->tokens++] = score;
    return true;
}

/* The best path is the completion by the same beam: as many new tokens, with their scores, summed
 * from the end of the prompt on. */
static void the_tree_of_a_language_model_grows_from_the_prompt(void **state)
{
    (void)state;
    static const char *const transformer[] = { "architecture", "transformer", "heads", "2", NULL };
    static const char *const prompts[] = { "", "a", "abca b" };
    for (int i = 0; i < 6; i++) {
        att_model *model = make_lm(i < 3 ? NULL : transformer);
        const char *prompt = prompts[i % 3];
        const att_decoding_options beam = { .size = sizeof(att_decoding_options),
                                            .beam = 3,
                                            .max_output_length = i == 0 ? 0 : 4 };
        const att_complete_options options = { .size = sizeof(att_complete_options),
                                               .decoding = &beam,
                                               .max_new_tokens = i == 0 ? 10 : 4 };
        completed c = { 0 };
        att_completion counts = ATT_INIT(att_completion);
        att_beam_tree *tree;
        assert_int_equal(
            att_model_complete(&counts, model, prompt, strlen(prompt), &options, receive, &c, NULL),
            ATT_OK);
        assert_int_equal(att_model_beam_tree(&tree, model, prompt, &beam, NULL), ATT_OK);
        assert_int_equal(att_beam_tree_get(tree, 0)->step, 1);
        assert_int_equal(att_beam_tree_get(tree, 0)->parent, -1);
        double sum = 0;
        int best = 0;
        const att_beam_node *node;
        for (size_t n = 0; (node = att_beam_tree_get(tree, n)) != NULL; n++) {
            if (node->fate != ATT_BEAM_BEST)
                continue;
            assert_true(fabs(node->log_prob - c.scores[best]) < 1e-6);
            sum += node->log_prob;
            assert_true(fabs(node->score - sum) < 1e-5);
            assert_int_equal(node->step, ++best);
            if (best == c.tokens)
                assert_true(fabs(node->normalized_score - sum / best) < 1e-5);
        }
        assert_int_equal(best, c.tokens);
        assert_int_equal(c.tokens, options.max_new_tokens);
        assert_each_candidate_once(tree);
        att_beam_tree_free(tree);
        att_model_free(model);
    }
}

/* Each step is a token of the text and what could stand there; the last is what follows. Without
 * text it is how a text begins. */
static void alternatives_of_a_text_end_with_what_follows(void **state)
{
    (void)state;
    att_model *model = make_lm(NULL);
    att_alternatives *found = list(model, "ab", (att_alternatives_options){ .count = 2 });
    assert_string_equal(att_alternatives_get(found, 0)->token, "b");
    assert_null(att_alternatives_get(found, 1)->token);
    assert_int_equal(att_alternatives_get(found, 1)->count, 2);
    assert_null(att_alternatives_get(found, 2));
    att_string text = { 0 };
    const att_render_options ascii = { .size = sizeof ascii, .ascii = true };
    assert_int_equal(att_alternatives_render(&text, found, &ascii, NULL), ATT_OK);
    assert_non_null(strstr(text.data, "\n?  -   "));
    att_string_free(&text);
    att_alternatives_free(found);
    found = list(model, "", (att_alternatives_options){ .count = 2 });
    assert_null(att_alternatives_get(found, 0)->token);
    assert_null(att_alternatives_get(found, 1));
    att_alternatives_free(found);
    assert_refused(model, "ab", (att_alternatives_options){ .target = "c" },
                   "expected a model that generates an output, found a language model");
    att_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alternatives_are_the_most_probable_tokens_of_each_step),
        cmocka_unit_test(alternatives_of_the_models_own_output_have_its_tokens),
        cmocka_unit_test(a_line_that_is_too_long_is_refused),
        cmocka_unit_test(alternatives_of_a_classifier_are_its_labels),
        cmocka_unit_test(alternatives_of_a_tagger_are_the_labels_of_each_token),
        cmocka_unit_test(alternatives_and_the_tree_of_a_caption_have_its_words),
        cmocka_unit_test(captions_are_of_one_image),
        cmocka_unit_test(the_tree_of_a_beam_search_has_its_best_output),
        cmocka_unit_test(an_output_that_no_token_may_follow_is_the_best),
        cmocka_unit_test(a_tree_needs_a_beam),
        cmocka_unit_test(a_tree_is_of_a_model_that_generates_tokens),
        cmocka_unit_test(the_tree_of_a_language_model_grows_from_the_prompt),
        cmocka_unit_test(alternatives_of_a_text_end_with_what_follows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
