/* Writes JSON. Objects and arrays are opened and ended in order; a member of an object has a key,
 * an element of an array has a null key. What lies deeper than two levels stays on one line. */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_DEPTH = 8 };

typedef struct json {
    FILE *file;
    int depth;
    struct {
        char end; /* the bracket that closes it */
        bool filled;
    } level[JSON_DEPTH];
} json;

/* The outermost object. */
json json_begin(FILE *file);
void json_finish(json *out);

void json_object(json *out, const char *key);
void json_array(json *out, const char *key);
void json_end(json *out);

void json_string(json *out, const char *key, const char *value);
void json_int(json *out, const char *key, int64_t value);
void json_bool(json *out, const char *key, bool value);
void json_null(json *out, const char *key);

/* As few digits as give the same double again; NaN and infinities, which JSON lacks, are null. */
void json_number(json *out, const char *key, double value);

#endif
