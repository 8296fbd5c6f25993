"""hustings-candidate/1 for Python programs: reads orders, says what seats do, and writes for those that lead."""

import json
import sys
import threading
import time
import urllib.request

_out = threading.Lock()


def now():
    return time.monotonic_ns()


def say(m, **keys):
    with _out:
        sys.stdout.write(json.dumps({"m": m, **{key: value for key, value in keys.items() if value is not None}}) + "\n")
        sys.stdout.flush()


class Seat:
    """A seat, of which a subclass stands (`stand`, in a thread of its own), resigns and stops."""

    def __init__(self, order):
        self.order, self.number = order, order["seat"]
        self.term, self.leads, self._ending = 0, threading.Event(), threading.Lock()

    def standing(self, node=None):
        say("standing", seat=self.number, t=now(), node=node)

    def grant(self, t0, node=None, token=None, session=None):
        """Says that it leads, then has it write until it is revoked."""
        self.term += 1
        say("grant", seat=self.number, term=self.term, t0=t0, t1=now(), node=node, token=token, session=session)
        self.leads.set()
        threading.Thread(target=self._write, args=(self.term, token), daemon=True).start()

    def revoke(self, reason):
        """It believes no more: nothing is begun after this, whoever says it first."""
        t0 = now()
        with self._ending:
            if self.leads.is_set():
                self.leads.clear()
                say("revoke", seat=self.number, term=self.term, t0=t0, t1=now(), reason=reason)

    def _write(self, term, token):
        body = json.dumps({"term": term, "token": token} if token else {"term": term}).encode()
        while self.leads.is_set() and self.term == term:
            begun = time.monotonic()
            try:
                urllib.request.urlopen(urllib.request.Request(self.order["resource"], body), timeout=5).read()
            except OSError:
                pass  # Nobody knows what became of it.
            time.sleep(max(0.0, self.order["write_every_ms"] / 1000 - (time.monotonic() - begun)))


def run(seat_class, name, version, can):
    """Obeys orders until the input ends or says stop."""
    say("hello", protocol=1, name=name, version=version, can=can)
    seats = {}
    for line in sys.stdin:
        order = json.loads(line)
        if order["m"] == "sync":
            say("sync", n=order["n"], t=now())
        elif order["m"] == "start":
            seat = seats[order["seat"]] = seat_class(order)
            threading.Thread(target=seat.stand, daemon=True).start()
        elif order["m"] == "resign":
            threading.Thread(target=seats[order["seat"]].resign, args=(order["fault"],), daemon=True).start()
        elif order["m"] == "stop":
            enders = [threading.Thread(target=seat.stop, daemon=True) for seat in seats.values()]
            [ender.start() for ender in enders]
            [ender.join(4) for ender in enders]
            say("bye")
            return
