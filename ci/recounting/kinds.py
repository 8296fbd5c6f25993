"""What is true of faults by their kind."""

LASTS_UNTIL_HEALED = (
    "partition", "partition-up", "partition-down", "slow", "pause", "server-kill", "server-pause", "server-partition",
    "server-restart-all", "lost-reply",
)
HITS_CANDIDATES = ("none", "resign", "expire", "parent-delete")
LETS_SESSIONS_EXPIRE = ("crash", "partition", "partition-up", "pause")


def is_on_servers(kind):
    return kind.startswith("server-")
