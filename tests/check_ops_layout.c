/* Layouts: the operands' lengths, steps and places in memory. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "check_ops.h"
#include "scene.h"

enum { LARGE = 100003, LARGE_BYTES = 400009 };

static void check_length(const ek_op_test *test, int loop, int64_t n, int pattern)
{
    /* Where the operands begin: all at a boundary, all past it, the outputs alone past it. */
    ek_scene scene;
    char text[64];
    ek_scene_open(&scene, test, loop);
    for (int k = 0; k < scene.operands; k++) {
        ek_view view = ek_view_of(ek_operand_dtype(test, loop, k), 1, &n);
        ek_scene_place(&scene, k, &view, pattern == 1 || (pattern == 2 && k < scene.outputs));
    }
    ek_scene_fill(&scene, 1 + (uint64_t)n);
    snprintf(text, sizeof text, "n = %lld, alignment %d", (long long)n, pattern);
    ek_scene_check(&scene, EK_TYPED_CALL, text);
    if (n <= 70 || pattern == 2)
        ek_scene_check(&scene, EK_ARRAY_CALL, text);
    ek_scene_close(&scene);
}

void ek_test_lengths(const ek_op_test *test, int loop)
{
    static const int64_t more[] = {127, 128, 129, 1023, 1024, 1025, 4095, 4096, 4097, 16385};
    for (int64_t n = 0; n <= 70; n++)
        check_length(test, loop, n, (int)(n % 3));
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        for (int pattern = 0; pattern < 3; pattern++)
            check_length(test, loop, more[i], pattern);
    }
    /* Enough for a second thread, whatever the dtype. */
    bool bytes = ek_dtype_size(ek_operand_dtype(test, loop, 0)) == 1;
    check_length(test, loop, bytes ? LARGE_BYTES : LARGE, 2);
}

/* One scene out of a view for each operand, computed as an array call. Operand k begins k * skew
 * elements after a boundary. */
static void check_skewed(const ek_op_test *test, int loop, ek_view *views, int skew,
                         const char *text)
{
    ek_scene scene;
    ek_scene_open(&scene, test, loop);
    for (int k = 0; k < scene.operands; k++) {
        views[k].dtype = ek_operand_dtype(test, loop, k);
        ek_scene_place(&scene, k, &views[k], k * skew);
    }
    ek_scene_fill(&scene, 2);
    ek_scene_check(&scene, EK_ARRAY_CALL, text);
    ek_scene_close(&scene);
}

static void check_views(const ek_op_test *test, int loop, ek_view *views, const char *text)
{
    check_skewed(test, loop, views, 1, text);
}

static int operands_of(const ek_op_test *test)
{
    return test->info->outputs + test->info->inputs;
}

/* Of many combinations every so manieth is tried; odd, and so that all numbers of each operand
 * come. */
static int every(int combinations)
{
    enum { MOST = 1080 };
    return combinations / MOST | 1;
}

/* One dimension with every combination of steps. */
static void check_steps(const ek_op_test *test, int loop)
{
    static const int64_t out_steps[] = {1, -1, 2, 3, -2}, in_steps[] = {1, 0, -1, 2, 3, -2};
    enum {
        OUT = sizeof out_steps / sizeof out_steps[0],
        IN = sizeof in_steps / sizeof in_steps[0]
    };
    int outputs = test->info->outputs, operands = operands_of(test);
    int64_t n = 19;
    int combinations = OUT;
    for (int k = outputs; k < operands; k++)
        combinations *= IN;
    for (int i = 0; i < combinations; i += every(combinations)) {
        ek_view views[EK_SCENE_OPERANDS];
        char text[160];
        int rest = i / OUT;
        int used = snprintf(text, sizeof text, "19 elements with steps %lld",
                            (long long)out_steps[i % OUT]);
        for (int k = 0; k < outputs; k++) {
            views[k] = ek_view_of(EK_B8, 1, &n);
            views[k].stride[0] = out_steps[(i + k) % OUT];
        }
        for (int k = outputs; k < operands; k++) {
            views[k] = ek_view_of(EK_B8, 1, &n);
            views[k].stride[0] = in_steps[rest % IN];
            used += snprintf(text + used, sizeof text - (size_t)used, ", %lld",
                             (long long)in_steps[rest % IN]);
            rest /= IN;
        }
        check_views(test, loop, views, text);
    }
}

