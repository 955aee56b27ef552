/* Rows that share memories: where they sit, and that they come back. */
#include "nn/shared_source.h"

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

static void rows_in_their_places_need_no_seats(void **state)
{
    (void)state;
    att_tape *tape = new_tape();
    att_node *x = att_tape_input(tape, 2, (int64_t[]){ 3, 2 }, NULL);
    assert_null(att_shared_source_make(tape, 3, 3, (int64_t[]){ 0, 1, 2 }));
    assert_ptr_equal(att_shared_source_group(tape, NULL, x), x);
    assert_ptr_equal(att_shared_source_ungroup(tape, NULL, x), x);
    assert_non_null(att_shared_source_make(tape, 3, 3, (int64_t[]){ 0, 2, 1 }));
    assert_non_null(att_shared_source_make(tape, 3, 2, (int64_t[]){ 0, 1 }));
    att_tape_free(tape);
}

static void rows_of_one_memory_sit_together_in_their_order_and_come_back(void **state)
{
    (void)state;
    att_tape *tape = new_tape();
    static const float rows[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    static const float seated[] = { 3, 4, 7, 8, 0, 0, 0, 0, 1, 2, 5, 6 };
    static const int64_t taken[] = { 2, 0, 2 };
    att_node *x = att_tape_input(tape, 3, (int64_t[]){ 4, 1, 2 }, rows);
    const att_shared_source *seats = att_shared_source_make(tape, 3, 4, (int64_t[]){ 2, 0, 2, 0 });
    assert_non_null(seats);
    assert_memory_equal(seats->row_counts, taken, sizeof taken);
    att_node *sitting = att_shared_source_group(tape, seats, x),
             *back = att_shared_source_ungroup(tape, seats, sitting);
    assert_int_equal(sitting->shape[0], 3);
    assert_int_equal(sitting->shape[1], 2);
    assert_memory_equal(sitting->value, seated, sizeof seated);
    assert_int_equal(back->shape[0], 4);
    assert_int_equal(back->shape[1], 1);
    assert_memory_equal(back->value, rows, sizeof rows);
    att_tape_free(tape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_in_their_places_need_no_seats),
        cmocka_unit_test(rows_of_one_memory_sit_together_in_their_order_and_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
