/* How near is near enough: the rules of `expect` and `compare`, and their verdicts. */
#ifndef ATT_SHEET_TOLERANCE_H
#define ATT_SHEET_TOLERANCE_H

#include "sheet/interpreter.h"

typedef struct att_tolerance {
    att_rule rule;
    double tolerance; /* ATT_RULE_WITHIN, ATT_RULE_DEFAULT */
    int digits;       /* ATT_RULE_DIGITS, ATT_RULE_DECIMALS */
    const double
        *half_units; /* ATT_RULE_PRINTED: half a unit of each written number's last digit */
} att_tolerance;

/* Notes the rule in the check. */
void att_check_set_rule(att_check *check, const att_tolerance *nearness);

/* within T | to N digits | to N decimals | as printed | nothing. */
att_status att_parse_tolerance(att_interpreter *interpreter, att_parser *parser,
                               att_tolerance *out);

/* For `as printed`: reads how many digits each number of `written` has. */
att_status att_tolerance_read_printed(att_interpreter *interpreter, const att_expr *written,
                                      att_tolerance *nearness);

/* Compares check->found with check->wanted by the rule and fills in the rest of the check. A single
 * wanted number stands for a matrix of it. Different shapes fail both ways: `expect not` is about
 * numbers, and must not pass by accident. */
att_status att_check_compare(att_interpreter *interpreter, att_check *check,
                             att_tolerance *nearness);

/* Ends a statement that checks something: counts it and adds its step. */
att_status att_interpreter_add_check(att_interpreter *interpreter, const att_parser *parser,
                                     const att_check *check);

#endif
