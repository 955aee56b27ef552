/* attend: the program. The table of verbs, and main(), which finds the verb and runs it. */
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "output.h"
#include "prepare.h"
#include "processes.h"
#include "train.h"

const struct verb verbs[] = {
    { .name = "explain",
      .operands = "[SHEET…]",
      .help = "compute worksheets step by step, check the expected values, draw attention maps",
      .details = explain_details,
      .options = explain_options,
      .operand_suffix = "att",
      .run = explain_run },
    { .name = "exercise",
      .operands = "SHEET",
      .help = "print the question paper, or the solution, of an exercise",
      .details = exercise_details,
      .options = exercise_options,
      .operand_suffix = "att",
      .run = exercise_run },
    { .name = "grade",
      .operands = "SHEET ANSWERS…",
      .help = "grade the answers of students to an exercise, and name known slips",
      .details = grade_details,
      .options = grade_options,
      .operand_suffix = "",
      .run = grade_run },
    { .name = "train",
      .operands = "TASK",
      .help = "train a model on files or on a synthetic task",
      .details = train_details,
      .options = train_options,
      .takes_settings = true,
      .settings_offset = offsetof(train_request, settings),
      .operand_word = train_task,
      .before_help = train_set_task,
      .is_shared = true,
      .run = train_run },
    { .name = "prepare",
      .operands = "TASK CORPUS…",
      .help = "encode corpora larger than memory as a token file for training",
      .details = prepare_details,
      .options = prepare_options,
      .takes_settings = true,
      .settings_offset = offsetof(prepare_request, settings),
      .setting_keys = prepare_setting_keys,
      .operand_word = prepare_task,
      .operand_suffix = "",
      .before_help = prepare_set_task,
      .run = prepare_run },
    { .name = "run",
      .operands = "MODEL [FILE | IMAGE…]",
      .help = "generate translations, labels, captions or text with a model",
      .details = run_details,
      .options = run_options,
      .operand_suffix = "",
      .run = run_run },
    { .name = "eval",
      .operands = "MODEL [DATA]",
      .help = "evaluate a model on data, or hypotheses against references",
      .details = eval_details,
      .options = eval_options,
      .operand_suffix = "",
      .print_extra_help = eval_print_metrics,
      .is_shared = true,
      .run = eval_run },
    { .name = "score",
      .operands = "MODEL FILE",
      .help = "compute log-probabilities of given targets or text",
      .details = score_details,
      .options = score_options,
      .operand_suffix = "",
      .run = score_run },
    { .name = "show",
      .operands = "MODEL INPUT",
      .help = "show the attention map of a model for an input",
      .details = show_details,
      .options = show_options,
      .operand_suffix = "",
      .run = show_run },
    { .name = "cells",
      .operands = "MODEL",
      .help = "find RNN units that track properties of a text",
      .details = cells_details,
      .options = cells_options,
      .operand_suffix = "safetensors",
      .run = cells_run },
    { .name = "info",
      .operands = "MODEL",
      .help = "print the parameters, vocabularies, settings and training history of a model",
      .details = info_details,
      .options = info_options,
      .operand_suffix = "safetensors",
      .run = info_run },
    { .name = "import",
      .operands = "FORMAT FILE",
      .help = "convert weights of another program to a model file",
      .details = import_details,
      .options = import_options,
      .print_extra_help = import_print_formats,
      .operand_word = import_format,
      .operand_suffix = "",
      .run = import_run },
    { .name = "quantize",
      .operands = "MODEL",
      .help = "write a model with int8 weights: a quarter of the size, and faster",
      .details = quantize_details,
      .options = quantize_options,
      .operand_suffix = "",
      .run = quantize_run },
    { .name = "shortlist",
      .operands = "MODEL PAIRS",
      .help = "learn the tokens that source tokens may become, for fast output",
      .details = shortlist_details,
      .options = shortlist_options,
      .operand_suffix = "",
      .run = shortlist_run },
    { .name = "features",
      .operands = "ENCODER IMAGE…",
      .help = "compute image features for caption models",
      .details = features_details,
      .options = features_options,
      .operand_suffix = "",
      .run = features_run },
    { .name = "bench",
      .operands = "[PATTERN…]",
      .help = "benchmark kernels and layers against the limits of the machine",
      .details = bench_details,
      .options = bench_options,
      .lists_operands = true,
      .run = bench_run },
    { .name = "gradcheck",
      .operands = "[OP…]",
      .help = "check the forward and backward pass of every operation numerically",
      .details = gradcheck_details,
      .options = gradcheck_options,
      .lists_operands = true,
      .run = gradcheck_run },
    { .name = "selftest",
      .operands = "",
      .help = "check that this machine computes the published bits",
      .details = selftest_details,
      .options = selftest_options,
      .run = selftest_run },
    { .name = "help",
      .operands = "[VERB]",
      .help = "list the verbs, or print the help of one",
      .details = help_details,
      .options = help_options,
      .operand_word = verb_name,
      .run = help_run },
    { 0 },
};

const struct verb *verb_find(const char *name)
{
    for (const struct verb *row = verbs; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}

const char *verb_name(size_t index)
{
    return index < sizeof verbs / sizeof *verbs ? verbs[index].name : NULL;
}

exit_code unknown_verb(const char *name)
{
    const char *known[sizeof verbs / sizeof *verbs];
    size_t count = 0;
    for (const struct verb *row = verbs; row->name; row++)
        known[count++] = row->name;
    const char *nearest = att_suggest(name, known, count);
    if (nearest)
        return report_usage(NULL, "unknown verb '%s'; did you mean %s?", name, nearest);
    return report_usage(NULL, "unknown verb '%s'", name);
}

static exit_code version(void)
{
    att_error err = { 0 };
    printf("attend %s\n", att_version());
    att_status status = output_flush(&err);
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}

/* A closed standard descriptor would be reused for the next file opened, and output written into
 * it. Each is replaced by one whose wrong use fails. */
static void fill_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

static exit_code run(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name)
        return report_usage(NULL, "expects a verb");
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
        return version();
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return help_program();
    const struct verb *verb = verb_find(name);
    if (!verb)
        return unknown_verb(name);
    att_error err = { 0 };
    att_status status = att_cpu_check(&err);
    if (status != ATT_OK)
        return report(status, &err);
    exit_code code = verb->run(verb, argc - 2, argv + 2);
    return verb->is_shared ? processes_leave(code) : code;
}

int main(int argc, char **argv)
{
    fill_descriptors();
    signal(SIGPIPE, SIG_IGN); /* a closed pipe shows as EPIPE (output.h), */
    signal(SIGXFSZ, SIG_IGN); /* and a file that may not grow (ulimit -f) as EFBIG */
    return (int)run(argc, argv);
}
