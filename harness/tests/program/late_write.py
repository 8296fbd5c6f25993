"""A leader that loses its connection while a write of its is under way, and then gives its znode back."""

import time

import hustings_candidate as candidate


class Slot(candidate.Slot):
    def stand(self):
        self.grant(candidate.now())
        time.sleep(0.1)
        self.finish("suspended")
        candidate.say("note", slot=self.number, text="gives its znode back")

    def leave(self):
        pass

    def end(self):
        pass


candidate.run(Slot, "late write", "1", ["report"])
