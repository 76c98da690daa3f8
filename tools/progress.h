/* Shows on a terminal how far long work is; in a pipe or a file it shows nothing. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Begins with how many steps there will be. */
void progress_begin(int64_t steps);

/* `done` steps are done, and this is being worked on. */
void progress_show(int64_t done, const char *what);

/* Clears the line, so that something else can be printed. */
void progress_clear(void);

/* Clears the line for good. */
void progress_end(void);

#endif
