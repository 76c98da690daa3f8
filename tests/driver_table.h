/* What calls of the library ask of the driver, as the table in tests/driver_calls.txt. */
#ifndef EK_TEST_DRIVER_TABLE_H
#define EK_TEST_DRIVER_TABLE_H

typedef struct ek_driver_table ek_driver_table;

/* Counts, with no context current, that of device 0 and that of device 1, which is the calls' own,
 * what `call` asks for when it is made a second time: `before` and `after`, either of which may be
 * null, are around each and not counted. Notes it for the kind of call, and under a name of that
 * kind. */
void ek_driver_count(ek_driver_table *table, const char *kind, const char *name,
                     void (*before)(void *scene), void (*call)(void *scene),
                     void (*after)(void *scene), void *scene);

/* A table of nothing; the end of one. */
ek_driver_table *ek_driver_table_open(void);
void ek_driver_table_close(ek_driver_table *table);

/* Fails the test unless the table is that of the file; with EK_UPDATE=1 writes the file anew. */
void ek_driver_table_compare(ek_driver_table *table, const char *path);

/* Counts what is no operation: memory, events, queues, programs and copies. */
void ek_count_runtime(ek_driver_table *table);

#endif
