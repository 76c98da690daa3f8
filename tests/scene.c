#include "scene.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "values.h"

enum { ALIGNMENT = 64, GUARD = 128, POISON = 0xa5 };

static void *allocate(size_t bytes)
{
    void *memory = aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    if (!memory)
        ck_abort_msg("no memory");
    return memory;
}

ek_view ek_view_of(ek_dtype dtype, int32_t ndim, const int64_t *shape)
{
    ek_view view = {.dtype = dtype, .ndim = ndim};
    int64_t step = 1;
    for (int32_t d = ndim - 1; d >= 0; d--) {
        view.shape[d] = shape[d];
        view.stride[d] = step;
        step *= shape[d];
    }
    return view;
}

int64_t ek_view_size(const ek_view *view)
{
    int64_t size = 1;
    for (int32_t d = 0; d < view->ndim; d++)
        size *= view->shape[d];
    return size;
}

int64_t ek_view_step(const ek_view *view, int64_t i)
{
    int64_t step = 0;
    for (int32_t d = view->ndim - 1; d >= 0; d--) {
        step += i % view->shape[d] * view->stride[d];
        i /= view->shape[d];
    }
    return step;
}

ek_dtype ek_operand_dtype(const ek_op_test *test, int loop, int operand)
{
    const ek_loop *row = &test->info->loops[loop];
    int outputs = test->info->outputs;
    return (ek_dtype)(operand < outputs ? row->out[operand] : row->in[operand - outputs]);
}

ek_dtype ek_input_dtype(const ek_op_test *test, int loop, int input)
{
    return (ek_dtype)test->info->loops[loop].in[input];
}

const char *ek_scene_operand_name(const ek_op_test *test, int operand)
{
    int outputs = test->info->outputs;
    return operand < outputs ? test->info->output_names[operand]
                             : test->info->input_names[operand - outputs];
}

static unsigned char *element_of(const ek_view *view, unsigned char *memory, int64_t i)
{
    return memory + view->offset + ek_view_step(view, i) * (int64_t)ek_dtype_size(view->dtype);
}

/* The rows of the last dimension: their number, and the elements of each. */
static int64_t rows_of(const ek_view *view, int64_t *length)
{
    int64_t n = ek_view_size(view);
    *length = view->ndim ? view->shape[view->ndim - 1] : 1;
    return n ? n / *length : 0;
}

static void copy_row(int64_t n, size_t size, const unsigned char *from, int64_t from_step,
                     unsigned char *to, int64_t to_step)
{
    if (from_step == 1 && to_step == 1) {
        memcpy(to, from, (size_t)n * size);
        return;
    }
    for (int64_t i = 0; i < n;
         i++, from += from_step * (int64_t)size, to += to_step * (int64_t)size)
        memcpy(to, from, size);
}

/* Between a view's elements in memory and the same one after the other. */
static void pack(const ek_view *view, unsigned char *memory, unsigned char *packed)
{
    size_t size = ek_dtype_size(view->dtype);
    int64_t n, step = view->ndim ? view->stride[view->ndim - 1] : 1, rows = rows_of(view, &n);
    for (int64_t row = 0; row < rows; row++)
        copy_row(n, size, element_of(view, memory, row * n), step,
                 packed + (size_t)(row * n) * size, 1);
}

static void unpack(const ek_view *view, unsigned char *memory, const unsigned char *packed)
{
    size_t size = ek_dtype_size(view->dtype);
    int64_t n, step = view->ndim ? view->stride[view->ndim - 1] : 1, rows = rows_of(view, &n);
    for (int64_t row = 0; row < rows; row++)
        copy_row(n, size, packed + (size_t)(row * n) * size, 1, element_of(view, memory, row * n),
                 step);
}

void ek_scene_open(ek_scene *scene, const ek_op_test *test, int loop)
{
    const ek_op_info *info = test->info;
    *scene = (ek_scene){.test = test, .loop = loop, .params = test->sets};
    scene->outputs = info->outputs;
    scene->operands = info->outputs + info->inputs;
    scene->bytes = GUARD;
}

