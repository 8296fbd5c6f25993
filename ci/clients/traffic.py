"""An echo server, and how long a word takes to it and back."""

import socket
import threading
import time


def echo():
    """The address of a server that sends back what it receives."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(connection):
        with connection:
            try:
                while data := connection.recv(4096):
                    connection.sendall(data)
            except OSError:
                pass  # Cut off, as toxics do.

    def accept():
        while True:
            threading.Thread(target=serve, args=[listener.accept()[0]], daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return "127.0.0.1:%d" % listener.getsockname()[1]


def took(address, within=1.0):
    """Seconds from a word to its echo; None where none comes in that time."""
    host, port = address.rsplit(":", 1)
    began = time.monotonic()
    try:
        with socket.create_connection((host, int(port)), timeout=within) as connection:
            connection.sendall(b"ping")
            back = b""
            while len(back) < 4 and (part := connection.recv(4)):
                back += part
            return time.monotonic() - began if back == b"ping" else None
    except OSError:
        return None
