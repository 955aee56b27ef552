/* attend train: trains a model, reports the progress, and saves a checkpoint when it is stopped. */
#include "processes.h"
#include "train.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"
#include "signals.h"
#include "terminal.h"

const char train_details[] =
    "Trains a model for TASK.\n"
    "\n"
    "Tasks that read files: pairs (seq2seq; --train has source<TAB>target lines); translate (the "
    "same, with the defaults of a Transformer for sentences); classify (sentence<TAB>label lines); "
    "tag (a label for each token: CoNLL files or tokens<TAB>labels lines); lm (a language model of "
    "the text in --train); caption (image-number<TAB>caption lines, and "
    "--features with the image features).\n"
    "Tasks that generate their own data: reverse, copy and sort (strings); shapes (images with "
    "captions).\n"
    "\n"
    "The best model is written to --out, a checkpoint next to it. Ctrl-C, SIGTERM, SIGHUP "
    "or SIGUSR1 saves a checkpoint and ends with exit code 4; --resume CHECKPOINT continues the "
    "run and gives "
    "the same bits as a run that was never stopped.\n"
    "\n"
    "--init-from MODEL fine-tunes a model. --time 30m picks the size and the schedule so that the "
    "run "
    "ends in time on this machine. --try N searches N settings around the defaults.\n"
    "\n"
    "mpirun -n 4 attend train TASK --accumulate 8 shares the micro-batches of each step among "
    "processes, with Open MPI or MPICH; the model has the same bits at any number of processes "
    "(docs/scaling.md).\n"
    "\n"
    "A --config file has one `key = value` line per option, without the dashes. Options on the "
    "command line take precedence. --no-NAME turns off an option that is on by default.\n"
    "\n"
    "'attend train TASK --help' lists only the options that the task and its architecture use, "
    "with their defaults; add --architecture transformer to see those of another architecture.\n";

const option train_options[] = {
    OPTION_ROW(train_request, "config", 0, LIST, configs, "FILE",
               "read options from a configuration file; may be repeated"),
    OPTION_ROW(train_request, "quiet", 'q', FLAG, quiet, NULL, "print only the final result"),
    { 0 },
};

/* ---- settings */

/* Sets *given if one of the settings has a value; the list ends with NULL. */
static att_status any_given(bool *given, const att_settings *settings, const char *const *keys,
                            att_error *err)
{
    att_status status = ATT_OK;
    *given = false;
    for (; *keys && status == ATT_OK; keys++) {
        att_string value = { 0 };
        status = att_settings_get(&value, settings, *keys, err);
        *given |= status == ATT_OK && value.length > 0;
        att_string_free(&value);
    }
    return status;
}

static att_status has_tries(bool *out, const att_settings *settings, att_error *err)
{
    att_string value = { 0 };
    att_status status = att_settings_get(&value, settings, "try", err);
    *out = status == ATT_OK && strcmp(value.data, "0") != 0;
    att_string_free(&value);
    return status;
}

/* ---- the run */

/* Cancels long steps of the run, such as reading the data, after a signal. */
static bool on_callback(void *context, const att_progress *progress)
{
    (void)context;
    (void)progress;
    return !signals_caught();
}

static bool on_progress(void *context, const att_training_progress *progress)
{
    train_progress *show = context;
    train_progress_event(show, progress);
    return !signals_caught() && show->status == ATT_OK;
}

/* A resumed run appends to the existing log; a new run empties it at the first event, when it has
 * locked its output: the log may be that of the run that holds the lock. */
static att_status open_log(train_progress *show, const att_settings *settings, att_error *err)
{
    const att_string *path = &show->log_path;
    att_string resume = { 0 };
    att_status status = att_settings_get(&show->log_path, settings, "log", err);
    if (status == ATT_OK)
        status = att_settings_get(&resume, settings, "resume", err);
    if (status == ATT_OK && path->length > 0) {
        do
            show->log = fopen(path->data, "a");
        while (!show->log && errno == EINTR);
        show->empty_log = resume.length == 0;
        if (!show->log)
            status = error_system(err, path->data, "open", errno);
    }
    att_string_free(&resume);
    return status;
}

