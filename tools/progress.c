#include "progress.h"

#include <stdio.h>
#include <unistd.h>

#include "clock.h"

static const double pause_ns = 1e8; /* between two updates, so that drawing costs nothing */

static int64_t total;
static bool shown;
static double last;

void progress_begin(int64_t steps)
{
    total = steps;
    shown = isatty(STDERR_FILENO) == 1;
    last = 0;
}

void progress_show(int64_t done, const char *what)
{
    if (!shown || clock_ns() - last < pause_ns)
        return;
    last = clock_ns();
    int percent = total > 0 ? (int)(100.0 * (double)done / (double)total) : 0;
    fprintf(stderr, "\r%3d%% %-60.60s", percent, what);
    fflush(stderr);
}

void progress_clear(void)
{
    if (shown && last > 0)
        fprintf(stderr, "\r%66s\r", "");
}

void progress_end(void)
{
    progress_clear();
    shown = false;
}
