/* The order in which a scan combines elements. It follows from their number alone, so that every
 * layout, variant, number of threads and device gives the same bits.
 *
 * A row is cut into stretches of EK_STRETCH elements, a stretch into spans of EK_SPAN, a span into
 * chunks of EK_SCAN_CHUNK, a chunk into groups of EK_GROUP.
 *
 * In a group, and then again over the last results of the groups of a chunk, results are formed by
 * halves (J. Sklansky, "Conditional-Sum Addition Logic", 1960): for h = 1, 2, 4, 8, each place
 * whose number has the bit h takes in the last place of the h before its own h. A group's results
 * take in the last one of the groups before it in its chunk.
 *
 * Chunks of a span are chained: the results of a chunk take in the last one of the chunk before it,
 * which has taken in those before. So are the spans of a stretch, and the stretches of a row.
 *
 * Chains are what several blocks of a GPU can compute of one row in one pass, each for itself: 32
 * totals that are there at once, and far fewer that wait for each other (131,072 elements apart).
 *
 * What has nothing before it takes in nothing, so no identity is needed. */
#ifndef EK_PREFIXES_H
#define EK_PREFIXES_H

#define EK_GROUP 16
#define EK_SCAN_GROUPS 16
#define EK_SCAN_CHUNK (EK_GROUP * EK_SCAN_GROUPS)
#define EK_SPAN_CHUNKS 16
#define EK_SPAN (EK_SCAN_CHUNK * EK_SPAN_CHUNKS)
#define EK_STRETCH_SPANS 32
#define EK_STRETCH (EK_SPAN * EK_STRETCH_SPANS)

#endif
