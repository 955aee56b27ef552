/* attend grade: judges the answers of students to an exercise.
 *
 * Answers that cannot be read are reported, and the others are still graded. */
#include "program.h"

#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "students.h"

typedef struct settings {
    int format; /* index of formats; -1: not given */
    const char *output;
    const char *variant;
    const char *variants;
    const char *pages;
    const char *csv;
    const char *json;
    const char *gradescope;
    bool reveal;
    bool check;
    int color; /* color_choice */
    bool ascii;
} settings;

const char grade_details[] =
    "Grades answers to an exercise: a worksheet with 'ask' lines (docs/teaching.md). Each file of "
    "ANSWERS is text, .npz or a notebook of one student, whose name is that of the file without "
    "its "
    "extension; it is also the name of the student's variant. Nothing in the answers is run.\n"
    "\n"
    "An answer is right if it agrees with the truth, or with what follows from the student's own "
    "earlier answers; known slips are named. One file prints the student's page, several print a "
    "table for the teacher.\n"
    "\n"
    "Answers that cannot be read get no points, and the exit code is 2; the others are graded all "
    "the same. With --check the exit code is 1 if an answer is not right.\n";

static const char *const format_choices[] = { "text", "md", "html", "json", NULL };

static const struct {
    const char *extension;
    att_format format;
} formats[] = { { ".txt", ATT_FORMAT_TEXT },
                { ".md", ATT_FORMAT_MARKDOWN },
                { ".html", ATT_FORMAT_HTML },
                { ".json", ATT_FORMAT_JSON } };

