/* The scores in double; see score.h. Forward and backward of each are together. NaN in an input
 * must reach the result: no comparison here may drop it. */
#include "attention/score.h"

#include "base/math.h"
#include "base/minmax.h"

#include <math.h>

static double dot(const double *a, const double *b, int64_t count)
{
    double sum = 0;
    for (int64_t c = 0; c < count; c++)
        sum += a[c] * b[c];
    return sum;
}

/* to += factor * from */
static void add(double *to, double factor, const double *from, int64_t count)
{
    for (int64_t c = 0; c < count; c++)
        to[c] += factor * from[c];
}

static int64_t size_one(const att_problem *p)
{
    (void)p;
    return 1;
}

static int64_t size_hidden(const att_problem *p)
{
    return p->A;
}

static int64_t size_key(const att_problem *p)
{
    return p->Kk;
}

/* A unit vector, then the length that it was divided by. */
static int64_t size_unit_vector(const att_problem *p)
{
    return p->Kk + 1;
}

/* ---- dot and scaled: q·k; the scale is applied by the caller, as for every score */

static double dot_score(const att_problem *p, const att_score_vars *x, int64_t j, int64_t position)
{
    (void)position;
    return dot(x->q, x->k + j * p->Kk, p->Kk);
}

static void dot_score_backward(const att_problem *p, const att_score_vars *x,
                               const att_score_vars *g, int64_t j, int64_t position, double grad)
{
    (void)position;
    add(g->q, grad, x->k + j * p->Kk, p->Kk);
    add(g->k + j * p->Kk, grad, x->q, p->Kk);
}

/* ---- general: (qᵀ W) k */

static void general_query(const att_problem *p, const att_score_vars *x)
{
    for (int64_t c = 0; c < p->Kk; c++)
        x->projected_query[c] = 0;
    for (int64_t r = 0; r < p->Kq; r++)
        add(x->projected_query, x->q[r], x->w + r * p->Kk, p->Kk);
}

static double general_score(const att_problem *p, const att_score_vars *x, int64_t j,
                            int64_t position)
{
    (void)position;
    return dot(x->projected_query, x->k + j * p->Kk, p->Kk);
}

static void general_score_backward(const att_problem *p, const att_score_vars *x,
                                   const att_score_vars *g, int64_t j, int64_t position,
                                   double grad)
{
    (void)position;
    add(g->projected_query, grad, x->k + j * p->Kk, p->Kk);
    add(g->k + j * p->Kk, grad, x->projected_query, p->Kk);
}

static void general_query_backward(const att_problem *p, const att_score_vars *x,
                                   const att_score_vars *g)
{
    for (int64_t r = 0; r < p->Kq; r++) {
        g->q[r] += dot(x->w + r * p->Kk, g->projected_query, p->Kk);
        add(g->w + r * p->Kk, x->q[r], g->projected_query, p->Kk);
    }
}

/* ---- additive: vᵀ tanh((W q + b) + U k) */

/* Element `a` of matrix times vector; without a matrix the vector is projected already. */
static double projected(const double *matrix, const double *vector, int64_t width, int64_t a)
{
    return matrix ? dot(matrix + a * width, vector, width) : vector[a];
}

static void additive_query(const att_problem *p, const att_score_vars *x)
{
    for (int64_t a = 0; a < p->A; a++)
        x->projected_query[a] = projected(x->w, x->q, p->Kq, a) + (x->b ? x->b[a] : 0);
}

static void additive_key(const att_problem *p, const att_score_vars *x, int64_t j)
{
    for (int64_t a = 0; a < p->A; a++)
        x->projected_keys[j * p->A + a] = projected(x->u, x->k + j * p->Kk, p->Kk, a);
}

static double additive_score(const att_problem *p, const att_score_vars *x, int64_t j,
                             int64_t position)
{
    (void)position;
    double sum = 0;
    for (int64_t a = 0; a < p->A; a++)
        sum += x->v[a] * att_tanh(x->projected_query[a] + x->projected_keys[j * p->A + a]);
    return sum;
}

/* 1/cosh² is 1 - tanh² without the cancellation where tanh is near 1. */
static void additive_score_backward(const att_problem *p, const att_score_vars *x,
                                    const att_score_vars *g, int64_t j, int64_t position,
                                    double grad)
{
    (void)position;
    for (int64_t a = 0; a < p->A; a++) {
        double inner = x->projected_query[a] + x->projected_keys[j * p->A + a];
        double cosine = att_cosh(inner);
        double inner_grad = grad * x->v[a] / cosine / cosine;
        g->v[a] += grad * att_tanh(inner);
        g->projected_query[a] += inner_grad;
        g->projected_keys[j * p->A + a] += inner_grad;
    }
}

/* Propagates the gradient of element `a` to the vector and the matrix. */
static void projected_backward(double *matrix_grad, double *vector_grad, const double *matrix,
                               const double *vector, int64_t width, int64_t a, double grad)
{
    if (!matrix) {
        vector_grad[a] += grad;
        return;
    }
    add(vector_grad, grad, matrix + a * width, width);
    add(matrix_grad + a * width, grad, vector, width);
}

