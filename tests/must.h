/* What has to hold in any thread and in programs without Check, whose assertions could not end
 * them. */
#ifndef EK_TEST_MUST_H
#define EK_TEST_MUST_H

#include <stdbool.h>

#include "einkorn/queue.h"

/* Ends the program with status 1, and a line that says where, unless it holds. */
#define MUST(call) must_at((call) == EK_OK, #call, __FILE__, __LINE__)
#define REQUIRE(holds) must_at(holds, #holds, __FILE__, __LINE__)

void must_at(bool holds, const char *what, const char *file, int line);

/* A queue, which alone keeps its device. */
ek_queue *open_queue(const char *device);

#endif
