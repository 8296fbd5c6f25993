"""hustings-candidate/1 for Python programs: reads orders, says what slots do, and writes for those that lead."""

import http.client
import json
import os
import signal
import sys
import threading
import time
import urllib.parse

_out = threading.Lock()


def now():
    return time.monotonic_ns()


def say(m, **keys):
    with _out:
        sys.stdout.write(json.dumps({"m": m, **{key: value for key, value in keys.items() if value is not None}}) + "\n")
        sys.stdout.flush()


class Slot:
    """A slot, of which a subclass stands (`stand`, in a thread of its own), gives its place back (`leave`) and ends (`end`)."""

    def __init__(self, order):
        self.order, self.number = order, order["slot"]
        self.term, self.leads, self.stopped, self.resigns = 0, threading.Event(), False, False
        self._leaves, self._ending, self._writing = False, threading.Lock(), threading.Lock()

    def grant(self, t0, node=None, token=None, session=None):
        """Says that it leads, then has it write until it is revoked. False: it is to leave instead."""
        with self._ending:
            if self._leaves:
                return False
            self.term += 1
            say("grant", slot=self.number, term=self.term, t0=t0, t1=now(), node=node, token=token, session=session)
            self.leads.set()
        threading.Thread(target=self._write, args=(self.term, token), daemon=True).start()
        return True

    def revoke(self, reason):
        """It believes no more: nothing is begun after this, whoever says it first."""
        t0 = now()
        with self._ending:
            if self.leads.is_set():
                self.leads.clear()
                say("revoke", slot=self.number, term=self.term, t0=t0, t1=now(), reason=reason)

    def finish(self, reason):
        """The same before it gives its znode back. Gives the time by which its last write is answered: what is under way when a
        znode is given back may come after its successor's."""
        self.revoke(reason)
        with self._writing:
            return now()

    def rest(self):
        """Counts the pause after a resignation from here: the place is given back."""
        while self.resigns:
            self.resigns = False
            time.sleep(self.order["rejoin_after_ms"] / 1000)
        with self._ending:
            self._leaves = self.stopped

    def _write(self, term, token):
        url = urllib.parse.urlsplit(self.order["resource"])
        resource = http.client.HTTPConnection(url.hostname, url.port, timeout=120)
        every, due = self.order["write_every_ms"] / 1000, time.monotonic()
        while True:
            with self._writing:
                sent = now()  # Before it looks, since it may be revoked right after.
                if not self.leads.is_set() or self.term != term:
                    return
                try:
                    resource.request("POST", url.path, json.dumps({"term": term, "token": token, "t": sent}))
                    resource.getresponse().read()
                except (OSError, http.client.HTTPException):
                    resource.close()  # Nobody knows what became of it.
            due = max(due + every, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))

    def _leave(self, reason):
        """It is to give its place back: it leads no more, and will not before it has."""
        with self._ending:
            self._leaves = True
        return self.finish(reason)

    def _resign(self, fault):
        self.resigns = True
        t0 = self._leave("resigned")
        self.leave()
        say("resigned", slot=self.number, fault=fault, t0=t0, t1=now())

    def _stop(self):
        self.stopped = True
        self._leave("stopped")
        self.end()


def run(slot_class, name, version, can):
    """Obeys orders until the input ends or says stop, or the process is sent SIGTERM."""
    slots = {}

    def end(*_):
        enders = [threading.Thread(target=slot._stop, daemon=True) for slot in slots.values()]
        [ender.start() for ender in enders]
        [ender.join(4) for ender in enders]

    def terminated(*_):
        end()
        os._exit(0)

    signal.signal(signal.SIGTERM, terminated)
    say("hello", protocol=1, name=name, version=version, can=can)
    for line in sys.stdin:
        order = json.loads(line)
        if order["m"] == "sync":
            say("sync", n=order["n"], t=now(), wall=time.time_ns())
        elif order["m"] == "start":
            slot = slots[order["slot"]] = slot_class(order)
            threading.Thread(target=slot.stand, daemon=True).start()
        elif order["m"] == "resign":
            threading.Thread(target=slots[order["slot"]]._resign, args=(order["fault"],), daemon=True).start()
        elif order["m"] == "stop":
            break
    end()
    say("bye")
