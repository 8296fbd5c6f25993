"""A slot whose call for the lead comes back just when it has been told to give its place up."""

import hustings_candidate as candidate


class Slot(candidate.Slot):
    def stand(self):
        pass

    def leave(self):
        self.grant(candidate.now())
        self.revoke("over")

    end = leave


candidate.run(Slot, "late", "1", ["report", "resign", "many"])
