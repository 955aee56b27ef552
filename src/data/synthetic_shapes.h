/* Synthetic images with captions: two colored shapes on a gray background. */
#ifndef ATT_DATA_SYNTHETIC_SHAPES_H
#define ATT_DATA_SYNTHETIC_SHAPES_H

#include "settings/settings.h"
#include "data/image_grids.h"

typedef struct att_shape {
    int color, figure; /* indices of the tables in synthetic_shapes.c */
    int64_t x, y;      /* of the center, in pixels */
    int64_t radius;    /* from the center to the sides */
} att_shape;

/* Two shapes side by side, or one above the other. */
typedef struct att_scene {
    att_shape first, second; /* the first is the larger one */
    bool vertical;           /* one above the other */
    bool first_is_far;       /* the first is on the right, or below */
    int background;          /* gray level, 0 to 255 */
} att_scene;

/* Scene `number` of the training scenes, or of the held-out ones: a pair of colored shapes that
 * occurs in one set never occurs in the other. */
void att_scene_sample(att_scene *out, uint64_t seed, int64_t number, bool held_out, int64_t size);

/* Renders a scene as pixels [size,size,3] from 0 to 1. */
void att_scene_render(float *pixels, const att_scene *scene, int64_t size);

/* Appends a caption: "a red circle left of a blue square", the larger shape first. */
att_status att_scene_caption(att_string *out, const att_scene *scene);

/* Generates the images that the settings ask for, and one image<TAB>caption line for each. */
att_status att_shapes_generate(att_image_grids *images, att_string *captions,
                               const att_settings *settings, bool held_out, att_error *err);

#endif
