/* Any bytes as a file of pairs, sentences or tagged sentences in any format: SIGMORPHON, IN: OUT:,
 * CSV, JSON lines, or guessed. The first byte chooses the kind of examples, the format and the
 * columns; from 168 on, those of inputs alone. Lines of examples rise, their sides are UTF-8
 * without line ends, and a corpus with tags has only tokens of its vocabulary. */
#include "fuzz/fuzz.h"

#include "data/example_reader.h"
#include "text/pretokenizer.h"

static const char *const column_settings[] = { NULL, "1,2", "2,last", "source,target,tags" };

static void check_example(const att_example_reader *in, int64_t *before)
{
    for (int i = 0; i < ATT_COLUMN_TAGS + in->has_tags; i++) {
        const att_line_view *side = &in->sides[i];
        PROMISE(side->number == in->sides[0].number && side->number > *before);
        PROMISE(att_line_valid_prefix(side->text, side->length) == side->length);
        PROMISE(side->length == 0 || !memchr(side->text, '\n', side->length));
    }
    *before = in->sides[0].number;
}

static void read_examples(const struct att_text_file *file, const att_example_format *format,
                          bool *has_tags)
{
    att_example_reader in;
    att_error err = { 0 };
    bool found = true;
    int64_t before = 0;
    att_status status = att_example_reader_start(&in, file, format, &err);
    *has_tags = status == ATT_OK && in.has_tags;
    while (status == ATT_OK && found) {
        status = att_example_reader_next(&in, &found, &err);
        if (status == ATT_OK && found)
            check_example(&in, &before);
    }
    if (status != ATT_OK)
        check_refusal(status, &err);
    att_example_reader_free(&in);
}

static void read_corpus(const att_pair_text *text, const att_example_format *format, bool has_tags)
{
    att_vocab *source, *target;
    att_corpus corpus;
    att_error err = { 0 };
    att_tokenizer_kind kind =
        format->kind == ATT_EXAMPLES_TAGGED ? ATT_TOKENIZER_SPACE : ATT_TOKENIZER_CHAR;
    PROMISE(att_vocab_new(&source, kind, false, &err) == ATT_OK);
    PROMISE(att_vocab_new(&target, kind, false, &err) == ATT_OK);
    if (has_tags)
        att_vocab_set_tags(source);
    const att_pair_read_options how = { .source_vocab = source,
                                        .target_vocab = target,
                                        .counted_source = source,
                                        .counted_target = target,
                                        .format = *format,
                                        .keep_target_text = true,
                                        .max_length = 50 };
    att_status status = att_corpus_read(&corpus, text, &how, &err);
    int32_t *final = NULL;
    if (status == ATT_OK) {
        PROMISE(att_vocab_finalize(source, 1, &final, &err) == ATT_OK);
        for (int64_t i = 0; i < corpus.source.offsets[corpus.pairs]; i++)
            PROMISE(final[corpus.source.ids[i]] >= ATT_ID_FIRST);
        att_free(final);
    } else {
        check_refusal(status, &err);
    }
    att_corpus_free(&corpus);
    att_vocab_free(source);
    att_vocab_free(target);
}

/* Inputs alone, from a column of a table. */
static void read_inputs(const struct att_text_file *file, int choice)
{
    static const att_data_format formats[] = { ATT_DATA_CSV, ATT_DATA_JSONL, ATT_DATA_TSV };
    static const char *const columns[] = { NULL, "1", "last", "text,tags", "2,3" };
    const char *chosen = columns[choice / 3 % 5];
    att_example_format format = { .kind = choice % 2 ? ATT_EXAMPLES_PAIRS : ATT_EXAMPLES_TAGGED,
                                  .format = formats[choice % 3],
                                  .sources_only = true,
                                  .no_tags = choice > 200 };
    if (!chosen && format.format == ATT_DATA_TSV)
        chosen = "1";
    if (chosen)
        PROMISE(att_settings_input_columns(&format.columns, chosen, NULL) == ATT_OK);
    bool has_tags;
    read_examples(file, &format, &has_tags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    size_t live = att_alloc_live();
    int choice = *data++;
    att_settings *settings;
    att_pair_text text = { .tsv = { .name = "examples" } };
    att_example_format format = { .kind = (att_example_kind)(choice % 3),
                                  .format = (att_data_format)(choice / 3 % 7) };
    const char *columns = column_settings[choice / 21 % 4];
    PROMISE(att_settings_new(&settings, "pairs", NULL) == ATT_OK);
    PROMISE(!columns || att_settings_set(settings, "columns", columns, NULL) == ATT_OK);
    PROMISE(att_settings_columns(&format.columns, settings, NULL) == ATT_OK);
    PROMISE(att_string_append(&text.tsv.text, (const char *)data, size - 1) == ATT_OK);
    bool has_tags;
    if (choice < 168) {
        read_examples(&text.tsv, &format, &has_tags);
        read_corpus(&text, &format, has_tags);
    } else {
        read_inputs(&text.tsv, choice);
    }
    att_pair_text_free(&text);
    att_settings_free(settings);
    PROMISE(att_alloc_live() == live);
    return 0;
}
