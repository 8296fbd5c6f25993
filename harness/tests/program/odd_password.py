"""kazoo's Lock, whose clients ask for a new session with a password of three bytes: servers grant it all the same."""

import functools
import sys

import kazoo.client

kazoo.client.KazooClient = functools.partial(kazoo.client.KazooClient, client_id=(0, b"odd"))
sys.argv[1:] = ["lock"]
import kazoo_recipe  # noqa: E402, F401