static att_status print_report(const att_training *training, att_error *err)
{
    att_string text = { 0 };
    att_status status = att_training_report(&text, training, err);
    if (status == ATT_OK && text.length > 0)
        terminal_printf(stdout, "%s\n", text.data);
    att_string_free(&text);
    return status == ATT_OK ? output_flush(err) : status;
}

/* What process 0 alone does before the run; all learn whether it failed. */
static att_status prepare_output(const att_training *training, const train_request *request,
                                 att_transport *transport, train_progress *show, att_error *err)
{
    att_status status = show->silent ? ATT_OK : open_log(show, request->settings, err);
    if (status == ATT_OK && !show->quiet)
        status = print_report(training, err);
    return att_transport_agree(transport, status, err);
}

/* What process 0 alone does after the run: the end of the output and of the log. */
static att_status end_output(const att_training *training, train_progress *show, bool finished,
                             double seconds, att_error *err)
{
    att_status status = show->status;
    if (status != ATT_OK)
        *err = show->err;
    if (status == ATT_OK && !show->silent)
        train_progress_end(show, training, finished, seconds);
    else if (show->line_open)
        putchar('\n');
    if (status == ATT_OK)
        status = output_flush(err);
    if (show->log && fclose(show->log) != 0 && status == ATT_OK)
        status = error_system(err, show->log_path.data, "write", errno);
    show->log = NULL;
    return status;
}

/* A run that was cancelled may have made all of its steps without having written its model.
 * Failures of the run itself are agreed on there. */
static att_status run(att_training *training, att_transport *transport, train_progress *show,
                      bool *finished, att_error *err)
{
    double start = output_seconds();
    att_status status = att_training_run(training, on_progress, show, err);
    *finished = status == ATT_OK && att_training_finished(training);
    if (status == ATT_CANCELLED) /* by a signal; the checkpoint is saved */
        status = ATT_OK;
    if (status != ATT_OK) {
        if (show->line_open)
            putchar('\n');
        return status;
    }
    status = end_output(training, show, *finished, output_seconds() - start, err);
    return att_transport_agree(transport, status, err);
}

/* Creates the run and makes it. Of several processes, only the first prints and logs. */
static att_status train_with(const train_request *request, att_transport *transport,
                             train_progress *show, bool *finished, att_error *err)
{
    att_training_options options = ATT_INIT(att_training_options);
    att_training *training = NULL;
    options.transport = transport;
    att_status status = att_training_new(&training, request->settings, &options, err);
    if (status == ATT_CANCELLED) /* nothing to save yet */
        signals_raise();
    if (status == ATT_OK) {
        show->model_type = att_training_model_type(training);
        status = prepare_output(training, request, transport, show, err);
    }
    if (status == ATT_OK)
        status = run(training, transport, show, finished, err);
    if (show->log) /* of a run that failed */
        fclose(show->log);
    att_string_free(&show->log_path);
    att_training_free(training);
    return status;
}

static att_status refuse_search(att_transport *transport, att_error *err)
{
    transport->agreed = true; /* every process was started with it */
    return error_set(err, ATT_BAD_INPUT, "",
                     "--try cannot be shared by several processes: run the "
                     "search in one, then train the best with mpirun");
}

static exit_code train(const train_request *request)
{
    att_error err = { 0 };
    att_transport *transport = NULL;
    bool finished = false;
    train_progress show = { .live = isatty(STDOUT_FILENO) && !request->quiet,
                            .quiet = request->quiet };
    bool tries = false;
    att_status status =
        any_given(&show.has_budget, request->settings, (const char *const[]){ "time", NULL }, &err);
    if (status == ATT_OK)
        status = has_tries(&tries, request->settings, &err);
    if (status == ATT_OK)
        status = processes_open(&transport, &err);
    if (status != ATT_OK)
        return report(status, &err);
    signals_catch();
    att_callback_set(on_callback, NULL);
    if (tries && transport)
        return processes_end(transport, refuse_search(transport, &err), &err, EXIT_STOPPED);
    if (tries)
        return train_search(request);
    show.silent = processes_are_silent(transport);
    show.quiet |= show.silent;
    show.live &= !show.silent;
    status = train_with(request, transport, &show, &finished, &err);
    return processes_end(transport, status, &err, finished ? EXIT_DONE : EXIT_STOPPED);
}

