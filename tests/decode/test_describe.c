/* A trained model of scenes describes pairs of shapes that it has never seen together, and each
 * word that names a shape looks at it (golden/README.md tells where the model is from). */
#include "attend.h"

#include "text/shapes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MODEL ATTEND_SOURCE_DIR "/tests/decode/golden/shapes.safetensors"

#ifdef ATT_HAVE_JANSSON

enum { SIZE = 32, CELLS = 8, HELD = 200, COLOUR = 1, FORM = 2 };

typedef struct gallery {
    att_model *model;
    att_tensor pictures;
    att_answers *answers;
} gallery;

static void open_gallery(gallery *g)
{
    att_error err = { 0 };
    const int64_t shape[] = { HELD, SIZE, SIZE, 3 };
    const att_answer_how how = { .attention = true };
    assert_int_equal(att_tensor_new(&g->pictures, ATT_F32, 4, shape, NULL), ATT_OK);
    for (int64_t i = 0; i < HELD; i++) {
        att_scene scene;
        att_scene_draw(&scene, 1, i, true, SIZE);
        att_scene_paint((float *)g->pictures.data + i * SIZE * SIZE * 3, &scene, SIZE);
    }
    if (att_model_load(&g->model, MODEL, &err) != ATT_OK ||
        att_model_describe(&g->answers, g->model, &g->pictures, &how, &err) != ATT_OK)
        fail_msg("%s: %s", err.place, err.message);
}

static void close_gallery(gallery *g)
{
    att_answers_free(g->answers);
    att_tensor_free(&g->pictures);
    att_model_free(g->model);
}

/* 0 or 1: the scene said from its first shape or from its second; -1: something else. */
static int turned(const att_answer *answer, const att_scene *scene)
{
    int found = -1;
    for (int way = 0; way < 2; way++) {
        att_text said = { 0 };
        assert_int_equal(att_scene_say(&said, scene, way), ATT_OK);
        if (strcmp(answer->text, said.data) == 0)
            found = way;
        att_text_free(&said);
    }
    return found;
}

/* Whether the cell that a word looked at most touches a shape, or lies beside one that does. */
static bool looks_at(const att_answer *answer, int64_t word, const att_shape *shape)
{
    const double *weights = answer->weights + word * CELLS * CELLS;
    int64_t most = 0, cell = SIZE / CELLS, reach = shape->reach + cell;
    for (int64_t i = 1; i < CELLS * CELLS; i++)
        if (weights[i] > weights[most])
            most = i;
    int64_t x = most % CELLS * cell + cell / 2, y = most / CELLS * cell + cell / 2;
    return llabs(x - shape->x) <= reach && llabs(y - shape->y) <= reach;
}

static void pairs_never_seen_are_described_and_looked_at(void **state)
{
    (void)state;
    gallery g;
    open_gallery(&g);
    int right = 0, at_named = 0, at_other = 0;
    for (int64_t i = 0; i < HELD; i++) {
        const att_answer *answer = att_answers_get(g.answers, (size_t)i);
        att_scene scene;
        att_scene_draw(&scene, 1, i, true, SIZE);
        int way = turned(answer, &scene);
        if (way < 0)
            continue;
        right++;
        for (int64_t word = COLOUR; word <= FORM; word++) {
            at_named += looks_at(answer, word, way ? &scene.second : &scene.first);
            at_other += looks_at(answer, word, way ? &scene.first : &scene.second);
        }
    }
    print_message("%d of %d scenes; of %d words %d look at what they name, %d at the other\n",
                  right, HELD, 2 * right, at_named, at_other);
    assert_true(right >= HELD * 3 / 4);
    assert_true(at_named > 2 * at_other);
    close_gallery(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_never_seen_are_described_and_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 0;
}

#endif
