#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "einkorn/device.h"
#include "json.h"
#include "problem.h"

static const char help[] = "usage: einkorn ops [NAME]... [--json]\n"
                           "\n"
                           "Lists the operations, or tells all about those named. Accuracy is\n"
                           "the largest error in units in the last place (ulp): 0 is exact or\n"
                           "rounded once; - means that no bound is stated.\n"
                           "\n"
                           "  --json      write JSON: ops: name, kind, brief, dtypes, variants,\n"
                           "              ulp, bits, inputs, outputs, params, loops\n"
                           "  -h, --help  show this text\n";

/* What the loops of one dtype have in common; false if there is none. */
static bool has_dtype(const ek_op_info *op, ek_dtype dtype, double *ulp)
{
    bool found = false;
    *ulp = 0;
    for (int32_t i = 0; i < op->loop_count; i++) {
        const ek_loop *loop = &op->loops[i];
        if (loop->dtype != dtype)
            continue;
        found = true;
        if (loop->ulp < 0 || *ulp < 0)
            *ulp = -1;
        else if (loop->ulp > *ulp)
            *ulp = loop->ulp;
    }
    return found;
}

static void write_loops(json *out, const ek_op_info *op)
{
    json_array(out, "loops");
    for (int32_t i = 0; i < op->loop_count; i++) {
        const ek_loop *loop = &op->loops[i];
        json_object(out, NULL);
        json_array(out, "in");
        for (int32_t k = 0; k < op->inputs; k++)
            json_string(out, NULL, ek_dtype_name((ek_dtype)loop->in[k]));
        json_end(out);
        json_array(out, "out");
        for (int32_t k = 0; k < op->outputs; k++)
            json_string(out, NULL, ek_dtype_name((ek_dtype)loop->out[k]));
        json_end(out);
        json_end(out);
    }
    json_end(out);
}

static void write_op(json *out, const ek_op_info *op)
{
    double ulp;
    json_object(out, NULL);
    json_string(out, "name", op->name);
    json_string(out, "kind", op->kind);
    json_string(out, "brief", op->brief);
    json_array(out, "dtypes");
    for (int t = 0; t < EK_DTYPES; t++) {
        if (has_dtype(op, (ek_dtype)t, &ulp))
            json_string(out, NULL, ek_dtype_name((ek_dtype)t));
    }
    json_end(out);
    json_array(out, "variants");
    for (int v = 0; v < EK_VARIANTS; v++) {
        if (ek_op_has_variant(op, (ek_variant)v))
            json_string(out, NULL, ek_variant_name((ek_variant)v));
    }
    json_end(out);
    json_object(out, "ulp");
    for (int t = 0; t < EK_DTYPES; t++) {
        if (!has_dtype(op, (ek_dtype)t, &ulp))
            continue;
        if (ulp < 0)
            json_null(out, ek_dtype_name((ek_dtype)t));
        else
            json_number(out, ek_dtype_name((ek_dtype)t), ulp);
    }
    json_end(out);
    json_string(out, "bits", op->bits);
    json_array(out, "inputs");
    for (int32_t k = 0; k < op->inputs; k++)
        json_string(out, NULL, op->input_names[k]);
    json_end(out);
    json_array(out, "outputs");
    for (int32_t k = 0; k < op->outputs; k++)
        json_string(out, NULL, op->output_names[k]);
    json_end(out);
    json_array(out, "params");
    for (int32_t k = 0; k < op->param_count; k++) {
        json_object(out, NULL);
        json_string(out, "name", op->params[k].name);
        json_string(out, "type", op->params[k].type);
        json_string(out, "brief", op->params[k].brief);
        if (strcmp(op->params[k].type, "ints") != 0)
            json_number(out, "default", op->params[k].standard);
        if (op->params[k].allowed)
            json_string(out, "allowed", op->params[k].allowed);
        json_end(out);
    }
    json_end(out);
    write_loops(out, op);
    json_end(out);
}

/* A text for a column. */
typedef struct cell {
    char text[160];
    size_t length;
} cell;

static void add_word(cell *c, const char *word)
{
    int written = snprintf(c->text + c->length, sizeof c->text - c->length, "%s%s",
                           c->length ? " " : "", word);
    c->length += (size_t)written;
    if (c->length >= sizeof c->text)
        c->length = sizeof c->text - 1;
}

static cell dtypes_cell(const ek_op_info *op)
{
    cell c = {.length = 0};
    double ulp;
    for (int t = 0; t < EK_DTYPES; t++) {
        if (has_dtype(op, (ek_dtype)t, &ulp))
            add_word(&c, ek_dtype_name((ek_dtype)t));
    }
    return c;
}

