#include "einkorn/hash.h"

static uint32_t rotate(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

static uint32_t scramble(uint32_t k)
{
    return rotate(k * 0xcc9e2d51u, 15) * 0x1b873593u;
}

uint32_t ek_murmur3_x86_32_bytes(const void *bytes, size_t length, uint32_t seed)
{
    const unsigned char *at = bytes;
    uint32_t h = seed;
    for (size_t left = length; left >= 4; left -= 4, at += 4) {
        uint32_t k =
            (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
        h = rotate(h ^ scramble(k), 13) * 5 + 0xe6546b64u;
    }
    uint32_t rest = 0;
    for (size_t i = length % 4; i > 0; i--)
        rest = rest << 8 | at[i - 1];
    h ^= scramble(rest); /* of nothing, 0 */
    h ^= (uint32_t)length;
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}
