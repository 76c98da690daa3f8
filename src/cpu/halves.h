/* Forming prefixes by halves (src/prefixes.h) inside a vector register. Private to the CPU.
 *
 * A register holds elements of `words` 32-bit words each. For the half h, an element whose number
 * has the bit h meets the last element of the h before its own h. */
#ifndef EK_CPU_HALVES_H
#define EK_CPU_HALVES_H

#include "cpu/vector.h"

/* Word u of the register in which each element lies where it is wanted: the last element of the
 * half before, or itself. */
#define EK_HALF_BEFORE(u, half, words)                                                             \
    ((u) / (words) & (half)                                                                        \
         ? (((u) / (words) & -2 * (half)) | ((half)-1)) * (words) + (u) % (words)                  \
         : (u))

/* Word u of the result: of the second register where an element took something in. */
#define EK_HALF_CHOICE(u, half, words) ((u) / (words) & (half) ? (u) + EK_VEC_BYTES / 4 : (u))

/* Word u of a register full of the last element. */
#define EK_HALF_LAST(u, half, words) (EK_VEC_BYTES / 4 - (words) + (u) % (words))

#define EK_HALF_4(of, u, half, words)                                                              \
    of(u, half, words), of(u + 1, half, words), of(u + 2, half, words), of(u + 3, half, words)
#if EK_VEC_BYTES == 64
#    define EK_HALF_WORDS(of, half, words)                                                         \
        EK_HALF_4(of, 0, half, words), EK_HALF_4(of, 4, half, words),                              \
            EK_HALF_4(of, 8, half, words), EK_HALF_4(of, 12, half, words)
#elif EK_VEC_BYTES == 32
#    define EK_HALF_WORDS(of, half, words)                                                         \
        EK_HALF_4(of, 0, half, words), EK_HALF_4(of, 4, half, words)
#else
#    define EK_HALF_WORDS(of, half, words) EK_HALF_4(of, 0, half, words)
#endif

/* The elements that those with the bit `half` take in; the others are as they are. */
#define EK_VEC_BEFORE(x, half, words)                                                              \
    __builtin_shufflevector(x, x, EK_HALF_WORDS(EK_HALF_BEFORE, half, words))

/* y where the bit is set, x where it is not. */
#define EK_VEC_CHOOSE(x, y, half, words)                                                           \
    __builtin_shufflevector(x, y, EK_HALF_WORDS(EK_HALF_CHOICE, half, words))

/* The last element everywhere. */
#define EK_VEC_LAST(x, words) __builtin_shufflevector(x, x, EK_HALF_WORDS(EK_HALF_LAST, 0, words))

#endif
