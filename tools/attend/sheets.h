/* The sheets named on the command line, worked out. */
#ifndef SHEETS_H
#define SHEETS_H

#include "program.h"

typedef struct sheet_list {
    att_sheet **sheets; /* [count] */
    char *const *names; /* [count], as given; "-" is standard input */
    size_t count;
} sheet_list;

/* Works every sheet out. What is wrong with one is told at once and does not keep the others from
 * being looked at; the worst outcome comes back. Release with sheets_free() in any case. */
exit_code sheets_load(sheet_list *out, char *const *names, int count);
void sheets_free(sheet_list *list);

/* The same for one sheet, which works out a head of the model in the file names[0]. */
exit_code sheets_load_model(sheet_list *out, char *const *names, const att_head_selection *head);

/* The name of a sheet as errors show it. */
const char *sheets_name(const sheet_list *list, size_t index);

/* Tells every failed check on standard error. */
exit_code sheets_report_failures(const sheet_list *list);

/* The maps of all sheets in order, lent, in a list to be freed with free(). */
att_status sheets_maps(const att_map ***out, size_t *count, const sheet_list *list, att_error *err);

#endif
