/* A choice by the data: pairs of sentences are trained as the task translate would. */
#ifndef ATT_DATA_DATA_CHOICES_SENTENCES_H
#define ATT_DATA_DATA_CHOICES_SENTENCES_H

#include "data/data_choices.h"

/* Sets all that is open to the defaults of the task translate. The architecture stays where a given
 * setting belongs to it. */
att_status att_data_choose_translate(att_data *data, att_settings *settings, const char *reason,
                                     att_error *err);

#endif
