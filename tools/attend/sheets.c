/* Loading worksheets from files, standard input and models, and collecting their results. */
#include "sheets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STDIN_LIMIT = 256 << 20, STDIN_CHUNK = 1 << 16 };
static const char stdin_name[] = "<stdin>";

static bool is_stdin(const char *name)
{
    return strcmp(name, "-") == 0;
}

/* Reads all of standard input, up to a limit: it may never end. */
static att_status read_stdin(att_string *out, att_error *err)
{
    char chunk[STDIN_CHUNK];
    for (;;) {
        ssize_t got = read(STDIN_FILENO, chunk, sizeof chunk);
        if (got == 0)
            return ATT_OK;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set(err, errno == EISDIR || errno == EBADF ? ATT_BAD_INPUT : ATT_SYSTEM,
                             stdin_name, "cannot read: %s", strerror(errno));
        if (out->length + (size_t)got > STDIN_LIMIT)
            return error_set(err, ATT_BAD_INPUT, stdin_name,
                             "is longer than %d MiB, the limit for a sheet", STDIN_LIMIT >> 20);
        if (att_string_append(out, chunk, (size_t)got) != ATT_OK)
            return error_memory(err);
    }
}

static att_status load_stdin(att_sheet **out, att_error *err)
{
    att_string text = { 0 };
    att_status status = read_stdin(&text, err);
    if (status == ATT_OK)
        status = att_sheet_read(out, text.data ? text.data : "", text.length, stdin_name, ".", err);
    att_string_free(&text);
    return status;
}

/* Whether a file that is no sheet is a model. */
static bool is_model(const char *path)
{
    att_model *model;
    bool loaded = att_model_load(&model, path, NULL) == ATT_OK;
    att_model_free(model);
    return loaded;
}

static att_status load_sheet(att_sheet **out, const char *path, att_error *err)
{
    att_status status = att_sheet_load(out, path, err);
    if (status != ATT_BAD_INPUT || !is_model(path))
        return status;
    *err = (att_error){ 0 };
    return error_set(err, ATT_BAD_INPUT, path,
                     "is a model, not a worksheet; --input explains it on a line, or a caption "
                     "model on an image");
}

exit_code sheets_load(sheet_list *out, char *const *names, int count)
{
    att_error err = { 0 };
    exit_code worst = EXIT_DONE;
    *out = (sheet_list){ .names = names, .sheets = calloc((size_t)count, sizeof *out->sheets) };
    if (!out->sheets)
        return report(error_memory(&err), &err);
    for (int i = 0; i < count && worst < EXIT_SYSTEM; i++) {
        att_sheet **sheet = &out->sheets[out->count++];
        att_status status =
            is_stdin(names[i]) ? load_stdin(sheet, &err) : load_sheet(sheet, names[i], &err);
        if (status != ATT_OK)
            worst = worse(worst, report(status, &err));
    }
    return worst;
}

/* The sheet loads the model by its name, from the folder of the model. */
static att_status read_model_sheet(att_sheet **out, const char *path, const char *text,
                                   size_t length, att_error *err)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    if (!folder)
        return error_memory(err);
    att_status status = att_sheet_read(out, text, length, path, folder, err);
    free(folder);
    return status;
}

/* A file of features ends in .npy; any other is an image for the image encoder. */
static bool has_features(const char *path)
{
    size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".npy") == 0;
}

/* The worksheet of a caption model, whose input is an image. */
static att_status write_caption_sheet(att_string *out, sheet_list *list, const att_model *model,
                                      const char *name, const model_sheet *asked, att_error *err)
{
    att_model_sheet_options options = *asked->whole;
    image_selection which = asked->image;
    att_tensor image;
    const char *file = options.input;
    if (file && has_features(file) == (which.image_encoder != NULL))
        return error_set(err, ATT_BAD_INPUT, file,
                         which.image_encoder
                             ? "expected an image file for --image-encoder, found features (.npy)"
                             : "expected image features (.npy), or --image-encoder FILE for an "
                               "image");
    if (which.image_encoder)
        which.path = file;
    else
        which.features = file;
    att_status status = images_select(&image, model, &which, err);
    if (status != ATT_OK)
        return status;
    list->image = file;
    options.input = NULL;
    options.image = &image;
    status = att_model_sheet(out, model, name, &options, err);
    att_tensor_free(&image);
    return status;
}

