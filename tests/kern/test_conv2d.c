/* Convolution on arrays: the bits of the matrix product with the matrix of patches (im2col), at any
 * number of threads, on every instruction set and for any batch. */
#include "kern/check.h"

#include "base/alloc.h"
#include "base/parallel.h"
#include "kern/conv2d.h"
#include "kern/matmul.h"

#include <stdlib.h>

static const att_conv2d_shape shapes[] = {
    { .batch = 3,
      .height = 9,
      .width = 7,
      .channels = 5,
      .out_channels = 21, /* odd everywhere */
      .kernel_height = 3,
      .kernel_width = 2,
      .stride = 2,
      .padding = 1 },
    { .batch = 2,
      .height = 20,
      .width = 70,
      .channels = 32,
      .out_channels = 48, /* several blocks */
      .kernel_height = 3,
      .kernel_width = 3,
      .stride = 1,
      .padding = 1 },
    { .batch = 1,
      .height = 61,
      .width = 61,
      .channels = 3,
      .out_channels = 96, /* a first layer */
      .kernel_height = 7,
      .kernel_width = 7,
      .stride = 2,
      .padding = 0 },
    { .batch = 1,
      .height = 40,
      .width = 4,
      .channels = 1,
      .out_channels = 300, /* deep going back */
      .kernel_height = 2,
      .kernel_width = 4,
      .stride = 1,
      .padding = 3 },
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* A convolution with everything it points to. */
typedef struct scene {
    att_conv2d_shape s;
    size_t pixels, patches, patch;
    float *x, *w, *bias, *dz;
    float *w_panels, *w_turned, *dz_panels;
    float *y, *dx, *dw;
} scene;

static float *floats(size_t count, uint64_t seed)
{
    float *all = att_alloc(count, sizeof *all);
    assert_non_null(all);
    for (size_t i = 0; i < count; i++)
        all[i] = 2 * att_random_float(seed, 0, i) - 1;
    return all;
}

static float *packed(const float *b, size_t stride, bool transposed, size_t depth, size_t columns)
{
    float *panels = floats(att_matmul_packed_size(depth, columns), 0);
    att_matmul_pack(panels, b, stride, transposed, depth, columns);
    return panels;
}

static scene scene_new(att_conv2d_shape s)
{
    s.out_height = (s.height + 2 * s.padding - s.kernel_height) / s.stride + 1;
    s.out_width = (s.width + 2 * s.padding - s.kernel_width) / s.stride + 1;
    scene c = { .s = s, .patch = att_conv2d_patch_size(&s) };
    c.pixels = s.batch * s.height * s.width * s.channels;
    c.patches = s.batch * s.out_height * s.out_width;
    c.x = floats(c.pixels, 1);
    c.w = floats(c.patch * s.out_channels, 2);
    c.bias = floats(s.out_channels, 3);
    c.dz = floats(c.patches * s.out_channels, 4);
    c.w_panels = packed(c.w, s.out_channels, false, c.patch, s.out_channels);
    c.w_turned = packed(c.w, s.out_channels, true, s.out_channels, c.patch);
    c.dz_panels = packed(c.dz, s.out_channels, false, c.patches, s.out_channels);
    c.y = floats(c.patches * s.out_channels, 5);
    c.dx = floats(c.pixels, 6);
    c.dw = floats(c.patch * s.out_channels, 7);
    return c;
}

static void scene_free(scene *c)
{
    float *all[] = { c->x,        c->w,         c->bias, c->dz, c->w_panels,
                     c->w_turned, c->dz_panels, c->y,    c->dx, c->dw };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        att_free(all[i]);
}

/* All three calls; dw and dx are added to. */
static void run(scene *c)
{
    att_conv2d_run(
        &(att_conv2d_call){ c->s, c->x, c->w_panels, c->bias, ATT_ACTIVATION_RELU, c->y });
    att_conv2d_backward_weights(
        &(att_conv2d_weight_grad_call){ c->s, c->x, c->dz_panels, c->dw, true });
    att_conv2d_backward_input(&(att_conv2d_input_grad_call){ c->s, c->dz, c->w_turned, c->dx });
}

/* The matrix of patches, [patches, patch], number by number. */
static float *all_patches(const scene *c)
{
    const att_conv2d_shape *s = &c->s;
    float *out = floats(c->patches * c->patch, 0), *at = out;
    for (size_t n = 0; n < c->patches; n++)
        for (size_t k = 0; k < c->patch; k++, at++) {
            size_t line = n / s->out_width, tap = k / s->channels;
            int64_t y = (int64_t)(line % s->out_height * s->stride + tap / s->kernel_width) -
                        (int64_t)s->padding;
            int64_t x = (int64_t)(n % s->out_width * s->stride + tap % s->kernel_width) -
                        (int64_t)s->padding;
            size_t item = line / s->out_height;
            bool inside = y >= 0 && y < (int64_t)s->height && x >= 0 && x < (int64_t)s->width;
            *at = inside
                      ? c->x[((item * s->height + (size_t)y) * s->width + (size_t)x) * s->channels +
                             k % s->channels]
                      : 0;
        }
    return out;
}

static void forward_and_weights_are_the_products_of_all_patches(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        scene c = scene_new(shapes[i]);
        run(&c);
        float *patches = all_patches(&c), *y = floats(c.patches * c.s.out_channels, 5);
        float *dw = floats(c.patch * c.s.out_channels, 7);
        att_matmul_call forward = { .batch = 1,
                                    .rows = c.patches,
                                    .columns = c.s.out_channels,
                                    .depth = c.patch,
                                    .a = patches,
                                    .a_row_stride = c.patch,
                                    .a_column_stride = 1,
                                    .panels = c.w_panels,
                                    .c = y,
                                    .c_row_stride = c.s.out_channels,
                                    .bias = c.bias,
                                    .activation = ATT_ACTIVATION_RELU };
        att_matmul_call weights = { .batch = 1,
                                    .rows = c.patch,
                                    .columns = c.s.out_channels,
                                    .depth = c.patches,
                                    .a = patches,
                                    .a_row_stride = 1,
                                    .a_column_stride = c.patch,
                                    .panels = c.dz_panels,
                                    .c = dw,
                                    .c_row_stride = c.s.out_channels,
                                    .accumulate = true };
        assert_int_equal(att_matmul_run(&forward, NULL), ATT_OK);
        assert_int_equal(att_matmul_run(&weights, NULL), ATT_OK);
        assert_memory_equal(c.y, y, c.patches * c.s.out_channels * sizeof *y);
        assert_memory_equal(c.dw, dw, c.patch * c.s.out_channels * sizeof *dw);
        att_free(patches);
        att_free(y);
        att_free(dw);
        scene_free(&c);
    }
}