static void set_strides(ek_view *view, const int64_t *stride)
{
    memcpy(view->stride, stride, (size_t)view->ndim * sizeof *stride);
}

void ek_test_strides(const ek_op_test *test, int loop)
{
    /* Each layout for the output with each for the inputs. */
    static const int64_t shape[] = {3, 5, 7};
    static const struct {
        const char *name;
        int64_t stride[3];
    } layouts[] = {
        {"C order", {35, 7, 1}},         {"Fortran order", {1, 3, 15}},
        {"padded rows", {48, 9, 1}},     {"middle reversed", {35, -7, 1}},
        {"all reversed", {-35, -7, -1}}, {"every other", {70, 14, 2}},
    };
    enum { LAYOUTS = sizeof layouts / sizeof layouts[0] };
    check_steps(test, loop);
    for (int i = 0; i < LAYOUTS * LAYOUTS; i++) {
        ek_view views[EK_SCENE_OPERANDS];
        char text[96];
        for (int k = 0; k < operands_of(test); k++) {
            views[k] = ek_view_of(EK_B8, 3, shape);
            int input = k - test->info->outputs;
            int layout = (input < 0 ? i + k : i / LAYOUTS + input) % LAYOUTS;
            set_strides(&views[k], layouts[layout].stride);
        }
        snprintf(text, sizeof text, "out in %s, first input in %s", layouts[i % LAYOUTS].name,
                 layouts[i / LAYOUTS].name);
        check_views(test, loop, views, text);
    }
    /* Rows enough for two threads, and not one after the other. */
    static const int64_t large[] = {211, 701}, padded[] = {704, 1};
    ek_view views[EK_SCENE_OPERANDS];
    for (int k = 0; k < operands_of(test); k++) {
        views[k] = ek_view_of(EK_B8, 2, large);
        set_strides(&views[k], padded);
    }
    check_views(test, loop, views, "211 padded rows");
}

/* Two dimensions, longer than the tiles of any kernel. */
static void check_tiles(const ek_op_test *test, int loop)
{
    static const int64_t shape[] = {70, 141};
    static const struct {
        const char *name;
        int64_t stride[2];
    } layouts[] = {
        {"C order", {141, 1}},
        {"padded rows", {144, 1}},
        {"transposed", {1, 70}},
        {"rows backward", {143, -1}},
        {"columns backward", {-1, 71}},
        {"every other", {290, 2}},
        {"a row", {0, 1}},
        {"a column", {1, 0}},
        {"one element", {0, 0}},
    };
    enum { OUTPUTS = 6, LAYOUTS = sizeof layouts / sizeof layouts[0] };
    for (int i = 0; i < OUTPUTS * LAYOUTS; i++) {
        ek_view views[EK_SCENE_OPERANDS];
        char text[96];
        int in = i / OUTPUTS;
        for (int k = 0; k < operands_of(test); k++) {
            int input = k - test->info->outputs;
            int layout = input < 0 ? (i + k) % OUTPUTS : (in + input * i) % LAYOUTS;
            views[k] = ek_view_of(EK_B8, 2, shape);
            set_strides(&views[k], layouts[layout].stride);
        }
        snprintf(text, sizeof text, "out in %s, first input in %s", layouts[i % OUTPUTS].name,
                 layouts[in].name);
        check_skewed(test, loop, views, i % 4, text);
    }
}

/* Three dimensions in every order. */
static void check_orders(const ek_op_test *test, int loop)
{
    static const int64_t shape[] = {6, 35, 66};
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    enum { ORDERS = sizeof orders / sizeof orders[0] };
    for (int i = 0; i < 2 * ORDERS; i++) {
        ek_view views[EK_SCENE_OPERANDS];
        char text[96];
        for (int k = 0; k < operands_of(test); k++) {
            int input = k - test->info->outputs;
            const int *order = orders[(input < 0 ? i / ORDERS + k : i + input) % ORDERS];
            int64_t step = 1;
            views[k] = ek_view_of(EK_B8, 3, shape);
            for (int d = 2; d >= 0; d--) {
                views[k].stride[order[d]] = step;
                step *= shape[order[d]];
            }
        }
        snprintf(text, sizeof text, "dimensions in order %d", i);
        check_skewed(test, loop, views, i / ORDERS, text);
    }
}

