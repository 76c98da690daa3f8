/* ek_matmul, ek_tensordot and ek_einsum against sums over all indices, in every place and for
 * operands however they lie; numbers are small integers, so every order gives the same bits. And
 * the compositions of docs/compositions.md that are products. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "einkorn/memory.h"
#include "einkorn/ops/axpy.h"
#include "einkorn/ops/dot.h"
#include "einkorn/ops/fma.h"
#include "einkorn/ops/gemm_exact.h"
#include "einkorn/ops/mul.h"
#include "einkorn/ops/mul_scalar.h"
#include "einkorn/ops/sub.h"
#include "einkorn/ops/sum.h"
#include "einkorn/product.h"
#include "einkorn/view.h"
#include "place.h"
#include "values.h"

enum { MOST = 4, OPERANDS = 3, LETTERS = 128 };

static void must(ek_status status)
{
    ck_assert_msg(status == EK_OK, "%s", ek_error_message());
}

static const ek_op_info *exact(void)
{
    return &ek_op_gemm_exact.info;
}

/* ---- arrays of a place */

/* Numbers from -3 to 3 in C order of a shape, and an array of them on the place, which may lie
 * turned. */
typedef struct array {
    ek_array array; /* f64, as the others */
    int64_t shape[MOST], strides[MOST], size;
    double *host;
} array;

static void make(const ek_place *place, int32_t ndim, const int64_t *shape, bool turned,
                 uint64_t seed, array *x)
{
    void *memory = NULL;
    x->size = 1;
    for (int32_t d = 0; d < ndim; d++) {
        x->shape[d] = shape[d];
        x->size *= shape[d];
    }
    int64_t step = 1;
    for (int32_t i = 0; i < ndim; i++) {
        int32_t d = turned ? i : ndim - 1 - i;
        x->strides[d] = step;
        step *= shape[d];
    }
    size_t bytes = (size_t)x->size * sizeof(double);
    x->host = calloc((size_t)x->size + 1, sizeof(double));
    double *laid = calloc((size_t)x->size + 1, sizeof(double));
    for (int64_t i = 0; i < x->size; i++) {
        int64_t rest = i, at = 0;
        for (int32_t d = ndim - 1; d >= 0; d--) {
            at += rest % shape[d] * x->strides[d];
            rest /= shape[d];
        }
        x->host[i] = (double)(ek_random(seed, (uint64_t)i) % 7) - 3;
        laid[at] = x->host[i];
    }
    must(ek_alloc(place->queue, bytes, &memory));
    ek_upload(place, memory, laid, bytes);
    free(laid);
    x->array = ek_array_view(memory, EK_F64, ek_queue_device(place->queue), ndim, x->shape);
    x->array.strides = x->strides;
}

static void drop(const ek_place *place, array *x)
{
    must(ek_free(place->queue, x->array.data));
    free(x->host);
}

/* Compares with numbers in C order. */
static void expect(const ek_place *place, const char *what, const array *x, const double *wanted)
{
    double *laid = calloc((size_t)x->size + 1, sizeof(double));
    ek_download(place, laid, x->array.data, (size_t)x->size * sizeof(double));
    for (int64_t i = 0; i < x->size; i++) {
        int64_t rest = i, at = 0;
        for (int32_t d = x->array.ndim - 1; d >= 0; d--) {
            at += rest % x->shape[d] * x->strides[d];
            rest /= x->shape[d];
        }
        if (laid[at] != wanted[i])
            ck_abort_msg("%s on %s: element %d is %g, not %g", what, place->name, (int)i, laid[at],
                         wanted[i]);
    }
    free(laid);
}

/* ---- einsum by its definition */

typedef struct sum {
    const char *words[OPERANDS + 1]; /* letters of the operands, and of the result */
    int count;
    int64_t length[LETTERS];
} sum;

static int64_t offset(const char *word, const int64_t *shape, const int64_t *index)
{
    int64_t at = 0;
    for (int d = 0; word[d]; d++)
        at = at * shape[d] + (shape[d] == 1 ? 0 : index[(int)word[d]]);
    return at;
}