static void bits_do_not_depend_on_threads_and_instruction_sets(void **state)
{
    (void)state;
    int threads = att_threads_get();
    att_cpu cpu = att_cpu_get();
    for (size_t i = 0; i < SHAPES; i++) {
        att_threads_set(1);
        assert_true(att_cpu_set(ATT_CPU_SCALAR));
        scene first = scene_new(shapes[i]);
        run(&first);
        for (int set = ATT_CPU_SCALAR; set < ATT_CPU_COUNT; set++)
            for (int count = 1; count <= 9; count += 4) {
                if (!att_cpu_set((att_cpu)set))
                    continue;
                att_threads_set(count);
                scene c = scene_new(shapes[i]);
                run(&c);
                assert_memory_equal(c.y, first.y, c.patches * c.s.out_channels * sizeof *c.y);
                assert_memory_equal(c.dw, first.dw, c.patch * c.s.out_channels * sizeof *c.dw);
                assert_memory_equal(c.dx, first.dx, c.pixels * sizeof *c.dx);
                scene_free(&c);
            }
        scene_free(&first);
    }
    att_threads_set(threads);
    assert_true(att_cpu_set(cpu));
}

static void a_picture_has_the_same_bits_alone(void **state)
{
    (void)state;
    scene all = scene_new(shapes[0]);
    run(&all);
    for (size_t item = 0; item < all.s.batch; item++) {
        size_t pixels = all.pixels / all.s.batch, results = all.patches / all.s.batch;
        scene one = all;
        one.s.batch = 1;
        one.x = all.x + item * pixels;
        one.dz = all.dz + item * results * all.s.out_channels;
        one.y = floats(results * all.s.out_channels, 9);
        float *before = floats(all.pixels, 6);
        one.dx = before + item * pixels;
        att_conv2d_run(
            &(att_conv2d_call){ one.s, one.x, all.w_panels, all.bias, ATT_ACTIVATION_RELU, one.y });
        att_conv2d_backward_input(
            &(att_conv2d_input_grad_call){ one.s, one.dz, all.w_turned, one.dx });
        assert_memory_equal(one.y, all.y + item * results * all.s.out_channels,
                            results * all.s.out_channels * sizeof *one.y);
        assert_memory_equal(one.dx, all.dx + item * pixels, pixels * sizeof *one.dx);
        att_free(one.y);
        att_free(before);
    }
    scene_free(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_and_weights_are_the_products_of_all_patches),
        cmocka_unit_test(bits_do_not_depend_on_threads_and_instruction_sets),
        cmocka_unit_test(a_picture_has_the_same_bits_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
