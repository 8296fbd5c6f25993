/* See hustings_candidate.h. Orders are objects of numbers, texts without escapes, and one object of parameters, which is left alone. */
#define _GNU_SOURCE
#include "hustings_candidate.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS_MAX = 4096, LINE_MAX_BYTES = 65536, STOP_SECONDS = 4 };

static slot *slots[SLOTS_MAX];
static pthread_t threads[SLOTS_MAX];
static int slot_count;
static pthread_mutex_t out = PTHREAD_MUTEX_INITIALIZER;

static int64_t read_clock(clockid_t clock) {
    struct timespec at;
    clock_gettime(clock, &at);
    return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

int64_t now_ns(void) { return read_clock(CLOCK_MONOTONIC); }

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...) {
    va_list values;
    va_start(values, format);
    pthread_mutex_lock(&out);
    vprintf(format, values);
    putchar('\n');
    fflush(stdout);
    pthread_mutex_unlock(&out);
    va_end(values);
}

/* The value of a key of an order: where it begins. */
static const char *value_of(const char *order, const char *key) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(order, quoted);
    return at ? at + strlen(quoted) : NULL;
}

static int64_t number_of(const char *order, const char *key) {
    const char *at = value_of(order, key);
    return at ? strtoll(at, NULL, 10) : 0;
}

static void text_of(const char *order, const char *key, char *into) {
    const char *at = value_of(order, key);
    size_t length = 0;
    if (at && *at == '"') {
        for (at += 1; at[length] && at[length] != '"' && length < SLOT_TEXT - 1; length += 1) into[length] = at[length];
    }
    into[length] = 0;
}

