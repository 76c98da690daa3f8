/* Wrong calls: each gives its status, a message that names the operation and the argument, and
 * leaves the memory as it was. */
#include <check.h>
#include <string.h>

#include "check_ops.h"
#include "scene.h"

static const int64_t LENGTH = 8;

static bool is_copy(const ek_op_test *test)
{
    return strcmp(test->info->name, "copy") == 0;
}

/* The operand's name in messages of the array call. */
static const char *operand_name(const ek_op_test *test, int operand)
{
    if (is_copy(test))
        return operand ? "src" : "dst";
    return ek_scene_operand_name(test, operand);
}

static void open_scene(ek_scene *scene, const ek_op_test *test, int loop)
{
    ek_scene_open(scene, test, loop);
    for (int k = 0; k < scene->operands; k++) {
        ek_view view = ek_view_of(ek_operand_dtype(test, loop, k), 1, &LENGTH);
        ek_scene_place(scene, k, &view, 0);
    }
    ek_scene_fill(scene, 1);
}

static void null_data(ek_arguments *a, int operand)
{
    a->data[operand] = NULL;
    a->array[operand].data = NULL;
}

static void negative_count(ek_arguments *a, int operand)
{
    (void)operand;
    a->n = -1;
}

/* The bytes of n elements, of whatever size, do not fit 63 bits or wrap to few. */
static void huge_count(ek_arguments *a, int operand)
{
    (void)operand;
    a->n = INT64_C(1) << 62;
}

void ek_test_typed_refusals(const ek_op_test *test, int loop)
{
    ek_scene scene;
    open_scene(&scene, test, loop);
    for (int k = 0; k < scene.operands; k++) {
        scene.spoil = null_data;
        scene.spoiled = k;
        ek_scene_refused(&scene, EK_TYPED_CALL, EK_INVALID_ARGUMENT,
                         ek_scene_operand_name(test, k));
    }
    scene.spoil = negative_count;
    ek_scene_refused(&scene, EK_TYPED_CALL, EK_INVALID_ARGUMENT, "n is -1");
    scene.spoil = huge_count;
    ek_scene_refused(&scene, EK_TYPED_CALL, EK_INVALID_ARGUMENT, "n is 4611686018427387904");
    ek_scene_close(&scene);
}

static void null_queue(ek_arguments *a, int operand)
{
    (void)operand;
    a->queue = NULL;
}

static void null_array(ek_arguments *a, int operand)
{
    a->pointer[operand] = NULL;
}

static void negative_ndim(ek_arguments *a, int operand)
{
    a->array[operand].ndim = -1;
}

static void large_ndim(ek_arguments *a, int operand)
{
    a->array[operand].ndim = EK_MAX_NDIM + 1;
}

static void null_shape(ek_arguments *a, int operand)
{
    a->array[operand].shape = NULL;
}

static void negative_length(ek_arguments *a, int operand)
{
    static int64_t shape[] = {-8};
    a->array[operand].shape = shape;
}

static void huge_size(ek_arguments *a, int operand)
{
    static int64_t shape[] = {INT64_C(1) << 33, INT64_C(1) << 33};
    a->array[operand].shape = shape;
    a->array[operand].ndim = 2;
    a->array[operand].strides = NULL;
}

/* An overflow is one even where another length is zero. */
static void huge_empty(ek_arguments *a, int operand)
{
    static int64_t shape[] = {INT64_C(1) << 33, INT64_C(1) << 33, 0};
    a->array[operand].shape = shape;
    a->array[operand].ndim = 3;
    a->array[operand].strides = NULL;
}

static void odd_bits(ek_arguments *a, int operand)
{
    a->array[operand].type.bits = 24;
}

static void two_lanes(ek_arguments *a, int operand)
{
    a->array[operand].type.lanes = 2;
}

static void unknown_code(ek_arguments *a, int operand)
{
    a->array[operand].type.code = 200;
}

static void other_device(ek_arguments *a, int operand)
{
    enum { METAL = 8 }; /* DLPack's number; ek_copy takes host and CUDA operands alike */
    a->array[operand].device.type = METAL;
}

static void longer(ek_arguments *a, int operand)
{
    static int64_t shape[] = {9};
    a->array[operand].shape = shape;
}

static void no_element(ek_arguments *a, int operand)
{
    static int64_t shape[] = {0};
    a->array[operand].shape = shape;
}

static void two_dimensions(ek_arguments *a, int operand)
{
    static int64_t shape[] = {2, 8};
    a->array[operand].shape = shape;
    a->array[operand].ndim = 2;
    a->array[operand].strides = NULL;
}

/* All inputs, the first of which is the operand. */
static void one_element(ek_arguments *a, int operand)
{
    static int64_t shape[] = {1};
    for (int k = operand; k < EK_SCENE_OPERANDS; k++)
        a->array[k].shape = shape;
}

static void zero_stride(ek_arguments *a, int operand)
{
    static int64_t stride[] = {0};
    a->array[operand].strides = stride;
}

/* An output of two rows that share all but four elements. */
static void shared_rows(ek_arguments *a, int operand)
{
    static int64_t shape[] = {2, 8}, overlapping[] = {2, 1}, repeated[] = {0, 1};
    for (int k = 0; k < EK_SCENE_OPERANDS; k++) {
        a->array[k].shape = shape;
        a->array[k].ndim = 2;
        a->array[k].strides = k == operand ? overlapping : repeated;
    }
}

static ek_dtype other_dtype;

static void wrong_dtype(ek_arguments *a, int operand)
{
    ek_array *array = &a->array[operand];
    int64_t none = 0;
    ek_array model = ek_array_view(NULL, other_dtype, ek_queue_device(a->queue), 1, &none);
    array->type = model.type;
}

