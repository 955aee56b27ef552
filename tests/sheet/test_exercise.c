/* The statements of exercises: given, ask, hint, require. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/minmax.h"
#include "sheet/interpreter.h"
#include "sheet/scenario.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static att_sheet *variant_of(const char *text, const char *variant)
{
    att_sheet *sheet;
    att_error err = { 0 };
    if (att_sheet_run_variant(&sheet, text, strlen(text), "a.att", NULL, variant, &err) != ATT_OK)
        fail_msg("%s", err.message);
    return sheet;
}

static void refuse(const char *text, const char *message)
{
    att_sheet *sheet;
    att_error err = { 0 };
    assert_int_equal(att_sheet_read(&sheet, text, strlen(text), "a.att", NULL, &err),
                     ATT_BAD_INPUT);
    if (!strstr(err.message, message))
        fail_msg("%s: %s", text, err.message);
}

static void an_ask_states_its_terms(void **state)
{
    (void)state;
    att_sheet *sheet = variant_of("x = [1 2]\n"
                                  "ask x \"a row\"\n"
                                  "ask x[2] \"an element\" points 2.5 within 0.1 partial\n"
                                  "hint \"one\"\nhint \"two\"\n"
                                  "ask sum(x) \"a sum\" to 3 digits points 4 # a note\n",
                                  "v");
    assert_int_equal(sheet->ask_count, 3);
    const att_ask *row = sheet->asks[0], *element = sheet->asks[1], *sum = sheet->asks[2];
    assert_true(row->rounded && row->points == 1 && !row->partial && !row->hints[0]);
    assert_string_equal(row->name, "x");
    assert_string_equal(row->target, "x");
    assert_string_equal(element->name, "x[2]");
    assert_true(!element->rounded && element->rule == ATT_RULE_WITHIN);
    assert_true(element->points == 2.5 && element->partial && element->tolerance == 0.1);
    assert_int_equal(element->places[0], 1);
    assert_string_equal(element->hints[1], "two");
    assert_null(sum->target);
    assert_true(sum->rule == ATT_RULE_DIGITS && sum->digits == 3 && sum->points == 4);
    att_sheet_free(sheet);
}

static void random_values_are_in_their_range(void **state)
{
    (void)state;
    static const char text[] = "given a = random 9 x 9 from -2 to 2\n"
                               "given b = random 9 x 9 from 0.1 to 0.5 step 0.1\n"
                               "given c = random from 5 to 6\nask a \"a\"\n";
    for (int i = 0; i < 20; i++) {
        const char name[] = { (char)('a' + i), '\0' };
        att_sheet *sheet = variant_of(text, name);
        const att_matrix *a = sheet->steps[0].value, *b = sheet->steps[1].value;
        for (int64_t j = 0; j < 81; j++) {
            assert_true(a->data[j] == floor(a->data[j]) && fabs(a->data[j]) <= 2);
            double tenths = floor(b->data[j] * 10 + 0.5);
            assert_true(b->data[j] == tenths / 10 && tenths >= 1 && tenths <= 5);
        }
        double c = sheet->steps[2].value->data[0];
        assert_true(c == 5 || c == 6);
        att_sheet_free(sheet);
    }
}

static bool above(double x, double y)
{
    return x > y;
}

static bool at_least(double x, double y)
{
    return x >= y;
}

static bool other(double x, double y)
{
    return x != y;
}

static bool same(double x, double y)
{
    return x == y;
}

static bool both(double x, double y)
{
    return x > y && y > 1;
}

/* Only the first elements are compared. */
static bool any(double x, double y)
{
    return x > y;
}

static void random_values_are_drawn_until_all_requirements_hold(void **state)
{
    (void)state;
    static const char text[] = "given x = random 2 x 2 from -1 to 1\n"
                               "require x nonzero\nrequire sum(x) above 1\nask x \"x\"\n";
    for (int i = 0; i < 20; i++) {
        const char name[] = { (char)('a' + i), '\0' };
        att_sheet *sheet = variant_of(text, name);
        double sum = 0;
        for (int j = 0; j < 4; j++) {
            assert_true(sheet->steps[0].value->data[j] != 0);
            sum += sheet->steps[0].value->data[j];
        }
        assert_true(sum > 1);
        att_sheet_free(sheet);
    }
}

