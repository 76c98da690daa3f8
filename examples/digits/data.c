#include "data.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int digits_read(const char *folder, const char *name, digits_set *set)
{
    enum { MOST = 5000, LINE = PIXELS + 3 };
    char path[4096], line[LINE + 1];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "digits: cannot open %s: --data names the folder that holds it\n", path);
        return 0;
    }
    set->count = 0;
    set->pixels = malloc(MOST * sizeof *set->pixels);
    set->labels = malloc(MOST);
    int good = set->pixels && set->labels;
    while (good && set->count < MOST && fgets(line, sizeof line, file)) {
        good = strcspn(line, "\r\n") == PIXELS + 1;
        for (int i = 0; good && i < PIXELS; i++) {
            good = line[i] >= 'a' && line[i] <= 'q';
            set->pixels[set->count][i] = (unsigned char)(line[i] - 'a');
        }
        good = good && line[PIXELS] >= '0' && line[PIXELS] <= '9';
        set->labels[set->count++] = (unsigned char)(line[PIXELS] - '0');
    }
    fclose(file);
    if (good && set->count > 0)
        return 1;
    fprintf(stderr, "digits: %s, line %d: not an image and its label\n", path, set->count);
    digits_free(set);
    return 0;
}

void digits_free(digits_set *set)
{
    free(set->pixels);
    free(set->labels);
}

float digits_uniform(unsigned seed, unsigned index)
{
    /* Steele, Lea, Flood: SplitMix64's finalizer. */
    uint64_t z = ((uint64_t)seed << 32 | index) + UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (float)((z ^ (z >> 31)) >> 40) * 0x1p-24f;
}

void digits_order(int count, unsigned seed, int *order)
{
    for (int i = 0; i < count; i++) {
        int other = (int)(digits_uniform(seed, (unsigned)i) * (float)(i + 1));
        order[i] = order[other];
        order[other] = i;
    }
}

void digits_fill(const digits_set *set, const int *order, float noise, unsigned seed,
                 float (*out)[PIXELS])
{
    for (int i = 0; i < set->count; i++) {
        for (int p = 0; p < PIXELS; p++) {
            float moved = noise > 0 ? digits_uniform(seed, (unsigned)(i * PIXELS + p)) : 0.5f;
            out[i][p] = (float)set->pixels[order[i]][p] / 8 - 1 + noise * (2 * moved - 1);
        }
    }
}
