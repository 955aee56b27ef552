/* Matrix products by attend and by oneDNN, in turns in one process; writes JSON for
 * bench/peers/run.
 *
 * Packed: the weights are reordered once, by att_packed_matrix_new() and to the format that oneDNN
 * chooses. Plain: both get them row-major, or transposed. oneDNN uses OpenMP, attend its own
 * threads; the two never run at the same time. */
#include <attend.h>
#include <dnnl.h>

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if DNNL_VERSION_MAJOR != 2
#error "written for oneDNN 2, as in Debian 12"
#endif

enum { ROUNDS = 7 };

typedef struct shape {
    int64_t rows, columns, depth;
} shape;

static const shape shapes[] = { { 1024, 1024, 1024 }, { 512, 512, 512 }, { 128, 512, 512 },
                                { 64, 256, 256 },     { 32, 256, 64 },   { 8, 512, 512 },
                                { 1, 512, 512 } };
static const shape transposed_shapes[] = {
    { 512, 512, 512 }, { 64, 512, 512 }, { 12, 512, 512 }, { 8, 512, 512 }, { 1, 512, 512 }
};

/* A layout of the weights, and the shapes to measure. */
typedef struct layout {
    const char *name;
    bool packed, transposed; /* transposed: b is stored as [columns, depth] */
    const shape *shapes;
    size_t count;
} layout;

#define ALL_OF(array) array, sizeof array / sizeof *array
static const layout layouts[] = {
    { "matmul packed", true, false, ALL_OF(shapes) },
    { "matmul plain", false, false, ALL_OF(shapes) },
    { "matmul packed, B transposed,", true, true, ALL_OF(transposed_shapes) },
    { "matmul plain, B transposed,", false, true, ALL_OF(transposed_shapes) },
};

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "products: %s failed\n", what);
    exit(1);
}

static void check(dnnl_status_t status, const char *what)
{
    if (status != dnnl_success)
        give_up(what);
}

static void check_ours(att_status status)
{
    if (status != ATT_OK)
        give_up("libattend");
}

/* Processor time instead of wall-clock time, for one thread on a busy machine. */
static clockid_t clock_used = CLOCK_MONOTONIC;

static double now(void)
{
    struct timespec t;
    clock_gettime(clock_used, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float *random_floats(int64_t count, unsigned seed)
{
    float *x = aligned_alloc(64, (size_t)(count * 4 + 63) / 64 * 64);
    if (!x)
        give_up("memory");
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) * 0x1p-23f - 1.0f;
    }
    return x;
}

/* One product, for both libraries. */
typedef struct problem {
    shape of;
    const layout *layout;
    float *a, *b, *ours, *theirs;
    att_tensor a_view, b_view, c_view;
    att_packed_matrix *packed; /* NULL: plain */
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_memory_t a_memory, b_memory, c_memory, packed_memory;
    dnnl_primitive_t product;
} problem;

static dnnl_memory_t matrix(problem *p, int64_t rows, int64_t columns, bool transposed, float *data)
{
    dnnl_memory_desc_t layout;
    dnnl_memory_t memory;
    check(dnnl_memory_desc_init_by_tag(&layout, 2, (dnnl_dims_t){ rows, columns }, dnnl_f32,
                                       transposed ? dnnl_ba : dnnl_ab),
          "describing a matrix");
    check(dnnl_memory_create(&memory, &layout, p->engine, data), "making a matrix");
    return memory;
}

static dnnl_primitive_desc_t describe(problem *p)
{
    const shape *s = &p->of;
    dnnl_memory_desc_t a, b, c;
    dnnl_format_tag_t b_tag = p->layout->packed       ? dnnl_format_tag_any
                              : p->layout->transposed ? dnnl_ba
                                                      : dnnl_ab;
    dnnl_matmul_desc_t what;
    dnnl_primitive_desc_t chosen;
    check(
        dnnl_memory_desc_init_by_tag(&a, 2, (dnnl_dims_t){ s->rows, s->depth }, dnnl_f32, dnnl_ab),
        "describing a");
    check(
        dnnl_memory_desc_init_by_tag(&b, 2, (dnnl_dims_t){ s->depth, s->columns }, dnnl_f32, b_tag),
        "describing b");
    check(dnnl_memory_desc_init_by_tag(&c, 2, (dnnl_dims_t){ s->rows, s->columns }, dnnl_f32,
                                       dnnl_ab),
          "describing c");
    check(dnnl_matmul_desc_init(&what, &a, &b, NULL, &c), "describing the product");
    check(dnnl_primitive_desc_create(&chosen, &what, NULL, p->engine, NULL), "choosing a product");
    return chosen;
}

/* Converts b to the format that the primitive expects. */
static void reorder_weights(problem *p, dnnl_primitive_desc_t chosen)
{
    const dnnl_memory_desc_t *wanted =
        dnnl_primitive_desc_query_md(chosen, dnnl_query_weights_md, 0);
    const dnnl_memory_desc_t *given;
    dnnl_primitive_desc_t reorder;
    dnnl_primitive_t run;
    check(dnnl_memory_create(&p->packed_memory, wanted, p->engine, DNNL_MEMORY_ALLOCATE),
          "making the weights");
    check(dnnl_memory_get_memory_desc(p->b_memory, &given), "looking at the weights");
    check(dnnl_reorder_primitive_desc_create(&reorder, given, p->engine, wanted, p->engine, NULL),
          "choosing a reorder");
    check(dnnl_primitive_create(&run, reorder), "making the reorder");
    const dnnl_exec_arg_t args[] = { { DNNL_ARG_FROM, p->b_memory },
                                     { DNNL_ARG_TO, p->packed_memory } };
    check(dnnl_primitive_execute(run, p->stream, 2, args), "reordering");
    check(dnnl_stream_wait(p->stream), "reordering");
    dnnl_primitive_destroy(run);
    dnnl_primitive_desc_destroy(reorder);
}

