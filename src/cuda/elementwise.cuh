/* How elementwise kernels walk memory. Op::apply computes one element from storage to storage: it is
 * given where the results go, then the arguments. */
#ifndef EK_CUDA_ELEMENTWISE_CUH
#define EK_CUDA_ELEMENTWISE_CUH

#include <stdint.h>
#include <utility>

#include "cuda/elementwise_args.h"
#include "einkorn/dtype.h"
#include "scalar.h"

#define EK_KERNEL extern "C" __global__ void __launch_bounds__(EK_CUDA_THREADS)
#define EK_BOUNDED_KERNEL(blocks)                                                                  \
    extern "C" __global__ void __launch_bounds__(EK_CUDA_THREADS, blocks)
#define EK_INLINE static __device__ __forceinline__
#define EK_MEMBER __device__ __forceinline__
#define EK_SHARED static __device__ __noinline__

/* Neighbouring elements that are loaded and stored at once. */
template <typename T, int width> struct alignas(sizeof(T) * width) ek_pack {
    T at[width];
};

/* Stores a pack at its boundary in global memory at once; the compiler, left alone, was seen to take
 * 16 bytes apart. */
template <typename T, int width> EK_INLINE void ek_store(T *to, const ek_pack<T, width> &pack)
{
    if constexpr (sizeof pack == 16) {
        uint4 word;
        memcpy(&word, &pack, sizeof word);
        asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};"
                     :
                     : "l"(__cvta_generic_to_global(to)), "r"(word.x), "r"(word.y), "r"(word.z),
                       "r"(word.w)
                     : "memory");
    } else {
        *(ek_pack<T, width> *)to = pack;
    }
}

/* The same as bits: words, which the compiler does not take apart into bytes. */
template <int bytes> struct alignas(bytes) ek_raw {
    uint32_t word[bytes / 4];
};
template <> struct ek_raw<2> {
    uint16_t word[1];
};
template <> struct ek_raw<1> {
    uint8_t word[1];
};

/* Elements as bits, so that code that only moves them is shared by dtypes. */
template <int size, int align> struct ek_bits;
template <> struct ek_bits<1, 1> {
    using type = uint8_t;
};
template <> struct ek_bits<2, 2> {
    using type = uint16_t;
};
template <> struct ek_bits<4, 4> {
    using type = uint32_t;
};
template <> struct ek_bits<8, 8> {
    using type = uint64_t;
};
template <> struct ek_bits<8, 4> {
    using type = ek_c64;
};
template <> struct ek_bits<16, 8> {
    using type = ek_c128;
};
template <typename T> using ek_bits_of = typename ek_bits<sizeof(T), alignof(T)>::type;

EK_INLINE constexpr int ek_largest(int a)
{
    return a;
}

template <typename... Rest> EK_INLINE constexpr int ek_largest(int a, int b, Rest... rest)
{
    return ek_largest(a > b ? a : b, rest...);
}

EK_INLINE constexpr int ek_log2(int power)
{
    return power > 1 ? 1 + ek_log2(power / 2) : 0;
}

EK_INLINE uint32_t ek_divide(uint32_t i, const ek_cuda_length &by)
{
    return (__umulhi(i, by.multiplier) + i) >> by.shift;
}

/* Memory of a block: 16 bytes a thread. */
EK_INLINE char *ek_shared_memory()
{
    static __shared__ __align__(16) char shared[EK_CUDA_THREADS * 16];
    return shared;
}

/* The thread's own place in it. */
EK_INLINE void *ek_own_place()
{
    return ek_shared_memory() + threadIdx.x * 16;
}

/* Where a thread works: on packs of one line, as far apart as the tile is wide in threads, so that
 * neighbours touch neighbouring memory. */
