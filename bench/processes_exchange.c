/* Measures a run of several MPI processes; process 0 prints one line of JSON. bench/processes
 * compiles it.
 *
 * processes_exchange exchange PARAMETERS ROUNDS: the exchange of a step (src/train/exchange.h)
 * against MPI_Allreduce of the same gradients, in turns, in one run: the shortest and the median
 * seconds of each, and of the shortest exchange the seconds of its phases (gradients, totals,
 * parameters) and the bytes that process 0 and the process that sent most have sent.
 *
 * processes_exchange train TASK KEY VALUE…: the shortest step of a training run by these settings,
 * with what process 0 sent and waited in it. */
#include "../plugins/mpi.c"

#include "train/exchange.h"

static int compare_seconds(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void check(att_status status, const att_error *err)
{
    if (status == ATT_OK)
        return;
    fprintf(stderr, "%s\n", err->message);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* All processes go on at the same moment: they run on one machine and have one clock. After
 * MPI_Barrier a process can be a latency ahead of another, which on a slow link hides some of the
 * messages that follow. */
static void meet(void)
{
    static double longest; /* of the messages below, so far */
    double own[2] = { now(), longest }, all[2];
    MPI_Allreduce(own, all, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    double start = all[0] + 1.5 * all[1] + 1e-3, taken = now() - own[0];
    longest = taken > longest ? taken : longest;
    while (now() < start)
        sched_yield();
}

/* An exchange: gradients, totals, parameters, and all of it. */
enum { GRADIENTS, TOTALS, PARAMETERS, WHOLE, PHASES };

/* A step of one micro-batch for each process, whose backward pass takes no time: nothing overlaps.
 * A phase takes as long as in the process in which it takes longest. */
static void exchange_step(att_exchange *exchange, att_params *params, att_gradient_tree *tree,
                          int ranks, double seconds[PHASES])
{
    att_error err = { 0 };
    att_range own;
    att_step_totals totals;
    const double sums[ATT_SUM_COUNT] = { 1, 1, 1 };
    check(att_exchange_begin(exchange, params, tree, ranks, &own, &err), &err);
    check(att_gradient_tree_leaf(tree, params, own.begin, &err), &err);
    for (size_t i = 0; i < params->size; i++)
        params->grad[i] = (float)(i % 7);
    meet();
    double at[PHASES] = { now() };
    att_exchange_begin_leaf(exchange, true);
    att_exchange_on_final(exchange, 0);
    check(att_exchange_end_leaf(exchange, sums, &err), &err);
    check(att_exchange_sum(exchange, &err), &err);
    at[TOTALS] = now();
    check(att_exchange_totals(exchange, &totals, 0, &err), &err);
    at[PARAMETERS] = now();
    check(att_exchange_slices(exchange, params->value, &err), &err);
    at[WHOLE] = now();
    double mine[PHASES] = { at[TOTALS] - at[GRADIENTS], at[PARAMETERS] - at[TOTALS],
                            at[WHOLE] - at[PARAMETERS], at[WHOLE] - at[GRADIENTS] };
    MPI_Allreduce(mine, seconds, PHASES, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

static double allreduce(float *gradient, int count)
{
    meet();
    double start = now(), longest;
    MPI_Allreduce(MPI_IN_PLACE, gradient, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    double seconds = now() - start;
    memset(gradient, 0, (size_t)count * sizeof *gradient);
    MPI_Allreduce(&seconds, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return longest;
}

static void measure(att_transport *transport, int64_t count, int rounds)
{
    att_error err = { 0 };
    att_params params = { 0 };
    att_param row = { .name = "w", .rank = 1, .shape = { count } };
    att_exchange exchange;
    att_gradient_tree tree = { 0 };
    int ranks = transport->ranks, index;
    double *times[2] = { calloc((size_t)rounds, sizeof(double)),
                         calloc((size_t)rounds, sizeof(double)) };
    float *gradient = calloc((size_t)count, sizeof *gradient);
    check(att_params_add(&params, &row, &index, &err), &err);
    check(att_params_alloc(&params, &err), &err);
    check(att_exchange_new(&exchange, transport, &err), &err);
    check(att_exchange_divide(&exchange, &params, &err), &err);
    check(att_gradient_tree_new(&tree, params.size, ranks, transport->rank, transport->rank + 1,
                                &err),
          &err);
    double phases[PHASES], best[PHASES] = { [WHOLE] = 1e9 }, sent = 0, most;
    for (int i = -1; i < rounds; i++) { /* the first to connect and to touch the memory */
        double before = exchange.group.sent_bytes;
        exchange_step(&exchange, &params, &tree, ranks, phases);
        sent = exchange.group.sent_bytes - before;
        double b = allreduce(gradient, (int)count);
        if (i < 0)
            continue;
        times[0][i] = phases[WHOLE];
        times[1][i] = b;
        if (phases[WHOLE] < best[WHOLE])
            memcpy(best, phases, sizeof best);
    }
    MPI_Allreduce(&sent, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    for (int k = 0; k < 2; k++)
        qsort(times[k], (size_t)rounds, sizeof(double), compare_seconds);
    if (transport->rank == 0)
        printf(
            "{\"processes\":%d,\"bytes\":%lld,\"exchange\":[%.6f,%.6f],\"allreduce\":[%.6f,%.6f],"
            "\"phases\":[%.6f,%.6f,%.6f],\"sent\":%.0f,\"most_sent\":%.0f}\n",
            ranks, (long long)params.size * 4, times[0][0], times[0][rounds / 2], times[1][0],
            times[1][rounds / 2], best[GRADIENTS], best[TOTALS], best[PARAMETERS], sent, most);
}

/* The figures of the steps so far, and of the shortest. */
typedef struct step_times {
    att_training_progress last, best;
    double start, seconds;
} step_times;

static bool on_step(void *context, const att_training_progress *at)
{
    step_times *times = context;
    double time = now();
    if (at->event == ATT_TRAINING_STEP && times->start > 0 &&
        time - times->start < times->seconds) {
        times->seconds = time - times->start;
        times->best = *at;
        times->best.sent_bytes -= times->last.sent_bytes;
        times->best.overlapped_bytes -= times->last.overlapped_bytes;
        times->best.wait_seconds -= times->last.wait_seconds;
    }
    times->start = at->event == ATT_TRAINING_STEP ? time : 0; /* nothing of a validation */
    times->last = *at;
    return true;
}

static void train(att_transport *transport, int count, char **words)
{
    att_error err = { 0 };
    att_settings *settings;
    att_training *training;
    att_training_options options = ATT_INIT(att_training_options);
    step_times times = { .seconds = 1e9 };
    check(att_settings_new(&settings, words[0], &err), &err);
    for (int i = 1; i + 1 < count; i += 2)
        check(att_settings_set(settings, words[i], words[i + 1], &err), &err);
    options.transport = transport->ranks > 1 ? transport : NULL;
    check(att_training_new(&training, settings, &options, &err), &err);
    check(att_training_run(training, on_step, &times, &err), &err);
    if (transport->rank == 0)
        printf("{\"seconds\":%.6f,\"wait\":%.6f,\"sent\":%.0f,\"overlapped\":%.0f}\n",
               times.seconds, times.best.wait_seconds, times.best.sent_bytes,
               times.best.overlapped_bytes);
    att_training_free(training);
    att_settings_free(settings);
}

int main(int argc, char **argv)
{
    att_error err = { 0 };
    att_transport transport = { .size = sizeof transport };
    bool trains = argc > 2 && strcmp(argv[1], "train") == 0;
    if (!trains && argc != 4)
        return 2;
    if (attend_transport(&transport, ATT_VERSION, &err) != ATT_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 3;
    }
    if (trains)
        train(&transport, argc - 2, argv + 2);
    else
        measure(&transport, strtoll(argv[2], NULL, 10), atoi(argv[3]));
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
