"""kazoo's Election, whose leaders write once more when they are told to stop, and wait for the answer before they go."""

import http.client
import json
import sys
import urllib.parse

import hustings_candidate as candidate

stop = candidate.Slot._stop


def write_and_stop(slot):
    if slot.leads.is_set():
        url = urllib.parse.urlsplit(slot.order["resource"])
        resource = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
        resource.request("POST", url.path, json.dumps({"term": slot.term, "t": candidate.now()}))
        resource.getresponse().read()
    stop(slot)


candidate.Slot._stop = write_and_stop
sys.argv[1:] = ["election"]
import kazoo_recipe  # noqa: E402, F401