void ek_scene_place(ek_scene *scene, int operand, const ek_view *view, int skew)
{
    int64_t below = 0, above = 0, size = (int64_t)ek_dtype_size(view->dtype);
    for (int32_t d = 0; d < view->ndim && ek_view_size(view) > 0; d++) {
        int64_t span = (view->shape[d] - 1) * view->stride[d];
        *(span < 0 ? &below : &above) += span;
    }
    ek_view *placed = &scene->view[operand];
    *placed = *view;
    int64_t first = scene->bytes - below * size;
    placed->offset = (first + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + skew * size;
    int64_t end = placed->offset + (ek_view_size(view) > 0 ? (above + 1) * size : 0);
    scene->bytes = (end + GUARD + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void ek_scene_share(ek_scene *scene, int operand, int with)
{
    ek_dtype dtype = ek_operand_dtype(scene->test, scene->loop, operand);
    scene->view[operand] = scene->view[with];
    scene->view[operand].dtype = dtype;
}

void ek_scene_fill(ek_scene *scene, uint64_t seed)
{
    scene->memory = allocate((size_t)scene->bytes);
    memset(scene->memory, POISON, (size_t)scene->bytes);
    for (int k = scene->outputs; k < scene->operands; k++) {
        const ek_view *view = &scene->view[k];
        int64_t n = ek_view_size(view);
        size_t size = ek_dtype_size(view->dtype);
        unsigned char *values = malloc((size_t)n * size + 1);
        if (seed & 1)
            ek_ordinary_values(view->dtype, seed + (uint64_t)k, n, values);
        else
            ek_random_values(view->dtype, seed + (uint64_t)k, n, values);
        unpack(view, scene->memory, values);
        free(values);
    }
}

void ek_scene_close(ek_scene *scene)
{
    free(scene->memory);
    scene->memory = NULL;
}

const char *ek_scene_call_name(const ek_scene *scene, ek_call call)
{
    static char name[64];
    const ek_op_info *info = scene->test->info;
    const ek_loop *loop = &info->loops[scene->loop];
    const char *dtype = ek_dtype_name((ek_dtype)loop->dtype);
    if (call == EK_ARRAY_CALL)
        snprintf(name, sizeof name, "ek_%s", info->name);
    else if (strcmp(info->kind, "cast") == 0)
        snprintf(name, sizeof name, "ek_%s_%s_%s", info->name, dtype,
                 ek_dtype_name((ek_dtype)loop->out[0]));
    else
        snprintf(name, sizeof name, "ek_%s_%s", info->name, dtype);
    return name;
}

static ek_status call_in(const ek_scene *scene, const ek_place *place, ek_call call,
                         unsigned char *memory)
{
    ek_arguments a = {.queue = place->queue, .n = ek_view_size(&scene->view[0])};
    for (int k = 0; k < scene->operands; k++) {
        ek_view *view = (ek_view *)&scene->view[k];
        a.data[k] = memory + view->offset;
        a.array[k] = ek_array_view(memory, view->dtype, ek_queue_device(place->queue), view->ndim,
                                   view->shape);
        a.array[k].byte_offset = (uint64_t)view->offset;
        a.array[k].strides = view->stride;
        a.pointer[k] = &a.array[k];
    }
    if (scene->spoil)
        scene->spoil(&a, scene->spoiled);
    if (call == EK_TYPED_CALL)
        return scene->test->typed(a.queue, scene->loop, a.n,
                                  (const void *const *)&a.data[scene->outputs], scene->params,
                                  a.data);
    return scene->test->array(a.queue, (const ek_array *const *)&a.pointer[scene->outputs],
                              scene->params, a.pointer);
}

ek_status ek_scene_run(const ek_scene *scene, const ek_place *place, ek_call call,
                       unsigned char **after)
{
    size_t bytes = (size_t)scene->bytes;
    *after = allocate(bytes);
    memcpy(*after, scene->memory, bytes);
    if (place->queue->variant != EK_CUDA)
        return call_in(scene, place, call, *after);
    unsigned char *memory = ek_place_memory(place, bytes);
    ek_upload(place, memory, scene->memory, bytes);
    ek_status status = call_in(scene, place, call, memory);
    ek_download(place, *after, memory, bytes);
    return status;
}

/* The view of operand k broadcast to the output's shape. */
static ek_view broadcast(const ek_scene *scene, int k)
{
    const ek_view *out = &scene->view[0], *in = &scene->view[k];
    ek_view view = *out;
    int32_t shift = out->ndim - in->ndim;
    view.dtype = in->dtype;
    view.offset = in->offset;
    for (int32_t d = 0; d < out->ndim; d++)
        view.stride[d] = d >= shift && in->shape[d - shift] != 1 ? in->stride[d - shift] : 0;
    return view;
}

/* What the outputs' elements must be: the first place's typed call on packed operands. */
static void expected(const ek_scene *scene, void **results)
{
    const ek_place *places;
    ek_places(&places);
    int64_t n = ek_view_size(&scene->view[0]);
    unsigned char *packed[EK_SCENE_OPERANDS];
    const void *in[EK_SCENE_OPERANDS];
    for (int k = 0; k < scene->operands; k++) {
        bool input = k >= scene->outputs;
        ek_view view = broadcast(scene, k);
        size_t size = ek_dtype_size(view.dtype);
        packed[k] = allocate((size_t)n * size + 1);
        if (input) {
            pack(&view, scene->memory, packed[k]);
            in[k - scene->outputs] = packed[k];
        } else {
            results[k] = packed[k];
        }
    }
    ek_status status =
        scene->test->typed(places[0].queue, scene->loop, n, in, scene->params, results);
    if (status != EK_OK)
        ck_abort_msg("%s", ek_error_message());
    for (int k = scene->outputs; k < scene->operands; k++)
        free(packed[k]);
}

/* Finds the element of output k that is wrong; those that are another NaN become what they are. */
static void compare_output(const ek_scene *scene, int k, const ek_place *place, ek_call call,
                           const char *text, const unsigned char *after, unsigned char *want)
{
    const ek_view *out = &scene->view[k];
    char wanted[96], got[96];
    int64_t n = ek_view_size(out);
    for (int64_t i = 0; i < n; i++) {
        unsigned char *element = element_of(out, want, i);
        const unsigned char *mine = after + (element - want);
        if (!ek_same_element(out->dtype, element, mine))
            ck_abort_msg("%s on %s, %s: element %lld of %lld of %s is %s: %s packs it as %s",
                         ek_scene_call_name(scene, call), place->name, text, (long long)i,
                         (long long)n, ek_scene_operand_name(scene->test, k),
                         ek_element_text(out->dtype, mine, got), "base",
                         ek_element_text(out->dtype, element, wanted));
        memcpy(element, mine, ek_dtype_size(out->dtype));
    }
}

static void compare(const ek_scene *scene, const ek_place *place, ek_call call, const char *text,
                    void *const *results, const unsigned char *after, unsigned char *want)
{
    memcpy(want, scene->memory, (size_t)scene->bytes);
    for (int k = 0; k < scene->outputs; k++)
        unpack(&scene->view[k], want, results[k]);
    if (memcmp(want, after, (size_t)scene->bytes) == 0)
        return;
    for (int k = 0; k < scene->outputs; k++)
        compare_output(scene, k, place, call, text, after, want);
    for (int64_t at = 0; at < scene->bytes; at++) {
        if (want[at] != after[at])
            ck_abort_msg("%s on %s, %s: byte %lld from the first output was written",
                         ek_scene_call_name(scene, call), place->name, text,
                         (long long)(at - scene->view[0].offset));
    }
}

void ek_scene_check(const ek_scene *scene, ek_call call, const char *text)
{
    const ek_place *places;
    int count = ek_tested_places(&places);
    void *results[EK_MAX_OUTPUTS];
    unsigned char *want = malloc((size_t)scene->bytes), *after;
    expected(scene, results);
    for (int p = 0; p < count; p++) {
        ek_status status = ek_scene_run(scene, &places[p], call, &after);
        if (status != EK_OK) /* an assertion that holds costs a write to a file */
            ck_abort_msg("%s on %s, %s: %s", ek_scene_call_name(scene, call), places[p].name, text,
                         ek_error_message());
        compare(scene, &places[p], call, text, results, after, want);
        free(after);
    }
    for (int k = 0; k < scene->outputs; k++)
        free(results[k]);
    free(want);
}

void ek_scene_refused(const ek_scene *scene, ek_call call, ek_status status, const char *word)
{
    const ek_place *places;
    int count = ek_tested_places(&places);
    unsigned char *after;
    for (int p = 0; p < count; p++) {
        ek_status given = ek_scene_run(scene, &places[p], call, &after);
        const char *name = ek_scene_call_name(scene, call);
        /* A GPU takes no misaligned operand, and that is seen before the overlap. */
        bool misaligned = status == EK_OVERLAP && given == EK_INVALID_ARGUMENT &&
                          ek_testing_gpu() && strstr(ek_error_message(), "multiple of");
        if (misaligned) {
            free(after);
            continue;
        }
        ck_assert_msg(given == status, "%s on %s gives %s instead of %s", name, places[p].name,
                      ek_status_name(given), ek_status_name(status));
        ck_assert_msg(memcmp(after, scene->memory, (size_t)scene->bytes) == 0,
                      "%s on %s was refused and wrote", name, places[p].name);
        const char *message = ek_error_message();
        ck_assert_msg(strncmp(message, "ek_", 3) == 0 && strstr(message, scene->test->info->name) &&
                          strstr(message, word),
                      "%s on %s: the message names not both itself and '%s': %s", name,
                      places[p].name, word, message);
        free(after);
    }
}
