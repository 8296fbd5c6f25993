"""The definitions of reports/METHODOLOGY.md that figures are recounted by, by the place of the figure in the summary."""

DEFINITIONS = {
    "split_brain": "beliefs overlap from the later 'after the grant' to the earlier 'before the revoke', less the clock's "
    "uncertainty, of each pair of terms; latent is what of it one of the two was stopped for, active what long stalls leave of the rest",
    "split_brain.possible": "only the outer stamps overlap, or are less than the clock's uncertainty apart, while both may have run",
    "split_brain.excused": "active ones that lie within T/5 after a waking (7/10 T where nothing gets through), or while a client cannot have heard that its session was ended by force",
    "writes": "a write is stale if an earlier accepted one bore a higher token, or the same from another incarnation; the fence "
    "refuses what is lower than the highest that it took, and what a newcomer had fenced",
    "write_tokens": "the token of the lead that its sender had begun last, by the stamp of its sending",
    "grant_tokens": "beside what the observer and connections tell of that znode: session, name, and by which one the session led",
    "handovers": "a lead is lost when another incarnation leads next, or nobody does, or its znode went; the first verified fault on its "
    "candidate while it led that it did not outlive explains it",
    "leaderless": "what of the measured window no certain belief covers; longest: the first of the longest gaps",
    "effect": "from one accepted write to the next, or to an end of the measured window",
    "effect.terms": "terms of at least ten intervals of work and a second",
    "failover": "from the loss (before the revoke of a resigner, the beginning of the proof otherwise) to after the next grant",
    "failover.from_intended": "the same samples from the moment that the plan intended",
    "failover.detect": "from the loss, or from the sending of the deletion, to the first other candidate that is told of it",
    "failover.course": "moments of one failover that is as long as the median, since the loss; the first in their order of several",
    "failover.spread": "first to last told until the next lead is lost",
    "failover.excess": "first told minus (last sign of life + T), or (the new leader's begin + T)",
    "fan_out": "candidates but the loser that are told of the lost znode's deletion until the next lead is lost; of a lead that no "
    "fault on its leader cost where somebody was told, or the observer saw its znode go",
    "ownership": "in the measured window; zombie: certain belief while another znode certainly has the lead; dead owner: it certainly has it and its "
    "candidate does not even possibly believe; counted where longer than a tick",
    "sessions": "in the measured window; nothing where no connection was lost in it",
    "standing": "sessions that all servers list though their candidates had replaced them, or their processes had died for good, 2 T, "
    "two ticks and a second before; a cell that is not that old is too short to tell",
    "stalls": "what of a stall the process was not stopped for by order; those that share a moment with the measured window",
    "ensemble": "served: one server certainly leads, no other may, and a majority certainly serves",
    "pools": "of all samples and all injections of the repetitions that ended in order, as those of one cell",
    "pools[].medians": "least and most of the medians of the repetitions that had a failover",
    "injections": "of the leads lost to what was intended for one moment: medians and longest by Kaplan and Meier; "
    "each failover that ended",
}
