/* Reports of gradings: what is said of a mark, shared by the formats. */
#ifndef ATT_GRADE_REPORT_H
#define ATT_GRADE_REPORT_H

#include "base/json.h"
#include "grade/judge.h"
#include "render/writer.h"

enum { ATT_MAX_NOTES = 12, ATT_POINTS_SIZE = 32 };

/* "2.5" */
const char *att_points_text(char out[ATT_POINTS_SIZE], double points);

/* "right, given your step 2", "wrong" */
const char *att_mark_outcome(att_arena *arena, const att_grading *grading, const att_mark *mark,
                             att_grade_detail detail);

/* What the student is told besides: sentences in the arena. Returns their number; none if memory is
 * out, and *failed is set. */
size_t att_mark_notes(att_arena *arena, const att_mark *mark, att_grade_detail detail,
                      const char *out[ATT_MAX_NOTES], bool *failed);

/* "5 of 9 points" */
void att_put_points(att_writer *out, double points, double max);

/* Text in Markdown and in HTML, escaped. */
void att_report_put(att_writer *out, att_format format, const char *text);

/* The grading as a JSON object. */
void att_grading_put_json(att_json_writer *out, const att_grading *grading,
                          att_grade_detail detail);

/* A page of HTML with the style of reports. */
void att_report_begin_html(att_writer *out, const char *title);

#endif
