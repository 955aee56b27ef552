/* A slip of the pen cannot make a check vanish: a line that was meant as a claim is checked, or is
 * an error; and what is plainly text stays text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attend.h"
#include "base/minmax.h"

#include <stdio.h>
#include <string.h>

/* Claims about x = 3 and w = [0.2 0.8]. They are wrong, so that one that is checked fails. */
static const char *const slips[] = {
    "expect x = 4",
    "Expect x = 4",
    "EXPECT x = 4",
    "expct x = 4",
    "expcet x = 4",
    "expects x = 4",
    "expected x = 4",
    "exepct x = 4",
    "expext x = 4",
    "ecpect x = 4",
    "xpect x = 4",
    "expect that x = 4",
    "Expect that x = 4",
    "expect: x = 4",
    "Expect: x = 4",
    "expect not x = 3",
    "Expect not x = 3",
    "expect error x",
    "Expect error x",
    "1. expect x = 4",
    "1) expect x = 4",
    "(a) expect x = 4",
    "a) expect x = 4",
    "- expect x = 4",
    "* expect x = 4",
    "• expect x = 4",
    "Q1: expect x = 4",
    "Then expect x = 4",
    "We expect x = 4",
    "so we expect that x = 4",
    "We expct x = 4",
    "1. expct x = 4",
    "1. Expext x = 4",
    "assert x = 4",
    "assert x == 4",
    "Assert x = 4",
    "assert(x == 4)",
    "check x = 4",
    "Check that x = 4",
    "verify x = 4",
    "Verify: x = 4",
    "ensure x = 4",
    "confirm that x = 4",
    "test x = 4",
    "claim x = 4",
    "expect x == 4",
    "expect x=4",
    "expect x = 4%",
    "expect x = 3.9 within 1%",
    "expect x = 3.9 within 1 %",
    "expect x = 3.9 within 1% # a note",
    "expect x = 3.9 within 1 % of it",
    "expect x = 3.9 within 1%of it",
    "expect x = 3.9 within (1%)",
    "expect x = 3.9 within 1 percent",
    "expect x = 3.9 Within 1",
    "expect x = 3.9 within 0,1",
    "expect x ≈ 4",
    "expect x = 4 ± 0.5",
    "expect x ~ 4",
    "expect x = 4 withn 0.5",
    "expect x = 4 within",
    "expect x = 4 to 2",
    "expect x = 4 as print",
    "expect x = 4,",
    "expect x, 4",
    "expect x",
    "expect",
    "expect (x = 4)",
    "expect \"x = 4\"",
    "`expect x = 4`",
    "**expect x = 4**",
    "_expect_ x = 4",
    "**expect** x = 4",
    "*Expect* x = 4",
    "`expect` x = 4",
    "- **Expect:** x = 4",
    "**Check** that x = 4",
    "$expect x = 4$",
    "expect x = 4; y = 3",
    "y = 3; expect x = 4",
    "expect x is 4",
    "expect x to be 4",
    "expect x equals 4",
    "expect w.sum = 2",
    "expect x /= 3",
    "expect x != 3",
    "expect x < 2",
    "\texpect x = 4",
    "compare x = 4",
    "show x = 4",
    "plot x = 4",
    "label x = 4",
    "# expect x = 4",
    "## Expect x = 4",
    "exp ect x = 4",
    "ex pect x = 4",
    "expectx = 4",
    "expect_x = 4",
    "x expect = 4",
    "expect x = 4",
};

static void a_claim_with_a_slip_fails_or_is_an_error(void **state)
{
    (void)state;
    assert_true(ATT_COUNT(slips) > 90);
    for (size_t i = 0; i < ATT_COUNT(slips); i++) {
        char text[256];
        att_sheet *sheet;
        att_error err = { 0 };
        snprintf(text, sizeof text, "x = 3\nw = [0.2 0.8]\n%s\n", slips[i]);
        att_status status = att_sheet_read(&sheet, text, strlen(text), "slip.att", ".", &err);
        if (status == ATT_OK && att_sheet_failures(sheet) == 0)
            fail_msg("not checked: %s", slips[i]);
        if (status != ATT_OK) {
            assert_int_equal(status, ATT_BAD_INPUT);
            assert_int_equal(err.line, 3);
        }
        att_sheet_free(sheet);
    }
}

