#include "cpu/tree.h"

#include "cpu/threads.h"
#include "integer.h"

enum {
    /* Room for the results of parts before they join the lanes; it holds EK_LANES parts of the
     * widest results. */
    PARTS_BYTES = EK_TREE_LANES_BYTES,
    /* Bytes that are worth a thread of their own: waking one takes some microseconds. */
    THREAD_BYTES = 512 * 1024,
};

int ek_tree_threads(int32_t threads, int64_t bytes)
{
    return ek_cpu_threads(threads, bytes / THREAD_BYTES);
}

int64_t ek_tree_width(int64_t n, int64_t size)
{
    int64_t lanes = ek_tree_lanes(n > EK_CHUNK ? ek_divide_up(n, EK_CHUNK) : 1);
    return EK_TREE_LANES_BYTES / (lanes * size);
}

static void reduce(const ek_tree *tree, int64_t first, int64_t n, int threads, void *result);

/* The results of `count` parts of `part` elements; `n` elements are left from `first` on. Threads
 * share out chunks only: above them, parts are large enough to use all threads each. */
static void reduce_parts(const ek_tree *tree, int64_t first, int64_t n, int64_t part, int64_t count,
                         int threads, char *results)
{
    int64_t bytes = tree->width * tree->kernels->size;
    if (part > EK_CHUNK || threads == 1) {
        for (int64_t i = 0; i < count; i++) {
            int64_t rest = n - i * part;
            reduce(tree, first + i * part, rest < part ? rest : part, threads, results + i * bytes);
        }
        return;
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = n - i * part;
        tree->chunk(tree->source, first + i * part, rest < part ? rest : part, results + i * bytes);
    }
}

/* More than a chunk: the largest parts that are whole subtrees, then their results. */
static void reduce_level(const ek_tree *tree, int64_t first, int64_t n, int threads, void *result)
{
    const ek_tree_kernels *kernels = tree->kernels;
    _Alignas(64) char lanes[EK_TREE_LANES_BYTES];
    _Alignas(64) char results[PARTS_BYTES];
    int64_t part = EK_CHUNK;
    while (ek_divide_up(n, part) > EK_CHUNK)
        part *= EK_CHUNK;
    int64_t parts = ek_divide_up(n, part);
    int64_t group = PARTS_BYTES / (tree->width * kernels->size);
    group = group < parts ? group / EK_LANES * EK_LANES : parts;
    int64_t used = ek_tree_lanes(parts);
    kernels->start(used * tree->width, lanes);
    for (int64_t done = 0; done < parts; done += group) {
        int64_t count = parts - done < group ? parts - done : group;
        reduce_parts(tree, first + done * part, n - done * part, part, count, threads, results);
        kernels->join(count, tree->width, results, lanes);
    }
    kernels->fold(used, tree->width, lanes, result);
}

static void reduce(const ek_tree *tree, int64_t first, int64_t n, int threads, void *result)
{
    if (n <= EK_CHUNK)
        tree->chunk(tree->source, first, n, result);
    else
        reduce_level(tree, first, n, threads, result);
}

void ek_tree_reduce(const ek_tree *tree, int64_t n, int threads, void *result)
{
    reduce(tree, 0, n, threads, result);
}