/* b [depth, columns], a view of its transpose where the layout is transposed. */
static att_tensor view_weights(const problem *p)
{
    const shape *s = &p->of;
    att_tensor view = att_tensor_view(p->b, ATT_F32, 2, (int64_t[]){ s->depth, s->columns });
    if (!p->layout->transposed)
        return view;
    att_tensor stored = att_tensor_view(p->b, ATT_F32, 2, (int64_t[]){ s->columns, s->depth });
    check_ours(att_tensor_transpose(&view, &stored, 0, 1, NULL));
    return view;
}

static problem problem_new(shape of, const layout *by)
{
    problem p = { .of = of, .layout = by };
    p.a = random_floats(of.rows * of.depth, 1);
    p.b = random_floats(of.depth * of.columns, 2);
    p.ours = random_floats(of.rows * of.columns, 3);
    p.theirs = random_floats(of.rows * of.columns, 4);
    p.a_view = att_tensor_view(p.a, ATT_F32, 2, (int64_t[]){ of.rows, of.depth });
    p.b_view = view_weights(&p);
    p.c_view = att_tensor_view(p.ours, ATT_F32, 2, (int64_t[]){ of.rows, of.columns });
    if (by->packed)
        check_ours(att_packed_matrix_new(&p.packed, &p.b_view, NULL));
    check(dnnl_engine_create(&p.engine, dnnl_cpu, 0), "making an engine");
    check(dnnl_stream_create(&p.stream, p.engine, dnnl_stream_default_flags), "making a stream");
    p.a_memory = matrix(&p, of.rows, of.depth, false, p.a);
    p.b_memory = matrix(&p, of.depth, of.columns, by->transposed, p.b);
    p.c_memory = matrix(&p, of.rows, of.columns, false, p.theirs);
    dnnl_primitive_desc_t chosen = describe(&p);
    if (by->packed)
        reorder_weights(&p, chosen);
    check(dnnl_primitive_create(&p.product, chosen), "making the product");
    dnnl_primitive_desc_destroy(chosen);
    return p;
}

static void problem_free(problem *p)
{
    dnnl_primitive_destroy(p->product);
    dnnl_memory_destroy(p->a_memory);
    dnnl_memory_destroy(p->b_memory);
    dnnl_memory_destroy(p->c_memory);
    if (p->packed)
        dnnl_memory_destroy(p->packed_memory);
    dnnl_stream_destroy(p->stream);
    dnnl_engine_destroy(p->engine);
    att_packed_matrix_free(p->packed);
    free(p->a);
    free(p->b);
    free(p->ours);
    free(p->theirs);
}

static void run_ours(problem *p)
{
    check_ours(p->packed ? att_matmul_packed(&p->c_view, &p->a_view, p->packed, NULL, NULL)
                         : att_matmul(&p->c_view, &p->a_view, &p->b_view, NULL, NULL));
}

static void run_theirs(problem *p)
{
    const dnnl_exec_arg_t args[] = {
        { DNNL_ARG_SRC, p->a_memory },
        { DNNL_ARG_WEIGHTS, p->packed ? p->packed_memory : p->b_memory },
        { DNNL_ARG_DST, p->c_memory },
    };
    check(dnnl_primitive_execute(p->product, p->stream, 3, args), "the product");
    check(dnnl_stream_wait(p->stream), "the product");
}

/* The best time per call within 0.025 s, after one call to warm up; short calls are timed in
 * groups. */
static double time_calls(void (*run)(problem *), problem *p)
{
    run(p);
    double best = INFINITY, begin = now();
    int64_t calls = 1 + (int64_t)(2e7 / (double)(p->of.rows * p->of.columns * p->of.depth));
    do {
        double start = now();
        for (int64_t i = 0; i < calls; i++)
            run(p);
        best = fmin(best, (now() - start) / (double)calls);
    } while (now() - begin < 0.025);
    return best;
}

static double largest_difference(const problem *p)
{
    double max = 0;
    for (int64_t i = 0; i < p->of.rows * p->of.columns; i++)
        max = fmax(max, fabs((double)p->ours[i] - (double)p->theirs[i]));
    return max;
}

static void compare(shape of, const layout *by, int threads, const char *before)
{
    problem p = problem_new(of, by);
    double ours = INFINITY, theirs = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        ours = fmin(ours, time_calls(run_ours, &p));
        theirs = fmin(theirs, time_calls(run_theirs, &p));
    }
    printf("%s\n  {\"work\": \"%s\", \"n\": \"%lldx%lldx%lld\", \"threads\": %d,"
           " \"flops\": %.0f, \"attend\": %.6g, \"onednn\": %.6g, \"difference\": %.3g}",
           before, by->name, (long long)of.rows, (long long)of.columns, (long long)of.depth,
           threads, 2.0 * (double)(of.rows * of.columns * of.depth), ours, theirs,
           largest_difference(&p));
    fflush(stdout);
    problem_free(&p);
}

int main(int argc, char **argv)
{
    const char *clock = getenv("ATTEND_BENCH_CLOCK"), *before = "";
    if (clock && strcmp(clock, "cpu") == 0)
        clock_used = CLOCK_PROCESS_CPUTIME_ID;
    printf("[");
    for (int i = 1; i < argc; i++) {
        int threads = atoi(argv[i]);
        att_threads_set(threads);
        omp_set_num_threads(threads);
        for (size_t w = 0; w < sizeof layouts / sizeof *layouts; w++)
            for (size_t s = 0; s < layouts[w].count; s++, before = ",")
                compare(layouts[w].shapes[s], &layouts[w], threads, before);
    }
    printf("\n]\n");
    return 0;
}
