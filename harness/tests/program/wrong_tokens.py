"""kazoo's Lock with a fence that protects nothing: `first`: it writes with the token of its first lead, always; `next`: with that of
the next in the queue; `future`: with one that no znode has; `granted`: it says of each lead that it is by the znode of its first;
`named`: it names a znode that never was."""

import sys

import hustings_candidate as candidate

how = sys.argv[1]
grant, write = candidate.Seat.grant, candidate.Seat._write


def path(seat, node):
    return seat.order["group"] + "/" + node


def grant_by(seat, t0, node=None, **_):
    seat.tokens = getattr(seat, "tokens", []) + [seat.client.exists(path(seat, node)).czxid]
    said = seat.tokens[0 if how == "granted" else -1]
    if how == "named":
        node = "nobody-" + node
    return grant(seat, t0, node=None if how == "granted" else node, token=said)


def write_by(seat, term, token):
    if how == "first":
        token = seat.tokens[0]
    elif how == "future":
        token += 1 << 40
    elif how == "next":
        nodes = [seat.client.exists(path(seat, node)) for node in seat.client.get_children(seat.order["group"])]
        token = max(node.czxid for node in nodes if node)
    write(seat, term, token)


candidate.Seat.grant, candidate.Seat._write = grant_by, write_by
run = candidate.run
candidate.run = lambda seat, name, version, can: run(seat, name, version, can + ["token"])
sys.argv[1:] = ["lock"]
import kazoo_recipe  # noqa: E402, F401