/* Statements other than claims: a misspelled one is an error, not text. */
static const char *const misspelled[] = {
    "detail",
    "detail some",
    "detail All",
    "Detail all",
    "detial one",
    "detal none",
    "DETAIL ALL",
    "detail oen",
    "detail: all",
    "detail = ",
    "round each step to 2",
    "round every step to 2 decimals",
    "Round each step to 2 decimals",
    "rond each step to 2 decimals",
    "round eahc step to 2 decimals",
    "round each steps to 2 decimals",
    "round all steps to 2 decimals",
    "round each step to two decimals",
    "round each step to 2 decimal places",
    "cut every step to 2 decimals",
    "Cut each step to 2 decimals",
    "round steps to 2 digits",
    "round no steps",
    "round each step",
    "for a in w: y == a",
    "for a in w y = a",
    "For a in w: y = a",
    "fro a in w: y = a",
    "for a of w: a + 1",
    "for a in 1:3:",
    "f(x, 2) = x",
    "f(x) := x",
    "x == 3",
    "w[1] = 2",
    "- x",
    "- 2 * x",
    "* w",
    "*x",
    "[1 2] (3)",
    "- y = 3",
    "x < 3",
    "x >= w",
    "detail all,",
    "detail \"all\"",
    "details all",
    "detail 1",
    "Diagram",
    "DIAGRAM x",
    "diagramm",
    "digram x",
    "diagrm \"a title\"",
    "diagram y",
    "diagram \"a title",
    "diagram x \"a title\" x",
    "diagram x \"a\" \"b\"",
};

static void a_misspelled_statement_is_an_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < ATT_COUNT(misspelled); i++) {
        char text[256];
        att_sheet *sheet;
        att_error err = { 0 };
        snprintf(text, sizeof text, "x = 3\nw = [0.2 0.8]\n%s\n", misspelled[i]);
        if (att_sheet_read(&sheet, text, strlen(text), "slip.att", ".", &err) != ATT_BAD_INPUT)
            fail_msg("taken: %s", misspelled[i]);
        assert_int_equal(err.line, 3);
    }
}

static const char *const prose[] = {
    "Expect the weights to add up to 1",
    "We expect a row for each query",
    "Check that the rows add up to one",
    "Test: which of them is larger?",
    "all rows except the first",
    "Verify the result with a calculator",
    "The test set has 3 lines",
    "An assertion is a claim",
    "Checks are counted at the end",
    "1. The scores",
    "a) the weights",
    "Nobody expects a sum of 2",
    "# What to expect",
    "## Checking the weights",
    "Expected values are printed",
    "Here w = softmax(x) in short",
    "We expect (as in the handout) three weights",
    "for all inputs except one",
    "detail is everything",
    "details all of them",
    "Detail",
    "detail all of the steps",
    "In detail: none",
    "- the first item",
    "* the second item, with x",
    "*Important*: the weights",
    "**Note** that x is 3",
    "[a link](https://example.org) at the start",
    "for each row of w the sum is 1",
    "for a of the rows",
    "for all x in w",
    "For x in w: nothing new",
    "for x in one of them, see below",
    "Given x and w: compute the rest",
    "for example: this",
    "x: the input",
    "x: input",
    "w < 1 holds for all of them",
    "<EOS> ends the sentence",
    "for x",
    "round numbers are easier",
    "Rounding each step to 2 decimals is what people do",
    "rounded to 2 decimals, each step is wrong",
    "cut the cake in 2",
    "The handout rounds each step to one decimal",
    "Round trip: no step is lost",
    "given the scores, compute the weights",
    "Given x and w, what follows?",
    "Given that x = 3, what follows?",
    "given by the handout",
    "gives x = 3 again",
    "ask yourself what x is",
    "Ask your neighbor about w",
    "asks for x",
    "a task such as \"x\"",
    "hint: think of x",
    "hint that x is large",
    "A hint is below",
    "require patience",
    "required are x and w",
    "requires x to be positive",
    "The mask \"causal\" is common",
    "diagram of the model",
    "diagram x shows it",
    "Diagrams",
    "diagrams x and w",
    "The diagram",
    "diagram: see below",
    "diagram x.",
    "Diagram 1",
};