template <int operands, int width, int packs> struct ek_place {
    int64_t offset[operands]; /* of the line, in elements */
    int64_t i;                /* the first pack's first element in the line; may be negative */
    int64_t n;                /* elements of the line; 0 if there is no such line */
    uint32_t y;               /* if turned: the line's index in the last dimension */

    EK_MEMBER ek_place(const ek_cuda_walk &walk, int size)
    {
        uint32_t band = ek_divide(blockIdx.x, walk.tiles);
        uint32_t tile = blockIdx.x - band * walk.tiles.length;
        uint32_t row = threadIdx.x >> walk.across, column = threadIdx.x & ((1 << walk.across) - 1);
        uint32_t line = band << (EK_CUDA_LOG_THREADS - walk.across);
        i = (((int64_t)tile << walk.across) * packs + column) * width;
        if (!walk.turned)
            line += row;
        n = line < walk.lines ? walk.length : 0;
        y = 0;
#pragma unroll
        for (int k = 0; k < operands; k++)
            offset[k] = 0;
#pragma unroll 1
        for (int d = walk.ndim - 1; d >= 0; d--) {
            uint32_t above = d > 0 ? ek_divide(line, walk.shape[d]) : 0;
            uint32_t at = line - above * walk.shape[d].length;
            if (walk.turned && d == walk.ndim - 1) {
                at += row;
                y = at;
                n = y < walk.lines ? walk.length : 0;
            }
#pragma unroll
            for (int k = 0; k < operands; k++)
                offset[k] += at * walk.stride[d][k];
            line = above;
        }
        /* Packs begin where the output's memory has a boundary. */
        if (walk.step[0] == 1 && !walk.turned)
            i -= ((uintptr_t)walk.data[0] / size + (uintptr_t)offset[0]) % width;
    }
};

/* Neighbouring elements of an input that need not lie at a boundary of packs. */
template <typename T, int width> struct ek_shifted {
    static constexpr int size = sizeof(T), bytes = size * width, words = bytes / 4;
    using raw = ek_raw<bytes>;

    raw at, next;  /* around the elements, from boundary to boundary */
    uint32_t skew; /* bytes of `at` before them */

    EK_INLINE uint32_t skew_of(const T *first)
    {
        return (uint32_t)(uintptr_t)first % bytes;
    }

    /* True if elements i to i + width of a line of n, which begin at `first`, are neighbours that
     * may be read from boundary to boundary. */
    EK_INLINE bool may_load(const T *first, int64_t step, int64_t i, int64_t n)
    {
        int64_t margin = skew_of(first) ? width : 0;
        return (step == 1 || (step == -1 && words > 0)) && (words > 0 || margin == 0) &&
               i >= margin && i + width + margin <= n;
    }

    EK_MEMBER void load(const T *first)
    {
        skew = skew_of(first);
        const raw *boundary = (const raw *)((const char *)first - skew);
        at = boundary[0];
        if constexpr (words > 0) {
            if (skew)
                next = boundary[1];
        }
    }

    /* The elements, turned around if they lie backward. */
    EK_MEMBER raw settle(bool backward)
    {
        if constexpr (words > 0) {
            if (skew)
                shift();
            if (backward)
                reverse();
        }
        return at;
    }

    EK_MEMBER void shift()
    {
        uint32_t word[2 * words];
#pragma unroll
        for (int w = 0; w < words; w++) {
            word[w] = at.word[w];
            word[words + w] = next.word[w];
        }
#pragma unroll
        for (int half = words / 2; half > 0; half /= 2) {
#pragma unroll
            for (int w = 0; w + half < 2 * words; w++)
                word[w] = skew & (4 * half) ? word[w + half] : word[w];
        }
#pragma unroll
        for (int w = 0; w < words; w++)
            at.word[w] =
                size < 4 ? __funnelshift_r(word[w], word[w + 1], 8 * (skew & 3)) : word[w];
    }

    EK_MEMBER void reverse()
    {
        constexpr int group = size < 4 ? 1 : size / 4; /* words that stay in order */
        raw forward = at;
#pragma unroll
        for (int w = 0; w < words; w++) {
            uint32_t word = forward.word[words - group - w / group * group + w % group];
            at.word[w] = size < 4 ? __byte_perm(word, 0, size == 1 ? 0x0123 : 0x1032) : word;
        }
    }
};

