/* Einkorn: array kernels for CPU and CUDA. One definition, every device, the same bits.
 *
 * This header is everything; an application may include the parts it uses instead
 * (einkorn/queue.h, einkorn/ops/add.h and so on). */
#ifndef EINKORN_H
#define EINKORN_H

#include "einkorn/arrange.h"
#include "einkorn/array.h"
#include "einkorn/conv.h"
#include "einkorn/device.h"
#include "einkorn/dlpack.h"
#include "einkorn/dtype.h"
#include "einkorn/event.h"
#include "einkorn/fallback.h"
#include "einkorn/gemm.h"
#include "einkorn/hash.h"
#include "einkorn/limits.h"
#include "einkorn/memory.h"
#include "einkorn/ops.h"
#include "einkorn/product.h"
#include "einkorn/program.h"
#include "einkorn/queue.h"
#include "einkorn/status.h"
#include "einkorn/table.h"
#include "einkorn/version.h"
#include "einkorn/view.h"

#endif
