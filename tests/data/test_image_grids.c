/* Image features from files: shapes, scales, invalid files; captions; synthetic scenes. */
#include "data/image_grids.h"

#include "data/data.h"
#include "failing_memory.h"
#include "data/synthetic_shapes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];

static const char *path_of(const char *name)
{
    static char paths[4][128];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void write_npy(const char *name, int rank, const int64_t *shape, const float *values)
{
    const att_tensor view = att_tensor_view(values, ATT_F32, rank, shape);
    assert_int_equal(att_npy_save(&view, path_of(name), NULL), ATT_OK);
}

static void write_text(const char *name, const char *text)
{
    assert_int_equal(att_file_save(path_of(name), text, strlen(text), NULL), ATT_OK);
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/attend-grids-XXXXXX");
    assert_non_null(mkdtemp(folder));
    static const float values[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
    static const float scale[] = { 10, 100 };
    float bad[16];
    memcpy(bad, values, sizeof bad);
    bad[13] = NAN;
    write_npy("two.npy", 3, (int64_t[]){ 2, 4, 2 }, values);
    write_npy("wide.npy", 4, (int64_t[]){ 2, 1, 4, 2 }, values);
    write_npy("bad.npy", 3, (int64_t[]){ 2, 4, 2 }, bad);
    write_npy("odd.npy", 3, (int64_t[]){ 1, 8, 2 }, values);
    write_npy("flat.npy", 2, (int64_t[]){ 4, 4 }, values);
    write_npy("deep.npy", 3, (int64_t[]){ 1, 4, 4 }, values);
    write_npy("scale.npy", 1, (int64_t[]){ 2 }, scale);
    write_npy("three.npy", 1, (int64_t[]){ 3 }, values);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static void cells_form_a_square_unless_rows_and_columns_are_given(void **state)
{
    (void)state;
    att_image_grids grids;
    assert_int_equal(att_image_grids_load(&grids, path_of("two.npy"), 0, NULL, NULL), ATT_OK);
    assert_int_equal(grids.count, 2);
    assert_int_equal(grids.rows, 2);
    assert_int_equal(grids.columns, 2);
    assert_int_equal(grids.depth, 2);
    assert_true(att_image_grids_get(&grids, 1)[0] == 9);
    att_image_grids_free(&grids);
    assert_int_equal(att_image_grids_load(&grids, path_of("wide.npy"), 0, NULL, NULL), ATT_OK);
    assert_int_equal(grids.rows, 1);
    assert_int_equal(grids.columns, 4);
    att_image_grids_free(&grids);
    assert_int_equal(att_image_grids_load(&grids, path_of("odd.npy"), 2, NULL, NULL), ATT_OK);
    assert_int_equal(grids.columns, 4);
    att_image_grids_free(&grids);
}

static void values_are_scaled_by_a_number_or_per_channel(void **state)
{
    (void)state;
    att_image_grids grids;
    assert_int_equal(att_image_grids_load(&grids, path_of("two.npy"), 0, "0.5", NULL), ATT_OK);
    assert_true(grids.values[3] == 2);
    att_image_grids_free(&grids);
    assert_int_equal(
        att_image_grids_load(&grids, path_of("two.npy"), 0, path_of("scale.npy"), NULL), ATT_OK);
    assert_true(grids.values[2] == 30 && grids.values[3] == 400);
    att_image_grids_free(&grids);
}

static void doubles_are_converted_in_a_file_and_refused_in_memory(void **state)
{
    (void)state;
    static const double values[] = { 0.1, 2, 3, 4, 5, 6, 7, 8 };
    static const uint16_t halves[8] = { 0 };
    const int64_t shape[] = { 1, 4, 2 };
    const att_tensor view = att_tensor_view(values, ATT_F64, 3, shape);
    const att_tensor half = att_tensor_view(halves, ATT_F16, 3, shape);
    att_image_grids grids;
    att_error err = { 0 };
    assert_int_equal(att_npy_save(&view, path_of("double.npy"), NULL), ATT_OK);
    assert_int_equal(att_image_grids_load(&grids, path_of("double.npy"), 0, NULL, NULL), ATT_OK);
    assert_true(grids.values[0] == 0.1f && grids.values[7] == 8);
    att_image_grids_free(&grids);
    assert_int_equal(att_image_grids_view(&grids, &view, 0, "images", &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "expected features of type float32, found float64");
    assert_int_equal(att_image_grids_view(&grids, &half, 0, "images", &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "expected features of type float32, found float16");
}

static void assert_refused(const char *name, const char *scale, const char *message)
{
    att_image_grids grids;
    att_error err = { 0 };
    assert_int_equal(att_image_grids_load(&grids, path_of(name), 0, scale, &err), ATT_BAD_INPUT);
    if (!strstr(err.message, message))
        fail_msg("%s", err.message);
}

static void invalid_features_are_refused(void **state)
{
    (void)state;
    assert_refused("bad.npy", NULL, "image 1 has a NaN or infinity in cell 2, channel 1");
    assert_refused("odd.npy", NULL, "has 8 cells per image, which do not divide into 3 rows");
    assert_refused("flat.npy", NULL, "expected [images,cells,channels]");
    assert_refused("two.npy", path_of("three.npy"), "has 3 factors, expected 1 or");
}

/* ---- captions */

static att_settings *caption_settings(const char *features, const char *train, const char *valid)
{
    att_settings *settings;
    assert_int_equal(att_settings_new(&settings, "caption", NULL), ATT_OK);
    att_settings_set(settings, "features", path_of(features), NULL);
    att_settings_set(settings, "min-count", "1", NULL);
    write_text("train.tsv", train);
    att_settings_set(settings, "train", path_of("train.tsv"), NULL);
    if (valid) {
        write_text("valid.tsv", valid);
        att_settings_set(settings, "valid", path_of("valid.tsv"), NULL);
    }
    return settings;
}

static void captions_know_their_images(void **state)
{
    (void)state;
    att_settings *settings =
        caption_settings("two.npy", "1\tA dog.\n0\ta cat\n1\tdog runs\n", "0\ta dog\n");
    att_data data;
    att_error err = { 0 };
    if (att_data_load(&data, settings, &err) != ATT_OK)
        fail_msg("%s: %s", err.place, err.message);
    assert_int_equal(data.train.pairs, 3);
    assert_int_equal(att_corpus_image(&data.train, 0), 1);
    assert_int_equal(att_corpus_image(&data.train, 1), 0);
    assert_int_equal(att_corpus_image(&data.valid, 0), 0);
    assert_string_equal(att_corpus_target_text(&data.valid, 0), "a dog");
    att_batches *batches;
    assert_int_equal(att_data_batches(&batches, &data.train, settings, 100, 1, NULL), ATT_OK);
    const att_batch *batch = att_batches_get(batches, 0);
    assert_int_equal(batch->rows, 3);
    assert_int_equal(batch->cells, 4);
    for (int64_t r = 0; r < 3; r++)
        assert_true(batch->image_grid[r * 8] ==
                    (att_corpus_image(&data.train, batch->pair_index[r]) ? 9 : 1));
    att_batches_free(batches);
    att_data_free(&data);
    att_settings_free(settings);
}

/* BPE is learned from the captions, which are then encoded anew. */
static void captions_may_be_of_bpe_tokens(void **state)
{
    (void)state;
    att_settings *settings =
        caption_settings("two.npy", "1\tabab ab\n0\tab abab\n1\tab\n", "0\tab ab\n");
    att_data data;
    att_error err = { 0 };
    att_string text = { 0 };
    assert_int_equal(att_settings_set(settings, "target-tokens", "bpe", NULL), ATT_OK);
    assert_int_equal(att_settings_set(settings, "bpe-merges", "3", NULL), ATT_OK);
    if (att_data_load(&data, settings, &err) != ATT_OK)
        fail_msg("%s: %s", err.place, err.message);
    assert_int_equal(data.train.pairs, 3);
    assert_int_equal(att_corpus_image(&data.train, 1), 0);
    assert_int_equal(att_vocab_tokenizer_kind(data.target_vocab), ATT_TOKENIZER_BPE);
    const int64_t *at = data.train.target.offsets;
    assert_int_equal(att_vocab_decode(data.target_vocab, &text, data.train.target.ids + at[0],
                                      (size_t)(at[1] - at[0])),
                     ATT_OK);
    assert_string_equal(text.data, "abab ab");
    assert_true(at[1] - at[0] < 5); /* fewer tokens than letters: merges were used */
    att_string_free(&text);
    att_data_free(&data);
    att_settings_free(settings);
}

static att_status load_and_batch(void *context)
{
    att_data data;
    att_batches *batches = NULL;
    att_status status = att_data_load(&data, context, NULL);
    if (status == ATT_OK)
        status = att_data_batches(&batches, &data.train, context, 100, 1, NULL);
    att_batches_free(batches);
    att_data_free(&data);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    att_settings *settings = caption_settings("two.npy", "1\tA dog.\n0\ta cat\n", "0\ta dog\n");
    every_allocation_fails(load_and_batch, settings, 200);
    att_settings_free(settings);
}

/* A caption model names captions, features and factors; each is opened only if the user named it
 * too, or asked for the recorded data. */
static void no_file_is_opened_that_only_the_settings_name(void **state)
{
    (void)state;
    static const struct {
        const char *valid_features, *scale, *path, *features;
        bool recorded;
        const char *named; /* the file that is refused; NULL: none */
    } rows[] = {
        { NULL, NULL, NULL, NULL, false, "secret.tsv" },
        { NULL, NULL, NULL, NULL, true, NULL },
        { NULL, NULL, "mine.tsv", NULL, false, "secret.npy" },
        { "valid.npy", NULL, "mine.tsv", NULL, false, "valid.npy" },
        { "valid.npy", NULL, "mine.tsv", NULL, true, NULL },
        { NULL, NULL, "mine.tsv", "mine.npy", false, NULL },
        { "valid.npy", "scale.npy", "mine.tsv", "mine.npy", false, "scale.npy" },
        { NULL, "scale.npy", "mine.tsv", "mine.npy", true, NULL },
        { NULL, "0.5", "mine.tsv", "mine.npy", false, NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        att_settings *settings;
        att_error err = { 0 };
        char message[256];
        assert_int_equal(att_settings_new(&settings, "caption", NULL), ATT_OK);
        att_settings_set(settings, "train", "secret.tsv", NULL);
        att_settings_set(settings, "features", "secret.npy", NULL);
        if (rows[i].valid_features)
            att_settings_set(settings, "valid-features", rows[i].valid_features, NULL);
        if (rows[i].scale)
            att_settings_set(settings, "features-scale", rows[i].scale, NULL);
        const att_data_read_options options = { .path = rows[i].path,
                                                .settings = settings,
                                                .features = rows[i].features,
                                                .recorded_data = rows[i].recorded };
        assert_int_equal(att_data_check_recorded(&options, &err),
                         rows[i].named ? ATT_BAD_INPUT : ATT_OK);
        snprintf(message, sizeof message, "the model names '%s', which is opened only",
                 rows[i].named ? rows[i].named : "");
        if (rows[i].named && !strstr(err.message, message))
            fail_msg("row %zu: %s", i, err.message);
        att_settings_free(settings);
    }
}

static void assert_no_data(const char *features, const char *train, const char *valid,
                           const char *other, const char *message, int line)
{
    att_settings *settings = caption_settings(features, train, valid);
    if (other)
        att_settings_set(settings, "valid-features", path_of(other), NULL);
    att_data data;
    att_error err = { 0 };
    assert_int_equal(att_data_load(&data, settings, &err), ATT_BAD_INPUT);
    if (!strstr(err.message, message))
        fail_msg("%s", err.message);
    assert_int_equal(err.line, line);
    att_settings_free(settings);
}

static void captions_without_images_are_refused(void **state)
{
    (void)state;
    assert_no_data("two.npy", "0\ta\n2\tb\n", "0\ta\n", NULL,
                   "does not start with an image number: ", 2);
    assert_no_data("two.npy", "0\ta\nx\tb\n", "0\ta\n", NULL, "0 to 1", 2);
    assert_no_data("two.npy", "0\ta\n1\tb\n", "7\ta\n", NULL, "0 to 1", 1);
    assert_no_data("two.npy", "0 a\n", "0\ta\n", NULL, "found no tab", 1);
    assert_no_data("two.npy", "", "0\ta\n", NULL, "has no captions to train on", 0);
    assert_no_data("two.npy", "0\ta\n", "0\ta\n", "deep.npy",
                   "has images of 2 × 2 cells × 4 channels", 0);
}

/* ---- scenes */

static void held_out_scenes_have_other_pairs_of_shapes(void **state)
{
    (void)state;
    enum { COUNT = 400, SIZE = 32, KINDS = 64 };
    static bool seen[2][KINDS][KINDS];
    for (int held = 0; held < 2; held++)
        for (int64_t i = 0; i < COUNT; i++) {
            att_scene scene;
            att_scene_sample(&scene, 1, i, held, SIZE);
            int a = scene.first.color * 8 + scene.first.figure;
            int b = scene.second.color * 8 + scene.second.figure;
            assert_true(a != b && a < KINDS && b < KINDS);
            seen[held][a][b] = seen[held][b][a] = true;
        }
    for (int a = 0; a < KINDS; a++)
        for (int b = 0; b < KINDS; b++)
            assert_false(seen[0][a][b] && seen[1][a][b]);
}

static void shapes_do_not_overlap_and_are_inside_the_image(void **state)
{
    (void)state;
    for (int64_t size = 24; size <= 64; size += 8)
        for (int64_t i = 0; i < 300; i++) {
            att_scene s;
            att_scene_sample(&s, 7, i, false, size);
            const att_shape *const both[] = { &s.first, &s.second };
            for (int k = 0; k < 2; k++)
                assert_true(both[k]->x >= both[k]->radius && both[k]->y >= both[k]->radius &&
                            both[k]->x + both[k]->radius < size &&
                            both[k]->y + both[k]->radius < size);
            int64_t apart = s.vertical ? s.second.y - s.first.y : s.second.x - s.first.x;
            assert_true((s.first_is_far ? -apart : apart) >= s.first.radius + s.second.radius);
            assert_true(s.first.radius > s.second.radius);
        }
}

static void a_caption_names_the_larger_shape_first(void **state)
{
    (void)state;
    static const char *const said[2][2] = {
        { "a red circle left of a blue square", "a red circle right of a blue square" },
        { "a red circle above a blue square", "a red circle below a blue square" },
    };
    for (int upright = 0; upright < 2; upright++)
        for (int far = 0; far < 2; far++) {
            const att_scene scene = { .first = { .color = 0, .figure = 0, .radius = 5 },
                                      .second = { .color = 2, .figure = 1, .radius = 3 },
                                      .vertical = upright,
                                      .first_is_far = far };
            att_string text = { 0 };
            assert_int_equal(att_scene_caption(&text, &scene), ATT_OK);
            assert_string_equal(text.data, said[upright][far]);
            att_string_free(&text);
        }
}

static void a_shape_has_its_color_where_it_is(void **state)
{
    (void)state;
    enum { SIZE = 24 };
    static float pixels[SIZE * SIZE * 3];
    const att_scene scene = { .first = { .color = 0, .figure = 1, .x = 5, .y = 6, .radius = 3 },
                              .second = { .color = 2, .figure = 0, .x = 18, .y = 6, .radius = 4 },
                              .background = 51 };
    att_scene_render(pixels, &scene, SIZE);
    const float *corner = pixels + 3 * (4 * SIZE + 3); /* (3, 4), in the square */
    assert_true(corner[0] > 0.8f && corner[2] < 0.3f);
    const float *outside = pixels + 3 * (2 * SIZE + 22); /* beside the circle */
    assert_true(outside[0] == 0.2f && outside[1] == 0.2f && outside[2] == 0.2f);
    const float *inside = pixels + 3 * (6 * SIZE + 21);
    assert_true(inside[2] > 0.8f && inside[0] < 0.3f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_form_a_square_unless_rows_and_columns_are_given),
        cmocka_unit_test(values_are_scaled_by_a_number_or_per_channel),
        cmocka_unit_test(invalid_features_are_refused),
        cmocka_unit_test(captions_know_their_images),
        cmocka_unit_test(doubles_are_converted_in_a_file_and_refused_in_memory),
        cmocka_unit_test(captions_may_be_of_bpe_tokens),
        cmocka_unit_test(no_file_is_opened_that_only_the_settings_name),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(captions_without_images_are_refused),
        cmocka_unit_test(held_out_scenes_have_other_pairs_of_shapes),
        cmocka_unit_test(shapes_do_not_overlap_and_are_inside_the_image),
        cmocka_unit_test(a_caption_names_the_larger_shape_first),
        cmocka_unit_test(a_shape_has_its_color_where_it_is),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
