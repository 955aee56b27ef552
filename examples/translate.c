/* translate MODEL: for each line of standard input prints its tokens with their ids and byte
 * offsets, the best output of a beam search, and the alignment by attention. */
#include <attend.h>
#include <stdio.h>
#include <string.h>

static att_status print_tokens(const att_model *model, const char *line, att_error *err)
{
    att_encoded_text *text;
    att_status status = att_model_encode(&text, model, ATT_SIDE_SOURCE, line, strlen(line), err);
    if (status != ATT_OK)
        return status;
    printf("tokens    ");
    for (size_t i = 0; i < att_encoded_text_count(text); i++) {
        size_t length, start, end;
        const char *piece = att_encoded_text_piece(text, i, &length);
        att_encoded_text_range(text, i, &start, &end);
        printf(" %.*s=%d[%zu,%zu)", (int)length, piece, (int)att_encoded_text_ids(text)[i], start,
               end);
    }
    printf("\n");
    att_encoded_text_free(text);
    return ATT_OK;
}

static att_status print_output(const att_model *model, const char *line, att_error *err)
{
    att_decoding_options decoding = ATT_INIT(att_decoding_options);
    att_generate_options options = ATT_INIT(att_generate_options);
    att_outputs *outputs;
    att_string pairs = { NULL, 0, 0 };
    decoding.beam = 4;
    options.decoding = &decoding;
    options.attention = true;
    att_status status = att_model_generate(&outputs, model, &line, 1, &options, err);
    if (status != ATT_OK)
        return status;
    const att_output *output = att_outputs_get(outputs, 0);
    status = att_output_alignment(&pairs, output, err);
    if (status == ATT_OK)
        printf("output     %s\nalignment  %s\n", output->text, pairs.length > 0 ? pairs.data : "");
    att_string_free(&pairs);
    att_outputs_free(outputs);
    return status;
}

int main(int argc, char **argv)
{
    char line[4096];
    att_error err;
    att_model *model = NULL;
    if (argc != 2)
        return fprintf(stderr, "usage: translate MODEL <lines\n"), 2;
    att_status status = att_model_load(&model, argv[1], &err);
    while (status == ATT_OK && fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        status = print_tokens(model, line, &err);
        if (status == ATT_OK)
            status = print_output(model, line, &err);
    }
    att_model_free(model);
    if (status != ATT_OK)
        fprintf(stderr, "%s\n", err.message);
    return status == ATT_OK ? 0 : 1;
}
