/* The parts of check_memory, one a concept. */
#ifndef EK_CHECK_MEMORY_H
#define EK_CHECK_MEMORY_H

#include <check.h>
#include <stdbool.h>

#include "einkorn/memory.h"

#define OK(call) ck_assert_msg((call) == EK_OK, "%s: %s", #call, ek_error_message())

TCase *reuse_case(void);
TCase *sharing_case(void);
TCase *room_case(void);
TCase *pinned_case(void);
TCase *memory_threads_case(void);

/* Tests run on a GPU; else on the fake driver. */
extern bool on_gpu;

/* Makes streams of the fake driver do their work late from now on; a GPU does anyway. */
void hold_work(void);

/* What the memory of the queue's device is used for. */
ek_memory_info memory_info(ek_queue *queue);

/* So many bytes of the queue's device. */
char *take(ek_queue *queue, size_t bytes);

/* Puts a copy between the queue's GPU and pinned memory into its order. */
void copy_in(ek_queue *queue, void *dst, const void *pinned, size_t bytes);
void copy_out(ek_queue *queue, void *pinned, const void *src, size_t bytes);

/* Pinned memory with the same value in every byte. */
char *pinned_bytes(ek_queue *queue, size_t bytes, int value);

/* Whether all the bytes have the value. */
int all_are(const char *memory, size_t bytes, int value);

/* Makes all work given to `later` wait for what `first` was given until now. */
void follow(ek_queue *later, ek_queue *first);

#endif
