/* A trained caption model describes pairs of shapes that are not in its training data, and the
 * attention of each word that names a shape is on that shape (golden/README.md: how the model was
 * trained). */
#include "attend.h"

#include "data/synthetic_shapes.h"
#include "failing_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MODEL ATTEND_SOURCE_DIR "/tests/decode/golden/shapes.safetensors"

enum { SIZE = 32, CELLS = 8, SCENES = 300 };

typedef struct caption_set {
    att_model *model;
    att_tensor images;
    att_outputs *outputs;
} caption_set;

static void caption_set_open(caption_set *g)
{
    att_error err = { 0 };
    const int64_t shape[] = { SCENES, SIZE, SIZE, 3 };
    const att_generate_options options = { .size = sizeof(att_generate_options),
                                           .attention = true };
    assert_int_equal(att_tensor_new(&g->images, ATT_F32, 4, shape, NULL), ATT_OK);
    for (int64_t i = 0; i < SCENES; i++) {
        att_scene scene;
        att_scene_sample(&scene, 1, i, true, SIZE);
        att_scene_render((float *)g->images.data + i * SIZE * SIZE * 3, &scene, SIZE);
    }
    if (att_model_load(&g->model, MODEL, &err) != ATT_OK ||
        att_model_caption(&g->outputs, g->model, &g->images, &options, &err) != ATT_OK)
        fail_msg("%s: %s", err.place, err.message);
}

static void caption_set_close(caption_set *g)
{
    att_outputs_free(g->outputs);
    att_tensor_free(&g->images);
    att_model_free(g->model);
}

static bool is_right(const att_output *output, const att_scene *scene)
{
    att_string caption = { 0 };
    assert_int_equal(att_scene_caption(&caption, scene), ATT_OK);
    bool same = strcmp(output->text, caption.data) == 0;
    att_string_free(&caption);
    return same;
}

/* Whether the cell with the largest weight of a word overlaps the square of the shape. */
static bool attends_to(const att_output *output, int64_t word, const att_shape *shape)
{
    const double *weights = output->weights + word * CELLS * CELLS;
    int64_t best = 0, cell = SIZE / CELLS, reach = shape->radius;
    for (int64_t i = 1; i < CELLS * CELLS; i++)
        if (weights[i] > weights[best])
            best = i;
    int64_t left = best % CELLS * cell, top = best / CELLS * cell;
    return left <= shape->x + reach && left + cell > shape->x - reach && /* columns */
           top <= shape->y + reach && top + cell > shape->y - reach;     /* rows */
}

/* How often the words that name a shape attend to it, and to the other shape. */
typedef struct attended {
    int words, at_named, at_other;
} attended;

/* The color is at `word`, the form follows. */
static void count_attention(attended *out, const att_output *output, int64_t word,
                            const att_shape *named, const att_shape *other)
{
    for (int64_t i = word; i < word + 2; i++) {
        out->words++;
        out->at_named += attends_to(output, i, named);
        out->at_other += attends_to(output, i, other);
    }
}

static void unseen_pairs_of_shapes_are_captioned_and_attended_to(void **state)
{
    (void)state;
    caption_set g;
    caption_set_open(&g);
    int right = 0;
    attended first = { 0 }, second = { 0 };
    for (int64_t i = 0; i < SCENES; i++) {
        const att_output *output = att_outputs_get(g.outputs, (size_t)i);
        att_scene scene;
        att_scene_sample(&scene, 1, i, true, SIZE);
        if (!is_right(output, &scene))
            continue;
        right++;
        count_attention(&first, output, 1, &scene.first, &scene.second);
        count_attention(&second, output, scene.vertical ? 5 : 6, &scene.second, &scene.first);
    }
    print_message("%d of %d scenes; of %d words of the first shape %d look at it and %d at the "
                  "other; of the second %d and %d\n",
                  right, SCENES, first.words, first.at_named, first.at_other, second.at_named,
                  second.at_other);
    assert_true(right * 100 >= SCENES * 95);
    assert_true(first.at_named * 10 >= first.words * 9 && first.at_other * 10 <= first.words);
    assert_true(second.at_named * 10 >= second.words * 9 && second.at_other * 10 <= second.words);
    caption_set_close(&g);
}

/* A forced caption, a prefix and a caption of the model's own, of two images. */
static att_status caption_some(void *context)
{
    static const char *const texts[] = { "a red", "" };
    const caption_set *g = context;
    const att_generate_options options = {
        .size = sizeof(att_generate_options), .prefixes = texts, .attention = true, .batch_size = 1
    };
    att_tensor two = g->images;
    two.shape[0] = 2;
    att_outputs *outputs;
    att_status status = att_model_caption(&outputs, g->model, &two, &options, NULL);
    if (status == ATT_OK) {
        assert_memory_equal(att_outputs_get(outputs, 0)->text, "a red", 5);
        assert_string_equal(att_outputs_get(outputs, 1)->text,
                            att_outputs_get(g->outputs, 1)->text);
        assert_string_equal(att_outputs_get(outputs, 0)->source_tokens[9], "2,2");
    }
    att_outputs_free(outputs);
    return status;
}

static void every_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    caption_set g;
    caption_set_open(&g);
    assert_true(every_arena_allocation_fails(caption_some, &g, 10000) > 20);
    caption_set_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unseen_pairs_of_shapes_are_captioned_and_attended_to),
        cmocka_unit_test(every_failing_allocation_is_reported_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
