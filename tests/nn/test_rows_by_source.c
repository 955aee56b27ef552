/* Rows grouped by their source: the packed order, the padded layout and the way back. */
#include "nn/rows_by_source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static att_tape *new_tape(void)
{
    att_tape *tape;
    assert_int_equal(att_tape_new(&tape, NULL, NULL), ATT_OK);
    return tape;
}

static void one_row_per_source_in_order_is_the_identity(void **state)
{
    (void)state;
    static const struct {
        int64_t sources, rows, source_of[3];
        bool identity, in_order;
    } cases[] = {
        { 3, 3, { 0, 1, 2 }, true, true },  { 3, 3, { 0, 2, 1 }, false, false },
        { 3, 2, { 0, 1 }, false, true },    { 2, 3, { 0, 0, 1 }, false, true },
        { 3, 3, { 0, 0, 2 }, false, true }, { 0, 0, { 0 }, true, true },
    };
    att_tape *tape = new_tape();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const att_rows_by_source *grouped =
            att_rows_by_source_make(tape, cases[i].sources, cases[i].rows, cases[i].source_of);
        assert_non_null(grouped);
        assert_int_equal(att_rows_by_source_is_identity(grouped), cases[i].identity);
        assert_int_equal(grouped->in_order, cases[i].in_order);
    }
    att_tape_free(tape);
}

static void without_groups_nothing_is_moved(void **state)
{
    (void)state;
    att_tape *tape = new_tape();
    att_node *x = att_tape_input(tape, 2, (int64_t[]){ 3, 2 }, NULL);
    assert_ptr_equal(att_rows_by_source_pad(tape, NULL, x), x);
    assert_ptr_equal(att_rows_by_source_unpad(tape, NULL, x), x);
    att_tape_free(tape);
}

static void the_packed_order_keeps_the_order_of_rows_within_a_source(void **state)
{
    (void)state;
    att_tape *tape = new_tape();
    static const int64_t source_of[] = { 2, 0, 2, 0 }, counts[] = { 2, 0, 2 },
                         offsets[] = { 0, 2, 2, 4 };
    static const int32_t order[] = { 1, 3, 0, 2 }, place[] = { 2, 0, 3, 1 };
    const att_rows_by_source *grouped = att_rows_by_source_make(tape, 3, 4, source_of);
    assert_non_null(grouped);
    assert_int_equal(grouped->max_rows, 2);
    assert_memory_equal(grouped->counts, counts, sizeof counts);
    assert_memory_equal(grouped->offsets, offsets, sizeof offsets);
    assert_memory_equal(grouped->order, order, sizeof order);
    assert_memory_equal(grouped->place, place, sizeof place);
    att_tape_free(tape);
}

static void rows_of_one_source_are_padded_together_and_come_back(void **state)
{
    (void)state;
    att_tape *tape = new_tape();
    static const float rows[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    static const float padded[] = { 3, 4, 7, 8, 0, 0, 0, 0, 1, 2, 5, 6 };
    static const int64_t source_of[] = { 2, 0, 2, 0 };
    att_node *x = att_tape_input(tape, 3, (int64_t[]){ 4, 1, 2 }, rows);
    const att_rows_by_source *grouped = att_rows_by_source_make(tape, 3, 4, source_of);
    att_node *there = att_rows_by_source_pad(tape, grouped, x),
             *back = att_rows_by_source_unpad(tape, grouped, there);
    assert_non_null(back);
    assert_int_equal(there->shape[0], 3);
    assert_int_equal(there->shape[1], 2);
    assert_memory_equal(there->value, padded, sizeof padded);
    assert_int_equal(back->shape[0], 4);
    assert_int_equal(back->shape[1], 1);
    assert_memory_equal(back->value, rows, sizeof rows);
    att_tape_free(tape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_row_per_source_in_order_is_the_identity),
        cmocka_unit_test(without_groups_nothing_is_moved),
        cmocka_unit_test(the_packed_order_keeps_the_order_of_rows_within_a_source),
        cmocka_unit_test(rows_of_one_source_are_padded_together_and_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
