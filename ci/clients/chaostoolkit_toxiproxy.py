"""Drives a proxy by every action and probe of chaostoolkit-toxiproxy."""

import logging
import sys

import logzero
from chaostoxi.proxy import actions as proxies
from chaostoxi.proxy import probes
from chaostoxi.toxic import actions as toxics
from traffic import echo, took

logzero.loglevel(logging.CRITICAL)
settings = {"toxiproxy_host": "127.0.0.1", "toxiproxy_port": sys.argv[1]}
host, port = echo().rsplit(":", 1)


def listens():
    return probes.get_proxy_attribute("link", "listen", configuration=settings)


def deleted(name):
    return toxics.delete_toxic("link", name, configuration=settings)


assert not probes.proxy_exist("link", configuration=settings)
assert proxies.create_proxy("link", host, int(port), listen_host="127.0.0.1", configuration=settings)
assert probes.proxy_exist("link", configuration=settings)
assert listens().endswith(":" + settings["link_PORT"]) and took(listens()) < 0.1

assert proxies.disable_proxy("link", configuration=settings) and took(listens()) is None
assert proxies.enable_proxy("link", configuration=settings) and took(listens()) < 0.1
assert proxies.modify_proxy("link", upstream_address="%s:%s" % (host, port), configuration=settings)

assert toxics.create_latency_toxic("link", "slow", 200, configuration=settings)
assert 0.2 <= took(listens()) < 0.4
assert deleted("slow") and not deleted("slow")
assert toxics.create_bandwith_degradation_toxic("link", "narrow", 1, configuration=settings) and deleted("narrow")
assert toxics.create_slow_connection_close_toxic("link", "late", 50, configuration=settings) and deleted("late")
assert toxics.create_slicer_toxic("link", "slices", 2, 1, 10, configuration=settings)
assert took(listens()) < 0.5 and deleted("slices")
assert toxics.create_limiter_toxic("link", "short", 2, configuration=settings)
assert took(listens()) is None, "two bytes are no word"
assert deleted("short")
assert toxics.create_timeout_toxic("link", "mute", 0, configuration=settings)
assert took(listens(), within=0.3) is None
assert toxics.create_toxic("link", "again", "latency", stream="upstream", toxicity=0.5, configuration=settings)

assert proxies.reset(configuration=settings) and took(listens()) < 0.1
proxies.delete_proxy("link", configuration=settings)
assert not probes.proxy_exist("link", configuration=settings)
print("chaostoolkit-toxiproxy: every action and probe was answered as it expects")