static void add_up(const sum *s, const array *x, array *out, double *wanted)
{
    char letters[LETTERS];
    int count = 0;
    int64_t index[LETTERS] = {0}, all = 1;
    for (int c = 0; c < LETTERS; c++) {
        if (s->length[c] >= 0) {
            letters[count++] = (char)c;
            all *= s->length[c];
        }
    }
    for (int64_t i = 0; i < all; i++) {
        double product = 1;
        for (int k = 0; k < s->count; k++)
            product *= x[k].host[offset(s->words[k], x[k].shape, index)];
        wanted[offset(s->words[s->count], out->shape, index)] += product;
        for (int l = count - 1; l >= 0; l--) {
            if (++index[(int)letters[l]] < s->length[(int)letters[l]])
                break;
            index[(int)letters[l]] = 0;
        }
    }
}

/* Operands as the words of a sum say, each letter of its length; `stretched` has length 1 in the
 * first operand. */
static void make_operands(const ek_place *place, const sum *s, unsigned turned, char stretched,
                          array *x, array *out)
{
    for (int k = 0; k <= s->count; k++) {
        int64_t shape[MOST];
        int32_t ndim = (int32_t)strlen(s->words[k]);
        for (int32_t d = 0; d < ndim; d++)
            shape[d] = k == 0 && s->words[k][d] == stretched ? 1 : s->length[(int)s->words[k][d]];
        make(place, ndim, shape, turned >> k & 1, (uint64_t)k, k < s->count ? &x[k] : out);
    }
}

static void set_lengths(sum *s)
{
    static const int64_t length[] = {3, 5, 4, 7, 2, 6};
    memset(s->length, -1, sizeof s->length);
    for (int k = 0; k < s->count; k++) {
        for (const char *c = s->words[k]; *c; c++)
            s->length[(int)*c] = length[*c % 6];
    }
}

static const struct {
    const char *text, *words[OPERANDS + 1];
    char stretched;
} sums[] = {
    {"ij,jk->ik", {"ij", "jk", "ik"}, 0},
    {"ij, jk", {"ij", "jk", "ik"}, 0},
    {"ij,jk->ki", {"ij", "jk", "ki"}, 0},
    {"bij,bjk->bik", {"bij", "bjk", "bik"}, 0},
    {"bij,bjk->ibk", {"bij", "bjk", "ibk"}, 0},
    {"bij,bjk->bik", {"bij", "bjk", "bik"}, 'b'},
    {"ij,jk->ik", {"ij", "jk", "ik"}, 'j'},
    {"ijkl,jlm->imk", {"ijkl", "jlm", "imk"}, 0},
    {"ij,j->i", {"ij", "j", "i"}, 0},
    {"i,ij->j", {"i", "ij", "j"}, 0},
    {"i,i->", {"i", "i", ""}, 0},
    {"i,j->ij", {"i", "j", "ij"}, 0},
    {"ij,ij->ij", {"ij", "ij", "ij"}, 0},
    {"ij->ji", {"ij", "ji"}, 0},
    {"ii->i", {"ii", "i"}, 0},
    {"ii", {"ii", ""}, 0},
    {"ijk->k", {"ijk", "k"}, 0},
    {"ij->", {"ij", ""}, 0},
    {"ijl,jkm->ik", {"ijl", "jkm", "ik"}, 0},
    {"ij,jk,kl->il", {"ij", "jk", "kl", "il"}, 0},
    {"i,ij,j->", {"i", "ij", "j", ""}, 0},
    {"iij,jk->ik", {"iij", "jk", "ik"}, 0},
    {"...ij,...jk->...ik", {"bij", "bjk", "bik"}, 0},
    {"...j,j", {"aij", "j", "ai"}, 0},
    {"i...->...", {"iab", "ab"}, 0},
    {"ab,cd,ef->", {"ab", "cd", "ef", ""}, 0},
};

START_TEST(einsum)
{
    const ek_place *places;
    int count = ek_tested_places(&places);
    sum s = {.count = 0};
    while (s.count < OPERANDS && sums[_i].words[s.count + 1])
        s.count++;
    memcpy(s.words, sums[_i].words, sizeof s.words);
    set_lengths(&s);
    for (int p = 0; p < count; p++) {
        for (unsigned turned = 0; turned < 2u << s.count; turned++) {
            array x[OPERANDS], out;
            make_operands(&places[p], &s, turned, sums[_i].stretched, x, &out);
            double *wanted = calloc((size_t)out.size + 1, sizeof *wanted);
            add_up(&s, x, &out, wanted);
            must(ek_einsum(places[p].queue, exact(), sums[_i].text, s.count,
                           (const ek_array *[]){&x[0].array, &x[1].array, &x[2].array},
                           &out.array));
            expect(&places[p], sums[_i].text, &out, wanted);
            free(wanted);
            for (int k = 0; k < s.count; k++)
                drop(&places[p], &x[k]);
            drop(&places[p], &out);
        }
    }
}
END_TEST

