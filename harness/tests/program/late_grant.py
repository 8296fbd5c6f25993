"""A seat whose call for the lead comes back just when it has been told to give its place up."""

import hustings_candidate as candidate


class Seat(candidate.Seat):
    def stand(self):
        pass

    def leave(self):
        self.grant(candidate.now())
        self.revoke("over")

    end = leave


candidate.run(Seat, "late", "1", ["report", "resign", "many"])