/* Statements of an exercise that are meant, but written with a slip. */
static const char *const exercise_slips[] = {
    "Given y = [1 2]",
    "GIVEN y = [1 2]",
    "gvien y = [1 2]",
    "given y = random 2 by 3",
    "given y = random 2 x 3 from 3 to 1",
    "given y = random 2 x 3 from 0 to 1 stp 0.1",
    "given y = random 2 x 3 to 5",
    "given y = random 0 x 3",
    "given y = ",
    "given y == 3",
    "given = 3",
    "given y = 3, compute",
    "Ask x \"the number\"",
    "aks x \"the number\"",
    "askx \"the number\" = 3",
    "ask x the number points 3",
    "ask x",
    "ask x points 3",
    "ask x \"the number\" point",
    "ask x \"the number\" points",
    "ask x \"the number\" points three",
    "ask x \"the number\" pionts 3",
    "ask x \"the number\" with 0.1",
    "ask x \"the number\" within",
    "ask x \"the number\" as printed",
    "ask x \"the number\" to 2",
    "ask x \"the number\" within 0.1 to 2 digits",
    "ask unknown \"the number\"",
    "ask x \"the number",
    "ask = 3",
    "Hint \"think\"",
    "hnt \"think\"",
    "hint \"no ask before it\"",
    "hint = 3",
    "Require x nonzero",
    "requre x nonzero",
    "require x nonzro",
    "require x non zero",
    "require x above",
    "require x above w",
    "require x below 0",
    "require x = 3",
    "require w distinct w",
    "require = 3",
    "require (x > 100)",
    "require [x, w] distinct distinct",
    "require -x above",
    "require 2 * x blow 3",
    "require unknown > 0",
    "require unknown nonzero",
    "require .5 * x below 0 0",
};

static void a_statement_of_an_exercise_with_a_slip_is_an_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < ATT_COUNT(exercise_slips); i++) {
        char text[256];
        att_sheet *sheet;
        att_error err = { 0 };
        snprintf(text, sizeof text, "x = 3\nw = [0.2 0.8]\n%s\n", exercise_slips[i]);
        if (att_sheet_read(&sheet, text, strlen(text), "slip.att", ".", &err) == ATT_OK)
            fail_msg("taken as text or as a statement: %s", exercise_slips[i]);
        assert_int_equal(err.line, 3);
        assert_true(err.column > 0);
    }
}

static void text_about_claims_is_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < ATT_COUNT(prose); i++) {
        char text[256];
        att_sheet *sheet;
        att_error err = { 0 };
        snprintf(text, sizeof text, "x = 3\nw = [0.2 0.8]\n%s\n", prose[i]);
        if (att_sheet_read(&sheet, text, strlen(text), "text.att", ".", &err) != ATT_OK)
            fail_msg("%s: %s", prose[i], err.message);
        assert_int_equal(att_sheet_checks(sheet), 0);
        att_sheet_free(sheet);
    }
}

