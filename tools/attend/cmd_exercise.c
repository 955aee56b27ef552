/* attend exercise: question papers and solutions of the variants of an exercise. */
#include "program.h"

#include <string.h>

#include "output.h"
#include "students.h"

typedef struct settings {
    int format; /* index of formats; -1: not given */
    const char *output;
    const char *variant;
    const char *variants;
    bool solution;
    long digits;
    int color; /* color_choice */
    bool ascii;
} settings;

const char exercise_details[] =
    "Prints the question paper of an exercise: a worksheet with 'ask' lines (docs/teaching.md). "
    "With "
    "--solution it prints the solution instead: the same numbers with every step worked out.\n"
    "\n"
    "The random numbers of a variant depend on the sheet and the variant's name alone. --variants "
    "makes a paper for each student of a CSV file, in the folder of --output.\n";

static const char *const format_choices[] = { "text", "md", "latex", "html", "json", NULL };

static const struct {
    const char *extension;
    att_format format;
} formats[] = { { ".txt", ATT_FORMAT_TEXT },
                { ".md", ATT_FORMAT_MARKDOWN },
                { ".tex", ATT_FORMAT_LATEX },
                { ".html", ATT_FORMAT_HTML },
                { ".json", ATT_FORMAT_JSON } };

#define ROW(NAME, SHORT, TYPE, MEMBER, PLACEHOLDER, HELP, ...)                                     \
    OPTION_ROW(settings, NAME, SHORT, TYPE, MEMBER, PLACEHOLDER, HELP, ##__VA_ARGS__)

const option exercise_options[] = {
    ROW("variant", 0, STRING, variant, "ID", "variant of the exercise (default: that of explain)"),
    ROW("variants", 0, STRING, variants, "CSV", "one paper for each student of this file"),
    ROW("solution", 0, FLAG, solution, NULL, "print the solution"),
    ROW("format", 'f', CHOICE, format, "NAME",
        "output format: text (default), md, latex, html or json", .choices = format_choices),
    ROW("output", 'o', STRING, output, "FILE",
        "output file; with --variants the folder of the papers"),
    ROW("digits", 'd', INTEGER, digits, "N", "digits after the decimal point (default 4)", .min = 0,
        .max = 17),
    ROW("color", 0, CHOICE, color, "WHEN", "use colors: auto (default), always or never",
        .choices = color_choices),
    ROW("ascii", 0, FLAG, ascii, NULL, "use only ASCII characters"),
    { 0 },
};

static att_render_options render_options(const settings *set)
{
    att_render_options options = { .size = sizeof(att_render_options),
                                   .format = formats[set->format < 0 ? 0 : set->format].format,
                                   .digits = output_digits(set->digits),
                                   .ascii = set->ascii };
    if (!set->output) {
        options.color = output_color((color_choice)set->color);
        options.width = output_width();
    }
    return options;
}

/* One paper: to standard output or a file. */
static att_status make_paper(output_list *files, att_string *document, const att_exercise *exercise,
                             const settings *set, att_error *err)
{
    att_render_options options = render_options(set);
    att_string *bytes = document;
    if (set->output) {
        output_file *file = output_add(files, set->output, "document");
        if (!file)
            return error_memory(err);
        bytes = &file->bytes;
    }
    return att_exercise_render(bytes, exercise, set->variant ? set->variant : "explain",
                               set->solution, &options, err);
}

/* A paper for each student, in the folder of --output. */
static att_status make_papers(output_list *files, const att_exercise *exercise, const settings *set,
                              att_error *err)
{
    student_list students;
    att_render_options options = render_options(set);
    att_status status = students_load(&students, set->variants, err);
    if (status == ATT_OK)
        status = folder_make(set->output, err);
    for (size_t i = 0; i < students.count && status == ATT_OK; i++) {
        att_string path = { 0 };
        output_file *file = NULL;
        if (folder_path(&path, set->output, students.ids[i],
                        formats[set->format < 0 ? 0 : set->format].extension) == ATT_OK)
            file = output_add(files, path.data, "document");
        att_string_free(&path);
        status = file ? att_exercise_render(&file->bytes, exercise, students.ids[i], set->solution,
                                            &options, err)
                      : error_memory(err);
    }
    students_free(&students);
    return status;
}

static exit_code run(const settings *set, const char *sheet)
{
    att_error err = { 0 };
    att_exercise *exercise;
    att_string document = { 0 };
    output_list files = { 0 };
    att_status status = att_exercise_load(&exercise, sheet, &err);
    if (status == ATT_OK)
        status = set->variants ? make_papers(&files, exercise, set, &err)
                               : make_paper(&files, &document, exercise, set, &err);
    if (status == ATT_OK)
        status = output_check_input(&files, sheet, "is the exercise", &err);
    if (status == ATT_OK && set->variants)
        status = output_check_input(&files, set->variants, "is the list of students", &err);
    if (status == ATT_OK)
        status = output_all(&files, &document, &err);
    att_string_free(&document);
    output_free(&files);
    att_exercise_free(exercise);
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}

exit_code exercise_run(const struct verb *verb, int count, char **args)
{
    settings set = { .format = -1, .digits = -1, .color = COLOR_AUTO };
    int operands = 0;
    exit_code code;
    if (!options_parse(&code, verb, count, args, &set, &operands))
        return code;
    if (set.output && strcmp(set.output, "-") == 0)
        set.output = NULL;
    if (operands != 1)
        return report_usage(verb, "expects one sheet");
    if (set.variant && set.variants)
        return report_usage(verb, "--variant and --variants exclude each other");
    if (set.variants && !set.output)
        return report_usage(verb, "--variants needs --output FOLDER");
    if ((set.ascii || set.color == COLOR_ALWAYS) && set.format > 0)
        return report_usage(verb, "--ascii and --color need the text format");
    return run(&set, args[0]);
}