static cell variants_cell(const ek_op_info *op)
{
    cell c = {.length = 0};
    for (int v = 0; v < EK_VARIANTS; v++) {
        if (ek_op_has_variant(op, (ek_variant)v))
            add_word(&c, ek_variant_name((ek_variant)v));
    }
    return c;
}

static cell ulp_cell(const ek_op_info *op)
{
    cell c = {.length = 0};
    static const ek_dtype shown[] = {EK_F32, EK_F64};
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        double ulp;
        char text[32] = "-";
        if (has_dtype(op, shown[i], &ulp) && ulp >= 0)
            snprintf(text, sizeof text, "%g", ulp);
        add_word(&c, text);
    }
    return c;
}

static void print_table(int32_t count, const ek_op_info *const *ops)
{
    static const char *const heads[] = {"OPERATION",   "KIND",     "BITS",
                                        "ULP F32 F64", "VARIANTS", "DTYPES"};
    enum { COLUMNS = sizeof heads / sizeof heads[0] };
    size_t width[COLUMNS];
    for (int c = 0; c < COLUMNS; c++)
        width[c] = strlen(heads[c]);
    /* Once to measure, once to print. */
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t i = pass ? -1 : 0; i < count; i++) {
            const ek_op_info *op = i < 0 ? NULL : ops[i];
            cell ulp = {.length = 0}, variants = ulp, dtypes = ulp;
            if (op) {
                ulp = ulp_cell(op);
                variants = variants_cell(op);
                dtypes = dtypes_cell(op);
            }
            const char *row[COLUMNS] = {op ? op->name : "", op ? op->kind : "", op ? op->bits : "",
                                        ulp.text,           variants.text,      dtypes.text};
            for (int c = 0; c < COLUMNS; c++) {
                const char *text = op ? row[c] : heads[c];
                if (pass == 0 && strlen(text) > width[c])
                    width[c] = strlen(text);
                if (pass == 1 && c + 1 < COLUMNS)
                    printf("%-*s  ", (int)width[c], text);
                else if (pass == 1)
                    printf("%s\n", text);
            }
        }
    }
}

static void print_op(const ek_op_info *op)
{
    printf("%s: %s\n  kind      %s\n  inputs   ", op->name, op->brief, op->kind);
    for (int32_t k = 0; k < op->inputs; k++)
        printf(" %s", op->input_names[k]);
    printf("%s\n  outputs  ", op->inputs ? "" : " none");
    for (int32_t k = 0; k < op->outputs; k++)
        printf(" %s", op->output_names[k]);
    printf("\n  bits      %s\n  variants  %s\n  dtypes    %s\n", op->bits, variants_cell(op).text,
           dtypes_cell(op).text);
    bool stated = false;
    printf("  ulp      ");
    for (int t = 0; t < EK_DTYPES; t++) {
        double ulp;
        if (!has_dtype(op, (ek_dtype)t, &ulp) || ulp < 0)
            continue;
        printf(" %s %g", ek_dtype_name((ek_dtype)t), ulp);
        stated = true;
    }
    printf("%s\n", stated ? "" : " no bound");
    for (int32_t k = 0; k < op->param_count; k++)
        printf("  --param %s=%s: %s%s%s\n", op->params[k].name, op->params[k].type,
               op->params[k].brief, op->params[k].allowed ? "; allowed: " : "",
               op->params[k].allowed ? op->params[k].allowed : "");
}

int command_ops(int argc, char **argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {0}};
    bool as_json = false;
    for (int option; (option = command_option(argc, argv, ":h", options, help)) != -1;) {
        if (option == COMMAND_HELP)
            return COMMAND_OK;
        if (option == COMMAND_BAD)
            return COMMAND_MISUSED;
        as_json = true;
    }
    const ek_op_info **ops = calloc((size_t)ek_op_count, sizeof *ops);
    int32_t count = 0;
    if (!ops || command_choose_ops(argc - optind, argv + optind, ops, &count) != EK_OK) {
        free(ops);
        return command_fail(argv[0]);
    }
    if (as_json) {
        json out = json_begin(stdout);
        json_array(&out, "ops");
        for (int32_t i = 0; i < count; i++)
            write_op(&out, ops[i]);
        json_end(&out);
        json_finish(&out);
    } else if (optind < argc) {
        for (int32_t i = 0; i < count; i++)
            print_op(ops[i]);
    } else {
        print_table(count, ops);
    }
    free(ops);
    return COMMAND_OK;
}
