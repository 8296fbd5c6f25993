"""The definitions of the README that figures are recounted by, by the place of the figure in the summary."""

DEFINITIONS = {
    "split_brain": "beliefs overlap from the later 'after the grant' to the earlier 'before the revoke', less the clock's "
    "uncertainty, of each term that begins while others last with the one of them that it shares most with; latent is what of it one "
    "of the two was stopped for, active the rest",
    "split_brain.possible": "only the outer stamps overlap, or are less than the clock's uncertainty apart, while both may have run",
    "split_brain.excused": "active ones that lie within T/5 after a waking (7/10 T where nothing gets through), or while a client cannot have heard that its session was ended by force",
    "writes": "a write is stale if an earlier accepted one bore a higher token, or the same from another session; the fence "
    "refuses what is lower than the highest that it took, and what a newcomer had fenced",
    "handovers": "a lead is lost when an incarnation's last term is over and another incarnation leads, or nobody does; the "
    "last proven fault on its candidate while it led explains it",
    "leaderless": "what of the measured window no certain belief covers; longest: the first of the longest gaps",
    "effect": "from one accepted write to the next, or to an end of the measured window",
    "effect.terms": "terms of at least ten intervals of work and a second",
    "failover": "from the loss (before the revoke of a resigner, the beginning of the proof otherwise) to after the next grant",
    "failover.from_intended": "from the moment that the plan intended",
    "failover.detect": "from the loss, or from the sending of the deletion, to the first other candidate that is told of it",
    "failover.course": "moments of one failover that is as long as the median, since the loss; the first in their order of several",
    "failover.spread": "first to last told until the next lead is lost",
    "failover.excess": "first told minus (last sign of life + T), or (the new leader's begin + T)",
    "fan_out": "candidates but the loser that are told of the lost znode's deletion until the next lead is lost",
    "ownership": "zombie: certain belief while another znode certainly has the lead; dead owner: it certainly has it and its "
    "candidate does not even possibly believe; counted where longer than a tick",
    "sessions": "in the measured window; nothing where no connection was lost in it",
    "stalls": "what of a stall the process was not stopped for by order",
    "ensemble": "served: one server certainly leads, no other may, and a majority certainly serves",
    "pools": "of all samples and all strikes of the repetitions that ended in order, as those of one cell",
    "pools[].medians": "least and most of the medians of the repetitions that had a failover",
    "strikes": "of the leads lost to what was intended for one moment: medians and longest by Kaplan and Meier",
    "leaks": "at the end of the drain, where the servers are the run's own and the cell is older than 2 T and a second",
}
