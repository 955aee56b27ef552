/* Matrix products as benchmarks: the shapes of layers in training, and of decoding, where all
 * weights are read from memory for each token. */
#include "bench/bench.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"

typedef struct matmul_case {
    const char *name;
    const char *shape;
    int64_t rows, columns, depth;
    bool packed;
    att_limit limit;
} matmul_case;

#define SHAPE(R, C, D)                                                                             \
    .shape = "rows " #R ", columns " #C ", depth " #D, .rows = R, .columns = C, .depth = D
#define PACKED(R, C, D)                                                                            \
    {                                                                                              \
        .name = "matmul/packed/" #R "x" #C "x" #D, SHAPE(R, C, D), .packed = true                  \
    }
#define PLAIN(R, C, D)                                                                             \
    {                                                                                              \
        .name = "matmul/plain/" #R "x" #C "x" #D, SHAPE(R, C, D)                                   \
    }

static const matmul_case cases[] = {
    PACKED(1024, 1024, 1024),
    PACKED(512, 512, 512),
    PACKED(128, 512, 512),
    PACKED(64, 256, 256),
    PACKED(32, 256, 64),
    PACKED(8, 512, 512),
    PACKED(1, 512, 512),
    { .name = "matmul/packed/1x4096x8192",
      SHAPE(1, 4096, 8192),
      .packed = true,
      .limit = ATT_LIMIT_MEMORY },
    PLAIN(1024, 1024, 1024),
    PLAIN(512, 512, 512),
    PLAIN(128, 512, 512),
    PLAIN(64, 256, 256),
    PLAIN(32, 256, 64),
    PLAIN(8, 512, 512),
    PLAIN(1, 512, 512),
};

static void info(att_bench *out, size_t index)
{
    const matmul_case *c = &cases[index];
    double rows = (double)c->rows, columns = (double)c->columns, depth = (double)c->depth;
    *out = (att_bench){ .name = c->name,
                        .help = c->shape,
                        .limit = c->limit,
                        .flops = 2 * rows * columns * depth,
                        .bytes = sizeof(float) * (rows * depth + depth * columns + rows * columns),
                        .elements = rows * columns };
}

typedef struct matmul_state {
    att_tensor a, b, c;
    att_packed_matrix *packed;
} matmul_state;

static att_status make_matrix(att_tensor *out, int64_t rows, int64_t columns, uint64_t seed,
                              att_error *err)
{
    ATT_TRY(att_tensor_new(out, ATT_F32, 2, (int64_t[]){ rows, columns }, err));
    att_bench_fill(out->data, (size_t)(rows * columns), seed);
    return ATT_OK;
}

static att_status open_matmul(void **state, size_t index, att_error *err)
{
    const matmul_case *c = &cases[index];
    matmul_state *made = att_alloc_zero(1, sizeof *made);
    *state = made;
    if (!made)
        return att_fail_memory(err);
    ATT_TRY(make_matrix(&made->a, c->rows, c->depth, 1, err));
    ATT_TRY(make_matrix(&made->b, c->depth, c->columns, 2, err));
    ATT_TRY(make_matrix(&made->c, c->rows, c->columns, 3, err));
    return c->packed ? att_packed_matrix_new(&made->packed, &made->b, err) : ATT_OK;
}

static att_status run_matmul(void *state, size_t times, att_error *err)
{
    matmul_state *p = state;
    for (; times > 0; times--)
        ATT_TRY(p->packed ? att_matmul_packed(&p->c, &p->a, p->packed, NULL, err)
                          : att_matmul(&p->c, &p->a, &p->b, NULL, err));
    return ATT_OK;
}

static void close_matmul(void *state)
{
    matmul_state *p = state;
    if (!p)
        return;
    att_packed_matrix_free(p->packed);
    att_tensor_free(&p->a);
    att_tensor_free(&p->b);
    att_tensor_free(&p->c);
    att_free(p);
}

const att_bench_suite att_bench_matmul = {
    .count = ATT_COUNT(cases),
    .info = info,
    .open = open_matmul,
    .run = run_matmul,
    .close = close_matmul,
};
