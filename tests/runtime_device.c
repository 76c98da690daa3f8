/* Devices, variants and names. */
#include <pthread.h>
#include <stdlib.h>

#include "check_runtime.h"
#include "einkorn/dtype.h"

START_TEST(opening_counts)
{
    ek_device *first, *second;
    ek_queue *queue;
    EK_MUST(ek_device_open("cpu", &first));
    EK_MUST(ek_device_open("cpu", &second));
    ck_assert_ptr_eq(first, second);
    EK_MUST(ek_queue_open(first, &queue));
    /* The queue keeps the device, whatever the order of closing. */
    ek_device_close(first);
    ek_device_close(second);
    ck_assert_str_eq(ek_device_name(ek_queue_device(queue)), "cpu");
    ck_assert_int_eq(ek_device_get_type(ek_queue_device(queue)), EK_DEVICE_CPU);
    ck_assert_int_eq(ek_device_index(ek_queue_device(queue)), 0);
    ck_assert_ptr_nonnull(ek_device_model(ek_queue_device(queue)));
    ek_queue_close(queue);
    ek_device_close(NULL);
}
END_TEST

START_TEST(names_are_refused)
{
    static const char *const wrong[] = {
        "",      "CPU",    "cpu:",    "cpu:x", "cpu:0x",         "gpu",
        "cpu:-", "cpu:-1", "cpu: 0",  "cpu0",  "cuda:",          "cuda:-1",
        "cp",    "cuda:x", "cuda:1:", "cudax", "cpu:99999999999"};
    ek_device *device = (ek_device *)&device;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ek_status status = ek_device_open(wrong[i], &device);
        ck_assert_msg(status == EK_INVALID_ARGUMENT || status == EK_NO_DEVICE, "'%s' gives %s",
                      wrong[i], ek_status_name(status));
        ck_assert_msg(strstr(ek_error_message(), "ek_device_open: name is '") != NULL, "%s",
                      ek_error_message());
    }
    ck_assert_ptr_eq(device, &device);
    EK_MUST_REFUSE(ek_device_open(NULL, &device), EK_INVALID_ARGUMENT, "name is null");
    EK_MUST_REFUSE(ek_device_open("cpu", NULL), EK_INVALID_ARGUMENT, "device is null");
    EK_MUST_REFUSE(ek_device_open("cpu:1", &device), EK_NO_DEVICE, "cpu:1");
    EK_MUST(ek_device_open("cpu:0", &device));
    ek_device_close(device);
}
END_TEST

START_TEST(devices_are_counted)
{
    ck_assert_int_eq(ek_device_count(EK_DEVICE_CPU), 1);
    ck_assert_int_ge(ek_device_count(EK_DEVICE_CUDA), 0);
    ck_assert_int_eq(ek_device_count((ek_device_type)77), 0);
    ck_assert_int_eq(ek_variant_available(EK_CUDA), ek_device_count(EK_DEVICE_CUDA) > 0);
    if (ek_device_count(EK_DEVICE_CUDA) == 0) {
        ek_device *device;
        EK_MUST_REFUSE(ek_device_open("cuda", &device), EK_NO_DEVICE, "ek_device_open");
    }
}
END_TEST

START_TEST(environment_names_the_variant)
{
    static const char *const names[] = {"base", "avx2", "avx512"};
    ek_device *device;
    ek_queue *queue;
    for (int i = 0; i < 3; i++) {
        ek_variant variant;
        setenv("EINKORN_CPU", names[i], 1);
        EK_MUST(ek_variant_parse(names[i], &variant));
        if (!ek_variant_available(variant)) {
            EK_MUST_REFUSE(ek_device_open("cpu", &device), EK_UNSUPPORTED, "EINKORN_CPU");
            continue;
        }
        EK_MUST(ek_device_open("cpu", &device));
        EK_MUST(ek_queue_open(device, &queue));
        ck_assert_int_eq(queue->variant, variant);
        ek_queue_close(queue);
        ek_device_close(device);
    }
    setenv("EINKORN_CPU", "sse9", 1);
    EK_MUST_REFUSE(ek_device_open("cpu", &device), EK_UNSUPPORTED, "EINKORN_CPU is 'sse9'");
    setenv("EINKORN_CPU", "cuda", 1);
    EK_MUST_REFUSE(ek_device_open("cpu", &device), EK_UNSUPPORTED, "EINKORN_CPU is 'cuda'");
    setenv("EINKORN_CPU", "", 1);
    EK_MUST(ek_device_open("cpu", &device));
    ek_device_close(device);
}
END_TEST

START_TEST(variants_and_dtypes_have_names)
{
    ek_variant variant;
    ek_dtype dtype;
    for (int i = 0; i < EK_VARIANTS; i++) {
        EK_MUST(ek_variant_parse(ek_variant_name((ek_variant)i), &variant));
        ck_assert_int_eq(variant, i);
    }
    for (int i = 0; i < EK_DTYPES; i++) {
        EK_MUST(ek_dtype_parse(ek_dtype_name((ek_dtype)i), &dtype));
        ck_assert_int_eq(dtype, i);
        ck_assert_uint_gt(ek_dtype_size((ek_dtype)i), 0);
    }
    ck_assert_str_eq(ek_variant_name((ek_variant)99), "?");
    ck_assert_str_eq(ek_variant_name((ek_variant)-1), "?");
    ck_assert_str_eq(ek_dtype_name((ek_dtype)99), "?");
    ck_assert_uint_eq(ek_dtype_size((ek_dtype)-1), 0);
    EK_MUST_REFUSE(ek_variant_parse("AVX2", &variant), EK_INVALID_ARGUMENT, "'AVX2'");
    EK_MUST_REFUSE(ek_variant_parse(NULL, &variant), EK_INVALID_ARGUMENT, "null");
    EK_MUST_REFUSE(ek_dtype_parse("float32", &dtype), EK_INVALID_ARGUMENT, "'float32'");
    EK_MUST_REFUSE(ek_dtype_parse(NULL, &dtype), EK_INVALID_ARGUMENT, "null");
    ck_assert_int_eq(ek_variant_available((ek_variant)99), 0);
    ck_assert_int_eq(ek_variant_available(EK_CPU_BASE), 1);
    for (int i = 0; i < EK_STATUS_COUNT; i++)
        ck_assert_int_eq(strncmp(ek_status_name((ek_status)i), "EK_", 3), 0);
    ck_assert_str_eq(ek_status_name((ek_status)99), "EK_?");
}
END_TEST

static void *open_and_close(void *unused)
{
    (void)unused;
    for (int i = 0; i < 200; i++) {
        ek_device *device;
        ek_queue *queue;
        if (ek_device_open("cpu", &device) != EK_OK || ek_queue_open(device, &queue) != EK_OK)
            return "failed";
        ek_device_close(device);
        ek_queue_close(queue);
    }
    return NULL;
}

START_TEST(threads_open_and_close)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, open_and_close, NULL), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        ck_assert_ptr_null(failed);
    }
}
END_TEST

TCase *ek_device_case(void)
{
    TCase *device = tcase_create("device");
    tcase_add_test(device, opening_counts);
    tcase_add_test(device, names_are_refused);
    tcase_add_test(device, devices_are_counted);
    tcase_add_test(device, environment_names_the_variant);
    tcase_add_test(device, variants_and_dtypes_have_names);
    tcase_add_test(device, threads_open_and_close);
    return device;
}
