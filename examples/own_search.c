/* own_search MODEL [TOP_P]: generates an output for each line of standard input by nucleus (top-p)
 * sampling, written on the steps of a session. A search of your own looks like this: start a
 * session from a source, feed tokens, read log-probabilities, choose. */
#include <attend.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Samples from the most probable tokens that together have probability `top_p`. */
static int32_t sample(const float *log_probs, int32_t count, double top_p)
{
    double sum = 0, random = rand() / (RAND_MAX + 1.0) * top_p;
    int32_t best = -1, before;
    do { /* the next token after `before` in the order of probability, then of ids */
        before = best, best = -1;
        for (int32_t i = 0; i < count; i++)
            if ((before < 0 || log_probs[i] < log_probs[before] ||
                 (log_probs[i] == log_probs[before] && i > before)) &&
                (best < 0 || log_probs[i] > log_probs[best]))
                best = i;
        sum += best < 0 ? 1 : exp((double)log_probs[best]);
    } while (sum <= random);
    return best < 0 ? before : best;
}

static att_status generate(att_string *out, att_session *session, const att_model *model,
                           const char *line, double top_p, att_error *err)
{
    int32_t ids[200], token = att_session_start_token(session);
    size_t count = 0;
    const att_session_output *step;
    att_status status = att_session_start_lines(session, &line, 1, err);
    while (status == ATT_OK && count < 200) {
        status = att_session_step(session, 1, &token, NULL, &step, err);
        if (status == ATT_OK)
            token = sample(step->log_probs, att_session_vocab_size(session), top_p);
        if (status != ATT_OK || token == att_session_end_token(session))
            break;
        ids[count++] = token;
    }
    if (status == ATT_OK)
        status = att_model_decode(out, model, ATT_SIDE_TARGET, ids, count, err);
    return status == ATT_OK ? att_string_append(out, "\n", 1) : status;
}

int main(int argc, char **argv)
{
    char line[4096];
    att_error err = { ATT_OK, 0, 0, "", "usage: own_search MODEL [TOP_P] <lines", "" };
    att_model *model = NULL;
    att_session *session = NULL;
    att_string text = { NULL, 0, 0 };
    att_status status = argc < 2 ? ATT_BAD_INPUT : att_model_load(&model, argv[1], &err);
    if (status == ATT_OK)
        status = att_session_new(&session, model, NULL, &err);
    for (; status == ATT_OK && fgets(line, sizeof line, stdin); text.length = 0) {
        line[strcspn(line, "\n")] = '\0';
        status = generate(&text, session, model, line, argc > 2 ? atof(argv[2]) : 0.9, &err);
        fputs(status == ATT_OK ? text.data : "", stdout);
    }
    if (status != ATT_OK)
        fprintf(stderr, "%s\n", err.message);
    att_string_free(&text);
    att_session_free(session);
    att_model_free(model);
    return status == ATT_OK ? 0 : status == ATT_BAD_INPUT ? 2 : 3;
}