/* Operands of matmul as words; the shapes are those of words with letters of length 1 for what
 * stretches. */
static const struct {
    const char *words[3];
    char stretched;
} products[] = {
    {{"ij", "jk", "ik"}, 0},       {{"j", "jk", "k"}, 0},        {{"ij", "j", "i"}, 0},
    {{"j", "j", ""}, 0},           {{"bij", "bjk", "bik"}, 0},   {{"bij", "bjk", "bik"}, 'b'},
    {{"bij", "jk", "bik"}, 0},     {{"j", "bjk", "bk"}, 0},      {{"bij", "j", "bi"}, 0},
    {{"abij", "abjk", "abik"}, 0}, {{"abij", "bjk", "abik"}, 0},
};

START_TEST(matmul)
{
    const ek_place *places;
    int count = ek_tested_places(&places);
    sum s = {.count = 2};
    memcpy(s.words, products[_i].words, sizeof products[_i].words);
    set_lengths(&s);
    for (int p = 0; p < count; p++) {
        for (unsigned turned = 0; turned < 8; turned++) {
            array x[2], out;
            make_operands(&places[p], &s, turned, products[_i].stretched, x, &out);
            double *wanted = calloc((size_t)out.size + 1, sizeof *wanted);
            add_up(&s, x, &out, wanted);
            must(ek_matmul(places[p].queue, exact(), &x[0].array, &x[1].array, &out.array));
            expect(&places[p], "matmul", &out, wanted);
            free(wanted);
            for (int k = 0; k < 2; k++)
                drop(&places[p], &x[k]);
            drop(&places[p], &out);
        }
    }
}
END_TEST

START_TEST(tensordot)
{
    const ek_place *places;
    int count = ek_tested_places(&places);
    sum s = {.words = {"ijkl", "ljm", "ikm"}, .count = 2};
    static const int32_t axes_a[] = {1, -1}, axes_b[] = {1, 0};
    set_lengths(&s);
    for (int p = 0; p < count; p++) {
        for (unsigned turned = 0; turned < 8; turned++) {
            array x[2], out;
            make_operands(&places[p], &s, turned, 0, x, &out);
            double *wanted = calloc((size_t)out.size + 1, sizeof *wanted);
            add_up(&s, x, &out, wanted);
            must(ek_tensordot(places[p].queue, exact(), &x[0].array, &x[1].array, 2, axes_a, axes_b,
                              &out.array));
            expect(&places[p], "tensordot", &out, wanted);
            free(wanted);
            for (int k = 0; k < 2; k++)
                drop(&places[p], &x[k]);
            drop(&places[p], &out);
        }
    }
}
END_TEST

static void refused(ek_status got, ek_status status, const char *words)
{
    ck_assert_int_eq(got, status);
    ck_assert_msg(strstr(ek_error_message(), words), "'%s' lacks '%s'", ek_error_message(), words);
}