static void additive_query_backward(const att_problem *p, const att_score_vars *x,
                                    const att_score_vars *g)
{
    for (int64_t a = 0; a < p->A; a++) {
        projected_backward(g->w, g->q, x->w, x->q, p->Kq, a, g->projected_query[a]);
        if (g->b)
            g->b[a] += g->projected_query[a];
    }
}

static void additive_key_backward(const att_problem *p, const att_score_vars *x,
                                  const att_score_vars *g, int64_t j)
{
    for (int64_t a = 0; a < p->A; a++)
        projected_backward(g->u, g->k + j * p->Kk, x->u, x->k + j * p->Kk, p->Kk, a,
                           g->projected_keys[j * p->A + a]);
}

/* ---- concat: relu(vᵀ [q;k]); the first Kq elements of v are for the query, the rest for the key
 */

static void concat_query(const att_problem *p, const att_score_vars *x)
{
    x->projected_query[0] = dot(x->v, x->q, p->Kq);
}

static void concat_key(const att_problem *p, const att_score_vars *x, int64_t j)
{
    x->projected_keys[j] = dot(x->v + p->Kq, x->k + j * p->Kk, p->Kk);
}

static double concat_score(const att_problem *p, const att_score_vars *x, int64_t j,
                           int64_t position)
{
    (void)p;
    (void)position;
    double inner = x->projected_query[0] + x->projected_keys[j];
    return inner <= 0 ? 0 : inner;
}

static void concat_score_backward(const att_problem *p, const att_score_vars *x,
                                  const att_score_vars *g, int64_t j, int64_t position, double grad)
{
    (void)p;
    (void)position;
    if (x->projected_query[0] + x->projected_keys[j] <= 0)
        return; /* the derivative at 0 is taken as 0 */
    g->projected_query[0] += grad;
    g->projected_keys[j] += grad;
}

static void concat_query_backward(const att_problem *p, const att_score_vars *x,
                                  const att_score_vars *g)
{
    add(g->q, g->projected_query[0], x->v, p->Kq);
    add(g->v, g->projected_query[0], x->q, p->Kq);
}

static void concat_key_backward(const att_problem *p, const att_score_vars *x,
                                const att_score_vars *g, int64_t j)
{
    add(g->k + j * p->Kk, g->projected_keys[j], x->v + p->Kq, p->Kk);
    add(g->v + p->Kq, g->projected_keys[j], x->k + j * p->Kk, p->Kk);
}

/* ---- gaussian: exp(q·k) */

static double gaussian_score(const att_problem *p, const att_score_vars *x, int64_t j,
                             int64_t position)
{
    return att_exp(dot_score(p, x, j, position));
}

static void gaussian_score_backward(const att_problem *p, const att_score_vars *x,
                                    const att_score_vars *g, int64_t j, int64_t position,
                                    double grad)
{
    dot_score_backward(p, x, g, j, position, grad * gaussian_score(p, x, j, position));
}

/* ---- cosine: the dot product of unit vectors; a zero vector stays zero */

/* Writes the unit vector and, after it, the length. Dividing by the largest element first avoids
 * overflow and underflow of the squares. */
static void make_unit_vector(double *unit, const double *from, int64_t count)
{
    double largest = 0;
    for (int64_t c = 0; c < count; c++)
        if (fabs(from[c]) > largest || isnan(from[c]))
            largest = fabs(from[c]);
    unit[count] = largest;
    if (largest == 0) {
        for (int64_t c = 0; c < count; c++)
            unit[c] = 0;
        return;
    }
    for (int64_t c = 0; c < count; c++)
        unit[c] = from[c] / largest;
    double length = sqrt(dot(unit, unit, count));
    for (int64_t c = 0; c < count; c++)
        unit[c] /= length;
    unit[count] = largest * length;
}

/* From the gradient of a unit vector to that of the vector: the component orthogonal to it, divided
 * by its length. */
static void unit_vector_backward(double *grad, const double *unit_grad, const double *unit,
                                 int64_t count)
{
    if (unit[count] == 0)
        return;
    double along = dot(unit_grad, unit, count);
    for (int64_t c = 0; c < count; c++)
        grad[c] += (unit_grad[c] - along * unit[c]) / unit[count];
}

static void cosine_query(const att_problem *p, const att_score_vars *x)
{
    make_unit_vector(x->projected_query, x->q, p->Kq);
}

static void cosine_key(const att_problem *p, const att_score_vars *x, int64_t j)
{
    make_unit_vector(x->projected_keys + j * (p->Kk + 1), x->k + j * p->Kk, p->Kk);
}

static double cosine_score(const att_problem *p, const att_score_vars *x, int64_t j,
                           int64_t position)
{
    (void)position;
    return dot(x->projected_query, x->projected_keys + j * (p->Kk + 1), p->Kk);
}

/* The unit vector of a zero vector is zero, so the other side gets no gradient;
 * unit_vector_backward() gives the zero vector itself none. */