/* A pack of an input that may lie anyhow. */
template <typename T, int width> struct ek_input {
    static constexpr int bytes = sizeof(T) * width, log_width = ek_log2(width);
    using shifted = ek_shifted<T, width>;
    using raw = ek_raw<bytes>;

    const T *line;
    int64_t step, i, n; /* along the line */
    bool folded;
    int turned; /* log2 of the threads along a turned input's own lines; -1: not turned */

    EK_MEMBER ek_input(const T *line, int64_t step, int64_t i, int64_t n)
        : line(line), step(step), i(i), n(n), folded(false), turned(-1)
    {
    }

    /* What lines do not say of input k; y is the output's line. */
    EK_MEMBER void bend(const ek_cuda_walk &walk, int k, uint32_t y)
    {
        folded = walk.folded >> k & 1;
        if (!(walk.turned >> k & 1))
            return;
        int64_t across = walk.stride[walk.ndim - 1][k];
        turned = EK_CUDA_LOG_THREADS - log_width - walk.across;
        int64_t x = i - (threadIdx.x & ((1 << walk.across) - 1)) * width +
                    (threadIdx.x >> turned);
        line += x * step - y * across;
        step = across;
        i = y - (threadIdx.x >> walk.across) + (threadIdx.x & ((1 << turned) - 1)) * width;
        n = x < walk.length ? walk.lines : 0;
    }

    EK_MEMBER raw find(const ek_cuda_walk &walk, int k)
    {
        const T *first = line + step * (step < 0 ? i + width - 1 : i);
        raw found;
        if (!folded && shifted::may_load(first, step, i, n)) {
            shifted elements;
            elements.load(first);
            found = elements.settle(step < 0);
        } else {
            found = gather(walk, k);
        }
        return turned >= 0 ? turn(walk, found) : found;
    }

    /* Element by element, by way of memory where a loop may store them; what is outside of the line
     * is 0. */
    EK_MEMBER raw gather(const ek_cuda_walk &walk, int k)
    {
        T *own = (T *)ek_own_place();
        const T *from = line + i * step;
        int64_t skip = folded ? walk.fold_stride[k] - walk.fold.length * step : 0;
#pragma unroll 4
        for (int e = 0; e < width; e++, from += step) {
            const T *element = from;
            if (folded)
                element += ek_divide((uint32_t)(i + e), walk.fold) * skip;
            own[e] = (uint64_t)(i + e) < (uint64_t)n ? *element : T();
        }
        return *(const raw *)own;
    }

    /* Exchanges the packs of the block, so that those along the input's lines become those along
     * the output's. The places of packs are permuted so that few threads meet in a bank. */
    EK_MEMBER raw turn(const ek_cuda_walk &walk, const raw &pack)
    {
        raw *shared = (raw *)ek_shared_memory(), *own = (raw *)ek_own_place();
        uint32_t mask = (1 << turned) - 1, x = threadIdx.x >> turned;
        __syncthreads();
        shared[(x << turned) + ((threadIdx.x & mask) ^ (x / width & mask))] = pack;
        __syncthreads();
        uint32_t y = threadIdx.x >> walk.across;
        x = threadIdx.x & ((1 << walk.across) - 1);
        const raw *from = shared + (x * width << turned) + (y / width ^ (x & mask));
        ek_pack<T, width> elements;
#pragma unroll
        for (int e = 0; e < width; e++)
            elements.at[e] = ((const T *)(from + (e << turned)))[y % width];
        __syncthreads();
        *(ek_pack<T, width> *)own = elements;
        return *own;
    }
};

/* Finds a pack of an input that is not simply there, in code that an operation's kernels share, and
 * leaves it in the thread's own place. */
template <typename T, int width>
EK_SHARED void ek_find_pack(const ek_cuda_walk &walk, int k, bool bent, const T *line, int64_t step,
                            int64_t i, int64_t n, uint32_t y)
{
    ek_input<T, width> input(line, step, i, n);
    if (bent)
        input.bend(walk, k, y);
    ek_raw<sizeof(T) * width> found = input.find(walk, k);
    *(ek_raw<sizeof(T) * width> *)ek_own_place() = found;
}

/* Stores those elements of the pack in the thread's own place that lie in the line, one by one. */
template <typename T, int width>
EK_SHARED void ek_scatter(T *line, int64_t step, int64_t i, int64_t n)
{
#pragma unroll 1
    for (int e = 0; e < width; e++)
        if ((uint64_t)(i + e) < (uint64_t)n)
            line[(i + e) * step] = ((const T *)ek_own_place())[e];
}

