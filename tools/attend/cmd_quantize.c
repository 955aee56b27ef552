/* attend quantize: writes a model with int8 weights. */
#include "program.h"

#include <stdio.h>
#include <sys/stat.h>

#include "output.h"
#include "terminal.h"

typedef struct settings {
    const char *output;
    bool quiet;
} settings;

const char quantize_details[] =
    "Writes MODEL with int8 weights: those of linear layers, RNN layers and embeddings become "
    "integers of -127 "
    "to 127 with a scale for each output; biases, norms, convolutions and small matrices stay "
    "float. The file has about a quarter of the size and is used like any model, in a quarter of "
    "the memory and faster where the model is large. It cannot be trained.\n"
    "\n"
    "Results are nearly those of the float model; 'attend eval' says how near. They have the same "
    "bits on every machine, and those of MODEL with --precision int8.\n";

#define ROW(NAME, SHORT, TYPE, MEMBER, PLACEHOLDER, HELP, ...)                                     \
    OPTION_ROW(settings, NAME, SHORT, TYPE, MEMBER, PLACEHOLDER, HELP, ##__VA_ARGS__)

const option quantize_options[] = {
    ROW("output", 'o', STRING, output, "FILE", "output model; required"),
    ROW("quiet", 'q', FLAG, quiet, NULL, "print nothing"),
    { 0 },
};

static double file_bytes(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 ? (double)found.st_size : 0;
}

/* Of a .safetensors file: the length, in 8 bytes, and the header itself. */
static double header_bytes(const char *path)
{
    unsigned char length[8] = { 0 };
    FILE *file = fopen(path, "rb");
    size_t got = file ? fread(length, 1, sizeof length, file) : 0;
    if (file)
        fclose(file);
    double bytes = 0;
    for (size_t i = got; i > 0; i--)
        bytes = 256 * bytes + length[i - 1];
    return (double)got + bytes;
}

static double weight_bytes(const att_model *model)
{
    double bytes = 0;
    for (size_t i = 0; i < att_model_tensor_count(model); i++) {
        att_tensor weights;
        if (att_model_tensor_view(&weights, model, att_model_tensor_name(model, i), NULL) == ATT_OK)
            bytes += (double)att_tensor_count(&weights) * sizeof(float);
    }
    return bytes;
}

/* `before`: the bytes of the float model. */
static att_status print_report(double before, const char *to, att_error *err)
{
    double after = file_bytes(to);
    printf("%-12s%.2f MB, %.2f times that of the model\n", "size", after / 1e6,
           before > 0 ? after / before : 0);
    terminal_printf(stdout, "%-12s%s\n", "written", to);
    return output_flush(err);
}

static att_status quantize(const settings *set, const char *path, att_error *err)
{
    att_model *model = NULL, *small = NULL;
    double before = 0;
    att_status status =
        output_check_paths((output_names){ &set->output, 1 }, (output_names){ &path, 1 }, err);
    if (status == ATT_OK)
        status = att_model_load(&model, path, err);
    if (status == ATT_OK && att_model_precision(model) == ATT_PRECISION_INT8)
        status = error_set(err, ATT_BAD_INPUT, path, "is an int8 model already");
    if (status == ATT_OK)
        status = att_model_quantize(&small, model, err);
    if (status == ATT_OK) /* without what a checkpoint has beside the weights for resuming */
        before = header_bytes(path) + weight_bytes(model);
    att_model_free(model);
    if (status == ATT_OK)
        status = att_model_save(small, set->output, err);
    att_model_free(small);
    return status == ATT_OK && !set->quiet ? print_report(before, set->output, err) : status;
}

exit_code quantize_run(const struct verb *verb, int count, char **args)
{
    settings set = { 0 };
    att_error err = { 0 };
    int operands = 0;
    exit_code code;
    if (!options_parse(&code, verb, count, args, &set, &operands))
        return code;
    if (operands != 1)
        return report_usage(verb, "expects one model");
    if (!set.output)
        return report_usage(verb, "expects --output FILE");
    att_status status = quantize(&set, args[0], &err);
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}