static void cosine_score_backward(const att_problem *p, const att_score_vars *x,
                                  const att_score_vars *g, int64_t j, int64_t position, double grad)
{
    (void)position;
    add(g->projected_query, grad, x->projected_keys + j * (p->Kk + 1), p->Kk);
    add(g->projected_keys + j * (p->Kk + 1), grad, x->projected_query, p->Kk);
}

static void cosine_query_backward(const att_problem *p, const att_score_vars *x,
                                  const att_score_vars *g)
{
    unit_vector_backward(g->q, g->projected_query, x->projected_query, p->Kq);
}

static void cosine_key_backward(const att_problem *p, const att_score_vars *x,
                                const att_score_vars *g, int64_t j)
{
    unit_vector_backward(g->k + j * p->Kk, g->projected_keys + j * (p->Kk + 1),
                         x->projected_keys + j * (p->Kk + 1), p->Kk);
}

/* ---- location: (W q + b) at the key's position; the content of the key is not used */

static double location_score(const att_problem *p, const att_score_vars *x, int64_t j,
                             int64_t position)
{
    (void)j;
    return dot(x->w + position * p->Kq, x->q, p->Kq) + (x->b ? x->b[position] : 0);
}

static void location_score_backward(const att_problem *p, const att_score_vars *x,
                                    const att_score_vars *g, int64_t j, int64_t position,
                                    double grad)
{
    (void)j;
    add(g->q, grad, x->w + position * p->Kq, p->Kq);
    add(g->w + position * p->Kq, grad, x->q, p->Kq);
    if (g->b)
        g->b[position] += grad;
}

/* ---- the table */

static const att_score_impl scores[ATT_SCORE_COUNT] = {
    [ATT_SCORE_DOT] = { .name = "dot",
                        .same_width = true,
                        .score = dot_score,
                        .score_backward = dot_score_backward },
    [ATT_SCORE_SCALED] = { .name = "scaled",
                           .same_width = true,
                           .score = dot_score,
                           .score_backward = dot_score_backward },
    [ATT_SCORE_GENERAL] = { .name = "general",
                            .parameters = { { ATT_SLOT_SCORE_W, "H|1,Kq,Kk", false } },
                            .projected_query_size = size_key,
                            .project_query = general_query,
                            .score = general_score,
                            .score_backward = general_score_backward,
                            .project_query_backward = general_query_backward },
    [ATT_SCORE_ADDITIVE] = { .name = "additive",
                             .parameters = { { ATT_SLOT_SCORE_W, "H|1,A,Kq", true, true,
                                               ATT_SLOT_QUERY },
                                             { ATT_SLOT_SCORE_U, "H|1,A,Kk", true, true,
                                               ATT_SLOT_KEY },
                                             { ATT_SLOT_SCORE_B, "H|1,A", true },
                                             { ATT_SLOT_SCORE_V, "H|1,A", false } },
                             .projected_query_size = size_hidden,
                             .projected_key_size = size_hidden,
                             .project_query = additive_query,
                             .project_key = additive_key,
                             .score = additive_score,
                             .score_backward = additive_score_backward,
                             .project_query_backward = additive_query_backward,
                             .project_key_backward = additive_key_backward },
    [ATT_SCORE_CONCAT] = { .name = "concat",
                           .parameters = { { ATT_SLOT_SCORE_V, "H|1,Kq+Kk", false } },
                           .projected_query_size = size_one,
                           .projected_key_size = size_one,
                           .project_query = concat_query,
                           .project_key = concat_key,
                           .score = concat_score,
                           .score_backward = concat_score_backward,
                           .project_query_backward = concat_query_backward,
                           .project_key_backward = concat_key_backward },
    [ATT_SCORE_GAUSSIAN] = { .name = "gaussian",
                             .same_width = true,
                             .score = gaussian_score,
                             .score_backward = gaussian_score_backward },
    [ATT_SCORE_COSINE] = { .name = "cosine",
                           .same_width = true,
                           .projected_query_size = size_unit_vector,
                           .projected_key_size = size_unit_vector,
                           .project_query = cosine_query,
                           .project_key = cosine_key,
                           .score = cosine_score,
                           .score_backward = cosine_score_backward,
                           .project_query_backward = cosine_query_backward,
                           .project_key_backward = cosine_key_backward },
    [ATT_SCORE_LOCATION] = { .name = "location",
                             .parameters = { { ATT_SLOT_SCORE_W, "H|1,>=P,Kq", false },
                                             { ATT_SLOT_SCORE_B, "H|1,>=P", true } },
                             .score = location_score,
                             .score_backward = location_score_backward },
};

const att_score_impl *att_score_get(att_score score)
{
    size_t row = (size_t)score;
    return row < ATT_SCORE_COUNT ? &scores[row] : NULL;
}

int64_t att_score_projected_query_size(const att_problem *p)
{
    return p->score->projected_query_size ? p->score->projected_query_size(p) : 0;
}

int64_t att_score_projected_key_size(const att_problem *p)
{
    return p->score->projected_key_size ? p->score->projected_key_size(p) : 0;
}

const char *att_score_name(att_score score)
{
    const att_score_impl *row = att_score_get(score);
    return row ? row->name : NULL;
}
