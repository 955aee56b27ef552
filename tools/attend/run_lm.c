/* attend run with a language model: completes a prompt and writes the text as it is generated. */
#include "run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lines.h"
#include "output.h"
#include "signals.h"
#include "terminal.h"

enum { DEFAULT_MAX_NEW_TOKENS = 500 };

typedef struct completion_writer {
    const run_settings *set;
    const att_string *prompt; /* NULL after it was written */
    att_string text;          /* for --json */
    char last_byte;           /* the last byte written */
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

/* Written with the first token: by then the model has accepted the prompt. */
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
    return w->status == ATT_OK && !signals_caught() && !output_reader_gone();
}

static att_status end_json(completion_writer *w, const att_completion *found)
{
    att_string line = { 0 };
    if (escape_json(&line, w->text.data, w->text.length) != ATT_OK) {
        att_string_free(&line);
        return error_memory(w->err);
    }
    terminal_puts(stdout, "{\"text\":");
    terminal_puts(stdout, line.data);
    printf(",\"prompt_tokens\":%" PRId64 ",\"unknown_tokens\":%" PRId64 ",\"new_tokens\":%" PRId64
           ",\"score\":%.9g}\n",
           found->prompt_tokens, found->unknown_tokens, found->tokens, found->score);
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
    const att_complete_options options = { .size = sizeof(att_complete_options),
                                           .decoding = &models->options,
                                           .max_new_tokens = set->max_new_tokens > 0
                                                                 ? set->max_new_tokens
                                                                 : DEFAULT_MAX_NEW_TOKENS };
    completion_writer w = { .set = set, .prompt = prompt, .err = err };
    att_completion found = ATT_INIT(att_completion);
    att_status status = att_model_complete(&found, models->model, prompt->data, prompt->length,
                                           &options, on_token, &w, err);
    if (status == ATT_OK && w.status == ATT_OK && found.unknown_tokens > 0)
        fprintf(stderr, "unknown tokens in the prompt: %" PRId64 " of %" PRId64 "\n",
                found.unknown_tokens, found.prompt_tokens);
    if (status == ATT_OK)
        status = w.status == ATT_OK ? end(&w, &found) : w.status;
    att_string_free(&w.text);
    return status;
}

att_status run_lm(const void *settings, const decoding *models, const char *input, att_error *err)
{
    (void)input;
    const run_settings *set = settings;
    att_string prompt = { 0 };
    att_status status = ATT_OK;
    if (set->prompt && strcmp(set->prompt, "-") == 0)
        status = lines_read_all(&prompt, "-", err);
    else if (set->prompt && att_string_append(&prompt, set->prompt, strlen(set->prompt)) != ATT_OK)
        status = error_memory(err);
    signals_catch();
    if (isatty(STDOUT_FILENO)) /* a line of progress would replace the text that has no end yet */
        att_callback_set(NULL, NULL);
    if (status == ATT_OK)
        status = complete(set, models, &prompt, err);
    if (models->options.ensemble_count == 0 && set->prompt) /* then the error is in the prompt */
        error_set_place(err, status, strcmp(set->prompt, "-") == 0 ? "<stdin>" : "--prompt");
    att_string_free(&prompt);
    signals_raise();
    return status;
}
