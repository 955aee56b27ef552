/* Attention maps as an HTML page: the drawing, whose cells show their numbers under the pointer. */
#include "render/html_page.h"
#include "render/map.h"

enum { MAX_SIDE = 100 }; /* a page of more cells is slow to open */

att_status att_map_html(att_string *text, const att_map *map, const att_render_options *options,
                        att_error *err)
{
    att_arena arena = { 0 };
    att_map shown;
    if (!att_map_shrink(&shown, map, MAX_SIDE, MAX_SIDE, &arena)) {
        att_arena_free(&arena);
        return att_fail_memory(err);
    }
    const char *title = map->title ? map->title : "Attention map";
    shown.title = NULL; /* it is the heading of the page */
    att_writer out = att_writer_on(text);
    att_put_html_head(&out, title, "main{max-width:none}\n");
    att_put_html_body(&out);
    att_put(&out, "<h1><bdi>");
    att_put_xml(&out, title);
    att_put(&out, "</bdi></h1>\n<figure>\n");
    att_map_put_drawing(&out, &shown, options);
    if (shown.keys < map->keys || shown.queries < map->queries) {
        att_put(&out, "<figcaption>");
        att_map_put_reduction(&out, map, &shown, "×");
        att_put(&out, "</figcaption>\n");
    }
    att_put(&out, "</figure>\n");
    att_put_html_end(&out);
    att_arena_free(&arena);
    return att_writer_finish(&out, err);
}
