#include "must.h"

#include <stdio.h>
#include <stdlib.h>

void must_at(bool holds, const char *what, const char *file, int line)
{
    if (holds)
        return;
    fprintf(stderr, "%s:%d: %s (%s)\n", file, line, what, ek_error_message());
    exit(EXIT_FAILURE);
}

ek_queue *open_queue(const char *name)
{
    ek_device *device;
    ek_queue *queue;
    MUST(ek_device_open(name, &device));
    MUST(ek_queue_open(device, &queue));
    ek_device_close(device);
    return queue;
}