/* Statements that were meant to differentiate x: they are run, or they are an error. */
static const char *const gradient_slips[] = {
    "gradient x",        "gradient x check",
    "gradient x # note", "gradient  x",
    "gradent x",         "gradiant x",
    "gradients x",       "grdient x check",
    "Gradient x = 3",    "gradient of x",
    "gradient x chek",   "gradient x Check",
    "gradient x with",   "gradient x wtih w",
    "gradient x for",    "gradient x for w,",
    "gradient x, w",     "gradient x w",
    "gradient y",        "gradient",
    "gradient(x)",       "gradient: x",
    "gradient = x",      "gradientx = 3",
    "gradient_x = 3",    "gradient x = 3",
    "grad ient x",       "gradient descent is a method",
    "gradient descent",  "gradient x is the slope",
};

static void a_gradient_with_a_slip_is_run_or_is_an_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < ATT_COUNT(gradient_slips); i++) {
        char text[256];
        att_sheet *sheet;
        att_error err = { 0 };
        snprintf(text, sizeof text, "x = 3\nw = [0.2 0.8]\n%s\nshow x.grad\n", gradient_slips[i]);
        att_status status = att_sheet_read(&sheet, text, strlen(text), "slip.att", ".", &err);
        if (status != ATT_OK && err.line != 3)
            fail_msg("neither run nor refused: %s (%s)", gradient_slips[i], err.message);
        att_sheet_free(sheet);
    }
}

static const char *const gradient_prose[] = {
    "Gradient descent is a method",   "Gradients flow from the loss to the inputs",
    "The gradient of x is 1",         "a gradient descent step",
    "> gradient descent is a method", "# gradient descent",
    "gradually, the loss shrinks",    "gradients vanish over many steps",
};

static void text_about_gradients_is_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < ATT_COUNT(gradient_prose); i++) {
        char text[256];
        att_sheet *sheet;
        att_error err = { 0 };
        snprintf(text, sizeof text, "x = 3\n%s\n", gradient_prose[i]);
        if (att_sheet_read(&sheet, text, strlen(text), "text.att", ".", &err) != ATT_OK)
            fail_msg("%s: %s", gradient_prose[i], err.message);
        att_sheet_free(sheet);
    }
}

static void a_percentage_is_a_tolerance_relative_to_the_expected_number(void **state)
{
    (void)state;
    static const struct {
        const char *claim;
        size_t failures;
    } cases[] = {
        { "expect 101 = 100 within 1%", 0 },
        { "expect 101.1 = 100 within 1%", 1 },
        { "expect 101 = 100 within 1 %  # a note", 0 },
        { "expect 99 = 100 within .5 * 2 %", 0 },
        { "expect [-99 0] = [-100 0] within 1 %", 0 },
        { "expect 0.001 = 0 within 1 %", 1 },
        { "expect inf = inf within 1 %", 0 },
        { "expect not 102 = 100 within 1 %", 0 },
        { "expect 3 = 3 % a hidden comment", 0 },
    };
    for (size_t i = 0; i < ATT_COUNT(cases); i++) {
        att_sheet *sheet;
        att_error err = { 0 };
        if (att_sheet_read(&sheet, cases[i].claim, strlen(cases[i].claim), "a.att", ".", &err) !=
            ATT_OK)
            fail_msg("%s: %s", cases[i].claim, err.message);
        assert_int_equal(att_sheet_checks(sheet), 1);
        if (att_sheet_failures(sheet) != cases[i].failures)
            fail_msg("%s", cases[i].claim);
        att_sheet_free(sheet);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_claim_with_a_slip_fails_or_is_an_error),
        cmocka_unit_test(a_misspelled_statement_is_an_error),
        cmocka_unit_test(text_about_claims_is_text),
        cmocka_unit_test(a_statement_of_an_exercise_with_a_slip_is_an_error),
        cmocka_unit_test(a_gradient_with_a_slip_is_run_or_is_an_error),
        cmocka_unit_test(text_about_gradients_is_text),
        cmocka_unit_test(a_percentage_is_a_tolerance_relative_to_the_expected_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