START_TEST(refusals)
{
    const ek_place *places;
    ek_tested_places(&places);
    const ek_place *place = &places[0];
    ek_queue *q = place->queue;
    array a, b, out, scalar;
    const int32_t axes[] = {0, 0}, third = 2, one = 1;
    make(place, 2, (int64_t[]){3, 4}, false, 1, &a);
    make(place, 2, (int64_t[]){4, 5}, false, 2, &b);
    make(place, 2, (int64_t[]){3, 5}, false, 3, &out);
    make(place, 0, NULL, false, 4, &scalar);
    const ek_array *in[] = {&a.array, &b.array};
    const struct {
        const char *text, *words;
        ek_status status;
    } wrong[] = {
        {"ij,jk->iz", "no operand has", EK_INVALID_ARGUMENT},
        {"ij,jk->ii", "twice", EK_INVALID_ARGUMENT},
        {"ij,j1->i1", "only letters", EK_INVALID_ARGUMENT},
        {"ij,jk->ik->", "the last", EK_INVALID_ARGUMENT},
        {"ij->ij", "of 1 operands", EK_INVALID_ARGUMENT},
        {"ij,jk,kl->il", "of 3 operands", EK_INVALID_ARGUMENT},
        {"ijk,jk->ik", "(3, 4)", EK_SHAPE_MISMATCH},
        {"i,jk->ik", "(3, 4)", EK_SHAPE_MISMATCH},
        {"ij,ik->jk", "lengths 3 and 4", EK_SHAPE_MISMATCH},
        {"ii,jk->ik", "lengths 3 and 4", EK_SHAPE_MISMATCH},
        {"ij,jk->ki", "must be (5, 3)", EK_SHAPE_MISMATCH},
        {"......,jk->jk", "twice", EK_INVALID_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        refused(ek_einsum(q, exact(), wrong[i].text, 2, in, &out.array), wrong[i].status,
                wrong[i].words);
    refused(ek_einsum(q, exact(), "ij,jk", 17, in, &out.array), EK_INVALID_ARGUMENT, "17");
    refused(ek_einsum(q, exact(), "ij,jk->ij", 2, in, &a.array), EK_OVERLAP, "overlaps a");
    refused(ek_matmul(q, exact(), &a.array, &a.array, &out.array), EK_SHAPE_MISMATCH, "4 columns");
    refused(ek_matmul(q, exact(), &scalar.array, &a.array, &out.array), EK_SHAPE_MISMATCH,
            "a has no dimension");
    refused(ek_matmul(q, exact(), &a.array, &b.array, &a.array), EK_OVERLAP, "overlaps a");
    refused(ek_tensordot(q, exact(), &a.array, &b.array, 1, axes, axes, &out.array),
            EK_SHAPE_MISMATCH, "length 3");
    refused(ek_tensordot(q, exact(), &a.array, &b.array, 2, axes, axes, &out.array),
            EK_INVALID_ARGUMENT, "twice");
    refused(ek_tensordot(q, exact(), &a.array, &b.array, 1, &third, axes, &out.array),
            EK_INVALID_ARGUMENT, "2 dimensions");
    refused(ek_tensordot(q, exact(), &a.array, &b.array, -1, &one, axes, &out.array),
            EK_INVALID_ARGUMENT, "count is -1");
    expect(place, "what was refused", &out, out.host);
    drop(place, &a);
    drop(place, &b);
    drop(place, &out);
    drop(place, &scalar);
}
END_TEST

/* ---- compositions: those of docs/compositions.md */

static void make_plain(const ek_place *place, int32_t ndim, const int64_t *shape, uint64_t seed,
                       array *x)
{
    make(place, ndim, shape, false, seed, x);
}

/* x seen with another shape. */
static ek_view shaped(const array *x, int32_t ndim, const int64_t *shape)
{
    ek_view view;
    must(ek_reshape(&x->array, ndim, shape, &view));
    return view;
}

/* A view is an array over its own lengths. */
static ek_array *of(ek_view *view)
{
    view->array.shape = view->shape;
    view->array.strides = view->strides;
    return &view->array;
}

static ek_view from_to(const array *x, int32_t axis, int64_t start, int64_t stop)
{
    ek_range ranges[MOST] = {EK_WHOLE, EK_WHOLE, EK_WHOLE, EK_WHOLE};
    ek_view view;
    ranges[axis] = (ek_range){start, stop, 1};
    must(ek_slice(&x->array, axis + 1, ranges, &view));
    return view;
}

static ek_view at(const array *x, int32_t axis, int64_t index)
{
    ek_view view;
    must(ek_index(&x->array, axis, index, &view));
    return view;
}

START_TEST(broadcast_products)
{
    enum { M = 5, P = 3, N = 7, Q = 4 };
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int p = 0; p < count; p++) {
        ek_queue *q = places[p].queue;
        array a, b, c, kron, rao, outer;
        double wanted[M * P * N * Q];
        make_plain(&places[p], 2, (int64_t[]){M, N}, 1, &a);
        make_plain(&places[p], 2, (int64_t[]){P, Q}, 2, &b);
        make_plain(&places[p], 2, (int64_t[]){P, N}, 3, &c);
        make_plain(&places[p], 2, (int64_t[]){M * P, N * Q}, 4, &kron);
        make_plain(&places[p], 2, (int64_t[]){M * P, N}, 5, &rao);
        make_plain(&places[p], 2, (int64_t[]){M * N, P * Q}, 6, &outer);

        ek_view x = shaped(&a, 4, (int64_t[]){M, 1, N, 1}), y = shaped(&b, 3, (int64_t[]){P, 1, Q});
        ek_view to = shaped(&kron, 4, (int64_t[]){M, P, N, Q});
        must(ek_mul(q, of(&x), of(&y), of(&to)));
        for (int i = 0; i < M * P * N * Q; i++)
            wanted[i] =
                a.host[i / (P * N * Q) * N + i / Q % N] * b.host[i / (N * Q) % P * Q + i % Q];
        expect(&places[p], "kron", &kron, wanted);

        x = shaped(&a, 3, (int64_t[]){M, 1, N});
        to = shaped(&rao, 3, (int64_t[]){M, P, N});
        must(ek_mul(q, of(&x), &c.array, of(&to)));
        for (int i = 0; i < M * P * N; i++)
            wanted[i] = a.host[i / (P * N) * N + i % N] * c.host[i / N % P * N + i % N];
        expect(&places[p], "khatri_rao", &rao, wanted);

        x = shaped(&a, 2, (int64_t[]){M * N, 1});
        y = shaped(&b, 1, (int64_t[]){P * Q});
        must(ek_mul(q, of(&x), of(&y), &outer.array));
        for (int i = 0; i < M * N * P * Q; i++)
            wanted[i] = a.host[i / (P * Q)] * b.host[i % (P * Q)];
        expect(&places[p], "outer", &outer, wanted);

        /* ger: outer += 2 x y^T */
        ek_gemm_options options = EK_GEMM_DEFAULTS;
        options.alpha = 2;
        options.beta = 1;
        y = shaped(&b, 2, (int64_t[]){1, P * Q});
        must(ek_gemm_exact(q, &options, of(&x), of(&y), &outer.array));
        for (int i = 0; i < M * N * P * Q; i++)
            wanted[i] *= 3;
        expect(&places[p], "ger", &outer, wanted);
        drop(&places[p], &a);
        drop(&places[p], &b);
        drop(&places[p], &c);
        drop(&places[p], &kron);
        drop(&places[p], &rao);
        drop(&places[p], &outer);
    }
}
END_TEST

START_TEST(matrix_and_vector)
{
    enum { M = 6, N = 9 };
    const ek_place *places;
    int count = ek_tested_places(&places);
    const int32_t last = -1, first = 0;
    for (int p = 0; p < count; p++) {
        ek_queue *q = places[p].queue;
        array a, x, y, of_rows, of_columns;
        double wanted[M * N];
        make_plain(&places[p], 2, (int64_t[]){M, N}, 1, &a);
        make_plain(&places[p], 1, (int64_t[]){N}, 2, &x);
        make_plain(&places[p], 1, (int64_t[]){M}, 3, &y);
        make_plain(&places[p], 1, (int64_t[]){M}, 4, &of_rows);
        make_plain(&places[p], 1, (int64_t[]){N}, 5, &of_columns);
        must(ek_dot(q, &a.array, &x.array, 1, &last, false, &of_rows.array));
        for (int i = 0; i < M; i++) {
            wanted[i] = 0;
            for (int j = 0; j < N; j++)
                wanted[i] += a.host[i * N + j] * x.host[j];
        }
        expect(&places[p], "matvec", &of_rows, wanted);

        /* gemv: y = 2 A x + 3 y */
        must(ek_mul_scalar(q, &y.array, 3, &y.array));
        must(ek_axpy(q, &of_rows.array, &y.array, 2, &y.array));
        for (int i = 0; i < M; i++)
            wanted[i] = 2 * wanted[i] + 3 * y.host[i];
        expect(&places[p], "gemv", &y, wanted);

        ek_view column = shaped(&of_rows, 2, (int64_t[]){M, 1});
        double rows[M];
        ek_download(&places[p], rows, of_rows.array.data, sizeof rows);
        must(ek_dot(q, of(&column), &a.array, 1, &first, false, &of_columns.array));
        for (int j = 0; j < N; j++) {
            wanted[j] = 0;
            for (int i = 0; i < M; i++)
                wanted[j] += rows[i] * a.host[i * N + j];
        }
        expect(&places[p], "vecmat", &of_columns, wanted);

        /* dgmm: diag(rows) A, then geam: 2 of it + 3 of itself */
        must(ek_mul(q, &a.array, of(&column), &a.array));
        must(ek_mul_scalar(q, &a.array, 2, &a.array));
        for (int i = 0; i < M * N; i++)
            wanted[i] = 2 * a.host[i] * rows[i / N];
        expect(&places[p], "dgmm", &a, wanted);
        must(ek_axpy(q, &a.array, &a.array, 3, &a.array));
        for (int i = 0; i < M * N; i++)
            wanted[i] *= 4;
        expect(&places[p], "geam", &a, wanted);
        drop(&places[p], &a);
        drop(&places[p], &x);
        drop(&places[p], &y);
        drop(&places[p], &of_rows);
        drop(&places[p], &of_columns);
    }
}
END_TEST

START_TEST(symmetric_band)
{
    enum { N = 11, K = 3 };
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int p = 0; p < count; p++) {
        ek_queue *q = places[p].queue;
        array band, x, y;
        make_plain(&places[p], 2, (int64_t[]){K + 1, N}, 1, &band);
        make_plain(&places[p], 1, (int64_t[]){N}, 2, &x);
        make_plain(&places[p], 1, (int64_t[]){N}, 3, &y);
        double wanted[N];
        for (int i = 0; i < N; i++) {
            wanted[i] = y.host[i];
            for (int j = 0; j < N; j++) {
                int low = i < j ? i : j, apart = i < j ? j - i : i - j;
                wanted[i] += apart <= K ? band.host[apart * N + low] * x.host[j] : 0;
            }
        }
        ek_view main = at(&band, 0, 0);
        must(ek_fma(q, of(&main), &x.array, &y.array, &y.array));
        for (int d = 1; d <= K; d++) {
            array diagonal = band;
            diagonal.array.data = (double *)band.array.data + (ptrdiff_t)d * N;
            diagonal.array.ndim = 1;
            diagonal.array.shape = &band.shape[1];
            diagonal.array.strides = &band.strides[1];
            ek_view a = from_to(&diagonal, 0, 0, N - d), x_upper = from_to(&x, 0, 0, N - d);
            ek_view x_lower = from_to(&x, 0, d, N), upper = from_to(&y, 0, 0, N - d);
            ek_view lower = from_to(&y, 0, d, N);
            must(ek_fma(q, of(&a), of(&x_upper), of(&lower), of(&lower)));
            must(ek_fma(q, of(&a), of(&x_lower), of(&upper), of(&upper)));
        }
        expect(&places[p], "sbmv", &y, wanted);
        drop(&places[p], &band);
        drop(&places[p], &x);
        drop(&places[p], &y);
    }
}
END_TEST