/* True if a dtype in place of an operand's leaves no loop that fits. */
static bool fits_nothing(const ek_op_test *test, int loop, int operand, ek_dtype dtype)
{
    for (int i = 0; i < test->info->loop_count; i++) {
        bool fits = true;
        for (int k = 0; k < test->info->outputs + test->info->inputs; k++)
            fits &= ek_operand_dtype(test, i, k) ==
                    (k == operand ? dtype : ek_operand_dtype(test, loop, k));
        if (fits)
            return false;
    }
    return true;
}

static void refuse_dtypes(ek_scene *scene, int operand)
{
    for (int dtype = 0; dtype < EK_DTYPES; dtype++) {
        if (!fits_nothing(scene->test, scene->loop, operand, (ek_dtype)dtype))
            continue;
        other_dtype = (ek_dtype)dtype;
        scene->spoil = wrong_dtype;
        scene->spoiled = operand;
        ek_scene_refused(scene, EK_ARRAY_CALL, EK_DTYPE_MISMATCH, "ek_cast");
        return;
    }
}

/* Numbers that a parameter must not have, and those that integers do not. */
static void refuse_params(ek_scene *scene)
{
    const ek_op_info *info = scene->test->info;
    bool integers = info->loops[scene->loop].dtype <= EK_U64;
    scene->spoil = NULL;
    for (int k = 0; k < info->param_count; k++) {
        const ek_param_info *param = &info->params[k];
        bool real = strcmp(param->type, "real") == 0;
        double values[EK_MAX_PARAMS];
        memcpy(values, scene->params, (size_t)info->param_count * sizeof *values);
        scene->params = values;
        if (param->allowed && param->least > -INFINITY) {
            values[k] = param->least > 1e-300 || param->least < -1e-300 ? param->least - 1 : -1;
            ek_scene_refused(scene, EK_ARRAY_CALL, EK_INVALID_ARGUMENT, param->allowed);
            if (!integers)
                ek_scene_refused(scene, EK_TYPED_CALL, EK_INVALID_ARGUMENT, param->allowed);
        }
        if (param->allowed && param->most < INFINITY) {
            values[k] = param->most + 1;
            ek_scene_refused(scene, EK_ARRAY_CALL, EK_INVALID_ARGUMENT, param->name);
        }
        if (real && integers) {
            values[k] = 0.5;
            ek_scene_refused(scene, EK_ARRAY_CALL, EK_INVALID_ARGUMENT, param->name);
            values[k] = 0x1p+64;
            ek_scene_refused(scene, EK_ARRAY_CALL, EK_INVALID_ARGUMENT, param->name);
        }
        scene->params = scene->test->sets;
    }
}

void ek_test_array_refusals(const ek_op_test *test, int loop)
{
    static const struct {
        void (*spoil)(ek_arguments *, int);
        ek_status status;
        bool out_only;
    } wrongs[] = {
        {null_array, EK_INVALID_ARGUMENT, false},
        {null_data, EK_INVALID_ARGUMENT, false},
        {negative_ndim, EK_INVALID_ARGUMENT, false},
        {large_ndim, EK_INVALID_ARGUMENT, false},
        {null_shape, EK_INVALID_ARGUMENT, false},
        {negative_length, EK_INVALID_ARGUMENT, false},
        {huge_size, EK_INVALID_ARGUMENT, false},
        {huge_empty, EK_INVALID_ARGUMENT, false},
        {odd_bits, EK_DTYPE_MISMATCH, false},
        {two_lanes, EK_DTYPE_MISMATCH, false},
        {unknown_code, EK_DTYPE_MISMATCH, false},
        {other_device, EK_DEVICE_MISMATCH, false},
        {longer, EK_SHAPE_MISMATCH, false},
        {no_element, EK_SHAPE_MISMATCH, false},
        {zero_stride, EK_OVERLAP, true},
        {shared_rows, EK_OVERLAP, true},
    };
    ek_scene scene;
    open_scene(&scene, test, loop);
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        if (wrongs[i].spoil == other_device && is_copy(test) && ek_testing_gpu())
            continue; /* a copy between host and GPU is what it is for */
        for (int k = 0; k < (wrongs[i].out_only ? scene.outputs : scene.operands); k++) {
            if (wrongs[i].spoil == shared_rows && k > 0)
                continue; /* the rows of those before overlap too */
            scene.spoil = wrongs[i].spoil;
            scene.spoiled = k;
            /* An output of another length is the inputs' fault as much as its own. */
            bool shape = wrongs[i].status == EK_SHAPE_MISMATCH;
            ek_scene_refused(&scene, EK_ARRAY_CALL, wrongs[i].status,
                             shape ? operand_name(test, 0) : operand_name(test, k));
        }
    }
    for (int k = 0; k < scene.operands; k++)
        refuse_dtypes(&scene, k);
    scene.spoil = null_queue;
    ek_scene_refused(&scene, EK_ARRAY_CALL, EK_INVALID_ARGUMENT, "queue");
    scene.spoil = two_dimensions;
    scene.spoiled = scene.outputs;
    ek_scene_refused(&scene, EK_ARRAY_CALL, EK_SHAPE_MISMATCH, operand_name(test, scene.outputs));
    scene.spoil = one_element;
    if (!is_copy(test))
        ek_scene_refused(&scene, EK_ARRAY_CALL, EK_SHAPE_MISMATCH, operand_name(test, 0));
    refuse_params(&scene);
    ek_scene_close(&scene);
}
