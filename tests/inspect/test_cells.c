/* The unit search finds the units of a model whose behavior is known, and reports them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/progress.h"
#include "render/render_as.h"
#include "base/alloc.h"
#include "base/string.h"
#include "inspect/rnn_help.h"
#include "render/xml_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char path[] = "/tmp/attend-cells-XXXXXX";

/* Words, some of them in quotation marks; 40 words per paragraph. */
static void write_text(int words)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    unsigned random = 1;
    for (int i = 0; i < words; i++) {
        random = random * 1103515245u + 12345u;
        int length = 1 + (int)(random >> 16) % 7;
        bool quoted = (random >> 20) % 3 == 0;
        fputs(quoted ? "“" : "", file);
        for (int k = 0; k < length; k++)
            fputc("ab"[(random >> (8 + k)) & 1], file);
        fputs(quoted ? " ab” " : " ", file);
        fputs(i % 40 == 39 ? "\n" : "", file);
    }
    fclose(file);
}

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    if (fd >= 0)
        close(fd);
    return fd < 0;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static att_cells *search(att_model *model)
{
    att_cells *cells;
    att_error err = { 0 };
    reader_must(att_model_cells(
                    &cells, model, path,
                    &(att_cells_options){ .size = sizeof(att_cells_options), .n_best = 2 }, &err),
                &err);
    return cells;
}

static const att_cells_property *row_of(const att_cells *cells, const char *property)
{
    for (size_t i = 0; i < att_cells_count(cells); i++)
        if (strcmp(att_cells_get(cells, i)->property, property) == 0)
            return att_cells_get(cells, i);
    fail_msg("no property %s", property);
    return NULL;
}

static void units_are_found_by_their_behavior(void **state)
{
    (void)state;
    write_text(4000);
    att_model *model = reader_model();
    att_cells *cells = search(model);
    const att_cells_property *blank = row_of(cells, "blank"), *quotes = row_of(cells, "quotes");
    assert_int_equal(blank->match_count,
                     2); /* the third unit is constant, so it has no correlation */
    assert_int_equal(blank->matches[0]->unit.layer, 1);
    assert_int_equal(blank->matches[0]->unit.unit, 1);
    assert_true(blank->matches[0]->held_out_correlation > 0.9999999);
    assert_true(blank->matches[0]->auc == 1);
    assert_int_equal(quotes->matches[0]->unit.unit, 2);
    assert_true(quotes->matches[0]->search_correlation > 0.999 &&
                quotes->matches[0]->held_out_correlation > 0.999);
    assert_true(quotes->matches[0]->auc > 0.999);
    assert_true(fabs(quotes->matches[1]->held_out_correlation) <
                fabs(quotes->matches[0]->held_out_correlation));
    assert_int_equal(row_of(cells, "url")->match_count, 0); /* the text has no URL */
    assert_true(isnan(row_of(cells, "column")->matches[0]->auc));
    const att_cells_info info = *att_cells_info_get(cells);
    assert_int_equal(info.layers, 1);
    assert_int_equal(info.hidden_size, 3);
    assert_int_equal(info.signal, ATT_SIGNAL_HIDDEN);
    assert_true(info.search_tokens > 2.9 * (double)info.held_out_tokens);
    att_cells_free(cells);
    att_model_free(model);
}

static void a_sample_shows_the_unit_and_underlines_where_the_property_holds(void **state)
{
    (void)state;
    write_text(4000);
    att_model *model = reader_model();
    att_cells *cells = search(model);
    const att_highlight *sample = &row_of(cells, "quotes")->sample;
    int64_t marked = 0;
    assert_int_equal(sample->count, 600);
    for (int64_t i = 0; i < sample->count; i++) {
        marked += sample->underlined[i];
        assert_true(sample->underlined[i] == (sample->values[i] > 0.5));
    }
    assert_true(marked > 100 && marked < 500);
    assert_null(row_of(cells, "column")->sample.underlined);
    att_cells_free(cells);
    att_model_free(model);
}

