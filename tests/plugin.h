/* What is in tests/plugin.so, an application's shared object that holds a copy of the library. */
#ifndef EK_TEST_PLUGIN_H
#define EK_TEST_PLUGIN_H

/* The product [2] * [3] on a device, in a queue that stays open; -1 for what fails. */
float plugin_product(const char *device);

#endif
