/* Forward-backward and Viterbi of a linear-chain CRF; see crf.h. */
#include "tape/crf.h"

#include "base/math.h"

#include <math.h>
#include <string.h>

/* to[i] = exp(from[i] - max); returns max. */
static double exp_scores(double *to, const float *from, int64_t count)
{
    float max = from[0];
    for (int64_t i = 1; i < count; i++)
        max = from[i] > max ? from[i] : max;
    for (int64_t i = 0; i < count; i++)
        to[i] = att_exp((double)from[i] - (double)max);
    return (double)max;
}

bool att_crf_lattice_init(att_crf_lattice *out, att_tape *tape, const att_crf_scores *scores,
                          int64_t rows)
{
    int64_t labels = scores->labels;
    *out = (att_crf_lattice){ .scores = *scores };
    out->transitions = att_tape_alloc(tape, labels * labels, sizeof(double));
    out->start = att_tape_alloc(tape, labels, sizeof(double));
    out->end = att_tape_alloc(tape, labels, sizeof(double));
    out->emissions = att_tape_alloc(tape, rows * labels, sizeof(double));
    out->forward = att_tape_alloc(tape, rows * labels, sizeof(double));
    out->backward = att_tape_alloc(tape, rows * labels, sizeof(double));
    out->scale = att_tape_alloc(tape, rows, sizeof(double));
    if (!out->transitions || !out->start || !out->end || !out->emissions || !out->forward ||
        !out->backward || !out->scale)
        return false;
    out->max_transition = exp_scores(out->transitions, scores->transitions, labels * labels);
    out->max_start = exp_scores(out->start, scores->start, labels);
    out->max_end = exp_scores(out->end, scores->end, labels);
    return true;
}

static double dot(const double *a, const double *b, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/* to = from times the matrix of transitions. */
static void step_forward(double *to, const double *from, const double *transitions, int64_t labels)
{
    memset(to, 0, (size_t)labels * sizeof *to);
    for (int64_t i = 0; i < labels; i++) {
        const double *row = transitions + i * labels;
        double factor = from[i];
        for (int64_t j = 0; j < labels; j++)
            to[j] += factor * row[j];
    }
}

double att_crf_lattice_forward(att_crf_lattice *lattice, int64_t first, int64_t length)
{
    int64_t labels = lattice->scores.labels;
    double log_sum =
        lattice->max_start + lattice->max_end + (double)(length - 1) * lattice->max_transition;
    for (int64_t row = first; row < first + length; row++) {
        double *now = lattice->forward + row * labels;
        double *own = lattice->emissions + row * labels, sum = 0;
        log_sum += exp_scores(own, lattice->scores.emissions + row * labels, labels);
        if (row == first)
            memcpy(now, lattice->start, (size_t)labels * sizeof *now);
        else
            step_forward(now, now - labels, lattice->transitions, labels);
        for (int64_t j = 0; j < labels; j++) {
            now[j] *= own[j];
            sum += now[j];
        }
        for (int64_t j = 0; j < labels; j++)
            now[j] /= sum;
        lattice->scale[row] = sum;
        log_sum += att_log(sum);
    }
    const double *last = lattice->forward + (first + length - 1) * labels;
    return log_sum + att_log(dot(last, lattice->end, labels));
}

void att_crf_lattice_backward(att_crf_lattice *lattice, int64_t first, int64_t length)
{
    int64_t labels = lattice->scores.labels, last = first + length - 1;
    double *now = lattice->backward + last * labels;
    double all = dot(lattice->forward + last * labels, lattice->end, labels);
    for (int64_t i = 0; i < labels; i++)
        now[i] = lattice->end[i] / all;
    for (int64_t row = last - 1; row >= first; row--) {
        const double *after = now, *own = lattice->emissions + (row + 1) * labels;
        now -= labels;
        for (int64_t i = 0; i < labels; i++) {
            double sum = 0;
            for (int64_t j = 0; j < labels; j++)
                sum += lattice->transitions[i * labels + j] * (own[j] * after[j]);
            now[i] = sum / lattice->scale[row + 1];
        }
    }
}

double att_crf_path_score(const att_crf_scores *scores, int64_t first, int64_t length,
                          const int32_t *path)
{
    int64_t labels = scores->labels;
    double sum = (double)scores->start[path[0]] + (double)scores->end[path[length - 1]];
    for (int64_t t = 0; t < length; t++) {
        sum += (double)scores->emissions[(first + t) * labels + path[t]];
        if (t > 0)
            sum += (double)scores->transitions[path[t - 1] * labels + path[t]];
    }
    return sum;
}

/* The best predecessor of each label. */
static void step_best(double *to, int32_t *from, const double *before, const att_crf_scores *scores)
{
    int64_t labels = scores->labels;
    for (int64_t j = 0; j < labels; j++) {
        to[j] = before[0] + (double)scores->transitions[j];
        from[j] = 0;
    }
    for (int64_t i = 1; i < labels; i++)
        for (int64_t j = 0; j < labels; j++) {
            double score = before[i] + (double)scores->transitions[i * labels + j];
            if (score > to[j]) {
                to[j] = score;
                from[j] = (int32_t)i;
            }
        }
}

void att_crf_best_path(int32_t *path, const att_crf_scores *scores, int64_t first, int64_t length,
                       double *best, int32_t *from)
{
    int64_t labels = scores->labels;
    double *now = best, *before = best + labels;
    for (int64_t t = 0; t < length; t++) {
        const float *own = scores->emissions + (first + t) * labels;
        double *swap = now;
        now = before;
        before = swap;
        if (t > 0)
            step_best(now, from + t * labels, before, scores);
        for (int64_t j = 0; j < labels; j++)
            now[j] = (t > 0 ? now[j] : (double)scores->start[j]) + (double)own[j];
    }
    int64_t last = 0;
    for (int64_t j = 1; j < labels; j++)
        if (now[j] + (double)scores->end[j] > now[last] + (double)scores->end[last])
            last = j;
    for (int64_t t = length - 1; t >= 0; t--) {
        path[t] = (int32_t)last;
        last = t > 0 ? from[t * labels + last] : 0;
    }
}
