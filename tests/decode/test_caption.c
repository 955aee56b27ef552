/* A trained model of scenes describes pairs of shapes that it has never seen together, and each
 * word that names a shape looks at it (golden/README.md tells where the model is from). */
#include "attend.h"

#include "data/synthetic_shapes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MODEL ATTEND_SOURCE_DIR "/tests/decode/golden/shapes.safetensors"

enum { SIZE = 32, CELLS = 8, HELD = 300 };

typedef struct gallery {
    att_model *model;
    att_tensor pictures;
    att_outputs *answers;
} gallery;

static void open_gallery(gallery *g)
{
    att_error err = { 0 };
    const int64_t shape[] = { HELD, SIZE, SIZE, 3 };
    const att_generate_options how = { .size = sizeof(att_generate_options), .attention = true };
    assert_int_equal(att_tensor_new(&g->pictures, ATT_F32, 4, shape, NULL), ATT_OK);
    for (int64_t i = 0; i < HELD; i++) {
        att_scene scene;
        att_scene_sample(&scene, 1, i, true, SIZE);
        att_scene_render((float *)g->pictures.data + i * SIZE * SIZE * 3, &scene, SIZE);
    }
    if (att_model_load(&g->model, MODEL, &err) != ATT_OK ||
        att_model_caption(&g->answers, g->model, &g->pictures, &how, &err) != ATT_OK)
        fail_msg("%s: %s", err.place, err.message);
}

static void close_gallery(gallery *g)
{
    att_outputs_free(g->answers);
    att_tensor_free(&g->pictures);
    att_model_free(g->model);
}

static bool is_right(const att_output *answer, const att_scene *scene)
{
    att_string said = { 0 };
    assert_int_equal(att_scene_caption(&said, scene), ATT_OK);
    bool same = strcmp(answer->text, said.data) == 0;
    att_string_free(&said);
    return same;
}

/* Whether any pixel of the cell that a word looked at most is part of the shape's square. */
static bool looks_at(const att_output *answer, int64_t word, const att_shape *shape)
{
    const double *weights = answer->weights + word * CELLS * CELLS;
    int64_t most = 0, cell = SIZE / CELLS, reach = shape->radius;
    for (int64_t i = 1; i < CELLS * CELLS; i++)
        if (weights[i] > weights[most])
            most = i;
    int64_t left = most % CELLS * cell, top = most / CELLS * cell;
    return left <= shape->x + reach && left + cell > shape->x - reach && /* across, */
           top <= shape->y + reach && top + cell > shape->y - reach;     /* and down */
}

/* How often the words that name a shape looked at it, and at the other. */
typedef struct looks {
    int words, at_named, at_other;
} looks;

/* The colour is at `word`, the form behind it. */
static void count_looks(looks *out, const att_output *answer, int64_t word, const att_shape *named,
                        const att_shape *other)
{
    for (int64_t i = word; i < word + 2; i++) {
        out->words++;
        out->at_named += looks_at(answer, i, named);
        out->at_other += looks_at(answer, i, other);
    }
}

static void pairs_never_seen_are_described_and_looked_at(void **state)
{
    (void)state;
    gallery g;
    open_gallery(&g);
    int right = 0;
    looks first = { 0 }, second = { 0 };
    for (int64_t i = 0; i < HELD; i++) {
        const att_output *answer = att_outputs_get(g.answers, (size_t)i);
        att_scene scene;
        att_scene_sample(&scene, 1, i, true, SIZE);
        if (!is_right(answer, &scene))
            continue;
        right++;
        count_looks(&first, answer, 1, &scene.first, &scene.second);
        count_looks(&second, answer, scene.vertical ? 5 : 6, &scene.second, &scene.first);
    }
    print_message("%d of %d scenes; of %d words of the first shape %d look at it and %d at the "
                  "other; of the second %d and %d\n",
                  right, HELD, first.words, first.at_named, first.at_other, second.at_named,
                  second.at_other);
    assert_true(right * 100 >= HELD * 95);
    assert_true(first.at_named * 10 >= first.words * 9 && first.at_other * 10 <= first.words);
    assert_true(second.at_named * 10 >= second.words * 9 && second.at_other * 10 <= second.words);
    close_gallery(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_never_seen_are_described_and_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
