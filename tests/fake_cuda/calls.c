/* What is counted, and failures that a test asked for. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ENTRIES = 64 };

typedef struct entry {
    const char *name;
    int calls, fail_in;
    CUresult fail_with;
} entry;

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;

static entry entries[MAX_ENTRIES];
static int entry_count, alive;

void fake_change_alive(int by)
{
    pthread_mutex_lock(&fake_lock);
    alive += by;
    pthread_mutex_unlock(&fake_lock);
}

static entry *find_entry(const char *name)
{
    for (int i = 0; i < entry_count; i++) {
        if (strcmp(entries[i].name, name) == 0)
            return &entries[i];
    }
    if (entry_count == MAX_ENTRIES)
        abort();
    entries[entry_count].name = name;
    return &entries[entry_count++];
}

CUresult fake_enter(const char *name)
{
    CUresult result = CUDA_SUCCESS;
    pthread_mutex_lock(&fake_lock);
    entry *entry = find_entry(name);
    entry->calls++;
    if (entry->fail_in > 0 && --entry->fail_in == 0)
        result = entry->fail_with;
    if (result == CUDA_SUCCESS && fake_device_count < 0 && strcmp(name, "cuInit") != 0)
        result = CUDA_ERROR_NOT_INITIALIZED;
    pthread_mutex_unlock(&fake_lock);
    return result;
}

int ek_fake_calls(const char *name)
{
    int calls = 0;
    pthread_mutex_lock(&fake_lock);
    for (int i = 0; i < entry_count; i++)
        calls += !name || strcmp(entries[i].name, name) == 0 ? entries[i].calls : 0;
    pthread_mutex_unlock(&fake_lock);
    return calls;
}

void ek_fake_fail(const char *name, int n, int result)
{
    pthread_mutex_lock(&fake_lock);
    entry *entry = find_entry(name);
    entry->fail_in = n;
    entry->fail_with = (CUresult)result;
    pthread_mutex_unlock(&fake_lock);
}

int ek_fake_alive(void)
{
    return alive;
}
