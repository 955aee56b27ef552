/* Heads of models as sheets: what the sheet works out in double precision is what the model found,
 * for every head of every kind of Transformer. */
#include "attend.h"
#include "model/model_help.h"

#include <unistd.h>

/* A model in a file of its own, in the folder that tests run in. */
typedef struct filed {
    scene scene;
    char path[64];
} filed;

static void file_model(filed *f, const variant *row)
{
    att_error err = { 0 };
    scene_of(&f->scene, row);
    scene_learn(&f->scene, 2, NULL);
    snprintf(f->path, sizeof f->path, "test_of_model.%ld.safetensors", (long)getpid());
    if (att_model_save(f->scene.model, f->path, &err) != ATT_OK)
        fail_msg("%s", err.message);
}

static void unfile(filed *f)
{
    unlink(f->path);
    scene_free(&f->scene);
}

/* The sheet of a head, worked out: all its claims hold, and it has one. */
static void assert_holds(filed *f, const att_head_selection *which, const char *name)
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

static void every_head_is_what_its_sheet_works_out(void **state)
{
    (void)state;
    for (const variant *row = variants; row->name; row++) {
        if (!is_transformer(row))
            continue;
        filed f;
        file_model(&f, row);
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
        unfile(&f);
    }
}

static void without_a_target_the_decoder_says_what_it_would(void **state)
{
    (void)state;
    filed f;
    for (const variant *row = variants; row->name; row++)
        if (is_transformer(row)) {
            file_model(&f, row);
            assert_holds(&f, &(att_head_selection){ .block = ATT_BLOCK_CROSS, .input = "dab" },
                         row->name);
            unfile(&f);
            return;
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

static void heads_that_there_are_not_are_refused(void **state)
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
                           "the model is rnn: heads can be looked at in a transformer that "
                           "answers lines");
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
        cmocka_unit_test(every_head_is_what_its_sheet_works_out),
        cmocka_unit_test(without_a_target_the_decoder_says_what_it_would),
        cmocka_unit_test(heads_that_there_are_not_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