void ek_test_tiles(const ek_op_test *test, int loop)
{
    check_tiles(test, loop);
    check_orders(test, loop);
}

void ek_test_broadcast(const ek_op_test *test, int loop)
{
    static const struct {
        const char *name;
        int32_t ndim;
        int64_t shape[3];
    } shapes[] = {
        {"all", 2, {4, 6}},
        {"a row", 1, {6}},
        {"a column", 2, {4, 1}},
        {"one element", 1, {1}},
        {"one element, no dimension", 0, {0}},
        {"one row", 2, {1, 6}},
    };
    enum { SHAPES = sizeof shapes / sizeof shapes[0] };
    int inputs = test->info->inputs, outputs = test->info->outputs, combinations = inputs;
    for (int k = 1; k < inputs; k++)
        combinations *= SHAPES;
    for (int i = 0; i < combinations; i += every(combinations)) {
        /* One input has the full shape, the others have any. */
        ek_view views[EK_SCENE_OPERANDS];
        char text[256] = "";
        int full = i % inputs, rest = i / inputs;
        for (int k = 0; k < outputs; k++)
            views[k] = ek_view_of(EK_B8, 2, shapes[0].shape);
        for (int k = 0; k < inputs; k++) {
            int shape = k == full ? 0 : rest % SHAPES;
            rest = k == full ? rest : rest / SHAPES;
            views[outputs + k] = ek_view_of(EK_B8, shapes[shape].ndim, shapes[shape].shape);
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", k > 0 ? " with " : "",
                     shapes[shape].name);
        }
        check_views(test, loop, views, text);
    }
    /* No element at all, against one; and no dimension at all. */
    static const int64_t none[] = {0, 6}, one[] = {1, 6};
    ek_view views[EK_SCENE_OPERANDS];
    for (int k = 0; k < operands_of(test); k++)
        views[k] = ek_view_of(EK_B8, 2, k == outputs + 1 ? one : none);
    check_views(test, loop, views, "length 0 with length 1");
    for (int k = 0; k < operands_of(test); k++)
        views[k] = ek_view_of(EK_B8, 0, none);
    check_views(test, loop, views, "no dimension");
}

/* A scene in which output o is input k, or all inputs for k = -1. */
static void check_in_place(const ek_op_test *test, int loop, int o, int k, int64_t n, int64_t step)
{
    ek_scene scene;
    char text[64];
    ek_scene_open(&scene, test, loop);
    int first = scene.outputs, with = first + (k < 0 ? 0 : k);
    for (int i = 0; i < scene.operands; i++) {
        ek_view view = ek_view_of(ek_operand_dtype(test, loop, i), 1, &n);
        view.stride[0] = step;
        if (k < 0 && i > first)
            ek_scene_share(&scene, i, first);
        else if (i != o)
            ek_scene_place(&scene, i, &view, 1);
    }
    ek_scene_share(&scene, o, with);
    ek_scene_fill(&scene, 2);
    snprintf(text, sizeof text, "%s in place of input %d (-1: all), n = %lld, step %lld",
             ek_scene_operand_name(test, o), k, (long long)n, (long long)step);
    if (step == 1)
        ek_scene_check(&scene, EK_TYPED_CALL, text);
    ek_scene_check(&scene, EK_ARRAY_CALL, text);
    ek_scene_close(&scene);
}

