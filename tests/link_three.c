/* Three operations on the CPU: what an application links is these. Prints 21. */
#include <stdio.h>

#include "einkorn/ops/add.h"
#include "einkorn/ops/mul.h"
#include "einkorn/ops/neg.h"

int main(void)
{
    float x[1] = {-3}, y[1] = {4};
    int64_t shape[1] = {1};
    ek_device *device;
    ek_queue *queue;
    if (ek_device_open("cpu", &device) != EK_OK || ek_queue_open(device, &queue) != EK_OK)
        return 1;
    ek_array a = ek_array_view(x, EK_F32, device, 1, shape);
    ek_array b = ek_array_view(y, EK_F32, device, 1, shape);
    ek_status status = ek_neg(queue, &a, &a);
    if (status == EK_OK)
        status = ek_add(queue, &a, &b, &b);
    if (status == EK_OK)
        status = ek_mul_f32(queue, 1, x, y, y);
    printf("%g\n", y[0]);
    ek_queue_close(queue);
    ek_device_close(device);
    return status;
}
