"""Kazoo's own recipes against the servers named by the only argument.

Prints one line for each thing that holds and ends with status 0, or fails by an exception. Before the last one it says
"kill", and goes on when a line comes from standard input: the servers' leader has been killed then.
"""

import sys
import threading
import time

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, NoAuthError, NodeExistsError, NoNodeError, RolledBackError
from kazoo.recipe.watchers import ChildrenWatch
from kazoo.security import make_digest_acl

SERVERS = sys.argv[1]
AT_MOST_S = 20


def client(**options):
    made = KazooClient(hosts=SERVERS, timeout=4.0, **options)
    made.start(timeout=AT_MOST_S)
    return made


def until(what, holds):
    end = time.monotonic() + AT_MOST_S
    while not holds():
        assert time.monotonic() < end, "not in time: " + what
        time.sleep(0.01)


def basics(one):
    assert one.server_version() == (3, 8, 0), one.server_version()
    assert one.create("/basics/a", b"1", makepath=True) == "/basics/a"
    path, stat = one.create("/basics/e-", b"", ephemeral=True, sequence=True, include_data=True)
    assert path == "/basics/e-0000000001", path
    assert stat.owner_session_id == one.client_id[0]
    data, stat = one.get("/basics/a")
    assert (data, stat.version, stat.numChildren) == (b"1", 0, 0)
    assert one.set("/basics/a", b"22", version=0).dataLength == 2
    for error, act in [
        (BadVersionError, lambda: one.set("/basics/a", b"", version=7)),
        (NodeExistsError, lambda: one.create("/basics/a")),
        (NoNodeError, lambda: one.get("/basics/none")),
    ]:
        try:
            act()
        except error:
            continue
        raise AssertionError(error.__name__)
    assert one.exists("/basics/none") is None
    names, stat = one.get_children("/basics", include_data=True)
    assert sorted(names) == ["a", "e-0000000001"] and stat.numChildren == 2
    assert one.sync("/basics") == "/basics"


def transactions(one):
    good = one.transaction()
    good.create("/basics/t", b"x")
    good.set_data("/basics/t", b"y")
    good.check("/basics/t", 1)
    good.delete("/basics/t", 1)
    done = good.commit()
    assert done[0] == "/basics/t" and done[1].version == 1 and done[2:] == [True, True], done
    bad = one.transaction()
    bad.create("/basics/u", b"x")
    bad.check("/basics/a", 99)
    failed = bad.commit()
    assert isinstance(failed[0], RolledBackError) and isinstance(failed[1], BadVersionError), failed
    assert one.exists("/basics/u") is None


def identities(one):
    one.add_auth("digest", "ada:secret")
    one.create("/basics/private", b"x", acl=[make_digest_acl("ada", "secret", all=True)])
    assert one.get("/basics/private")[0] == b"x"
    other = client()
    try:
        other.get("/basics/private")
        raise AssertionError("anybody may read it")
    except NoAuthError:
        pass
    other.add_auth("digest", "ada:secret")
    assert other.get("/basics/private")[0] == b"x"
    other.stop()
    other.close()


def watches(one):
    seen = []
    one.ensure_path("/watched")
    ChildrenWatch(one, "/watched", lambda names: seen.append(sorted(names)))
    other = client()
    other.create("/watched/a", ephemeral=True)
    until("a child is told", lambda: seen[-1] == ["a"])
    other.stop()
    until("the end of its session is told", lambda: seen[-1] == [])
    other.close()


def lock():
    holders, most, turns = [], [], []

    def contend(number):
        mine = client()
        for _ in range(5):
            with mine.Lock("/lock", "contender-%d" % number):
                holders.append(number)
                most.append(len(holders))
                time.sleep(0.005)
                holders.remove(number)
                turns.append(number)
        mine.stop()
        mine.close()

    threads = [threading.Thread(target=contend, args=(number,), daemon=True) for number in range(6)]
    [thread.start() for thread in threads]
    [thread.join(AT_MOST_S) for thread in threads]
    assert len(turns) == 30 and max(most) == 1, (turns, most)


def election():
    leaders, release = [], threading.Event()
    candidates = [client() for _ in range(3)]

    def stand(number):
        def lead():
            leaders.append(number)
            until("it resigns", lambda: release.is_set() or number == leaders[0] and not candidates[number].connected)

        try:
            candidates[number].Election("/election", "candidate-%d" % number).run(lead)
        except Exception:
            # The one whose client is stopped has nobody to tell that it resigns.
            assert number == leaders[0], number

    threads = [threading.Thread(target=stand, args=(number,), daemon=True) for number in range(3)]
    [thread.start() for thread in threads]
    until("somebody leads", lambda: leaders)
    waiting = candidates[leaders[0]].Election("/election")
    until("all stand", lambda: len(waiting.contenders()) == 3)
    time.sleep(0.1)
    assert len(leaders) == 1, leaders
    candidates[leaders[0]].stop()
    until("another one leads", lambda: len(leaders) == 2)
    release.set()
    until("the last one leads", lambda: len(leaders) == 3)
    assert sorted(leaders) == [0, 1, 2], leaders
    [thread.join(AT_MOST_S) for thread in threads]
    for candidate in candidates:
        candidate.stop()
        candidate.close()


def failover(one):
    session = one.client_id[0]
    assert one.Lock("/survives").acquire(timeout=AT_MOST_S)
    print("kill", flush=True)
    assert sys.stdin.readline()
    end = time.monotonic() + AT_MOST_S
    while True:
        try:
            one.retry(one.create, "/after", b"", ephemeral=True)
            break
        except NodeExistsError:
            break
        except Exception:
            assert time.monotonic() < end, "not in time: a write after the servers' election"
            time.sleep(0.05)
    assert one.client_id[0] == session, "the session was lost"
    assert len(one.get_children("/survives")) == 1, "the lock was lost"


def main():
    one = client()
    for name, check in [
        ("basics", lambda: basics(one)),
        ("transactions", lambda: transactions(one)),
        ("identities", lambda: identities(one)),
        ("watches", lambda: watches(one)),
        ("lock", lock),
        ("election", election),
        ("failover", lambda: failover(one)),
    ]:
        check()
        print(name, flush=True)
    one.stop()
    one.close()


main()
