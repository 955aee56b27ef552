/* Drawing in a child process: librsvg and what it stands on end the process where memory runs out,
 * and must not end the program. */
#ifndef TOOLS_ATTEND_DRAWING_PROCESS_H
#define TOOLS_ATTEND_DRAWING_PROCESS_H

#include "drawing_files.h"

/* Appends a figure to *out in some file format. */
typedef att_status draw_function(att_string *out, const drawing_source *figure, double scale,
                                 att_error *err);

typedef struct drawing_job {
    size_t file; /* index of the output file that receives the bytes */
    const drawing_source *figure;
    draw_function *draw;
    double scale;
} drawing_job;

/* Calls the function of each job in one child process, in order, and appends what it drew to the
 * job's file. ATT_SYSTEM if the process cannot be started or ends early, by a signal or otherwise;
 * no process is left in either case. The child ends with this process. */
att_status drawing_process_run(output_list *files, const drawing_job *jobs, size_t count,
                               att_error *err);

#endif