START_TEST(linear_layer)
{
    enum { B = 5, IN = 7, OUT = 4 };
    const ek_place *places;
    int count = ek_tested_places(&places);
    const int32_t first = 0;
    for (int p = 0; p < count; p++) {
        ek_queue *q = places[p].queue;
        array x, w, bias, y, dx, dw, db;
        double wanted[B * IN];
        make_plain(&places[p], 2, (int64_t[]){B, IN}, 1, &x);
        make_plain(&places[p], 2, (int64_t[]){OUT, IN}, 2, &w);
        make_plain(&places[p], 1, (int64_t[]){OUT}, 3, &bias);
        make_plain(&places[p], 2, (int64_t[]){B, OUT}, 4, &y);
        make_plain(&places[p], 2, (int64_t[]){B, IN}, 5, &dx);
        make_plain(&places[p], 2, (int64_t[]){OUT, IN}, 6, &dw);
        make_plain(&places[p], 1, (int64_t[]){OUT}, 7, &db);
        /* gradients first, of y as it is */
        must(ek_gemm_exact(q, NULL, &y.array, &w.array, &dx.array));
        for (int i = 0; i < B * IN; i++) {
            wanted[i] = 0;
            for (int k = 0; k < OUT; k++)
                wanted[i] += y.host[i / IN * OUT + k] * w.host[k * IN + i % IN];
        }
        expect(&places[p], "dX", &dx, wanted);
        ek_gemm_options options = EK_GEMM_DEFAULTS;
        options.trans_a = EK_TRANSPOSE;
        must(ek_gemm_exact(q, &options, &y.array, &x.array, &dw.array));
        for (int i = 0; i < OUT * IN; i++) {
            wanted[i] = 0;
            for (int k = 0; k < B; k++)
                wanted[i] += y.host[k * OUT + i / IN] * x.host[k * IN + i % IN];
        }
        expect(&places[p], "dW", &dw, wanted);
        must(ek_sum(q, &y.array, 1, &first, false, &db.array));
        for (int i = 0; i < OUT; i++) {
            wanted[i] = 0;
            for (int k = 0; k < B; k++)
                wanted[i] += y.host[k * OUT + i];
        }
        expect(&places[p], "db", &db, wanted);
        must(ek_copy(q, &y.array, &bias.array));
        options = (ek_gemm_options)EK_GEMM_DEFAULTS;
        options.trans_b = EK_TRANSPOSE;
        options.beta = 1;
        must(ek_gemm_exact(q, &options, &x.array, &w.array, &y.array));
        for (int i = 0; i < B * OUT; i++) {
            wanted[i] = bias.host[i % OUT];
            for (int k = 0; k < IN; k++)
                wanted[i] += x.host[i / OUT * IN + k] * w.host[i % OUT * IN + k];
        }
        expect(&places[p], "affine", &y, wanted);
        drop(&places[p], &x);
        drop(&places[p], &w);
        drop(&places[p], &bias);
        drop(&places[p], &y);
        drop(&places[p], &dx);
        drop(&places[p], &dw);
        drop(&places[p], &db);
    }
}
END_TEST

