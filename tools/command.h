/* The subcommands of `einkorn` and what they share. Whatever goes wrong is one line on standard
 * error that names the subcommand. */
#ifndef COMMAND_H
#define COMMAND_H

#include <getopt.h>
#include <stdint.h>

#include "einkorn/queue.h"
#include "einkorn/table.h"

/* Exit statuses. */
enum {
    COMMAND_OK = 0,
    COMMAND_FAILED = 1, /* something did not hold or could not be done */
    COMMAND_MISUSED = 2 /* the command line makes no sense */
};

/* Each takes its own name as argv[0] and returns an exit status. */
int command_info(int argc, char **argv);
int command_ops(int argc, char **argv);
int command_run(int argc, char **argv);
int command_verify(int argc, char **argv);
int command_bench(int argc, char **argv);

/* The next option as getopt_long gives it, -1 at the end. Help goes to standard output and gives
 * COMMAND_HELP; an option that is unknown or lacks its value is reported and gives COMMAND_BAD. */
enum { COMMAND_HELP = 1000, COMMAND_BAD };

int command_option(int argc, char **argv, const char *letters, const struct option *options,
                   const char *help);

/* Reports wrong use; returns COMMAND_MISUSED. */
int command_misuse(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Reports the calling thread's ek_error_message; returns COMMAND_FAILED. */
int command_fail(const char *command);

/* The operation of that name. */
ek_status command_find_op(const char *name, const ek_op_info **op);

/* The operations named, in the table's order; all of them for a count of 0. `chosen` has room for
 * ek_op_count. */
ek_status command_choose_ops(int count, char **names, const ek_op_info **chosen,
                             int32_t *chosen_count);

/* Opens a device and a queue on it; the queue keeps the device. */
ek_status command_open(const char *device, ek_queue **queue);

/* A whole number of at least `least`, plain or as a power ("2^28"); `what` names it in a message.
 */
ek_status command_parse_count(const char *what, const char *text, int64_t least, int64_t *value);

#endif
