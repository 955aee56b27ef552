/* Attention maps as one line of JSON (docs/rendering.md). */
#include "render/map.h"

static void put_text(att_writer *out, const char *key, const char *text)
{
    if (!text)
        return;
    att_putf(out, "\"%s\":", key);
    att_put_json(out, text);
    att_put(out, ",");
}

static void put_labels(att_writer *out, const char *key, const char *const *labels, int64_t count)
{
    char number[ATT_LABEL_SIZE];
    att_putf(out, "\"%s\":[", key);
    for (int64_t i = 0; i < count; i++) {
        att_put(out, i > 0 ? "," : "");
        att_put_json(out, att_map_label(labels, i, number));
    }
    att_put(out, "],");
}

static void put_weights(att_writer *out, const att_map *map, int64_t panel)
{
    att_put(out, "\"weights\":[");
    for (int64_t i = 0; i < map->queries && out->status == ATT_OK; i++) {
        att_put(out, i > 0 ? "," : "");
        att_put_json_numbers(out, map->weights + (panel * map->queries + i) * map->keys, map->keys);
    }
    att_put(out, "]");
}

/* Rows of 0 and 1. */
static void put_allowed(att_writer *out, const att_map *map, int64_t panel)
{
    if (!map->allowed)
        return;
    const uint8_t *at = map->allowed + panel * map->queries * map->keys;
    att_put(out, ",\"allowed\":[");
    for (int64_t i = 0; i < map->queries && out->status == ATT_OK; i++) {
        att_put(out, i > 0 ? ",[" : "[");
        for (int64_t j = 0; j < map->keys; j++, at++)
            att_put(out, j > 0 ? *at ? ",1" : ",0" : *at ? "1" : "0");
        att_put(out, "]");
    }
    att_put(out, "]");
}

att_status att_map_json(att_string *text, const att_map *map, const att_render_options *options,
                        att_error *err)
{
    (void)options; /* all of the map, exact */
    att_writer out = att_writer_on(text);
    att_put(&out, "{");
    put_text(&out, "title", map->title);
    put_text(&out, "query_name", att_map_query_name(map));
    put_text(&out, "key_name", att_map_key_name(map));
    put_labels(&out, "query_labels", map->query_labels, map->queries);
    put_labels(&out, "key_labels", map->key_labels, map->keys);
    att_put(&out, "\"panels\":[");
    for (int64_t p = 0; p < map->panels && out.status == ATT_OK; p++) {
        att_put(&out, p > 0 ? ",{" : "{");
        put_text(&out, "label", map->panel_labels ? map->panel_labels[p] : NULL);
        put_weights(&out, map, p);
        put_allowed(&out, map, p);
        att_put(&out, "}");
    }
    att_put(&out, "]}\n");
    return att_writer_finish(&out, err);
}
