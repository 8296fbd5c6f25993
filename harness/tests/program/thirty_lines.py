import contextlib as ctx, itertools, json, kazoo.client as zk, os, signal, sys, threading, time, urllib.request as web

now, printing, slots, faults, ending = time.monotonic_ns, threading.Lock(), {}, {}, threading.Event()

def say(m, **keys):
    with printing: print(json.dumps({"m": m, **keys}), flush=True)

def stand(lock, s, slot, term=0, pause=0):  # the thread of a slot: it alone says grant and revoke, and writes
    lock.client.add_listener(lambda state: state != "CONNECTED" and lock.cancel())
    lock.client.start_async().wait()
    while not ending.wait(pause):
        say("standing", slot=slot, t=now())
        with ctx.suppress(Exception), lock:  # acquired here (CancelledError if cancelled), released where it is left
            t0, token, term = now(), lock.client.exists(f"{lock.path}/{lock.node}").czxid, term + 1
            say("grant", slot=slot, term=term, t0=t0, t1=now(), node=lock.node, token=token)
            while not lock.cancelled:
                with ctx.suppress(Exception): web.urlopen(s["resource"], b'{"token":%d,"t":%d}' % (token, now()), 0.2)
                lock.wake_event.wait(s["write_every_ms"] / 1000) and lock.wake_event.clear()
            say("revoke", slot=slot, term=term, t0=now(), t1=now())
        lock.cancelled, pause = False, s["rejoin_after_ms"] / 1000  # first this, then the look for an order
        if slot in faults: say("resigned", slot=slot, t1=now(), **faults.pop(slot))
    lock.client.stop()

signal.signal(signal.SIGTERM, lambda *_: os.dup2(os.open(os.devnull, os.O_RDONLY), 0))  # as the end of input
say("hello", protocol=1, name="thirty-lines", version="1.0", can=["report", "token", "resign", "many"])
for m in itertools.takewhile(lambda m: m["m"] != "stop", map(json.loads, sys.stdin)):
    if m["m"] == "sync": say("sync", n=m["n"], t=now(), wall=time.time_ns())
    if m["m"] == "start": slots[m["slot"]] = zk.KazooClient(m["connect"], m["timeout_ms"] / 1000).Lock(m["group"])
    if m["m"] == "start": threading.Thread(target=stand, args=(slots[m["slot"]], m, m["slot"]), daemon=True).start()
    if m["m"] == "resign": faults[m["slot"]] = {"fault": m["fault"], "t0": now()}
    if m["m"] == "resign": slots[m["slot"]].cancel()
for give_up in [ending.set] + [lock.cancel for lock in slots.values()]: give_up()
for _ in itertools.takewhile(lambda _: threading.active_count() > 1, range(400)): time.sleep(0.01)  # 4 s at most
say("bye")