START_TEST(small_products)
{
    enum { N = 6, DEGREE = 4 };
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int p = 0; p < count; p++) {
        ek_queue *q = places[p].queue;
        array a, b, out, t, c;
        double wanted[3 * N];
        make_plain(&places[p], 2, (int64_t[]){3, N}, 1, &a);
        make_plain(&places[p], 2, (int64_t[]){3, N}, 2, &b);
        make_plain(&places[p], 2, (int64_t[]){3, N}, 3, &out);
        make_plain(&places[p], 1, (int64_t[]){N}, 4, &t);
        make_plain(&places[p], 1, (int64_t[]){DEGREE}, 5, &c);
        for (int i = 0; i < 3; i++) {
            int j = (i + 1) % 3, k = (i + 2) % 3;
            ek_view to = at(&out, 0, i), a_j = at(&a, 0, j), b_k = at(&b, 0, k);
            ek_view a_k = at(&a, 0, k), b_j = at(&b, 0, j);
            must(ek_mul(q, of(&a_j), of(&b_k), of(&to)));
            must(ek_mul(q, of(&a_k), of(&b_j), &t.array));
            must(ek_sub(q, of(&to), &t.array, of(&to)));
            for (int e = 0; e < N; e++)
                wanted[i * N + e] =
                    a.host[j * N + e] * b.host[k * N + e] - a.host[k * N + e] * b.host[j * N + e];
        }
        expect(&places[p], "cross", &out, wanted);

        /* polyval of the numbers of a */
        must(ek_mul_scalar(q, &out.array, 0, &out.array));
        for (int i = 0; i < DEGREE; i++) {
            ek_view coefficient = at(&c, 0, i);
            must(ek_fma(q, &out.array, &a.array, of(&coefficient), &out.array));
        }
        for (int e = 0; e < 3 * N; e++) {
            wanted[e] = 0;
            for (int i = 0; i < DEGREE; i++)
                wanted[e] = wanted[e] * a.host[e] + c.host[i];
        }
        expect(&places[p], "polyval", &out, wanted);
        drop(&places[p], &a);
        drop(&places[p], &b);
        drop(&places[p], &out);
        drop(&places[p], &t);
        drop(&places[p], &c);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("product");
    TCase *tests = tcase_create("product");
    tcase_set_timeout(tests, 0);
    tcase_add_loop_test(tests, einsum, 0, sizeof sums / sizeof sums[0]);
    tcase_add_loop_test(tests, matmul, 0, sizeof products / sizeof products[0]);
    tcase_add_test(tests, tensordot);
    tcase_add_test(tests, refusals);
    tcase_add_test(tests, broadcast_products);
    tcase_add_test(tests, matrix_and_vector);
    tcase_add_test(tests, symmetric_band);
    tcase_add_test(tests, linear_layer);
    tcase_add_test(tests, small_products);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return ek_run_at_places(
        suite, (int)(sizeof sums / sizeof sums[0] + sizeof products / sizeof products[0]) + 7);
}
