"""kazoo's Lock with a fence that protects nothing: `first`: it writes with the token of its first lead, always; `next`: with that of
the next in the queue; `future`: with one that no znode has; `granted`: it says of each lead that it is by the znode of its first;
`named`: it names a znode that never was."""

import sys

import hustings_candidate as candidate

how = sys.argv[1]
grant, write = candidate.Slot.grant, candidate.Slot._write


def path(slot, node):
    return slot.order["group"] + "/" + node


def grant_by(slot, t0, node=None, **_):
    slot.tokens = getattr(slot, "tokens", []) + [slot.client.exists(path(slot, node)).czxid]
    said = slot.tokens[0 if how == "granted" else -1]
    if how == "named":
        node = "nobody-" + node
    return grant(slot, t0, node=None if how == "granted" else node, token=said)


def write_by(slot, term, token):
    if how == "first":
        token = slot.tokens[0]
    elif how == "future":
        token += 1 << 40
    elif how == "next":
        nodes = [slot.client.exists(path(slot, node)) for node in slot.client.get_children(slot.order["group"])]
        token = max(node.czxid for node in nodes if node)
    write(slot, term, token)


candidate.Slot.grant, candidate.Slot._write = grant_by, write_by
run = candidate.run
candidate.run = lambda slot, name, version, can: run(slot, name, version, can + ["token"])
sys.argv[1:] = ["lock"]
import kazoo_recipe  # noqa: E402, F401
