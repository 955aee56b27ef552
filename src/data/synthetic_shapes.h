/* Pictures made up: two coloured shapes on a grey ground, and what is to be said of them. */
#ifndef ATT_DATA_SYNTHETIC_SHAPES_H
#define ATT_DATA_SYNTHETIC_SHAPES_H

#include "settings/settings.h"
#include "data/image_grids.h"

typedef struct att_shape {
    int color, figure; /* of the words in shapes.c */
    int64_t x, y;      /* the centre, in pixels */
    int64_t radius;    /* from it to the sides */
} att_shape;

/* Two shapes side by side, or one above the other. */
typedef struct att_scene {
    att_shape first, second; /* the first is the larger one */
    bool vertical;           /* one above the other */
    bool first_is_far;       /* the first is the right one, or the lower */
    int background;          /* grey, of 255 */
} att_scene;

/* Scene `number` of those that are trained on, or of those held out: a pair of shapes that is in
 * the one is never in the other. */
void att_scene_sample(att_scene *out, uint64_t seed, int64_t number, bool held, int64_t size);

/* Paints it, [size,size,3] from 0 to 1. */
void att_scene_render(float *pixels, const att_scene *scene, int64_t size);

/* Appends "a red circle left of a blue square": the larger one first. */
att_status att_scene_caption(att_string *out, const att_scene *scene);

/* Everything that the settings ask for: pictures, and lines number<TAB>caption, one of each. */
att_status att_shapes_generate(att_image_grids *pictures, att_string *captions,
                               const att_settings *settings, bool held, att_error *err);

#endif
