"""What is true of faults by their kind."""

LASTS_UNTIL_HEALED = (
    "partition", "partition-up", "partition-down", "slow", "pause", "server-kill", "server-pause", "server-partition",
    "server-restart-all", "lost-reply", "hang", "clock-step",
)
HALTS_SERVERS = ("server-kill", "server-pause", "server-restart-all")
LIES_IN_WAIT = ("lost-reply",)
HITS_CANDIDATES = ("none", "resign", "expire", "parent-delete")
ALWAYS_COSTS = ("resign", "crash", "terminate", "expire", "parent-delete")
ENDS_PROCESSES = ("crash", "terminate")
LETS_SESSIONS_EXPIRE = ("crash", "partition", "partition-up", "pause")


def is_on_servers(kind):
    return kind.startswith("server-")


def hits_hosts(kind):
    """Whether all that is on its hosts is hit, be it a candidate's or not."""
    return kind not in HITS_CANDIDATES and not is_on_servers(kind)
