/* What the files of the fake CUDA driver share; fake_cuda.h is what a test sees of it. */
#ifndef EK_FAKE_DRIVER_H
#define EK_FAKE_DRIVER_H

#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fake_cuda.h"

enum { MAX_DEVICES = 16, MAX_NODES = 64 };

struct CUctx_st {
    int device;
    int retained;
    CUresult broken;  /* what everything in it returns; CUDA_SUCCESS: it works */
    int synchronized; /* how often all its streams were waited for at once: that ends captures */
};

/* A launch, a copy or a fill of a graph. */
typedef struct node {
    ek_fake_launch launch; /* its kernel is null for the others */
    char *dst;
    const char *src; /* null for a fill */
    unsigned char value;
    size_t dst_pitch, src_pitch, width, rows;
} node;

struct CUgraph_st {
    bool broken;
    int synchronized; /* of its context when the capture began */
    int count;
    node nodes[MAX_NODES];
};

struct CUstream_st {
    CUcontext context;
    CUgraph capture;           /* null unless the stream is captured */
    struct work *first, *last; /* what it has still to do, while a test holds work back */
};

struct CUevent_st {
    CUcontext context;
    CUstream stream;    /* it was recorded on last */
    int marks, reached; /* how often it was recorded, and up to which record work is done */
    int references;     /* its handle and work that holds it */
};

/* Memory the driver knows of: a device's, or pinned memory of the host (device -1). */
typedef struct block {
    struct block *next;
    char *start;
    size_t bytes;
    int device;
    uint64_t serial; /* no other block ever has it */
} block;

/* Guards everything here that is counted or listed. */
extern pthread_mutex_t fake_lock;

/* cuInit begins it; the check is CUDA_SUCCESS while the process is alive. */
void fake_process_begin(void);
CUresult fake_process_check(void);

/* Counts a call and says whether it is one that shall fail. */
CUresult fake_enter(const char *name);

void fake_change_alive(int by);

/* The calling thread's current context. */
CUcontext fake_current(void);

/* Whether the wanted context, or any if it is null, is current; counts it if not. */
bool fake_needs_context(CUcontext wanted);

/* The block that holds all of these bytes, or null. */
block *fake_find_block(const void *memory, size_t bytes);

int fake_synchronized(CUcontext context);

/* Does it at once, or keeps it for the graph. */
CUresult fake_submit(const node *node, CUstream stream);

/* What follows is for the driver's own files, what is above for cublas.c too. Nothing may meet a
 * name of the program that loads it. */
#pragma GCC visibility push(hidden)

/* Devices there are; -1 until cuInit. */
extern int fake_device_count;

/* Whether work may go to a stream that must not be captured. If it is, that is its end. */
bool fake_is_open(CUstream stream);

/* What a handle of a stream stands for: those of default streams, which are no objects, for one of
 * the current context; null if there is none. */
CUstream fake_stream(CUstream stream);

void fake_run(const node *node, CUstream stream);

/* order.c: the same in the stream's order, and other things that have a place there. */
void fake_do(const node *node, CUstream stream);
void fake_do_record(CUevent event, CUstream stream);
void fake_do_wait(CUstream stream, CUevent event);
CUresult fake_do_free(CUstream stream, int device, void *memory);

/* Whether all is done; makes that so. */
bool fake_is_done(CUstream stream);
bool fake_is_reached(CUevent event);
void fake_finish(CUstream stream);
void fake_finish_event(CUevent event);

/* Frees the event once no work needs it. */
void fake_drop_event(CUevent event);

CUresult fake_remove_block(int device, const void *memory);

/* What a call returns that has released something: a failure that it was made to have, or that its
 * context has. */
CUresult fake_released(CUresult injected, CUcontext context);

/* Notes a launch as the last. */
void fake_note_launch(const ek_fake_launch *launch, CUstream stream);

#pragma GCC visibility pop

#define ENTER(name)                                                                                \
    do {                                                                                           \
        CUresult injected = fake_enter(name);                                                      \
        if (injected != CUDA_SUCCESS)                                                              \
            return injected;                                                                       \
    } while (0)

#define REQUIRE(condition, result)                                                                 \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return result;                                                                         \
    } while (0)

#define NEED_CONTEXT(wanted)                                                                       \
    do {                                                                                           \
        REQUIRE(fake_needs_context(wanted), CUDA_ERROR_INVALID_CONTEXT);                           \
        NEED_WORKING(fake_current());                                                              \
    } while (0)

#define NEED_WORKING(context) REQUIRE((context)->broken == CUDA_SUCCESS, (context)->broken)

#define NEED_OPEN(stream) REQUIRE(fake_is_open(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)

#endif
