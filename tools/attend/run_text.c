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

enum { USUAL_LENGTH = 500 };

/* ---- stopping */

static volatile sig_atomic_t caught;

static void note_signal(int number)
{
    caught = number;
}

/* A second signal ends the program at once. */
static void catch_signals(void)
{
    struct sigaction action = { .sa_handler = note_signal, .sa_flags = (int)SA_RESETHAND };
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* ---- the text */

typedef struct writing {
    const run_settings *set;
    const att_text *prompt; /* NULL once it is written */
    att_text all;           /* for --json */
    char last;              /* byte written */
    att_status status;
    att_error *err;
} writing;

static void put(writing *w, const char *bytes, size_t length)
{
    if (length == 0 || w->status != ATT_OK)
        return;
    w->last = bytes[length - 1];
    if (!w->set->json)
        w->status = output_stdout(bytes, length, w->err);
    else if (att_text_add(&w->all, bytes, length) != ATT_OK)
        w->status = error_memory(w->err);
}

/* Before the first token, when it is known to be text that the model takes. */
static void put_prompt(writing *w)
{
    if (w->prompt)
        put(w, w->prompt->data, w->prompt->length);
    w->prompt = NULL;
}

static bool told(void *context, const char *text, size_t length, double score)
{
    (void)score;
    writing *w = context;
    put_prompt(w);
    put(w, text, length);
    return w->status == ATT_OK && !caught && !output_unread();
}

static att_status end_json(writing *w, const att_continued *found)
{
    att_text line = { 0 };
    if (escape_json(&line, w->all.data, w->all.length) != ATT_OK) {
        att_text_free(&line);
        return error_memory(w->err);
    }
    printf("{\"text\":%s,\"prompt_tokens\":%" PRId64 ",\"unknown\":%" PRId64 ",\"tokens\":%" PRId64
           ",\"score\":%.9g}\n",
           line.data, found->prompt_tokens, found->unknown, found->tokens, found->score);
    att_text_free(&line);
    return output_flush(w->err);
}

static att_status end(writing *w, const att_continued *found)
{
    put_prompt(w);
    if (w->set->json)
        return end_json(w, found);
    if (w->last != '\n')
        put(w, "\n", 1);
    return w->status;
}

static att_status go_on(const run_settings *set, const decoding *models, const att_text *prompt,
                        att_error *err)
{
    const att_continuing how = { .decoding = models->how,
                                 .tokens = set->length > 0 ? set->length : USUAL_LENGTH };
    writing w = { .set = set, .prompt = prompt, .err = err };
    att_continued found;
    att_status status = att_model_continue(&found, models->model, prompt->data, prompt->length,
                                           &how, told, &w, err);
    if (status == ATT_OK && w.status == ATT_OK && found.unknown > 0)
        fprintf(stderr, "%" PRId64 " of %" PRId64 " tokens of the prompt %s unknown\n",
                found.unknown, found.prompt_tokens, found.unknown == 1 ? "is" : "are");
    if (status == ATT_OK)
        status = w.status == ATT_OK ? end(&w, &found) : w.status;
    att_text_free(&w.all);
    return status;
}

att_status run_text(const run_settings *set, const decoding *models, att_error *err)
{
    att_text prompt = { 0 };
    att_status status = ATT_OK;
    if (set->prompt && strcmp(set->prompt, "-") == 0)
        status = lines_whole(&prompt, "-", err);
    else if (set->prompt && att_text_add(&prompt, set->prompt, strlen(set->prompt)) != ATT_OK)
        status = error_memory(err);
    catch_signals();
    if (status == ATT_OK)
        status = go_on(set, models, &prompt, err);
    if (models->how.with_count == 0 && set->prompt) /* then it must be the prompt */
        error_name(err, status, strcmp(set->prompt, "-") == 0 ? "<stdin>" : "--prompt");
    att_text_free(&prompt);
    if (caught) {
        signal(caught, SIG_DFL);
        raise(caught);
    }
    return status;
}
