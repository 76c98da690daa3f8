/* How an image operation is cut up on the CPU: rows of planes, shared by threads. */
#include "cpu/run_image.h"

#include "backend.h"
#include "cpu/record.h"
#include "cpu/threads.h"
#include "integer.h"

enum {
    UNIT_ELEMENTS = 4096, /* what one call of a kernel should have to be worth it */
    THREAD_WORK = 1 << 16 /* elements of windows that pay for another thread */
};

/* Rows of all planes, in units of so many of one plane. */
typedef struct cut {
    int64_t rows, units; /* of a plane */
} cut;

static void run_unit(const ek_image_kernel *kernel, const ek_image_call *call, const cut *cut,
                     int64_t unit)
{
    int64_t offset[EK_IMAGE_OPERANDS];
    void *data[EK_IMAGE_OPERANDS];
    int64_t first = unit % cut->units * cut->rows;
    ek_image_plane(call, unit / cut->units, offset);
    for (int32_t k = 0; k < call->operands; k++)
        data[k] = (char *)call->data[k] + offset[k] * kernel->size[k];
    kernel->rows(call, data, first, ek_smaller(first + cut->rows, call->height));
}

/* About how many elements are looked at for each one of the output. */
static double elements_of(const ek_window *window)
{
    return (double)(window->kernel[0] ? window->kernel[0] : 1) *
           (double)(window->kernel[1] ? window->kernel[1] : 1);
}

static ek_status run_recorded(ek_queue *queue, const void *kernel, const void *call)
{
    return ek_cpu_image(queue, kernel, call);
}

ek_status ek_cpu_image(ek_queue *queue, const ek_image_kernel *kernel, const ek_image_call *call)
{
    if (call->planes == 0 || call->height == 0 || call->width == 0)
        return EK_OK;
    if (EK_UNLIKELY(ek_recording(queue)))
        return ek_cpu_record(queue, run_recorded, kernel, call, sizeof *call);
    cut cut = {.rows = ek_smaller(call->height, UNIT_ELEMENTS / call->width + 1)};
    cut.units = ek_divide_up(call->height, cut.rows);
    int64_t count = call->planes * cut.units;
    double useful = (double)call->planes * (double)call->height * (double)call->width *
                    elements_of(&call->window) / THREAD_WORK;
    int32_t all = ek_queue_base_of(queue)->threads;
    int threads = ek_cpu_threads(all, useful < all ? (int64_t)useful : all);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t i = 0; i < count; i++)
        run_unit(kernel, call, &cut, i);
    return EK_OK;
}