/* Every output in place of the next input that has elements of its size. */
static void check_all_in_place(const ek_op_test *test, int loop, int64_t n)
{
    ek_scene scene;
    ek_scene_open(&scene, test, loop);
    for (int i = scene.outputs; i < scene.operands; i++) {
        ek_view view = ek_view_of(ek_operand_dtype(test, loop, i), 1, &n);
        ek_scene_place(&scene, i, &view, 1);
    }
    int next = scene.outputs;
    for (int o = 0; o < scene.outputs; o++) {
        ek_view view = ek_view_of(ek_operand_dtype(test, loop, o), 1, &n);
        size_t size = ek_dtype_size(view.dtype);
        while (next < scene.operands && ek_dtype_size(scene.view[next].dtype) != size)
            next++;
        if (next < scene.operands)
            ek_scene_share(&scene, o, next++);
        else
            ek_scene_place(&scene, o, &view, 1);
    }
    ek_scene_fill(&scene, 2);
    ek_scene_check(&scene, EK_TYPED_CALL, "all outputs in place");
    ek_scene_check(&scene, EK_ARRAY_CALL, "all outputs in place");
    ek_scene_close(&scene);
}

/* Output o in memory that it shares with operand k, another output or an input, some steps further
 * on; step 2 leaves gaps between. A step is the larger element, so that both are aligned. */
static void check_shifted(const ek_op_test *test, int loop, int o, int k, int64_t steps,
                          int64_t step)
{
    ek_scene scene;
    int64_t n = 40;
    ek_scene_open(&scene, test, loop);
    for (int i = 0; i < scene.operands; i++) {
        ek_view view = ek_view_of(ek_operand_dtype(test, loop, i), 1, &n);
        view.stride[0] = step;
        if (i != o)
            ek_scene_place(&scene, i, &view, 0);
    }
    ek_scene_share(&scene, o, k);
    size_t out = ek_dtype_size(scene.view[o].dtype), other = ek_dtype_size(scene.view[k].dtype);
    scene.view[o].offset += steps * (int64_t)(out > other ? out : other);
    ek_scene_fill(&scene, 2);
    if (step == 1) {
        const char *name = ek_scene_operand_name(test, o);
        ek_scene_refused(&scene, EK_TYPED_CALL, EK_OVERLAP, name);
        ek_scene_refused(&scene, EK_ARRAY_CALL, EK_OVERLAP, "overlaps");
    } else {
        ek_scene_check(&scene, EK_ARRAY_CALL, "an output between the elements of another operand");
    }
    ek_scene_close(&scene);
}

static void check_output_overlap(const ek_op_test *test, int loop, int o)
{
    int outputs = test->info->outputs;
    ek_dtype dtype = ek_operand_dtype(test, loop, o);
    size_t out = ek_dtype_size(dtype);
    bool all = true;
    for (int k = 0; k < test->info->inputs; k++) {
        size_t in = ek_dtype_size(ek_input_dtype(test, loop, k));
        all &= in == out && ek_input_dtype(test, loop, k) == ek_input_dtype(test, loop, 0);
        if (in == out) {
            check_in_place(test, loop, o, k, 100, 1);
            check_in_place(test, loop, o, k, 5000, 1);
            check_in_place(test, loop, o, k, LARGE_BYTES, 1);
            check_in_place(test, loop, o, k, 33, -2);
            check_shifted(test, loop, o, outputs + k, 1, 2);
        } else {
            check_shifted(test, loop, o, outputs + k, 0, 1);
        }
        check_shifted(test, loop, o, outputs + k, 1, 1);
        check_shifted(test, loop, o, outputs + k, -1, 1);
    }
    if (all)
        check_in_place(test, loop, o, -1, 1000, 1);
    for (int other = 0; other < o; other++) { /* not even element for element */
        check_shifted(test, loop, o, other, 0, 1);
        check_shifted(test, loop, o, other, 1, 1);
        if (ek_dtype_size(ek_operand_dtype(test, loop, other)) == out)
            check_shifted(test, loop, o, other, 1, 2);
    }
}

void ek_test_overlap(const ek_op_test *test, int loop)
{
    for (int o = 0; o < test->info->outputs; o++)
        check_output_overlap(test, loop, o);
    if (test->info->outputs > 1) {
        check_all_in_place(test, loop, 100);
        check_all_in_place(test, loop, LARGE_BYTES);
    }
}
