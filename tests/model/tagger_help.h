/* A small tagger: sentences of the letters a, b and c, in the third column of a CoNLL file the
 * spans that they form. */
#ifndef TESTS_MODEL_TAGGER_HELP_H
#define TESTS_MODEL_TAGGER_HELP_H

#include "model/classifier_help.h"

/* The label of a letter: B-x for the first a of a run, I-x for the others; c after b is Y. */
static inline const char *label_of(const char *letters, uint64_t i)
{
    char before = i > 0 ? letters[i - 1] : ' ';
    if (letters[i] == 'a')
        return before == 'a' ? "I-x" : "B-x";
    return letters[i] == 'c' && before == 'b' ? "B-y" : "O";
}

static inline void write_tagged(FILE *file, uint64_t number)
{
    char letters[8];
    uint64_t length = 1 + att_random_bits(7, number, 0) % 7;
    for (uint64_t i = 0; i < length; i++)
        letters[i] = "abc"[att_random_bits(7, number, i + 1) % 3];
    for (uint64_t i = 0; i < length; i++)
        fprintf(file, "%c\tx\t%s\n", letters[i], label_of(letters, i));
    fprintf(file, "\n");
}

/* `set` has at most as many pairs as a variant, and ends before a NULL key. */
static inline void tag_scene_new(scene *s, const setting_pair *set)
{
    static const setting_pair small[] = {
        { "hidden-size", "12" },     { "embedding-size", "6" }, { "valid-fraction", "0.2" },
        { "learning-rate", "0.02" }, { "dropout", "0" },        { "word-dropout", "0" },
        { "max-length", "10" },      { "batch-tokens", "100" },
    };
    char path[] = "/tmp/attend-tag-XXXXXX";
    att_error err = { 0 };
    int made = mkstemp(path);
    FILE *file = made >= 0 ? fdopen(made, "w") : NULL;
    assert_non_null(file);
    for (uint64_t i = 0; i < 80; i++)
        write_tagged(file, i);
    assert_int_equal(fclose(file), 0);
    *s = (scene){ 0 };
    assert_int_equal(att_settings_new(&s->settings, "tag", NULL), ATT_OK);
    scene_set(s, "train", path);
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        scene_set(s, small[i].key, small[i].value);
    for (size_t i = 0; i < MAX_VARIANT_SETTINGS && set[i].key; i++)
        scene_set(s, set[i].key, set[i].value);
    if (att_data_load(&s->data, s->settings, &err) != ATT_OK)
        fail_msg("%s", err.message);
    unlink(path);
    scene_build(s);
}

#endif
