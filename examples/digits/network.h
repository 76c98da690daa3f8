/* A multilayer perceptron whose every number comes out of a library call. */
#ifndef DIGITS_NETWORK_H
#define DIGITS_NETWORK_H

#include <einkorn.h>

#include "data.h"

typedef struct network network;

/* Ends the program with the library's message unless the call succeeded. */
void check(ek_status status);

/* A network with random weights (the same ones every time), with room for sets of up to `most`
 * images. It works on the queue's device. */
network *network_new(ek_queue *queue, int most);
void network_free(network *net);

/* Brings a training set to the device in the order and with the noise of this epoch. */
void network_load(network *net, const digits_set *set, int epoch);

/* One step of Adam over the images at..at+rows of the loaded set. */
void network_step(network *net, int at, int rows, float rate);

/* The share of images the network names rightly. */
double network_accuracy(network *net, const digits_set *set);

/* FNV-1a over the bytes of all weights. */
uint64_t network_hash(network *net);

#endif
