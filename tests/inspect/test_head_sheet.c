/* Worksheets of attention heads: for every head of every kind of Transformer, the sheet computes in
 * double precision the weights that the model computed. */
#include "attend.h"
#include "model/model_help.h"

#include <unistd.h>

/* A trained model and the file it was saved to. */
typedef struct saved_model {
    scene scene;
    char path[64];
} saved_model;

static void save_model(saved_model *f, const variant *row)
{
    att_error err = { 0 };
    scene_of(&f->scene, row);
    scene_learn(&f->scene, 2, NULL);
    snprintf(f->path, sizeof f->path, "test_head_sheet.%ld.safetensors", (long)getpid());
    if (att_model_save(f->scene.model, f->path, &err) != ATT_OK)
        fail_msg("%s", err.message);
}

static void remove_model(saved_model *f)
{
    unlink(f->path);
    scene_free(&f->scene);
}

/* The sheet of a head has one `expect`, and it holds. */
static void assert_holds(saved_model *f, const att_head_selection *which, const char *name)
{
    att_string text = { 0 };
    att_error err = { 0 };
    att_sheet *sheet;
    if (att_model_head_sheet(&text, f->scene.model, f->path, which, &err) != ATT_OK)
        fail_msg("%s: %s", name, err.message);
    if (att_sheet_read(&sheet, text.data, text.length, "head", ".", &err) != ATT_OK)
        fail_msg("%s: line %d: %s: %s", name, err.line, err.message, err.excerpt);
    assert_int_equal(att_sheet_checks(sheet), 1);
    assert_int_equal(att_sheet_map_count(sheet), 1);
    if (att_sheet_failures(sheet) > 0) {
        att_sheet_failure_get(&err, sheet, 0);
        fail_msg("%s, part %d, layer %d, head %d: %s", name, (int)which->block, (int)which->layer,
                 (int)which->head, err.message);
    }
    att_sheet_free(sheet);
    att_string_free(&text);
}

static void every_head_agrees_with_its_sheet(void **state)
{
    (void)state;
    for (const variant *row = variants; row->name; row++) {
        if (!is_transformer(row))
            continue;
        saved_model f;
        save_model(&f, row);
        const att_settings *settings = f.scene.settings;
        for (int part = ATT_BLOCK_ENCODER; part <= ATT_BLOCK_CROSS; part++) {
            int64_t layers =
                part == ATT_BLOCK_ENCODER ? settings->layers : settings->decoder_layers;
            for (int64_t layer = 1; layer <= layers; layer++)
                for (int64_t head = 1; head <= settings->heads; head++) {
                    att_head_selection which = { (att_attention_block)part, layer, head, "abca",
                                                 NULL };
                    which.target = part == ATT_BLOCK_ENCODER ? NULL : "acba";
                    assert_holds(&f, &which, row->name);
                }
        }
        remove_model(&f);
    }
}

static void without_a_target_the_output_of_the_model_is_used(void **state)
{
    (void)state;
    saved_model f;
    for (const variant *row = variants; row->name; row++)
        if (is_transformer(row)) {
            save_model(&f, row);
            assert_holds(&f, &(att_head_selection){ .block = ATT_BLOCK_CROSS, .input = "dab" },
                         row->name);
            remove_model(&f);
            return;
        }
}

/* A table of one row: a sheet that selects rows by number would take its columns. */
static void a_single_learned_position_is_repeated(void **state)
{
    (void)state;
    static const variant rows[] = {
        { "one position", { TRANSFORMER, { "positions", "learned" }, { "max-length", "1" } } },
        { "one position beside",
          { TRANSFORMER,
            { "positions", "learned" },
            { "positions-join", "concat" },
            { "max-length", "1" } } },
    };
    for (size_t i = 0; i < 2; i++) {
        saved_model f;
        save_model(&f, &rows[i]);
        for (int part = ATT_BLOCK_ENCODER; part <= ATT_BLOCK_CROSS; part++) {
            bool encoder = part == ATT_BLOCK_ENCODER;
            assert_holds(&f,
                         &(att_head_selection){ .block = (att_attention_block)part,
                                                .input = "abca",
                                                .target = encoder ? NULL : "acba" },
                         rows[i].name);
        }
        remove_model(&f);
    }
}

static void assert_refused(att_model *model, att_head_selection which, const char *message)
{
    att_string text = { 0 };
    att_error err = { 0 };
    assert_int_equal(att_model_head_sheet(&text, model, "m", &which, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, message);
    assert_int_equal(text.length, 0);
    att_string_free(&text);
}

static void missing_heads_are_refused(void **state)
{
    (void)state;
    scene s;
    for (const variant *row = variants; row->name; row++) {
        bool last = !row[1].name;
        if (row != variants && !last)
            continue;
        scene_of(&s, row);
        if (!last)
            assert_refused(s.model, (att_head_selection){ .input = "ab" },
                           "expected a Transformer, found architecture rnn");
        else {
            assert_refused(s.model, (att_head_selection){ .input = "ab", .layer = 2 },
                           "there is no layer 2: the model has 1");
            assert_refused(s.model, (att_head_selection){ .input = "ab", .head = 3 },
                           "there is no head 3: the model has 2");
            assert_refused(s.model, (att_head_selection){ .input = "" }, "the input has no tokens");
        }
        scene_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_head_agrees_with_its_sheet),
        cmocka_unit_test(a_single_learned_position_is_repeated),
        cmocka_unit_test(without_a_target_the_output_of_the_model_is_used),
        cmocka_unit_test(missing_heads_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
