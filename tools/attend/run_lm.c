/* attend run, on a text: a language model goes on from a prompt, and the text is written as it is
 * made. */
#include "run.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "escape.h"
#include "lines.h"
#include "output.h"

enum { DEFAULT_MAX_NEW_TOKENS = 500 };

/* ---- stopping */

static volatile sig_atomic_t caught_signal;

static void on_signal(int number)
{
    caught_signal = number;
}

/* A second signal ends the program at once. */
static void catch_signals(void)
{
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* ---- the text */

typedef struct completion_writer {
    const run_settings *set;
    const att_string *prompt; /* NULL once it is written */
    att_string text;          /* for --json */
    char last_byte;           /* byte written */
    att_status status;
    att_error *err;
} completion_writer;

static void put(completion_writer *w, const char *bytes, size_t length)
{
    if (length == 0 || w->status != ATT_OK)
        return;
    w->last_byte = bytes[length - 1];
    if (!w->set->json)
        w->status = output_stdout(bytes, length, w->err);
    else if (att_string_append(&w->text, bytes, length) != ATT_OK)
        w->status = error_memory(w->err);
}

/* Before the first token, when it is known to be text that the model takes. */
static void put_prompt(completion_writer *w)
{
    if (w->prompt)
        put(w, w->prompt->data, w->prompt->length);
    w->prompt = NULL;
}

static bool on_token(void *context, const char *text, size_t length, double score)
{
    (void)score;
    completion_writer *w = context;
    put_prompt(w);
    put(w, text, length);
    return w->status == ATT_OK && !caught_signal && !output_reader_gone();
}

static att_status end_json(completion_writer *w, const att_completion *found)
{
    att_string line = { 0 };
    if (escape_json(&line, w->text.data, w->text.length) != ATT_OK) {
        att_string_free(&line);
        return error_memory(w->err);
    }
    printf("{\"text\":%s,\"prompt_tokens\":%" PRId64 ",\"unknown\":%" PRId64 ",\"tokens\":%" PRId64
           ",\"score\":%.9g}\n",
           line.data, found->prompt_tokens, found->unknown_tokens, found->tokens, found->score);
    att_string_free(&line);
    return output_flush(w->err);
}

static att_status end(completion_writer *w, const att_completion *found)
{
    put_prompt(w);
    if (w->set->json)
        return end_json(w, found);
    if (w->last_byte != '\n')
        put(w, "\n", 1);
    return w->status;
}

static att_status complete(const run_settings *set, const decoding *models,
                           const att_string *prompt, att_error *err)
{
    const att_complete_options how = { .decoding = models->options,
                                       .max_new_tokens = set->max_new_tokens > 0
                                                             ? set->max_new_tokens
                                                             : DEFAULT_MAX_NEW_TOKENS };
    completion_writer w = { .set = set, .prompt = prompt, .err = err };
    att_completion found;
    att_status status = att_model_complete(&found, models->model, prompt->data, prompt->length,
                                           &how, on_token, &w, err);
    if (status == ATT_OK && w.status == ATT_OK && found.unknown_tokens > 0)
        fprintf(stderr, "%" PRId64 " of %" PRId64 " tokens of the prompt %s unknown\n",
                found.unknown_tokens, found.prompt_tokens,
                found.unknown_tokens == 1 ? "is" : "are");
    if (status == ATT_OK)
        status = w.status == ATT_OK ? end(&w, &found) : w.status;
    att_string_free(&w.text);
    return status;
}

att_status run_lm(const run_settings *set, const decoding *models, att_error *err)
{
    att_string prompt = { 0 };
    att_status status = ATT_OK;
    if (set->prompt && strcmp(set->prompt, "-") == 0)
        status = lines_read_all(&prompt, "-", err);
    else if (set->prompt && att_string_append(&prompt, set->prompt, strlen(set->prompt)) != ATT_OK)
        status = error_memory(err);
    catch_signals();
    if (status == ATT_OK)
        status = complete(set, models, &prompt, err);
    if (models->options.ensemble_count == 0 && set->prompt) /* then it must be the prompt */
        error_set_place(err, status, strcmp(set->prompt, "-") == 0 ? "<stdin>" : "--prompt");
    att_string_free(&prompt);
    if (caught_signal) {
        signal(caught_signal, SIG_DFL);
        raise(caught_signal);
    }
    return status;
}
