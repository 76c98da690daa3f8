/* einkorn verify --hashes: what operations gave, in a form that can be kept and compared. */
#ifndef VERIFY_HASHES_H
#define VERIFY_HASHES_H

#include "einkorn/table.h"

/* Writes a line for each loop of the operations, or of those of dtype `only` if it is not
 * EK_DTYPES: operation, dtype and a hash of all results of the calls that verify makes. */
ek_status verify_hashes(int32_t count, const ek_op_info *const *ops, ek_dtype only);

#endif
