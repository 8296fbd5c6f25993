"""kazoo's Lock, whose leaders write on for a while after they have resigned, each write dated to before that."""

import http.client
import json
import sys
import threading
import time
import urllib.parse

import hustings_candidate as candidate

WRITES_ON_S = 0.8
grant, resign = candidate.Seat.grant, candidate.Seat._resign


def grant_by(seat, t0, node=None, **_):
    seat.token = seat.client.exists(seat.order["group"] + "/" + node).czxid
    return grant(seat, t0, node=node, token=seat.token)


def write_on(seat, term, token, sent):
    url = urllib.parse.urlsplit(seat.order["resource"])
    resource = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
    end = time.monotonic() + WRITES_ON_S
    while time.monotonic() < end:
        resource.request("POST", url.path, json.dumps({"term": term, "token": token, "t": sent}))
        resource.getresponse().read()
        time.sleep(0.02)


def resign_and_write_on(seat, fault):
    term, token, sent = seat.term, seat.token, candidate.now()
    resign(seat, fault)
    threading.Thread(target=write_on, args=(seat, term, token, sent), daemon=True).start()


candidate.Seat.grant, candidate.Seat._resign = grant_by, resign_and_write_on
run = candidate.run
candidate.run = lambda seat, name, version, can: run(seat, name, version, can + ["token"])
sys.argv[1:] = ["lock"]
import kazoo_recipe  # noqa: E402, F401