/* An operand along a line; steps are 0 or 1. */
template <typename T> struct ek_line {
    T *first;
    bool moves;
};

/* The types of an operation's outputs. */
template <typename... Out> struct ek_outputs {
};

/* Parameters of an operation. */
template <int count> struct ek_scalars {
    ek_scalar at[count];
};

template <typename Op, typename Outs, typename... In> struct ek_elementwise;

/* The kernels of an operation: what they take is outputs first. */
template <typename Op, typename... Out, typename... In>
struct ek_elementwise<Op, ek_outputs<Out...>, In...> {
    static constexpr int largest = ek_largest((int)sizeof(Out)..., (int)sizeof(In)...);
    static constexpr int width = EK_CUDA_WIDTH(largest), packs = EK_CUDA_PACKS(largest);
    static constexpr int outputs = sizeof...(Out), operands = outputs + sizeof...(In);

    /* Blocks of walking kernels that must fit a multiprocessor, to bound their registers: what
     * waits for memory are threads. Many operands need more registers than that leaves. */
    static constexpr int walking_blocks = operands > 4 ? 3 : (largest < 4 ? 4 : 5);

    using each_output = std::index_sequence_for<Out...>;
    using each_input = std::index_sequence_for<In...>;

    /* All operands are one line without gaps, which begins at a pack's boundary. */
    EK_INLINE void contiguous(Op op, int64_t n, Out *...out, const In *...in)
    {
        int64_t i = (int64_t)blockIdx.x * EK_CUDA_TILE(largest) + threadIdx.x * width;
        compute(op, i, n, EK_CUDA_THREADS * width, out..., ek_line<const In>{in, true}...);
    }

    /* All operands have lines without gaps, at boundaries together, or one element for a line. */
    EK_INLINE void lines(Op op, const ek_cuda_walk &walk)
    {
        lines(op, walk, each_output(), each_input());
    }

    template <size_t... j, size_t... k>
    EK_INLINE void lines(Op op, const ek_cuda_walk &walk, std::index_sequence<j...>,
                         std::index_sequence<k...>)
    {
        ek_place<operands, width, packs> place(walk, first_size(sizeof(Out)...));
        compute(op, place.i, place.n, width << walk.across,
                ((Out *)walk.data[j] + place.offset[j])...,
                ek_line<const In>{(const In *)walk.data[outputs + k] + place.offset[outputs + k],
                                  walk.step[outputs + k] != 0}...);
    }

    EK_INLINE bool inside(int64_t i, int64_t n)
    {
        return i >= 0 && i + width <= n;
    }

    template <typename... More> EK_INLINE constexpr int first_size(int size, More...)
    {
        return size;
    }

    /* Whole packs at once, the elements of others one by one. All loads of a thread come before its
     * first store: an output may be an input, so the compiler could not bring them forward itself.
     */
    EK_INLINE void compute(Op op, int64_t i, int64_t n, int apart, Out *...out,
                           ek_line<const In>... in)
    {
        compute_packs(op, i, n, apart, out..., loaded<In>(in, i, n, apart)...);
        if (i >= 0 && i + (packs - 1) * apart + width <= n)
            return;
#pragma unroll 1
        for (int p = 0; p < packs; p++, i += apart)
#pragma unroll 1
            for (int64_t e = inside(i, n) ? i + width : i; e < i + width; e++)
                if ((uint64_t)e < (uint64_t)n)
                    op.apply(out + e..., in.first[in.moves ? e : 0]...);
    }

    template <typename T> struct loaded {
        ek_pack<T, width> at[packs];

        EK_MEMBER loaded(ek_line<const T> line, int64_t i, int64_t n, int apart)
        {
            if (line.moves) {
#pragma unroll
                for (int p = 0; p < packs; p++, i += apart)
                    if (inside(i, n))
                        at[p] = *(const ek_pack<T, width> *)(line.first + i);
            } else {
                T value = n > 0 ? *line.first : T();
#pragma unroll
                for (int p = 0; p < packs; p++)
#pragma unroll
                    for (int e = 0; e < width; e++)
                        at[p].at[e] = value;
            }
        }
    };