/* A comparison holds if each of its elements does. */
static void requirements_may_be_comparisons_of_any_kind(void **state)
{
    (void)state;
    static const struct {
        const char *require;
        bool (*holds)(double x, double y);
    } cases[] = {
        { "x > y", above },
        { "x >= y + 0", at_least },
        { "y < x", above },
        { "y <= x", at_least },
        { "x != y", other },
        { "x == y", same },
        { "(x > y) .* (y > 1)", both },
        { "x - y > 0", above },
        { "x[1] > y[1]", any },
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char text[256];
        snprintf(text, sizeof text,
                 "given x = random 1 x 2 from 1 to 4\ngiven y = random 1 x 2 from 1 to 4\n"
                 "require %s\nask x \"x\"\n",
                 cases[c].require);
        for (int i = 0; i < 10; i++) {
            const char name[] = { (char)('a' + i), '\0' };
            att_sheet *sheet = variant_of(text, name);
            const double *x = sheet->steps[0].value->data, *y = sheet->steps[1].value->data;
            for (int j = 0; j < (cases[c].holds == any ? 1 : 2); j++)
                if (!cases[c].holds(x[j], y[j]))
                    fail_msg("require %s: x = %g, y = %g", cases[c].require, x[j], y[j]);
            att_sheet_free(sheet);
        }
    }
    refuse("given x = random 1 x 2 from 1 to 4\nrequire x > 4\n", "1000 draws");
    refuse("given x = random 1 x 2 from 1 to 4\nrequire x > 0 nonzero distinct\n",
           "expected 'nonzero', 'distinct', 'above', 'below' or the end of the line");
    refuse("given x = random 1 x 2 from 1 to 4\nrequire x =\n", "expected");
    refuse("given x = random 1 x 2 from 1 to 4\nrequire x > [1 2 3]\n", "1 × 3");
}

static void a_requirement_that_cannot_hold_is_an_error(void **state)
{
    (void)state;
    refuse("given x = random 2 x 2 from 0 to 1\nrequire x above 3\n",
           "does not hold for any of 1000 draws");
    refuse("given x = 3\nrequire x below 3\n", "no random values to draw again");
    refuse("given x = random 1 x 3 from 1 to 2\nrequire x distinct\n", "1000 draws");
}

static void numbers_in_place_of_computed_ones_are_used_further(void **state)
{
    (void)state;
    static const char text[] = "q = [1 0]\nk = [1 0; 0 1; 1 1]\na = attention(q, k, k)\n"
                               "y = a.weights * [1; 10; 100]\nask y \"y\"\nask a.scores \"s\"\n"
                               "ask a.weights \"w\"\n";
    const int64_t places[] = { 0, 1, 2 };
    const double scores[] = { 0, 0, 0 };
    const att_substitute row = { 3, "a", "scores", 0, places, scores, 3 };
    att_scenario scenario = { .substitutes = &row, .substitute_count = 1 };
    att_sheet *sheet;
    bool complete;
    assert_int_equal(att_sheet_run_scenario(&sheet, text, strlen(text), "a", NULL, "v", &scenario,
                                            &complete, NULL),
                     ATT_OK);
    assert_true(complete);
    assert_true(fabs(sheet->asks[0]->value->data[0] - 37) < 1e-12);
    assert_true(fabs(sheet->asks[2]->value->data[1] - 1.0 / 3) < 1e-15);
    att_sheet_free(sheet);
}

