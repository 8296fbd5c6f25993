"""kazoo's Election or Lock recipe (`kazoo_recipe.py election`, `… lock`), with a listener that ends the work when in doubt."""

import sys
import threading
import time

import kazoo
from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import CancelledError

import hustings_candidate as candidate


class Seat(candidate.Seat):
    stopped, away_until = False, 0.0

    def stand(self):
        self.go, self.left = threading.Event(), threading.Event()
        self.client = KazooClient(hosts=self.order["connect"], timeout=self.order["timeout_ms"] / 1000)
        self.client.add_listener(self.changed)
        self.client.start(timeout=60)
        while not self.stopped:
            self.go.clear(), self.left.clear()
            self.asked = candidate.now()
            try:
                self.compete()
            except CancelledError:
                pass
            except Exception as error:
                print(f"seat {self.number}: {error!r}", file=sys.stderr)
                time.sleep(0.1)
            self.left.set()
            time.sleep(max(0.0, self.away_until - time.monotonic()))

    def compete(self):
        if sys.argv[1] == "election":
            self.recipe = self.client.Election(self.order["group"], str(self.number))
            self.recipe.run(lambda: self.lead(self.recipe.lock))
        else:
            self.recipe = self.client.Lock(self.order["group"], str(self.number))
            with self.recipe:
                self.lead(self.recipe)

    def lead(self, lock):
        if self.client.state == KazooState.CONNECTED:  # Else the listener has run before.
            self.grant(self.asked, node=lock.node)
            self.go.wait()
        self.revoke("over")

    def changed(self, state):
        if state != KazooState.CONNECTED:
            self.end(state.lower())

    def end(self, reason):
        self.revoke(reason)
        self.go.set()

    def resign(self, fault):
        self.away_until = time.monotonic() + self.order["rejoin_after_ms"] / 1000
        self.revoke("resigned")
        t0 = candidate.now()
        self.go.set()
        self.recipe.cancel()
        self.left.wait(10)
        candidate.say("resigned", seat=self.number, fault=fault, t0=t0, t1=candidate.now())

    def stop(self):
        self.stopped = True
        self.end("stopped")
        self.client.stop()
        self.client.close()


candidate.run(Seat, f"kazoo {sys.argv[1]}", kazoo.__version__, ["report", "resign", "many"])
