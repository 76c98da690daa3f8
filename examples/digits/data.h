/* The handwritten digits; DATA.md describes the files. */
#ifndef DIGITS_DATA_H
#define DIGITS_DATA_H

enum { PIXELS = 64, CLASSES = 10 };

typedef struct digits_set {
    int count;
    unsigned char (*pixels)[PIXELS]; /* 0 to 16 */
    unsigned char *labels;           /* 0 to 9 */
} digits_set;

/* Reads a file of the data set; says what is wrong and returns 0 if it cannot. */
int digits_read(const char *folder, const char *name, digits_set *set);

void digits_free(digits_set *set);

/* Writes the set as network input: out[i] is image order[i], pixels scaled to [-1, 1]. With noise
 * above 0 each pixel is moved by up to that much, by numbers that `seed` alone decides. */
void digits_fill(const digits_set *set, const int *order, float noise, unsigned seed,
                 float (*out)[PIXELS]);

/* A permutation of 0..count-1 that `seed` alone decides. */
void digits_order(int count, unsigned seed, int *order);

/* A number in [0, 1) for (seed, index): a hash, so that no order of calls matters. */
float digits_uniform(unsigned seed, unsigned index);

#endif