static void the_result_is_a_table_json_and_an_html_page(void **state)
{
    (void)state;
    write_text(4000);
    att_model *model = reader_model();
    att_cells *cells = search(model);
    att_string table = { 0 }, json = { 0 }, page = { 0 };
    const att_render_options options = ATT_INIT(att_render_options);
    assert_int_equal(att_cells_render(&table, cells, &options, NULL), ATT_OK);
    assert_non_null(strstr(table.data, "\nquotes          1:2           1.000     0.999     1.000"
                                       "  inside quotation marks\n"));
    assert_non_null(strstr(table.data, "\nurl             does not change in this text\n"));
    assert_int_equal(att_cells_render(&json, cells, RENDER_AS(ATT_FORMAT_JSON), NULL), ATT_OK);
    assert_non_null(strstr(json.data,
                           "{\"property\":\"quotes\",\"description\":\"inside quotation marks\","
                           "\"binary\":true,\"mean\":0."));
    assert_non_null(
        strstr(json.data, "\"top\":[{\"layer\":1,\"unit\":2,\"search_correlation\":0.999"));
    assert_non_null(strstr(json.data, "\"auc\":null")); /* of a property that is not binary */
    assert_int_equal(att_cells_render(&page, cells, RENDER_AS(ATT_FORMAT_HTML), NULL), ATT_OK);
    assert_well_formed(strstr(page.data, "<html"));
    assert_non_null(strstr(page.data, "<h2 id=\"quotes\">inside quotation marks</h2>"));
    assert_null(strstr(page.data, "<h2 id=\"url\">"));
    att_string_free(&table);
    att_string_free(&json);
    att_string_free(&page);
    att_cells_free(cells);
    att_model_free(model);
}

static void a_short_text_is_refused(void **state)
{
    (void)state;
    write_text(100);
    att_model *model = reader_model();
    att_cells *cells;
    att_error err = { 0 };
    assert_int_equal(
        att_model_cells(&cells, model, path, &(att_cells_options)ATT_INIT(att_cells_options), &err),
        ATT_BAD_INPUT);
    assert_null(cells);
    assert_non_null(strstr(err.message, "expected at least 1000 tokens to search, found "));
    assert_int_equal(att_model_cells(&cells, model, "no such file",
                                     &(att_cells_options)ATT_INIT(att_cells_options), &err),
                     ATT_BAD_INPUT);
    att_model_free(model);
}

typedef struct progress {
    int64_t calls, read, total;
} progress;

static bool on_progress(void *context, const att_progress *at)
{
    progress *last = context;
    if (at->total == 0)
        return true; /* before the text is read */
    assert_true(at->done >= last->read && at->done <= at->total);
    assert_true(last->calls == 0 || at->total == last->total);
    *last = (progress){ last->calls + 1, at->done, at->total };
    return true;
}

static void progress_is_reported_until_the_end_of_the_text(void **state)
{
    (void)state;
    write_text(4000);
    progress last = { 0 };
    att_model *model = reader_model();
    att_cells *cells;
    att_error err = { 0 };
    const att_cells_options options = { .size = sizeof(att_cells_options), .max_tokens = 9000 };
    att_progress_set_interval(0);
    att_callback_set(on_progress, &last);
    reader_must(att_model_cells(&cells, model, path, &options, &err), &err);
    att_callback_set(NULL, NULL);
    att_progress_set_interval(-1);
    assert_int_equal(last.total, 9000);
    assert_true(last.calls > 4 && last.total - last.read < last.total / 4);
    att_cells_free(cells);
    att_model_free(model);
}

static void running_out_of_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    write_text(400);
    att_model *model = reader_model();
    att_cells_free(search(model)); /* packs the weights once, before allocations fail */
    size_t live = att_alloc_live();
    att_status status = ATT_NO_MEMORY;
    for (size_t n = 1; status != ATT_OK; n += 1 + n / 8) {
        att_cells *cells;
        assert_true(n < 100000);
        att_alloc_fail_at(n);
        status = att_model_cells(&cells, model, path,
                                 &(att_cells_options)ATT_INIT(att_cells_options), NULL);
        att_alloc_fail_at(0);
        if (status != ATT_OK)
            assert_int_equal(status, ATT_NO_MEMORY);
        att_cells_free(cells);
        assert_int_equal(att_alloc_live(), live);
    }
    att_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_are_found_by_their_behavior),
        cmocka_unit_test(a_sample_shows_the_unit_and_underlines_where_the_property_holds),
        cmocka_unit_test(the_result_is_a_table_json_and_an_html_page),
        cmocka_unit_test(a_short_text_is_refused),
        cmocka_unit_test(progress_is_reported_until_the_end_of_the_text),
        cmocka_unit_test(running_out_of_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
