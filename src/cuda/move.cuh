/* Moving elements as they are where that takes more than loads and stores: operations that only move
 * have few kernels, so these have one for each way. */
#ifndef EK_CUDA_MOVE_CUH
#define EK_CUDA_MOVE_CUH

#include "cuda/elementwise.cuh"
#include "cuda/move_args.h"

/* Lines without gaps, forward or backward, wherever they begin. */
template <typename T> EK_INLINE void ek_slide(const ek_cuda_walk &walk)
{
    constexpr int width = EK_CUDA_WIDTH(sizeof(T)), packs = EK_CUDA_SLIDE_PACKS;
    ek_place<2, width, packs> place(walk, sizeof(T));
    T *out = (T *)walk.data[0] + place.offset[0];
    const T *in = (const T *)walk.data[1] + place.offset[1];
    bool backward = walk.step[1] < 0;
    int64_t i = place.i, n = place.n, apart = width << walk.across;
    const T *first = backward ? in - i - (width - 1) : in + i;
    int64_t margin = ek_shifted<T, width>::skew_of(first) ? width : 0;
    ek_shifted<T, width> elements[packs];
#pragma unroll
    for (int p = 0; p < packs; p++)
        if (i + p * apart >= margin && i + p * apart + width + margin <= n)
            elements[p].load(first + (backward ? -p * apart : p * apart));
#pragma unroll
    for (int p = 0; p < packs; p++)
        if (i + p * apart >= margin && i + p * apart + width + margin <= n)
            *(ek_raw<16> *)(out + i + p * apart) = elements[p].settle(backward);
    if (i >= margin && i + (packs - 1) * apart + width + margin <= n)
        return;
#pragma unroll 1
    for (int p = 0; p < packs; p++, i += apart) {
        bool done = i >= margin && i + width + margin <= n;
#pragma unroll 1
        for (int64_t e = done ? i + width : i; e < i + width; e++)
            if ((uint64_t)e < (uint64_t)n)
                out[e] = backward ? in[-e] : in[e];
    }
}

/* Lines of the output across lines of the input: a tile goes through shared memory. A thread loads
 * packs of as many successive lines, which are squares of elements that it turns in registers, so
 * that shared memory holds packs along the output's lines; their places are permuted so that
 * threads do not meet in a bank. */
template <typename T> struct ek_turn {
    static constexpr int size = sizeof(T), bytes = EK_CUDA_TURN_BYTES(size), width = bytes / size;
    static constexpr int packs = EK_CUDA_TURN_PACKS(size), words = bytes / 4;
    using raw = ek_raw<bytes>;

    raw at[packs];

    EK_MEMBER explicit ek_turn(const ek_cuda_walk &walk)
    {
        __shared__ raw shared[EK_CUDA_THREADS * packs];
        uint32_t band = ek_divide(blockIdx.x, walk.tiles), last = walk.ndim - 1;
        int64_t x = blockIdx.x - band * walk.tiles.length;
        uint32_t rows = EK_CUDA_THREADS >> walk.across, mask = (1 << walk.across) - 1;
        uint32_t line = band * rows * packs, y = 0;
        T *out = (T *)walk.data[0];
        const T *in = (const T *)walk.data[1];
        x = (x << walk.across) * width;
#pragma unroll 1
        for (int d = last; d >= 0; d--) {
            uint32_t above = d > 0 ? ek_divide(line, walk.shape[d]) : 0;
            uint32_t index = line - above * walk.shape[d].length;
            y = d == (int)last ? index : y;
            out += index * walk.stride[d][0];
            in += index * walk.stride[d][1];
            line = above;
        }
        /* From here on x and y count from the tile's beginning. */
        int log_columns = EK_CUDA_LOG_THREADS + ek_log2(packs) - ek_log2(width) - walk.across;
        uint32_t column = threadIdx.x & ((1 << log_columns) - 1);
        uint32_t row = (threadIdx.x >> log_columns) * packs;
        int64_t width_left = walk.length - x, lines_left = (int64_t)walk.lines - y;
        load(walk, in + (x + row) * walk.step[1] + column * width * walk.stride[last][1],
             width_left - row, lines_left - column * width);
#pragma unroll
        for (int p = 0; p < packs; p++) {
            uint32_t to = column * width + p % width, pack = (row + p) / width;
            shared[(to << walk.across) + (pack ^ (column & mask))] = pick(p - p % width, p % width);
        }
        __syncthreads();
        column = threadIdx.x & mask;
        row = threadIdx.x >> walk.across;
#pragma unroll
        for (int p = 0; p < packs; p++) {
            uint32_t from = row + p * rows;
            at[p] = shared[(from << walk.across) + (column ^ (from / width & mask))];
        }
        store(walk, out + row * walk.stride[last][0] + (x + column * width) * walk.step[0],
              rows, width_left - column * width, lines_left - row);
    }

    /* Packs of successive lines of the input, `lines` of which are there, with n elements each. */
    EK_MEMBER void load(const ek_cuda_walk &walk, const T *in, int64_t lines, int64_t n)
    {
        int64_t step = walk.stride[walk.ndim - 1][1];
#pragma unroll
        for (int p = 0; p < packs; p++, in += walk.step[1]) {
            if (p >= lines)
                continue;
            if ((walk.at_boundaries & 2) && n >= width) {
                at[p] = *(const raw *)in;
                continue;
            }
            ek_pack<T, width> elements;
#pragma unroll
            for (int e = 0; e < width; e++)
                if (e < n)
                    elements.at[e] = in[e * step];
            memcpy(&at[p], &elements, bytes);
        }
    }

    /* The same for the output, whose lines are `rows` apart. */
    EK_MEMBER void store(const ek_cuda_walk &walk, T *out, uint32_t rows, int64_t n, int64_t lines)
    {
#pragma unroll
        for (int p = 0; p < packs; p++, out += rows * walk.stride[walk.ndim - 1][0]) {
            if (p * (int64_t)rows >= lines)
                continue;
            if ((walk.at_boundaries & 1) && n >= width) {
                *(raw *)out = at[p];
                continue;
            }
            ek_pack<T, width> elements;
            memcpy(&elements, &at[p], bytes);
#pragma unroll
            for (int e = 0; e < width; e++)
                if (e < n)
                    out[e * walk.step[0]] = elements.at[e];
        }
    }

    /* Elements j of the packs from at[first] on, as a pack. */
    EK_MEMBER raw pick(int first, int j) const
    {
        constexpr int group = size < 4 ? 1 : size / 4;
        raw picked;
#pragma unroll
        for (int w = 0; w < words; w++) {
            if (size == 1) {
                const raw *in = at + first + 4 * w;
                uint32_t select = j % 4 | (4 + j % 4) << 4;
                uint32_t low = __byte_perm(in[0].word[j / 4], in[1].word[j / 4], select);
                uint32_t high = __byte_perm(in[2].word[j / 4], in[3].word[j / 4], select);
                picked.word[w] = __byte_perm(low, high, 0x5410);
            } else if (size == 2) {
                const raw *in = at + first + 2 * w;
                picked.word[w] = __byte_perm(in[0].word[j / 2], in[1].word[j / 2],
                                             j % 2 ? 0x7632 : 0x5410);
            } else {
                picked.word[w] = at[first + w / group].word[j * group + w % group];
            }
        }
        return picked;
    }
};

#endif
