/* An election written out on ZooKeeper's C client: a sequential znode each, a watch on the next lower one, and the owner looked at
 * before it leads. A leader without a connection steps down, and looks again once it has one. */
#include <stdio.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

#include "hustings_candidate.h"

static void woken(zhandle_t *zh, int type, int state, const char *path, void *context) {
    seat *seat = (struct seat *)zoo_get_context(zh);
    if (type == ZOO_SESSION_EVENT && state != ZOO_CONNECTED_STATE) {
        seat_revoke(seat, state == ZOO_EXPIRED_SESSION_STATE ? "expired" : "suspended");
    }
    seat_poke(seat);
}

static const char *number(const char *name) { return name + strlen(name) - 10; }

/* Looks who is first, and leads, or watches the one before; creates its own znode if there is none of its session and turn. */
static void look(seat *seat, zhandle_t *zh) {
    char own[64], path[2 * SEAT_TEXT], data[64];
    struct String_vector all;
    struct Stat stat;
    const char *mine = NULL, *before = NULL;
    int64_t t0 = now_ns();
    snprintf(own, sizeof own, "%llx-%d-n_", (long long)zoo_client_id(zh)->client_id, seat->term);
    if (zoo_get_children(zh, seat->group, 0, &all) != ZOK) return;
    for (int i = 0; i < all.count; i += 1) if (!strncmp(all.data[i], own, strlen(own))) mine = all.data[i];
    for (int i = 0; mine && i < all.count; i += 1) {
        const char *other = all.data[i];
        if (strcmp(number(other), number(mine)) < 0 && (!before || strcmp(number(other), number(before)) > 0)) before = other;
    }
    snprintf(path, sizeof path, "%s/%s", seat->group, before ? before : mine ? mine : own);
    int bytes = sizeof data;
    if (!mine) {
        if (zoo_create(zh, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL | ZOO_SEQUENCE, NULL, 0) == ZOK) seat_poke(seat);
    } else if (before) {
        if (zoo_wget(zh, path, woken, NULL, data, &bytes, &stat) == ZNONODE) seat_poke(seat);
    } else if (zoo_exists(zh, path, 0, &stat) == ZOK && stat.ephemeralOwner == zoo_client_id(zh)->client_id && !seat->leads) {
        seat_grant(seat, t0, mine, stat.czxid, stat.ephemeralOwner);
    }
    deallocate_String_vector(&all);
}

static void stand(seat *seat) {
    while (!seat->stopping) {
        zhandle_t *zh = zookeeper_init(seat->connect, woken, seat->timeout_ms, NULL, seat, 0);
        while (seat_wait(seat) && zoo_state(zh) != ZOO_EXPIRED_SESSION_STATE) {
            if (zoo_state(zh) == ZOO_CONNECTED_STATE && !seat->leads) look(seat, zh);
        }
        seat_revoke(seat, seat->resigning ? "resigned" : "stopped");
        seat_settle(seat);
        int64_t t0 = now_ns();
        zookeeper_close(zh);
        if (seat->resigning) seat_resigned(seat, t0, now_ns());
    }
}

int main(void) {
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    return candidate_run("C client, written out", "3.8.0", "[\"report\",\"token\",\"session\",\"resign\",\"many\"]", stand);
}