/* Connects to the host and port of the resource's address. */
static int dial(const char *resource) {
    struct sockaddr_in to = {.sin_family = AF_INET};
    char host[64];
    unsigned port;
    if (sscanf(resource, "http://%63[^:]:%u/", host, &port) != 2 || inet_pton(AF_INET, host, &to.sin_addr) != 1) return -1;
    to.sin_port = htons((uint16_t)port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, (struct sockaddr *)&to, sizeof to)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* One write and its answer, over a connection that is kept. What becomes of one that breaks off nobody knows. */
static void write_once(slot *slot, int term, int64_t token, int64_t sent) {
    char body[128], message[1024], answer[1024];
    if (slot->resource_fd < 0) slot->resource_fd = dial(slot->resource);
    if (slot->resource_fd < 0) return;
    int bytes = snprintf(body, sizeof body, "{\"term\":%d,\"token\":%lld,\"t\":%lld}", term, (long long)token, (long long)sent);
    const char *path = strchr(slot->resource + strlen("http://"), '/');
    int length = snprintf(message, sizeof message, "POST %s HTTP/1.1\r\nHost: resource\r\nContent-Length: %d\r\n\r\n%s", path, bytes, body);
    ssize_t got = send(slot->resource_fd, message, (size_t)length, MSG_NOSIGNAL) == length
        ? recv(slot->resource_fd, answer, sizeof answer, 0)
        : -1;
    if (got <= 0) {
        close(slot->resource_fd);
        slot->resource_fd = -1;
    }
}

static void *work(void *given) {
    slot *slot = given;
    pthread_mutex_lock(&slot->lock);
    int term = slot->term;
    int64_t token = slot->token, due = now_ns();
    while (slot->leads && slot->term == term) {
        pthread_mutex_unlock(&slot->lock);
        pthread_mutex_lock(&slot->writing);
        /* Whoever revokes says so before anybody can wait for this write; it may be right after this look. */
        int64_t sent = now_ns();
        if (slot->leads && slot->term == term) write_once(slot, term, token, sent);
        pthread_mutex_unlock(&slot->writing);
        int64_t every = (int64_t)slot->write_every_ms * 1000000, now = now_ns();
        due = due + every > now ? due + every : now;
        struct timespec until = {due / 1000000000, due % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        pthread_mutex_lock(&slot->lock);
    }
    pthread_mutex_unlock(&slot->lock);
    return NULL;
}

void slot_grant(slot *slot, int64_t t0, const char *node, int64_t czxid, int64_t session) {
    pthread_t thread;
    pthread_mutex_lock(&slot->lock);
    slot->term += 1;
    slot->token = czxid;
    say("{\"m\":\"grant\",\"slot\":%d,\"term\":%d,\"t0\":%lld,\"t1\":%lld,\"node\":\"%s\",\"token\":%lld,\"session\":%lld}",
        slot->number, slot->term, (long long)t0, (long long)now_ns(), node, (long long)czxid, (long long)session);
    slot->leads = 1;
    if (pthread_create(&thread, NULL, work, slot) == 0) pthread_detach(thread);
    pthread_mutex_unlock(&slot->lock);
}

void slot_revoke(slot *slot, const char *reason) {
    int64_t t0 = now_ns();
    pthread_mutex_lock(&slot->lock);
    if (slot->leads) {
        slot->leads = 0;
        say("{\"m\":\"revoke\",\"slot\":%d,\"term\":%d,\"t0\":%lld,\"t1\":%lld,\"reason\":\"%s\"}",
            slot->number, slot->term, (long long)t0, (long long)now_ns(), reason);
    }
    pthread_mutex_unlock(&slot->lock);
}

void slot_poke(slot *slot) {
    pthread_mutex_lock(&slot->lock);
    slot->poked = 1;
    pthread_cond_broadcast(&slot->changed);
    pthread_mutex_unlock(&slot->lock);
}

int slot_wait(slot *slot) {
    pthread_mutex_lock(&slot->lock);
    while (!slot->poked && !slot->resigning && !slot->stopping) pthread_cond_wait(&slot->changed, &slot->lock);
    slot->poked = 0;
    int stays = !slot->resigning && !slot->stopping;
    pthread_mutex_unlock(&slot->lock);
    return stays;
}

int64_t slot_leaves(slot *slot) {
    slot_revoke(slot, slot->resigning ? "resigned" : slot->stopping ? "stopped" : "over");
    pthread_mutex_lock(&slot->writing);
    int64_t now = now_ns();
    pthread_mutex_unlock(&slot->writing);
    return now;
}

void slot_resigned(slot *slot, int64_t t0, int64_t t1) {
    pthread_mutex_lock(&slot->lock);
    slot->resigning = 0;
    say("{\"m\":\"resigned\",\"slot\":%d,\"fault\":%lld,\"t0\":%lld,\"t1\":%lld}",
        slot->number, (long long)slot->fault, (long long)t0, (long long)t1);
    pthread_mutex_unlock(&slot->lock);
    usleep((useconds_t)slot->rejoin_after_ms * 1000);
}

static slot *find(int64_t number) {
    for (int i = 0; i < slot_count; i += 1) {
        if (slots[i]->number == number) return slots[i];
    }
    return NULL;
}

static void tell(slot *slot, _Atomic int *what) {
    pthread_mutex_lock(&slot->lock);
    *what = 1;
    pthread_cond_broadcast(&slot->changed);
    pthread_mutex_unlock(&slot->lock);
}

static void begin(const char *order, void *(*stand)(void *)) {
    if (slot_count == SLOTS_MAX) return;
    slot *slot = calloc(1, sizeof *slot);
    slot->number = (int)number_of(order, "slot");
    text_of(order, "group", slot->group);
    text_of(order, "connect", slot->connect);
    text_of(order, "resource", slot->resource);
    slot->timeout_ms = (int)number_of(order, "timeout_ms");
    slot->write_every_ms = (int)number_of(order, "write_every_ms");
    slot->rejoin_after_ms = (int)number_of(order, "rejoin_after_ms");
    slot->resource_fd = -1;
    pthread_mutex_init(&slot->lock, NULL);
    pthread_mutex_init(&slot->writing, NULL);
    pthread_cond_init(&slot->changed, NULL);
    slots[slot_count] = slot;
    pthread_create(&threads[slot_count], NULL, stand, slot);
    slot_count += 1;
}

/* Has every slot give up, in bounded time. */
static void end(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += STOP_SECONDS;
    for (int i = 0; i < slot_count; i += 1) tell(slots[i], &slots[i]->stopping);
    for (int i = 0; i < slot_count; i += 1) pthread_timedjoin_np(threads[i], NULL, &until);
}

static void *wait_for_term(void *signals) {
    int which;
    sigwait(signals, &which);
    end();
    _exit(0);
}

static void (*stands)(slot *);

static void *stand_in(void *given) {
    stands(given);
    return NULL;
}

int candidate_run(const char *name, const char *version, const char *can, void (*stand)(slot *)) {
    static char line[LINE_MAX_BYTES];
    static sigset_t signals;
    pthread_t thread;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    pthread_create(&thread, NULL, wait_for_term, &signals);
    stands = stand;
    say("{\"m\":\"hello\",\"protocol\":1,\"name\":\"%s\",\"version\":\"%s\",\"can\":%s}", name, version, can);
    while (fgets(line, sizeof line, stdin)) {
        char what[SLOT_TEXT];
        text_of(line, "m", what);
        slot *slot = find(number_of(line, "slot"));
        if (!strcmp(what, "sync")) {
            say("{\"m\":\"sync\",\"n\":%lld,\"t\":%lld,\"wall\":%lld}", (long long)number_of(line, "n"), (long long)now_ns(),
                (long long)read_clock(CLOCK_REALTIME));
        } else if (!strcmp(what, "start")) {
            begin(line, stand_in);
        } else if (!strcmp(what, "resign") && slot) {
            slot->fault = number_of(line, "fault");
            tell(slot, &slot->resigning);
        } else if (!strcmp(what, "stop")) {
            break;
        }
    }
    end();
    say("{\"m\":\"bye\"}");
    return 0;
}
