/* SVG to PNG and PDF by librsvg and cairo, which shape text in any script that has a font. They are
 * loaded here, in the drawing process: fifty libraries take longer to load than most commands take,
 * and some end the process while they are loaded if memory is short. */
#include "drawing_files.h"

#include "program.h"

#ifdef ATT_HAVE_RSVG

#include <cairo-pdf.h>
#include <cairo.h>
#include <dlfcn.h>
#include <librsvg/rsvg.h>
#include <math.h>

/* What is used of librsvg and of the libraries that it brings. */
#define LIBRARY_FUNCTIONS(X)                                                                       \
    X(g_memory_input_stream_new_from_data)                                                         \
    X(g_object_unref)                                                                              \
    X(g_clear_error)                                                                               \
    X(rsvg_handle_new_from_stream_sync)                                                            \
    X(rsvg_handle_set_dpi)                                                                         \
    X(rsvg_handle_get_intrinsic_size_in_pixels)                                                    \
    X(rsvg_handle_render_document)                                                                 \
    X(cairo_create)                                                                                \
    X(cairo_destroy)                                                                               \
    X(cairo_set_source_rgb)                                                                        \
    X(cairo_paint)                                                                                 \
    X(cairo_status)                                                                                \
    X(cairo_status_to_string)                                                                      \
    X(cairo_image_surface_create)                                                                  \
    X(cairo_surface_status)                                                                        \
    X(cairo_surface_write_to_png_stream)                                                           \
    X(cairo_surface_finish)                                                                        \
    X(cairo_surface_destroy)                                                                       \
    X(cairo_pdf_surface_create_for_stream)                                                         \
    X(cairo_pdf_surface_set_metadata)

#define FUNCTION_POINTER(name) __typeof__(name) *name;
static struct {
    LIBRARY_FUNCTIONS(FUNCTION_POINTER)
} lib;

