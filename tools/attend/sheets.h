/* The worksheets of the command line, computed. */
#ifndef SHEETS_H
#define SHEETS_H

#include "images.h"

typedef struct sheet_list {
    att_sheet **sheets; /* [count] */
    char *const *names; /* [count], as given; "-" is standard input */
    size_t count;
    const char *image; /* the file with the image of a caption model; NULL: none was read */
} sheet_list;

/* Loads and computes every sheet. An error in one is reported at once, and the others are still
 * loaded; returns the worst exit code. Release with sheets_free() in any case. */
exit_code sheets_load(sheet_list *out, char *const *names, int count);
void sheets_free(sheet_list *list);

/* The same for one sheet, which explains the model in the file names[0]: a head of it, or with
 * `head` NULL the whole. */
typedef struct model_sheet {
    const att_head_selection *head;
    bool any_block; /* of the head: the encoder, or in a language model the decoder */
    const att_model_sheet_options *whole;
    image_selection image; /* of a caption model; path and features are set from whole->input */
    bool any_image_option;
} model_sheet;
exit_code sheets_load_model(sheet_list *out, char *const *names, const model_sheet *asked);

/* The name of a sheet as errors show it. */
const char *sheets_name(const sheet_list *list, size_t index);

/* Reports every failed check on standard error. */
exit_code sheets_report_failures(const sheet_list *list);

/* The maps of all sheets in order, borrowed; release the list with free(). */
att_status sheets_maps(const att_map ***out, size_t *count, const sheet_list *list, att_error *err);

#endif
