/* hustings-candidate/1 for C programs: reads orders, says what seats do, and writes for those that lead. */
#ifndef HUSTINGS_CANDIDATE_H
#define HUSTINGS_CANDIDATE_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { SEAT_TEXT = 512 };

typedef struct seat {
    int number;
    char group[SEAT_TEXT], connect[SEAT_TEXT], resource[SEAT_TEXT];
    int timeout_ms, write_every_ms, rejoin_after_ms;
    /* Told to give its place back, or to end; it leads now. */
    _Atomic int resigning, stopping, leads;
    /* What is here is the helper's. */
    int term, poked, resource_fd;
    int64_t token, fault;
    pthread_mutex_t lock, writing;
    pthread_cond_t changed;
} seat;

int64_t now_ns(void);

/* It leads from here on, by the znode of this name and czxid, under this session; and it leads no more. */
void seat_grant(seat *seat, int64_t t0, const char *node, int64_t czxid, int64_t session);
void seat_revoke(seat *seat, const char *reason);

/* Something has happened that the seat's thread has to look at; and waits for that, or for an order. False: it is to leave. */
void seat_poke(seat *seat);
int seat_wait(seat *seat);

/* It is about to give its place back: it leads no more, and its last write is answered by the time that this gives. */
int64_t seat_leaves(seat *seat);

/* It has given its place back, between these times; waits for as long as it is to stay away. */
void seat_resigned(seat *seat, int64_t t0, int64_t t1);

/* Obeys orders until the input ends or says stop, or the process is sent SIGTERM. Each seat's thread runs `stand`, and returns from
 * it once the seat is stopping. */
int candidate_run(const char *name, const char *version, const char *can, void (*stand)(seat *));

#endif
