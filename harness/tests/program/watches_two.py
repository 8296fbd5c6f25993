"""An election by hand: everybody watches the two znodes before its own, and one that is nobody's."""

import functools
import threading

import kazoo
from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import NodeExistsError, NoNodeError

import hustings_candidate as candidate


class Slot(candidate.Slot):
    def stand(self):
        group = self.order["group"]
        self.path = functools.partial("{}/{}".format, group)
        self.client = KazooClient(hosts=self.order["connect"], timeout=self.order["timeout_ms"] / 1000)
        self.client.add_listener(self.changed)
        self.over, self.woken, self.left = threading.Event(), threading.Event(), threading.Event()
        self.client.start(timeout=60)
        try:
            self.client.create(self.path("config"))
        except NodeExistsError:
            pass
        self.client.get(self.path("config"), watch=lambda event: None)
        while not self.stopped:
            for event in (self.over, self.woken, self.left):
                event.clear()
            self.own = self.client.create(self.path("n_"), ephemeral=True, sequence=True).rsplit("/", 1)[1]
            t0 = self.wait()
            if t0 is not None and self.grant(t0, node=self.own):
                self.over.wait()
                self.revoke("over")
            self.client.delete(self.path(self.own))
            self.left.set()
            self.rest()

    def wait(self):
        """When it asked and was the first; None: it is to leave."""
        while not self.over.is_set():
            self.woken.clear()
            t0 = candidate.now()
            queue = sorted(name for name in self.client.get_children(self.order["group"]) if name.startswith("n_"))
            place = queue.index(self.own)
            if place == 0:
                return t0
            for name in queue[max(0, place - 2) : place]:
                try:
                    self.client.get(self.path(name), watch=self.wake)
                except NoNodeError:
                    self.woken.set()
            self.woken.wait()

    def wake(self, event):
        if event.type == "DELETED":
            self.woken.set()

    def changed(self, state):
        if state != KazooState.CONNECTED:
            self.revoke(state.lower())
            self.over.set()
            self.woken.set()

    def leave(self):
        self.over.set()
        self.woken.set()
        self.left.wait(10)

    def end(self):
        self.client.stop()
        self.client.close()


candidate.run(Slot, "watches two", kazoo.__version__, ["report", "resign", "many"])
