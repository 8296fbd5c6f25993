/* An election written out on ZooKeeper's C client: a sequential znode a session, a watch on the next lower one, and the own one looked
 * at before it leads and watched while it does. A leader without a connection steps down, and looks again once it has one. */
#include <zookeeper/zookeeper.h>
#include <zookeeper/zookeeper_version.h>
#include "hustings_candidate.h"

static void woken(zhandle_t *zh, int type, int state, const char *path, void *context) {
    slot *slot = (struct slot *)zoo_get_context(zh);
    if (type == ZOO_SESSION_EVENT && state != ZOO_CONNECTED_STATE) slot_revoke(slot, "suspended or expired");
    slot_poke(slot);
}

static _Thread_local char path[2 * SLOT_TEXT]; /* What this thread's slot looked at last: its own znode while it leads. */
#define NUMBER(name) (name + strlen(name) - 10)
/* Looks who is first, and leads, or watches the one before; creates a znode where its session has none. */
static void look(slot *slot, zhandle_t *zh) {
    char own[32], data[64];
    struct String_vector all; struct Stat stat;
    const char *mine = NULL, *before = NULL, *other;
    int bytes = sizeof data, found; int64_t t0 = now_ns();
    snprintf(own, sizeof own, "%llx-n_", (long long)zoo_client_id(zh)->client_id);
    if (zoo_get_children(zh, slot->group, 0, &all) != ZOK) return;
    for (int i = 0; i < all.count; i += 1) if (!strncmp(all.data[i], own, strlen(own))) mine = all.data[i];
    for (int i = 0; mine && i < all.count; i += 1) {
        other = all.data[i];
        if (strcmp(NUMBER(other), NUMBER(mine)) < 0 && (!before || strcmp(NUMBER(other), NUMBER(before)) > 0)) before = other;
    }
    snprintf(path, sizeof path, "%s/%s", slot->group, before ? before : mine ? mine : own);
    if (!mine) {
        slot_revoke(slot, "deleted");
        if (zoo_create(zh, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL | ZOO_SEQUENCE, NULL, 0) == ZOK) slot_poke(slot);
    } else if (before) {
        if (zoo_wget(zh, path, woken, NULL, data, &bytes, NULL) == ZNONODE) slot_poke(slot);
    } else if ((found = zoo_wexists(zh, path, woken, NULL, &stat)) == ZNONODE) {
        slot_poke(slot);
    } else if (found == ZOK && stat.ephemeralOwner == zoo_client_id(zh)->client_id && !slot->leads) {
        slot_grant(slot, t0, mine, stat.czxid, stat.ephemeralOwner);
        if (zoo_state(zh) != ZOO_CONNECTED_STATE) slot_revoke(slot, "suspended"); /* What was lost before the grant revoked nothing. */
    }
    deallocate_String_vector(&all);
}

static void stand(slot *slot) {
    while (!slot->stopping) {
        zhandle_t *zh = zookeeper_init(slot->connect, woken, slot->timeout_ms, NULL, slot, 0);
        while (slot_wait(slot) && zoo_state(zh) != ZOO_EXPIRED_SESSION_STATE) {
            if (zoo_state(zh) == ZOO_CONNECTED_STATE) look(slot, zh);
        }
        int owns = slot->resigning && slot->leads && zoo_state(zh) == ZOO_CONNECTED_STATE;
        int64_t t0 = slot_leaves(slot);
        if (owns) zoo_delete(zh, path, -1); /* The end of the session alone deletes it too, and close does not wait for that. */
        zookeeper_close(zh);
        if (slot->resigning) slot_resigned(slot, t0, now_ns());
    }
}

int main(void) {
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    return candidate_run("C client, written out", ZOO_VERSION, "[\"report\",\"token\",\"session\",\"resign\",\"many\"]", stand);
}
