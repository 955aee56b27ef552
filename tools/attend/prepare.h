/* The command line of attend prepare. */
#ifndef PREPARE_H
#define PREPARE_H

#include "program.h"

typedef struct prepare_request {
    att_settings *settings;
    const char *output;
    long count_limit;
    bool quiet;
} prepare_request;

#endif
