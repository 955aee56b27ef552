/* attend train: learns a model from data, shows its course, and stops well when told to. */
#include "train.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "output.h"

const char train_details[] =
    "Trains a model. TASK is pairs (--train FILE, lines source<TAB>target); translate, the same "
    "with\n"
    "the defaults of a Transformer for sentences; classify (lines sentence<TAB>label); lm, a "
    "language\n"
    "model of the text in FILE; caption (lines number<TAB>caption, and --features of pictures); or "
    "one\n"
    "that needs no data: reverse, copy or sort, on strings made up, or shapes, on pictures made "
    "up.\n"
    "The best model goes into --out; beside it a checkpoint, from which --resume goes on to "
    "exactly\n"
    "the same bits. Ctrl-C and SIGTERM save and leave. A --config file has a line `key = value` "
    "for\n"
    "each option; the command line wins.\n"
    "'attend train TASK --help' lists what concerns a task, with its defaults; after "
    "--architecture\n"
    "transformer, what concerns that family. Those under Recurrent belong to the family recurrent\n"
    "alone, those under Transformer to the other.\n";

const option train_options[] = {
    { .name = "config",
      .kind = OPTION_STRING,
      .placeholder = "FILE",
      .help = "read options from a configuration file" },
    { .name = "quiet",
      .short_name = 'q',
      .kind = OPTION_FLAG,
      .help = "print only the final result" },
    { 0 },
};

/* ---- stopping */

static volatile sig_atomic_t caught_signal;

static void on_signal(int number)
{
    caught_signal = number;
}

/* A second signal ends the program at once: the last checkpoint is whole at any moment. */
static void catch_signals(void)
{
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* Ends as the signal would have: so that a script that called us stops too. */
static exit_code end_by_signal(void)
{
    signal(caught_signal, SIG_DFL);
    raise(caught_signal);
    return EXIT_SYSTEM;
}

/* ---- the run */

static bool on_progress(void *context, const att_training_progress *progress)
{
    train_progress *show = context;
    train_progress_event(show, progress);
    return !caught_signal && show->status == ATT_OK;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* A resumed run adds to the log of before. */
static att_status open_log(train_progress *show, const att_settings *settings, att_error *err)
{
    att_string path = { 0 }, resume = { 0 };
    att_status status = att_settings_get(&path, settings, "log", err);
    if (status == ATT_OK)
        status = att_settings_get(&resume, settings, "resume", err);
    if (status == ATT_OK && path.length > 0) {
        show->log = fopen(path.data, resume.length > 0 ? "a" : "w");
        if (!show->log)
            status = error_set(err, ATT_BAD_INPUT, path.data, "cannot open: %s", strerror(errno));
    }
    att_string_free(&path);
    att_string_free(&resume);
    return status;
}

static att_status print_report(const att_training *training, att_error *err)
{
    att_string text = { 0 };
    att_status status = att_training_report(&text, training, err);
    if (status == ATT_OK && text.length > 0)
        printf("%s\n", text.data);
    att_string_free(&text);
    return status == ATT_OK ? output_flush(err) : status;
}

static att_status run(att_training *training, train_progress *show, att_error *err)
{
    double began = now();
    if (!show->quiet) {
        att_status status = print_report(training, err);
        if (status != ATT_OK)
            return status;
    }
    att_status status = att_training_run(training, on_progress, show, err);
    if (status == ATT_OK && show->status != ATT_OK) {
        *err = show->err;
        status = show->status;
    }
    if (status == ATT_OK)
        train_progress_end(show, training, now() - began);
    else if (show->line_open)
        putchar('\n');
    return status == ATT_OK ? output_flush(err) : status;
}

static exit_code train(const train_request *request)
{
    att_error err = { 0 };
    att_training *training = NULL;
    train_progress show = { .live = isatty(STDOUT_FILENO) && !request->quiet,
                            .quiet = request->quiet,
                            .log_name = "log" };
    catch_signals();
    att_status status = att_training_new(&training, request->settings, NULL, &err);
    if (status == ATT_OK)
        show.model_type = att_training_model_type(training);
    if (status == ATT_OK)
        status = open_log(&show, request->settings, &err);
    if (status == ATT_OK)
        status = run(training, &show, &err);
    if (show.log)
        fclose(show.log);
    att_training_free(training);
    if (status == ATT_OK && caught_signal)
        return end_by_signal();
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}

static bool is_given(const att_settings *settings, const char *key)
{
    att_string value = { 0 };
    bool given = att_settings_get(&value, settings, key, NULL) == ATT_OK && value.length > 0;
    att_string_free(&value);
    return given;
}

/* Refuses a command without a task, and names all there are. */
static exit_code report_missing_task(const struct verb *verb)
{
    char list[256] = "";
    const char *const *words = att_setting_find("task")->choices;
    for (size_t i = 0, length = 0; words[i] && length < sizeof list; i++)
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%s",
                                   i == 0         ? ""
                                   : words[i + 1] ? ", "
                                                  : " or ",
                                   words[i]);
    return report_usage(verb, "expects a task: %s", list);
}

/* A task must be named, by a config file or by the run that is taken up. */
static exit_code check(const train_request *request, const struct verb *verb)
{
    const att_settings *settings = request->settings;
    att_error err = { 0 };
    bool files = is_given(settings, "train") || is_given(settings, "source");
    bool resumed = is_given(settings, "resume");
    att_string task = { 0 };
    att_status status = att_settings_get(&task, settings, "task", &err);
    bool named = request->task || (status == ATT_OK && strcmp(task.data, "pairs") != 0);
    att_string_free(&task);
    if (!named && !files && !resumed)
        return report_missing_task(verb);
    if (resumed) /* what the checkpoint says comes first */
        return EXIT_DONE;
    status = att_settings_check(settings, &err);
    return status == ATT_OK          ? EXIT_DONE
           : status == ATT_BAD_INPUT ? report_usage(verb, "%s", err.message)
                                     : report(status, &err);
}

exit_code train_run(const struct verb *verb, int count, char **args)
{
    train_request request = { 0 };
    att_error err = { 0 };
    att_status status = att_settings_new(&request.settings, NULL, &err);
    if (status != ATT_OK)
        return report(status, &err);
    exit_code code = train_parse(&request, verb, count, args);
    if (code == EXIT_DONE && request.help)
        code = help_verb_about(verb, &request);
    else if (code == EXIT_DONE)
        code = check(&request, verb);
    if (code == EXIT_DONE && !request.help)
        code = train(&request);
    att_settings_free(request.settings);
    return code;
}
