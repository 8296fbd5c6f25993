"""kazoo's Lock with messages that the protocol forbids: `hello`: it says hello before every grant; `bye`: it says bye before every
grant; `no-bye`: it never says bye; `unasked`: it says resigned before every grant; `again`: it says every resigned twice; `session`: it
names a session that is not its own."""

import sys

import hustings_candidate as candidate

how = sys.argv[1]
say, run = candidate.say, candidate.run


def say_oddly(m, **keys):
    if m == "grant" and how == "hello":
        say("hello", protocol=1, name="odd", version="1", can=[])
    elif m == "grant" and how == "bye":
        say("bye")
    elif m == "grant" and how == "unasked":
        say("resigned", slot=keys["slot"], fault=0, t0=keys["t0"], t1=keys["t1"])
    elif m == "grant" and how == "session":
        keys["session"] = 1
    if m != "bye" or how != "no-bye":
        say(m, **keys)
    if m == "resigned" and how == "again":
        say(m, **keys)


candidate.say = say_oddly
candidate.run = lambda slot, name, version, can: run(slot, name, version, can + (["session"] if how == "session" else []))
sys.argv[1:] = ["lock"]
import kazoo_recipe  # noqa: E402, F401