/* The worksheet of the whole model, or of the head that was asked for. */
static att_status write_model_sheet(att_string *out, sheet_list *list, const att_model *model,
                                    const char *name, const model_sheet *asked, att_error *err)
{
    bool caption = att_model_type_get(model) == ATT_MODEL_CAPTION;
    if (!caption && asked->any_image_option)
        return error_set(err, ATT_BAD_INPUT, "",
                         "--image-index, --image-encoder and --recorded-data choose the image of a "
                         "caption model; this one reads text: --input TEXT");
    if (caption && asked->head)
        return error_set(err, ATT_BAD_INPUT, "",
                         "--part, --layer and --head choose a head of a model that reads text; a "
                         "caption model is explained whole");
    if (caption)
        return write_caption_sheet(out, list, model, name, asked, err);
    if (!asked->head)
        return att_model_sheet(out, model, name, asked->whole, err);
    att_head_selection head = *asked->head;
    if (asked->any_block && att_model_attention_layers(model, ATT_BLOCK_ENCODER) == 0)
        head.block = ATT_BLOCK_DECODER;
    return att_model_head_sheet(out, model, name, &head, err);
}

static att_status load_model(sheet_list *list, const char *path, const model_sheet *asked,
                             att_error *err)
{
    const char *slash = strrchr(path, '/');
    att_string text = { 0 };
    att_model *model;
    att_status status = att_model_load(&model, path, err);
    if (status != ATT_OK)
        return status;
    status = write_model_sheet(&text, list, model, slash ? slash + 1 : path, asked, err);
    if (status == ATT_OK)
        status = read_model_sheet(&list->sheets[0], path, text.data, text.length, err);
    error_blame_model(err, status, path);
    error_set_place(err, status, path);
    att_string_free(&text);
    att_model_free(model);
    return status;
}

exit_code sheets_load_model(sheet_list *out, char *const *names, const model_sheet *asked)
{
    att_error err = { 0 };
    *out = (sheet_list){ .names = names, .sheets = calloc(1, sizeof *out->sheets) };
    if (!out->sheets)
        return report(error_memory(&err), &err);
    out->count = 1;
    att_status status = load_model(out, names[0], asked, &err);
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}

void sheets_free(sheet_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        att_sheet_free(list->sheets[i]);
    free(list->sheets);
    *list = (sheet_list){ 0 };
}

const char *sheets_name(const sheet_list *list, size_t index)
{
    return is_stdin(list->names[index]) ? stdin_name : list->names[index];
}

exit_code sheets_report_failures(const sheet_list *list)
{
    exit_code code = EXIT_DONE;
    for (size_t i = 0; i < list->count; i++)
        for (size_t j = 0; j < att_sheet_failures(list->sheets[i]); j++) {
            att_error failure;
            att_sheet_failure_get(&failure, list->sheets[i], j);
            report(ATT_BAD_INPUT, &failure);
            code = EXIT_CHECK_FAILED;
        }
    return code;
}

att_status sheets_maps(const att_map ***out, size_t *count, const sheet_list *list, att_error *err)
{
    *count = 0;
    for (size_t i = 0; i < list->count; i++)
        *count += att_sheet_map_count(list->sheets[i]);
    *out = calloc(*count + 1, sizeof **out);
    if (!*out)
        return error_memory(err);
    size_t at = 0;
    for (size_t i = 0; i < list->count; i++)
        for (size_t j = 0; j < att_sheet_map_count(list->sheets[i]); j++)
            (*out)[at++] = att_sheet_map_get(list->sheets[i], j);
    return ATT_OK;
}
