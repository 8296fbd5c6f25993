"""Drives a proxy by every call of toxiproxy-python."""

import sys

from toxiproxy import Toxiproxy
from toxiproxy.exceptions import InvalidToxic, NotFound, ProxyExists
from traffic import echo, took


def refused(kind, call):
    try:
        call()
    except kind:
        return True
    return False


server = Toxiproxy()
server.update_api_consumer("127.0.0.1", int(sys.argv[1]))
assert server.running() and server.version()
upstream = echo()

link = server.create(upstream=upstream, name="link")
assert link.enabled and took(link.listen) < 0.1, "data goes through"
assert refused(ProxyExists, lambda: server.create(upstream=upstream, name="link"))
assert server.get_proxy("link").listen == link.listen and server.get_proxy("none") is None

link.add_toxic(type="latency", attributes={"latency": 200})
link.add_toxic(type="latency", stream="upstream", name="up", attributes={"latency": 100, "jitter": 0})
toxics = link.toxics()
assert sorted(toxics) == ["latency_downstream", "up"], toxics
assert toxics["up"].stream == "upstream" and toxics["up"].attributes["latency"] == 100
assert 0.3 <= took(link.listen) < 0.5, "two delays add up"
assert refused(ProxyExists, lambda: link.add_toxic(type="latency", name="up"))
assert refused(InvalidToxic, lambda: link.add_toxic(type="nonsense"))
link.destroy_toxic("up")
assert link.get_toxic("up") is None and refused(NotFound, lambda: link.destroy_toxic("up"))

with link.down():
    assert took(link.listen) is None, "nobody listens"
assert took(link.listen) >= 0.2, "it does again"
assert server.reset() and link.toxics() == {} and took(link.listen) < 0.1

link.add_toxic(type="timeout", attributes={"timeout": 0})
assert took(link.listen, within=0.3) is None, "data is held"
assert server.reset()

made = server.populate([
    {"name": "link", "upstream": upstream, "listen": link.listen},
    {"name": "other", "upstream": upstream, "listen": "127.0.0.1:0"},
])
assert [one.name for one in made] == ["other"], "the first is there as it is"
server.destroy(made[0])
assert sorted(server.proxies()) == ["link"]
server.destroy_all()
assert server.proxies() == {}
print("toxiproxy-python: every call was answered as it expects")
