"""kazoo's Election or Lock recipe (`kazoo_recipe.py election`, `… lock`), with a listener that ends the work when in doubt."""

import sys
import threading
import time

import kazoo
from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import CancelledError

import hustings_candidate as candidate


class Slot(candidate.Slot):
    def stand(self):
        self.client = KazooClient(hosts=self.order["connect"], timeout=self.order["timeout_ms"] / 1000)
        self.client.add_listener(self.changed)
        self.client.start(timeout=60)
        while not self.stopped:
            self.over, self.left = threading.Event(), threading.Event()
            try:
                recipe = {"election": self.client.Election, "lock": self.client.Lock}[sys.argv[1]]
                self.recipe = recipe(self.order["group"], str(self.number))
                if sys.argv[1] == "election":
                    self.recipe.run(lambda: self.lead(self.recipe.lock))
                else:
                    with self.recipe:
                        self.lead(self.recipe)
            except Exception as error:
                if not isinstance(error, CancelledError):
                    print(f"slot {self.number}: {error!r}", file=sys.stderr)
                    time.sleep(0.1)
            self.left.set()
            self.rest()

    def lead(self, lock):
        t0 = candidate.now()
        self.over = over = threading.Event()  # What was lost while it waited ends no lead.
        # Whoever sets it may have run before.
        if self.client.state == KazooState.CONNECTED and self.grant(t0, node=lock.node):
            over.wait()
        self.finish("over")

    def changed(self, state):
        if state != KazooState.CONNECTED and hasattr(self, "over"):
            self.revoke(state.lower())
            self.over.set()

    def leave(self):
        self.over.set()
        self.recipe.cancel()
        self.left.wait(10)

    def end(self):
        self.client.stop()  # It tells the listener.
        self.client.close()


candidate.run(Slot, f"kazoo {sys.argv[1]}", kazoo.__version__, ["report", "resign", "many"])