#define ROW(NAME, SHORT, TYPE, MEMBER, PLACEHOLDER, HELP, ...)                                     \
    OPTION_ROW(settings, NAME, SHORT, TYPE, MEMBER, PLACEHOLDER, HELP, ##__VA_ARGS__)

const option grade_options[] = {
    ROW("variant", 0, STRING, variant, "ID",
        "variant of all answers (default: the name of each student)"),
    ROW("variants", 0, STRING, variants, "CSV",
        "students: the one whose name occurs in a file's name handed it in"),
    ROW("format", 'f', CHOICE, format, "NAME", "output format: text (default), md, html or json",
        .choices = format_choices),
    ROW("output", 'o', STRING, output, "FILE", "output file"),
    ROW("pages", 0, STRING, pages, "FOLDER", "write a page for each student, in the same format"),
    ROW("csv", 0, STRING, csv, "FILE", "write the points and outcomes as CSV"),
    ROW("json", 0, STRING, json, "FILE", "write everything, with the right numbers, as JSON"),
    ROW("gradescope", 0, STRING, gradescope, "FILE",
        "write the results.json of Gradescope, for one student"),
    ROW("reveal", 0, FLAG, reveal, NULL, "state the right numbers on the students' pages"),
    ROW("check", 0, FLAG, check, NULL, "for students: right or wrong for each step, no numbers"),
    ROW("color", 0, CHOICE, color, "WHEN", "use colors: auto (default), always or never",
        .choices = color_choices),
    ROW("ascii", 0, FLAG, ascii, NULL, "use only ASCII characters"),
    { 0 },
};

static att_grade_detail detail_of(const settings *set)
{
    return set->check ? ATT_GRADE_CHECK : set->reveal ? ATT_GRADE_REVEAL : ATT_GRADE_EXPLAIN;
}

/* How to render to standard output, or to a file. */
static att_render_options render_options(const settings *set, bool file)
{
    att_render_options options = { .size = sizeof(att_render_options),
                                   .format = formats[set->format < 0 ? 0 : set->format].format,
                                   .ascii = set->ascii };
    if (!file) {
        options.color = output_color((color_choice)set->color);
        options.width = output_width();
    }
    return options;
}

/* ---- Grading */

struct class
{
    att_grading **gradings; /* [count] */
    char **students;        /* [count] */
    size_t count;
};

static void class_free(struct class *class)
{
    for (size_t i = 0; i < class->count; i++) {
        att_grading_free(class->gradings[i]);
        free(class->students[i]);
    }
    free(class->gradings);
    free(class->students);
}

static att_status grade_file(struct class *class, const att_exercise *exercise,
                             const student_list *students, const char *path, const settings *set,
                             att_error *err)
{
    att_string id = { 0 };
    att_status status = students_of_file(&id, students, path, err);
    if (status == ATT_OK) {
        const char *variant = set->variant ? set->variant : id.data;
        status = att_exercise_grade_file(&class->gradings[class->count], exercise, id.data, variant,
                                         path, err);
    }
    if (status == ATT_OK) {
        class->students[class->count] = strdup(id.data);
        class->count++;
        if (!class->students[class->count - 1])
            status = error_memory(err);
    }
    att_string_free(&id);
    return status;
}

/* Grades every file. Answers that cannot be read are reported and make *code EXIT_BAD_INPUT. */
static att_status grade_all(struct class *class, const att_exercise *exercise, char *const *paths,
                            int count, const settings *set, exit_code *code, att_error *err)
{
    student_list students = { 0 };
    att_status status = ATT_OK;
    class->gradings = calloc((size_t)count, sizeof *class->gradings);
    class->students = calloc((size_t)count, sizeof *class->students);
    if (!class->gradings || !class->students)
        return error_memory(err);
    if (set->variants)
        status = students_load(&students, set->variants, err);
    for (int i = 0; i < count && status == ATT_OK; i++) {
        status = grade_file(class, exercise, &students, paths[i], set, err);
        const char *problem =
            status == ATT_OK ? att_grading_problem(class->gradings[class->count - 1]) : NULL;
        att_error reason = { 0 };
        if (problem)
            *code = worse(
                *code, report(error_set(&reason, ATT_BAD_INPUT, paths[i], "%s", problem), &reason));
        if (status == ATT_BAD_INPUT) { /* a file without a student */
            *code = worse(*code, report(status, err));
            status = ATT_OK;
        }
    }
    students_free(&students);
    return status;
}

/* ---- Output */

static att_status add_pages(output_list *files, const struct class *class, const settings *set,
                            att_error *err)
{
    att_render_options options = render_options(set, true);
    att_status status = folder_make(set->pages, err);
    for (size_t i = 0; i < class->count && status == ATT_OK; i++) {
        att_string path = { 0 };
        output_file *file = NULL;
        if (folder_path(&path, set->pages, class->students[i],
                        formats[set->format < 0 ? 0 : set->format].extension) == ATT_OK)
            file = output_add(files, path.data, "page");
        att_string_free(&path);
        status = file ? att_grading_render(&file->bytes, class->gradings[i], detail_of(set),
                                           &options, err)
                      : error_memory(err);
    }
    return status;
}

static att_status add_file(output_list *files, const char *path, const char *what, att_string **out,
                           att_error *err)
{
    output_file *file = output_add(files, path, what);
    *out = file ? &file->bytes : NULL;
    return file ? ATT_OK : error_memory(err);
}

/* The files of --pages, --csv, --json and --gradescope. */
static att_status add_files(output_list *files, const struct class *class, const settings *set,
                            att_error *err)
{
    const att_grading *const *gradings = (const att_grading *const *)class->gradings;
    att_string *bytes;
    att_status status = set->pages ? add_pages(files, class, set, err) : ATT_OK;
    if (status == ATT_OK && set->csv)
        status = add_file(files, set->csv, "table", &bytes, err);
    if (status == ATT_OK && set->csv)
        status = att_gradings_csv(bytes, gradings, class->count, err);
    if (status == ATT_OK && set->json)
        status = add_file(files, set->json, "results", &bytes, err);
    if (status == ATT_OK && set->json) {
        att_render_options options = output_format(ATT_FORMAT_JSON);
        status = att_gradings_render(bytes, gradings, class->count, &options, err);
    }
    if (status == ATT_OK && set->gradescope)
        status = add_file(files, set->gradescope, "results", &bytes, err);
    if (status == ATT_OK && set->gradescope)
        status = att_grading_gradescope(bytes, gradings[0], detail_of(set), err);
    return status;
}

/* The page of one student, the table of several; with --check the pages of all. */
static att_status write_document(output_list *files, att_string *document,
                                 const struct class *class, const settings *set, att_error *err)
{
    att_render_options options = render_options(set, set->output != NULL);
    att_string *out = document;
    att_status status = ATT_OK;
    if (set->output)
        status = add_file(files, set->output, "document", &out, err);
    if (status == ATT_OK && class->count > 1 && !set->check)
        return att_gradings_render(out, (const att_grading *const *)class->gradings, class->count,
                                   &options, err);
    for (size_t i = 0; i < class->count && status == ATT_OK; i++) {
        if (i > 0 && options.format == ATT_FORMAT_TEXT)
            status = att_string_append(out, "\n", 1) == ATT_OK ? ATT_OK : error_memory(err);
        if (status == ATT_OK)
            status = att_grading_render(out, class->gradings[i], detail_of(set), &options, err);
    }
    return status;
}

static bool all_right(const struct class *class)
{
    for (size_t i = 0; i < class->count; i++) {
        double max;
        double points = att_grading_points(class->gradings[i], &max);
        if (points < max)
            return false;
    }
    return true;
}

static att_status write_all(const struct class *class, const settings *set, char *const *paths,
                            int count, att_error *err)
{
    output_list files = { 0 };
    att_string document = { 0 };
    att_status status = add_files(&files, class, set, err);
    if (status == ATT_OK)
        status = write_document(&files, &document, class, set, err);
    for (int i = 0; i < count && status == ATT_OK; i++)
        status = output_check_input(&files, paths[i], "is one of the inputs", err);
    if (status == ATT_OK)
        status = output_all(&files, &document, err);
    att_string_free(&document);
    output_free(&files);
    return status;
}

static exit_code run(const settings *set, char *const *args, int count)
{
    att_error err = { 0 };
    att_exercise *exercise;
    struct class class = { 0 };
    exit_code code = EXIT_DONE;
    att_status status = att_exercise_load(&exercise, args[0], &err);
    if (status == ATT_OK)
        status = grade_all(&class, exercise, args + 1, count - 1, set, &code, &err);
    if (status == ATT_OK && class.count > 0)
        status = write_all(&class, set, args, count, &err);
    if (status != ATT_OK)
        code = worse(code, report(status, &err));
    else if (set->check && !all_right(&class))
        code = worse(code, EXIT_CHECK_FAILED);
    class_free(&class);
    att_exercise_free(exercise);
    return code;
}

exit_code grade_run(const struct verb *verb, int count, char **args)
{
    settings set = { .format = -1, .color = COLOR_AUTO };
    int operands = 0;
    exit_code code;
    if (!options_parse(&code, verb, count, args, &set, &operands))
        return code;
    if (set.output && strcmp(set.output, "-") == 0)
        set.output = NULL;
    if (operands < 2)
        return report_usage(verb, "expects a sheet and at least one file of answers");
    if (set.check && set.reveal)
        return report_usage(verb, "--check and --reveal exclude each other");
    if (set.variant && set.variants)
        return report_usage(verb, "--variant and --variants exclude each other");
    if (set.gradescope && operands != 2)
        return report_usage(verb, "--gradescope expects one file of answers");
    if (set.check && operands > 2 && set.format > 0)
        return report_usage(verb, "--check of several files needs the text format");
    if ((set.ascii || set.color == COLOR_ALWAYS) && set.format > 0)
        return report_usage(verb, "--ascii and --color need the text format");
    return run(&set, args, operands);
}