static att_status load_library(att_error *err)
{
    void *library = dlopen("librsvg-2.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return error_set(err, ATT_SYSTEM, "librsvg", "cannot load: %s", dlerror());
#define FIND_FUNCTION(name)                                                                        \
    *(void **)&lib.name = dlsym(library, #name);                                                   \
    if (!lib.name)                                                                                 \
        return error_set(err, ATT_SYSTEM, "librsvg", "cannot load: no function %s", #name);
    LIBRARY_FUNCTIONS(FIND_FUNCTION)
    return ATT_OK;
}

/* Limits the memory of an image, 4 bytes per pixel; and cairo's own limit on a side. */
static const double max_pixels = 100e6;
static const double max_side = 32767;

/* A constant date keeps the bytes of a PDF the same; cairo would write the current time. */
static const char pdf_date[] = "1970-01-01T00:00:00Z";

typedef struct drawing {
    RsvgHandle *svg;
    double width; /* in pixels of the SVG */
    double height;
} drawing;

static att_status fail_glib(att_error *err, const char *what, GError *error)
{
    error_set(err, ATT_SYSTEM, "figure", "%s: %s", what,
              error ? error->message : "no reason given");
    lib.g_clear_error(&error);
    return ATT_SYSTEM;
}

/* Parses the SVG. */
static att_status open_svg(drawing *out, const att_string *svg, att_error *err)
{
    GError *error = NULL;
    GInputStream *stream =
        lib.g_memory_input_stream_new_from_data(svg->data, (gssize)svg->length, NULL);
    out->svg = lib.rsvg_handle_new_from_stream_sync(stream, NULL, RSVG_HANDLE_FLAG_UNLIMITED, NULL,
                                                    &error);
    lib.g_object_unref(stream);
    if (!out->svg)
        return fail_glib(err, "librsvg cannot read the figure", error);
    lib.rsvg_handle_set_dpi(out->svg, 96);
    if (lib.rsvg_handle_get_intrinsic_size_in_pixels(out->svg, &out->width, &out->height))
        return ATT_OK;
    lib.g_object_unref(out->svg);
    return error_set(err, ATT_SYSTEM, "figure", "the SVG has no size");
}

/* Draws onto a surface `width` by `height`, on white. */
static att_status draw(const drawing *figure, cairo_surface_t *surface, double width, double height,
                       att_error *err)
{
    GError *error = NULL;
    RsvgRectangle all = { .width = width, .height = height };
    cairo_t *pen = lib.cairo_create(surface);
    lib.cairo_set_source_rgb(pen, 1, 1, 1);
    lib.cairo_paint(pen);
    gboolean drawn = lib.rsvg_handle_render_document(figure->svg, pen, &all, &error);
    cairo_status_t status = lib.cairo_status(pen);
    lib.cairo_destroy(pen);
    if (!drawn)
        return fail_glib(err, "librsvg cannot draw the figure", error);
    if (status == CAIRO_STATUS_SUCCESS)
        return ATT_OK;
    return error_set(err, ATT_SYSTEM, "figure", "cairo: %s", lib.cairo_status_to_string(status));
}

static cairo_status_t append(void *text, const unsigned char *bytes, unsigned length)
{
    att_status status = att_string_append(text, (const char *)bytes, length);
    return status == ATT_OK ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_NO_MEMORY;
}

static att_status surface_status(cairo_status_t status, att_error *err)
{
    if (status == CAIRO_STATUS_SUCCESS)
        return ATT_OK;
    if (status == CAIRO_STATUS_NO_MEMORY)
        return error_memory(err);
    return error_set(err, ATT_SYSTEM, "figure", "cairo: %s", lib.cairo_status_to_string(status));
}

static att_status draw_png(att_string *out, const drawing *figure, double scale, att_error *err)
{
    double width = ceil(figure->width * scale);
    double height = ceil(figure->height * scale);
    if (width > max_side || height > max_side || width * height > max_pixels)
        return error_set(err, ATT_BAD_INPUT, "figure",
                         "%.0f × %.0f pixels are too many for a PNG; use --scale %.2g, or --svg",
                         width, height, scale * sqrt(max_pixels / (width * height)) * 0.9);
    cairo_surface_t *surface =
        lib.cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)width, (int)height);
    att_status status = surface_status(lib.cairo_surface_status(surface), err);
    if (status == ATT_OK)
        status = draw(figure, surface, width, height, err);
    if (status == ATT_OK)
        status = surface_status(lib.cairo_surface_write_to_png_stream(surface, append, out), err);
    lib.cairo_surface_destroy(surface);
    return status;
}

/* One page of the size of the figure: 72 points per 96 pixels. */
static att_status draw_pdf(att_string *out, const drawing *figure, att_error *err)
{
    double width = figure->width * 72 / 96;
    double height = figure->height * 72 / 96;
    cairo_surface_t *surface = lib.cairo_pdf_surface_create_for_stream(append, out, width, height);
    lib.cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE, pdf_date);
    att_status status = surface_status(lib.cairo_surface_status(surface), err);
    if (status == ATT_OK)
        status = draw(figure, surface, width, height, err);
    lib.cairo_surface_finish(surface);
    if (status == ATT_OK)
        status = surface_status(lib.cairo_surface_status(surface), err);
    lib.cairo_surface_destroy(surface);
    return status;
}

att_status rasterize_png(att_string *out, const att_string *svg, double scale, att_error *err)
{
    drawing figure;
    att_status status = load_library(err);
    if (status == ATT_OK)
        status = open_svg(&figure, svg, err);
    if (status != ATT_OK)
        return status;
    status = draw_png(out, &figure, scale, err);
    lib.g_object_unref(figure.svg);
    return status;
}

att_status rasterize_pdf(att_string *out, const att_string *svg, att_error *err)
{
    drawing figure;
    att_status status = load_library(err);
    if (status == ATT_OK)
        status = open_svg(&figure, svg, err);
    if (status != ATT_OK)
        return status;
    status = draw_pdf(out, &figure, err);
    lib.g_object_unref(figure.svg);
    return status;
}

#else

static att_status unsupported(const char *asked, att_error *err)
{
    return error_set(err, ATT_UNSUPPORTED, "",
                     "%s needs librsvg, and this program was built without it; install it "
                     "(Debian: librsvg2-dev) and build again, or use --svg",
                     asked);
}

att_status rasterize_png(att_string *out, const att_string *svg, double scale, att_error *err)
{
    (void)out;
    (void)svg;
    (void)scale;
    return unsupported("--png", err);
}

att_status rasterize_pdf(att_string *out, const att_string *svg, att_error *err)
{
    (void)out;
    (void)svg;
    return unsupported("--pdf", err);
}

#endif