    EK_INLINE void compute_packs(Op op, int64_t i, int64_t n, int apart, Out *...out,
                                 const loaded<In> &...in)
    {
#pragma unroll
        for (int p = 0; p < packs; p++, i += apart)
            if (inside(i, n))
                compute_pack(op, out + i..., in.at[p]..., ek_pack<Out, width>()...);
    }

    EK_INLINE void compute_pack(Op op, Out *...out, const ek_pack<In, width> &...in,
                                ek_pack<Out, width>... result)
    {
#pragma unroll
        for (int e = 0; e < width; e++)
            op.apply(&result.at[e]..., in.at[e]...);
        (ek_store(out, result), ...);
    }

    /* Any layout, a pack a thread. */
    EK_INLINE void walked(Op op, const ek_cuda_walk &walk)
    {
        walked(op, walk, each_input());
    }

    template <size_t... k>
    EK_INLINE void walked(Op op, const ek_cuda_walk &walk, std::index_sequence<k...>)
    {
        ek_place<operands, width, 1> place(walk, first_size(sizeof(Out)...));
        finish(op, walk, place,
               find<In>(walk, outputs + k, place.offset[outputs + k], place)...);
    }

    /* What a thread has of an input, before its loads are waited for. */
    template <typename T> struct found {
        ek_shifted<ek_bits_of<T>, width> elements;
        bool backward;

        EK_MEMBER ek_pack<T, width> settle()
        {
            ek_raw<sizeof(T) * width> settled = elements.settle(backward);
            ek_pack<T, width> pack;
            memcpy(&pack, &settled, sizeof pack);
            return pack;
        }
    };

    /* One element for all, neighbours, or anything else. */
    template <typename T>
    EK_INLINE found<T> find(const ek_cuda_walk &walk, int k, int64_t offset,
                            const ek_place<operands, width, 1> &place)
    {
        using Bits = ek_bits_of<T>;
        using shifted = ek_shifted<Bits, width>;
        found<T> in;
        const Bits *line = (const Bits *)walk.data[k] + offset;
        int64_t step = walk.step[k], i = place.i;
        const Bits *first = line + (step < 0 ? -(i + width - 1) : i);
        bool bent = (walk.turned | walk.folded) >> k & 1;
        in.backward = false;
        in.elements.skew = 0;
        if (step == 0 && !bent) {
            ek_pack<Bits, width> pack;
            Bits value = place.n > 0 ? *line : Bits();
#pragma unroll
            for (int e = 0; e < width; e++)
                pack.at[e] = value;
            memcpy(&in.elements.at, &pack, sizeof pack);
        } else if (!bent && shifted::may_load(first, step, i, place.n)) {
            in.elements.load(first);
            in.backward = step < 0;
        } else {
            ek_find_pack<Bits, width>(walk, k, bent, line, step, i, place.n, place.y);
            in.elements.at = *(const ek_raw<sizeof(T) * width> *)ek_own_place();
        }
        return in;
    }

    EK_INLINE void finish(Op op, const ek_cuda_walk &walk,
                          const ek_place<operands, width, 1> &place, found<In>... in)
    {
        store(op, walk, place, in.settle()..., ek_pack<Out, width>()...);
    }

    EK_INLINE void store(Op op, const ek_cuda_walk &walk,
                         const ek_place<operands, width, 1> &place, const ek_pack<In, width> &...in,
                         ek_pack<Out, width>... result)
    {
        int k = 0;
#pragma unroll
        for (int e = 0; e < width; e++)
            op.apply(&result.at[e]..., in.at[e]...);
        (store_pack(walk, place, k++, result), ...);
    }

    template <typename T>
    EK_INLINE void store_pack(const ek_cuda_walk &walk, const ek_place<operands, width, 1> &place,
                              int k, const ek_pack<T, width> &result)
    {
        T *line = (T *)walk.data[k] + place.offset[k];
        if (walk.step[k] == 1 && inside(place.i, place.n) &&
            (uintptr_t)(line + place.i) % sizeof result == 0) {
            ek_store(line + place.i, result);
        } else {
            using Bits = ek_bits_of<T>;
            *(ek_pack<T, width> *)ek_own_place() = result;
            ek_scatter<Bits, width>((Bits *)line, walk.step[k], place.i, place.n);
        }
    }
};

#endif
