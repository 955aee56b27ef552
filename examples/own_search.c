/* own_search MODEL [TOP_P [SEED]]: generates an output for each line of standard input by nucleus
 * (top-p) sampling, written on the steps of a session. A search of your own looks like this: start
 * a session from a source, feed tokens, read log-probabilities, choose. */
#include <attend.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TOKENS = 200 };

/* Samples from the most probable tokens that together have probability `top_p`. */
static int32_t sample(const float *log_probs, int64_t count, double top_p)
{
    double sum = 0, random = rand() / (RAND_MAX + 1.0) * top_p;
    char *used = (char *)calloc((size_t)count, 1);
    int32_t best = -1;
    while (used && sum <= random) { /* token by token, the most probable first */
        best = -1;
        for (int64_t i = 0; i < count; i++)
            if (!used[i] && (best < 0 || log_probs[i] > log_probs[best]))
                best = (int32_t)i;
        if (best < 0)
            break;
        used[best] = 1;
        sum += exp((double)log_probs[best]);
    }
    free(used);
    return best;
}

static att_status generate(att_string *out, att_session *session, const att_model *model,
                           const char *line, double top_p, att_error *err)
{
    int32_t ids[MAX_TOKENS], token = att_session_start_token(session);
    size_t count = 0;
    att_status status = att_session_start_lines(session, &line, 1, err);
    while (status == ATT_OK && count < MAX_TOKENS) {
        const att_session_output *step;
        status = att_session_step(session, 1, &token, NULL, &step, err);
        if (status == ATT_OK)
            token = sample(step->log_probs, step->vocab_size, top_p);
        if (status != ATT_OK || token < 0 || token == att_session_end_token(session))
            break;
        ids[count++] = token;
    }
    return status == ATT_OK ? att_model_decode(out, model, ATT_SIDE_TARGET, ids, count, err)
                            : status;
}

int main(int argc, char **argv)
{
    char line[4096];
    att_error err;
    att_model *model = NULL;
    att_session *session = NULL;
    double top_p = argc > 2 ? atof(argv[2]) : 0.9;
    if (argc < 2)
        return fprintf(stderr, "usage: own_search MODEL [TOP_P [SEED]] <lines\n"), 2;
    srand(argc > 3 ? (unsigned)atoi(argv[3]) : 1);
    att_status status = att_model_load(&model, argv[1], &err);
    if (status == ATT_OK)
        status = att_session_new(&session, model, NULL, &err);
    while (status == ATT_OK && fgets(line, sizeof line, stdin)) {
        att_string text = { NULL, 0, 0 };
        line[strcspn(line, "\n")] = '\0';
        status = generate(&text, session, model, line, top_p, &err);
        if (status == ATT_OK)
            printf("%s\n", text.length > 0 ? text.data : "");
        att_string_free(&text);
    }
    att_session_free(session);
    att_model_free(model);
    if (status != ATT_OK)
        fprintf(stderr, "%s\n", err.message);
    return status == ATT_OK ? 0 : 1;
}
