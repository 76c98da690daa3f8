/* The tests of the runtime: one test case a concept. */
#ifndef EK_CHECK_RUNTIME_H
#define EK_CHECK_RUNTIME_H

#include <check.h>
#include <string.h>

#include "einkorn/device.h"
#include "einkorn/queue.h"
#include "einkorn/status.h"

TCase *ek_device_case(void);
TCase *ek_queue_case(void);
TCase *ek_memory_case(void);
TCase *ek_array_case(void);
TCase *ek_broadcast_case(void);
TCase *ek_overlap_case(void);
TCase *ek_copy_case(void);
TCase *ek_tiles_case(void);
TCase *ek_dlpack_case(void);
TCase *ek_environment_case(void);
TCase *ek_harness_case(void);

/* Asserts that a call gave EK_OK, or else its status and a message with `word` in it. */
#define EK_MUST(call)                                                                              \
    do {                                                                                           \
        ek_status must_status = (call);                                                            \
        ck_assert_msg(must_status == EK_OK, "%s: %s", #call, ek_error_message());                  \
    } while (0)

#define EK_MUST_REFUSE(call, wanted, word)                                                         \
    do {                                                                                           \
        ek_status refuse_status = (call);                                                          \
        ck_assert_msg(refuse_status == (wanted), "%s gives %s", #call,                             \
                      ek_status_name(refuse_status));                                              \
        ck_assert_msg(strstr(ek_error_message(), word) != NULL, "%s: no '%s' in: %s", #call, word, \
                      ek_error_message());                                                         \
    } while (0)

/* A device and a queue of the CPU, open for the length of a test. */
extern ek_device *ek_cpu;
extern ek_queue *ek_cpu_queue;
void ek_open_cpu(void);
void ek_close_cpu(void);

#endif
