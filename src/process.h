/* Which process this is. */
#ifndef EK_PROCESS_H
#define EK_PROCESS_H

/* The process's number, for the price of a load: it is kept in a page of memory that the kernel
 * clears in children of fork(), and asked of the system only where that cannot be had. */
int ek_process(void);

#endif