/* ---- the command line */

const char *train_task(size_t index)
{
    return att_setting_find("task")->choices[index];
}

static exit_code report_missing_task(const struct verb *verb)
{
    char list[256] = "";
    for (size_t i = 0, length = 0; train_task(i) && length < sizeof list; i++)
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%s",
                                   i == 0              ? ""
                                   : train_task(i + 1) ? ", "
                                                       : " or ",
                                   train_task(i));
    return report_usage(verb, "expects a task: %s", list);
}

/* An error in a setting is an error in the command line. */
static exit_code report_setting(const struct verb *verb, att_status status, const att_error *err)
{
    if (status == ATT_OK)
        return EXIT_DONE;
    return status == ATT_BAD_INPUT ? report_usage(verb, "%s", err->message) : report(status, err);
}

/* Sets the task, the only operand. Its defaults apply to the settings that were not given. */
exit_code train_set_task(void *settings, const struct verb *verb, int count, char **operands)
{
    const train_request *request = settings;
    att_error err = { 0 };
    if (count > 1)
        return report_usage(verb, "expects one task, not '%s' and '%s'", operands[0], operands[1]);
    if (count == 0)
        return EXIT_DONE;
    att_status status = att_settings_set(request->settings, "task", operands[0], &err);
    return report_setting(verb, status, &err);
}

static exit_code load_configs(const train_request *request)
{
    for (size_t i = 0; i < request->configs.count; i++) {
        att_error err = { 0 };
        att_status status = att_settings_load(request->settings, request->configs.items[i], &err);
        if (status != ATT_OK)
            return report(status, &err);
    }
    return EXIT_DONE;
}

/* The task may also come from a config file, from the files given (pairs) or from the checkpoint of
 * a resumed run. The settings of a checkpoint, or of a model to fine-tune, are checked later, with
 * those given here. */
static exit_code check(const train_request *request, const struct verb *verb, bool task_given)
{
    const att_settings *settings = request->settings;
    att_error err = { 0 };
    bool files, resumed = false;
    att_string task = { 0 };
    att_status status =
        any_given(&files, settings, (const char *const[]){ "train", "source", NULL }, &err);
    if (status == ATT_OK)
        status = any_given(&resumed, settings, (const char *const[]){ "resume", "init-from", NULL },
                           &err);
    if (status == ATT_OK)
        status = att_settings_get(&task, settings, "task", &err);
    bool named = task_given || (status == ATT_OK && strcmp(task.data, "pairs") != 0);
    att_string_free(&task);
    if (status != ATT_OK)
        return report(status, &err);
    if (!named && !files && !resumed)
        return report_missing_task(verb);
    if (resumed)
        return EXIT_DONE;
    return report_setting(verb, att_settings_check(settings, &err), &err);
}

static exit_code parse_and_train(train_request *request, const struct verb *verb, int count,
                                 char **args)
{
    int operands = 0;
    exit_code code;
    if (!options_parse(&code, verb, count, args, request, &operands))
        return code;
    code = train_set_task(request, verb, operands, args);
    if (code == EXIT_DONE)
        code = load_configs(request);
    if (code == EXIT_DONE)
        code = check(request, verb, operands > 0);
    return code == EXIT_DONE ? train(request) : code;
}

exit_code train_run(const struct verb *verb, int count, char **args)
{
    train_request request = { 0 };
    att_error err = { 0 };
    att_status status = att_settings_new(&request.settings, NULL, &err);
    if (status != ATT_OK)
        return report(status, &err);
    exit_code code = parse_and_train(&request, verb, count, args);
    att_settings_free(request.settings);
    free(request.configs.items);
    return code;
}
