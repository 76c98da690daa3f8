/* A CUDA driver for machines without a GPU: what our libcuda.so.1 exports beside the driver's entry
 * points. It has EK_FAKE_DEVICES devices (2 unless the variable says else), whose memory is the
 * host's; copies and fills happen at once, unless a test holds work back, launches are noted and
 * not run. A stream that is
 * captured keeps them all for the launches of its graph. It refuses what the real one refuses: a
 * call that needs a context without the right one current, memory it did not allocate, handles of
 * another context; and of a captured stream whatever is none of these. */
#ifndef EK_FAKE_CUDA_H
#define EK_FAKE_CUDA_H

#include <stddef.h>

/* Calls of an entry so far, by the plain name ("cuLaunchKernel"), or of all entries if it is
 * null. Refused ones count too. */
int ek_fake_calls(const char *entry);

/* The name of the ith entry that was called so far; null if there were fewer. */
const char *ek_fake_entry(int i);

/* Calls refused because the context they need was not current. */
int ek_fake_context_failures(void);

/* The nth call of the entry from now on fails with `result`; n = 0 takes that back. Set before the
 * program starts by EK_FAKE_FAIL="entry:n" or "entry:n:result". */
void ek_fake_fail(const char *entry, int n, int result);

/* The nth call of whatever entry from now on fails with `result`, and if `every` is not 0 every so
 * many calls after it another one; n = 0 takes that back. What releases something does so even if
 * it is made to fail. */
void ek_fake_fail_any(int n, int every, int result);

/* The next call of the entry calls `function` before it does anything. */
void ek_fake_meet(const char *entry, void (*function)(void));

/* The entry that was made to fail last since ek_fake_fail_any was called; null: none. */
const char *ek_fake_failed(void);

/* As if a kernel had done something illegal: whatever needs the device's context returns `result`
 * from now on, though what releases something does so; 0 takes that back. */
void ek_fake_break(int device, int result);

/* What is alive: streams, events, graphs, pools, blocks of memory, retained contexts. */
int ek_fake_alive(void);

/* From now on (1) streams keep their work, frees included, until somebody waits for it, and do no
 * more of it than that needs; or (0) do it at once, those that have kept some after it. */
void ek_fake_hold(int hold);

/* Copies and fills that came to memory that had been freed when they were done. They are left out.
 */
int ek_fake_late_uses(void);

/* Bytes that all devices together have for blocks from pools; SIZE_MAX at first. */
void ek_fake_room(size_t bytes);

/* Loaded libraries of kernels. */
int ek_fake_libraries(void);

typedef struct ek_fake_launch {
    const char *kernel;
    int device;
    const void *stream;
    unsigned blocks[3], threads[3];
} ek_fake_launch;

/* The last kernel that ran, by itself or in a graph; its name is null if there was none. */
ek_fake_launch ek_fake_last_launch(void);

/* How many kernels ran, by themselves and in graphs, on all devices. */
int ek_fake_kernels(void);

/* How many of them ran on a device. */
int ek_fake_kernels_of(int device);

#endif
