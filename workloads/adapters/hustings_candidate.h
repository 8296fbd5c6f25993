/* hustings-candidate/1 for C programs: reads orders, says what slots do, and writes for those that lead. */
#ifndef HUSTINGS_CANDIDATE_H
#define HUSTINGS_CANDIDATE_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { SLOT_TEXT = 512 };

typedef struct slot {
    int number;
    char group[SLOT_TEXT], connect[SLOT_TEXT], resource[SLOT_TEXT];
    int timeout_ms, write_every_ms, rejoin_after_ms;
    /* Told to give its place back, or to end; it leads now. */
    _Atomic int resigning, stopping, leads;
    /* What is here is the helper's. */
    int term, poked, resource_fd;
    int64_t token, fault;
    pthread_mutex_t lock, writing;
    pthread_cond_t changed;
} slot;

int64_t now_ns(void);

/* It leads from here on, by the znode of this name and czxid, under this session; and it leads no more. */
void slot_grant(slot *slot, int64_t t0, const char *node, int64_t czxid, int64_t session);
void slot_revoke(slot *slot, const char *reason);

/* Something has happened that the slot's thread has to look at; and waits for that, or for an order. False: it is to leave. */
void slot_poke(slot *slot);
int slot_wait(slot *slot);

/* It is about to give its place back: it leads no more, and its last write is answered by the time that this gives. */
int64_t slot_leaves(slot *slot);

/* It has given its place back, between these times; waits for as long as it is to stay away. */
void slot_resigned(slot *slot, int64_t t0, int64_t t1);

/* Obeys orders until the input ends or says stop, or the process is sent SIGTERM. Each slot's thread runs `stand`, and returns from
 * it once the slot is stopping. */
int candidate_run(const char *name, const char *version, const char *can, void (*stand)(slot *));

#endif
