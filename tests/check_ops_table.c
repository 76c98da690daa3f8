/* The untyped side of a row: what ek_infer and ek_apply make of it. */
#include <check.h>
#include <string.h>

#include "check_ops.h"
#include "scene.h"

/* ek_apply in the place of the array call. */
static const ek_op_info *applied;

static ek_status apply(ek_queue *queue, const ek_array *const *in, const double *values,
                       ek_array *const *out)
{
    ek_param params[EK_MAX_PARAMS];
    for (int k = 0; k < applied->param_count; k++) /* each both ways: its type takes one */
        params[k] = (ek_param){.name = applied->params[k].name,
                               .real = values[k],
                               .integer = fabs(values[k]) < 0x1p+62 ? (int64_t)values[k] : 0};
    return ek_apply(queue, applied, in, applied->param_count, params, out);
}

static void check_apply(const ek_op_test *test, int loop)
{
    static const int64_t shape[] = {3, 4}, row[] = {4};
    ek_op_test through = *test;
    through.array = apply;
    applied = test->info;
    ek_scene scene;
    ek_scene_open(&scene, &through, loop);
    for (int k = 0; k < scene.operands; k++) {
        bool second = k == scene.outputs + 1;
        ek_view view =
            ek_view_of(ek_operand_dtype(test, loop, k), second ? 1 : 2, second ? row : shape);
        ek_scene_place(&scene, k, &view, 0);
    }
    ek_scene_fill(&scene, 1);
    ek_scene_check(&scene, EK_ARRAY_CALL, "by ek_apply");
    ek_scene_close(&scene);
}

static void check_infer(const ek_op_test *test, int loop)
{
    int64_t shape[] = {2, 1, 3}, column[] = {5, 1};
    const ek_place *places;
    ek_places(&places);
    const ek_device *device = ek_queue_device(places[0].queue);
    ek_array arrays[EK_MAX_INPUTS];
    const ek_array *in[EK_MAX_INPUTS];
    ek_output got[EK_MAX_OUTPUTS];
    for (int k = 0; k < test->info->inputs; k++) {
        ek_dtype mine = ek_input_dtype(test, loop, k);
        arrays[k] = k == 1 ? ek_array_view(NULL, mine, device, 2, column)
                           : ek_array_view(NULL, mine, device, 3, shape);
        in[k] = &arrays[k];
    }
    ek_status status = ek_infer(test->info, in, 0, NULL, got);
    ck_assert_msg(status == EK_OK, "%s", ek_error_message());
    for (int k = 0; k < test->info->outputs; k++) {
        if (strcmp(test->info->kind, "cast") != 0)
            ck_assert_int_eq(got[k].dtype, ek_operand_dtype(test, loop, k));
        ck_assert_int_eq(got[k].ndim, 3);
        ck_assert_int_eq(got[k].shape[0], 2);
        ck_assert_int_eq(got[k].shape[1], test->info->inputs > 1 ? 5 : 1);
        ck_assert_int_eq(got[k].shape[2], 3);
    }

    ek_param unknown = {.name = "no_such_parameter"};
    status = ek_infer(test->info, in, 1, &unknown, got);
    ck_assert_int_eq(status, EK_INVALID_ARGUMENT);
    ck_assert_msg(strstr(ek_error_message(), "no_such_parameter") &&
                      strstr(ek_error_message(), test->info->name),
                  "%s", ek_error_message());
}

void ek_test_table(const ek_op_test *test, int loop)
{
    const ek_op_info *info = test->info;
    ck_assert_ptr_eq(ek_op_find(info->name), info);
    ck_assert(ek_op_has_variant(info, EK_CPU_BASE));
    ck_assert(info->brief[0] != '\0');
    ck_assert_str_eq(info->bits, "same");
    check_infer(test, loop);
    if (strcmp(info->kind, "cast") != 0 && strcmp(info->name, "copy") != 0)
        check_apply(test, loop);
}
