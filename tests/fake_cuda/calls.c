/* What is counted, and failures that a test asked for. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ENTRIES = 128 };

typedef struct entry {
    const char *name;
    int calls, fail_in;
    CUresult fail_with;
} entry;

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;

static entry entries[MAX_ENTRIES];
static int entry_count, alive, any_fails_in, any_fails_every;
static CUresult any_fails_with;
static const char *failed, *met;
static void (*meet)(void);

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

/* What this call shall fail with. */
static CUresult take_failure(entry *entry)
{
    if (entry->fail_in > 0 && --entry->fail_in == 0)
        return entry->fail_with;
    if (any_fails_in > 0 && --any_fails_in == 0) {
        any_fails_in = any_fails_every;
        return any_fails_with;
    }
    return CUDA_SUCCESS;
}

CUresult fake_enter(const char *name)
{
    CUresult result = fake_process_check();
    pthread_mutex_lock(&fake_lock);
    entry *entry = find_entry(name);
    entry->calls++;
    if (result == CUDA_SUCCESS)
        result = take_failure(entry);
    if (result != CUDA_SUCCESS)
        failed = entry->name;
    if (result == CUDA_SUCCESS && fake_device_count < 0 && strcmp(name, "cuInit") != 0)
        result = CUDA_ERROR_NOT_INITIALIZED;
    void (*now)(void) = met && strcmp(name, met) == 0 ? meet : NULL;
    met = now ? NULL : met;
    pthread_mutex_unlock(&fake_lock);
    if (now)
        now();
    return result;
}

void ek_fake_meet(const char *entry, void (*function)(void))
{
    pthread_mutex_lock(&fake_lock);
    met = entry;
    meet = function;
    pthread_mutex_unlock(&fake_lock);
}

const char *ek_fake_entry(int i)
{
    return i < entry_count ? entries[i].name : NULL;
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

void ek_fake_fail_any(int n, int every, int result)
{
    pthread_mutex_lock(&fake_lock);
    any_fails_in = n;
    any_fails_every = every;
    any_fails_with = (CUresult)result;
    failed = NULL;
    pthread_mutex_unlock(&fake_lock);
}

const char *ek_fake_failed(void)
{
    return failed;
}

int ek_fake_alive(void)
{
    return alive;
}