/* Every place of a slip changes a number when the slip is made, for numbers without symmetry. */
static void every_possible_slip_changes_something(void **state)
{
    (void)state;
    static const char text[] =
        "Q = [1 0.5; -1 2]\nK = [0.3 1; 2 -0.4]\nV = [1 2; 5 -1]\nb = [0.1 0.2]\n"
        "a = attention(Q, K, V, causal)\ns = softmax(Q * K' / sqrt(2))\n"
        "r = rnn(Q, b, K, V, b)\nl = tanh(linear(Q, K, b) + b)\n"
        "m = multihead(Q, {K, V}, {V, K}, {Q, V}, score = dot)\n"
        "n = layernorm([Q, V], [1 2 0.5 1], [0.1 0.2 0.3 0.4])\no = rmsnorm([Q, K])\n"
        "t = lstm(Q, [0.3], [0.5], [1 2 3 4; 4 3 2 1], [1 -1 2 0.5], [0.1 0.2 0.3 0.4])\n"
        "g = gru(Q, [0.3], [1 2 3; 4 3 -2], [1 -1 2], [0.1 0.2 0.3])\n"
        "h = gru(Q, [0.3], [1 2 3; 4 3 -2], [1 -1 2], reset = before)\n"
        "ask n \"n\"\nask o \"o\"\nask t \"t\"\nask g \"g\"\nask h \"h\"\nask a \"a\"\nask s "
        "\"s\"\nask r \"r\"\nask l \"l\"\nask m.heads \"m\"\n";
    att_slip_site sites[64];
    att_scenario plain = { .sites = sites, .site_capacity = 64 };
    att_sheet *truth;
    bool complete, seen[ATT_SLIPS] = { false };
    assert_int_equal(
        att_sheet_run_scenario(&truth, text, strlen(text), "a", NULL, "v", &plain, &complete, NULL),
        ATT_OK);
    assert_true(complete && plain.site_count < 64);
    for (size_t i = 0; i < plain.site_count; i++) {
        att_scenario slipped = { .slips = &sites[i], .slip_count = 1 };
        att_sheet *sheet;
        assert_int_equal(att_sheet_run_scenario(&sheet, text, strlen(text), "a", NULL, "v",
                                                &slipped, &complete, NULL),
                         ATT_OK);
        bool differs = !complete;
        for (size_t k = 0; k < sheet->ask_count; k++) {
            const att_matrix *a = sheet->asks[k]->value, *b = truth->asks[k]->value;
            differs = differs || a->rows != b->rows || a->cols != b->cols ||
                      memcmp(a->data, b->data, (size_t)(a->rows * a->cols) * sizeof(double)) != 0;
        }
        if (!differs)
            fail_msg("slip %d at line %d changes nothing", (int)sites[i].slip, sites[i].line);
        seen[sites[i].slip] = true;
        att_sheet_free(sheet);
    }
    for (int slip = 0; slip < ATT_SLIPS; slip++)
        if (!seen[slip])
            fail_msg("slip %d has no place", slip);
    att_sheet_free(truth);
}

static void a_scenario_without_changes_gives_the_same_bits(void **state)
{
    (void)state;
    static const char text[] =
        "Q = [1 0.5; -1 2]\nm = multihead(Q, {Q, Q'}, {Q, Q}, {Q, Q'}, "
        "causal)\nask m \"m\"\ng = lstm(Q, [0.1], [0.2], [1 2 3 4; 4 3 2 1], "
        "[1 1 1 1])\nask g \"g\"\n";
    att_scenario scenario = { 0 };
    att_sheet *changed, *truth = variant_of(text, "v");
    bool complete;
    assert_int_equal(att_sheet_run_scenario(&changed, text, strlen(text), "a", NULL, "v", &scenario,
                                            &complete, NULL),
                     ATT_OK);
    for (size_t k = 0; k < truth->ask_count; k++) {
        const att_matrix *a = changed->asks[k]->value, *b = truth->asks[k]->value;
        assert_memory_equal(a->data, b->data, (size_t)(a->rows * a->cols) * sizeof(double));
    }
    att_sheet_free(truth);
    att_sheet_free(changed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ask_states_its_terms),
        cmocka_unit_test(random_values_are_in_their_range),
        cmocka_unit_test(random_values_are_drawn_until_all_requirements_hold),
        cmocka_unit_test(requirements_may_be_comparisons_of_any_kind),
        cmocka_unit_test(a_requirement_that_cannot_hold_is_an_error),
        cmocka_unit_test(numbers_in_place_of_computed_ones_are_used_further),
        cmocka_unit_test(every_possible_slip_changes_something),
        cmocka_unit_test(a_scenario_without_changes_gives_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
