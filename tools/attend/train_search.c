/* attend train --try N: runs a search, reports its rounds, and prints the table of the tries. */
#include "train.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "output.h"
#include "signals.h"
#include "terminal.h"

/* What was printed last. */
typedef struct search_show {
    bool quiet;
    int64_t round;
} search_show;

static bool on_event(void *context, const att_search_progress *progress)
{
    search_show *show = context;
    if (!show->quiet && progress->round != show->round) {
        if (show->round == 0)
            terminal_printf(stdout, "%s\n", progress->report);
        if (progress->round == progress->rounds)
            printf("round %" PRId64 " of %" PRId64 ": the best of the tries\n", progress->round,
                   progress->rounds);
        else
            printf("round %" PRId64 " of %" PRId64 ": %" PRId64 " tries\n", progress->round,
                   progress->rounds, progress->count);
        fflush(stdout);
        show->round = progress->round;
    }
    return !signals_caught();
}

/* The tries, the best first. Options come last: their width differs. */
static void print_table(const att_search *search, att_model_type type)
{
    const att_try *row;
    char time[DURATION_SIZE], loss[LOSS_SIZE];
    printf("%7s %7s %10s%s  settings\n", "steps", "time", "valid loss", train_metric_headers(type));
    for (size_t i = 0; (row = att_search_get(search, i)); i++) {
        printf("%7" PRId64 " %7s", row->steps, train_duration(time, row->seconds));
        if (row->best) {
            printf(" %10s", train_loss(loss, row->best->loss));
            train_print_metrics(type, row->best);
        } else {
            printf(" %s", row->steps > 0 ? "the loss was not finite" : "no time left");
        }
        terminal_printf(stdout, "  %s\n", *row->options ? row->options : "(as given)");
    }
}

static att_status print_result(const att_search *search, double seconds, att_error *err)
{
    att_model *model;
    char time[DURATION_SIZE];
    const char *path = att_search_model_path(search);
    att_status status = att_model_load(&model, path, err);
    if (status != ATT_OK)
        return status;
    print_table(search, att_model_type_get(model));
    att_model_free(model);
    terminal_printf(stdout, "the best again: attend train %s\n", att_search_command(search));
    terminal_printf(stdout, "wrote %s in %s\n", path, train_duration(time, seconds));
    return output_flush(err);
}

exit_code train_search(const train_request *request)
{
    att_error err = { 0 };
    att_search *search = NULL;
    search_show show = { .quiet = request->quiet };
    double start = output_seconds();
    att_status status = att_search_run(&search, request->settings, on_event, &show, &err);
    if (status == ATT_CANCELLED) {
        fputs("attend: the search was stopped and cannot be resumed; --resume continues a try from "
              "its checkpoint, ….try-N.last.safetensors\n",
              stderr);
        return EXIT_STOPPED;
    }
    if (status == ATT_OK)
        status = print_result(search, output_seconds() - start, &err);
    att_search_free(search);
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}
