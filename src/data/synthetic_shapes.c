/* Sampling, rendering and captioning scenes; see synthetic_shapes.h. All arithmetic is on integers,
 * so a seed gives the same images on every machine. */
#include "data/synthetic_shapes.h"

#include "base/error.h"
#include "base/minmax.h"
#include "base/random.h"
#include "base/string.h"

#include <stdlib.h>

static const struct {
    const char *word;
    uint8_t red, green, blue;
} colors[] = {
    { "red", 220, 40, 40 },     { "green", 40, 180, 60 },   { "blue", 50, 80, 225 },
    { "yellow", 235, 215, 50 }, { "purple", 150, 60, 190 }, { "white", 245, 245, 245 },
};

/* Whether a point is inside a figure with center (0, 0). */
static bool in_circle(int64_t x, int64_t y, int64_t radius)
{
    return x * x + y * y <= radius * radius;
}

static bool in_square(int64_t x, int64_t y, int64_t radius)
{
    return llabs(x) < radius && llabs(y) < radius;
}

static bool in_triangle(int64_t x, int64_t y, int64_t radius)
{
    return llabs(y) <= radius && 2 * llabs(x) <= y + radius;
}

static bool in_cross(int64_t x, int64_t y, int64_t radius)
{
    return (3 * llabs(x) <= radius && llabs(y) <= radius) ||
           (3 * llabs(y) <= radius && llabs(x) <= radius);
}

static const struct {
    const char *word;
    bool (*covers)(int64_t x, int64_t y, int64_t radius);
} figures[] = {
    { "circle", in_circle },
    { "square", in_square },
    { "triangle", in_triangle },
    { "cross", in_cross },
};

enum {
    COLORS = ATT_COUNT(colors),
    FIGURES = ATT_COUNT(figures),
    KINDS = COLORS * FIGURES,
    HELD_OUT_ONE_IN = 5, /* one in this many pairs of kinds is held_out out for validation */
};

/* ---- sampling */

typedef struct random_stream {
    uint64_t seed, stream, next;
} random_stream;

/* A random integer from `min` to `max`. */
static int64_t random_range(random_stream *from, int64_t min, int64_t max)
{
    uint64_t bits = att_random_bits(from->seed, from->stream, from->next++);
    return min + (int64_t)(bits * (uint64_t)(max - min + 1) >> 32);
}

/* Whether scenes with these two kinds of shape, in any order, are held_out out. */
static bool is_held_out(uint64_t seed, int64_t a, int64_t b)
{
    uint64_t pair = (uint64_t)(a < b ? a * KINDS + b : b * KINDS + a);
    return att_random_bits(seed, ATT_STREAM_SHAPES_SPLIT, pair) % HELD_OUT_ONE_IN == 0;
}

/* A shape on one side of the image: the right or lower side if `far`. */
static att_shape sample_shape(random_stream *from, int64_t kind, int64_t radius, bool far,
                              bool vertical, int64_t size)
{
    att_shape out = { .color = (int)(kind % COLORS), .figure = (int)(kind / COLORS) };
    out.radius = radius;
    int64_t half = (size - 1) / 2 - out.radius; /* beyond it the two shapes might overlap */
    int64_t along = random_range(from, out.radius, half < size / 3 ? half : size / 3);
    int64_t across = random_range(from, size / 3, 2 * size / 3);
    if (far)
        along = size - 1 - along;
    out.x = vertical ? across : along;
    out.y = vertical ? along : across;
    return out;
}

void att_scene_sample(att_scene *out, uint64_t seed, int64_t number, bool held_out, int64_t size)
{
    random_stream from = {
        seed, (held_out ? ATT_STREAM_SHAPES_VALID : ATT_STREAM_SHAPES_TRAIN) + (uint64_t)number, 0
    };
    int64_t first, second;
    do {
        first = random_range(&from, 0, KINDS - 1);
        second = random_range(&from, 0, KINDS - 1);
    } while (first == second || is_held_out(seed, first, second) != held_out);
    out->vertical = random_range(&from, 0, 1);
    out->first_is_far = random_range(&from, 0, 1);
    out->background = (int)random_range(&from, 30, 110);
    /* The larger is at least a quarter wider, so its size alone shows that it is the larger. */
    int64_t large = random_range(&from, size / 5, 2 * size / 9),
            small = random_range(&from, size / 8, size / 7);
    out->first = sample_shape(&from, first, large, out->first_is_far, out->vertical, size);
    out->second = sample_shape(&from, second, small, !out->first_is_far, out->vertical, size);
}

static void render_pixel(float *pixel, const att_scene *scene, int64_t x, int64_t y)
{
    const att_shape *const shapes[] = { &scene->first, &scene->second };
    pixel[0] = pixel[1] = pixel[2] = (float)scene->background / 255;
    for (int i = 0; i < 2; i++) {
        const att_shape *shape = shapes[i];
        if (!figures[shape->figure].covers(x - shape->x, y - shape->y, shape->radius))
            continue;
        pixel[0] = (float)colors[shape->color].red / 255;
        pixel[1] = (float)colors[shape->color].green / 255;
        pixel[2] = (float)colors[shape->color].blue / 255;
    }
}

void att_scene_render(float *pixels, const att_scene *scene, int64_t size)
{
    for (int64_t y = 0; y < size; y++)
        for (int64_t x = 0; x < size; x++)
            render_pixel(pixels + 3 * (y * size + x), scene, x, y);
}

/* ---- captions */

att_status att_scene_caption(att_string *out, const att_scene *scene)
{
    static const char *const relations[2][2] = { { "left of", "right of" }, { "above", "below" } };
    const att_shape *a = &scene->first, *b = &scene->second;
    return att_string_printf(out, "a %s %s %s a %s %s", colors[a->color].word,
                             figures[a->figure].word,
                             relations[scene->vertical][scene->first_is_far], colors[b->color].word,
                             figures[b->figure].word);
}

/* ---- datasets */

static att_status add_line(att_string *out, const att_scene *scene, int64_t number)
{
    ATT_TRY(att_string_printf(out, "%lld\t", (long long)number));
    ATT_TRY(att_scene_caption(out, scene));
    return att_string_puts(out, "\n");
}

att_status att_shapes_generate(att_image_grids *images, att_string *captions,
                               const att_settings *settings, bool held_out, att_error *err)
{
    int64_t size = settings->image_size;
    int64_t count = held_out ? settings->valid_count : settings->train_count;
    ATT_TRY(att_image_grids_new(images, count, size, size, 3, err));
    for (int64_t i = 0; i < count; i++) {
        att_scene scene;
        att_scene_sample(&scene, (uint64_t)settings->data_seed, i, held_out, size);
        att_scene_render(images->values + i * att_image_grids_stride(images), &scene, size);
        if (add_line(captions, &scene, i) != ATT_OK)
            return att_fail_memory(err);
    }
    return ATT_OK;
}
