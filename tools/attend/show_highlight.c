/* Highlighted text of attend show: as the files that were asked for, and as text. */
#include "show.h"

static att_status draw(att_string *out, const void *highlight, bool flat, att_error *err)
{
    (void)flat; /* the same for a rasterizer */
    const att_render_options options = output_format(ATT_FORMAT_SVG);
    return att_highlight_render(out, highlight, &options, err);
}

static att_status write_files(const att_highlight *highlight, const show_settings *set,
                              att_error *err)
{
    const drawing_files asked = show_drawing_files(set);
    output_list files = { 0 };
    att_status status =
        drawing_files_draw(&files, &(drawing_source){ "figure", draw, highlight }, 1, &asked, err);
    if (status == ATT_OK && set->html) {
        output_file *file = output_add(&files, set->html, "page");
        const att_render_options options = output_format(ATT_FORMAT_HTML);
        status =
            file ? att_highlight_render(&file->bytes, highlight, &options, err) : error_memory(err);
    }
    if (status == ATT_OK)
        status = output_check(&files, err);
    if (status == ATT_OK)
        status = output_save(&files, err);
    output_free(&files);
    return status;
}

static att_status write_text(const att_highlight *highlight, const show_settings *set,
                             att_error *err)
{
    const att_render_options options = output_render_options(set->color, set->ascii);
    att_string text = { 0 };
    att_status status = att_highlight_render(&text, highlight, &options, err);
    if (status == ATT_OK)
        status = output_stdout(text.data, text.length, err);
    att_string_free(&text);
    return status;
}

att_status show_highlight(const att_highlight *highlight, const show_settings *set, att_error *err)
{
    att_status status = write_files(highlight, set, err);
    return status == ATT_OK && !set->quiet ? write_text(highlight, set, err) : status;
}
