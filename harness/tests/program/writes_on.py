"""kazoo's Lock, whose leaders write on for a while after they have resigned, each write dated to before that."""

import http.client
import json
import sys
import threading
import time
import urllib.parse

import hustings_candidate as candidate

WRITES_ON_S = 0.8
grant, resign = candidate.Slot.grant, candidate.Slot._resign


def grant_by(slot, t0, node=None, **_):
    slot.token = slot.client.exists(slot.order["group"] + "/" + node).czxid
    return grant(slot, t0, node=node, token=slot.token)


def write_on(slot, term, token, sent):
    url = urllib.parse.urlsplit(slot.order["resource"])
    resource = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
    end = time.monotonic() + WRITES_ON_S
    while time.monotonic() < end:
        resource.request("POST", url.path, json.dumps({"term": term, "token": token, "t": sent}))
        resource.getresponse().read()
        time.sleep(0.02)


def resign_and_write_on(slot, fault):
    term, token, sent = slot.term, slot.token, candidate.now()
    resign(slot, fault)
    threading.Thread(target=write_on, args=(slot, term, token, sent), daemon=True).start()


candidate.Slot.grant, candidate.Slot._resign = grant_by, resign_and_write_on
run = candidate.run
candidate.run = lambda slot, name, version, can: run(slot, name, version, can + ["token"])
sys.argv[1:] = ["lock"]
import kazoo_recipe  # noqa: E402, F401
