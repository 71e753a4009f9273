"""The way from the sandbox's own loopback to the one socket that leads out.

It runs as the first process of a sandbox whose network is empty but for this. As a program it starts the command that
it is given and ends with its exit code; with it everything else in the sandbox ends.
"""

import os
import selectors
import signal
import socket
import sys

CHUNK = 65536


def listen(port):
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(64)
    listener.setblocking(False)
    return listener


class Half:
    """One direction: what was read from one side and not yet taken by the other one is all that is kept."""

    def __init__(self, source, sink):
        self.source = source
        self.sink = sink
        self.pending = b""
        self.is_over = False

    def wants_read(self):
        return not self.is_over and not self.pending

    def move(self):
        try:
            if self.wants_read():
                self.pending = self.source.recv(CHUNK)
                if not self.pending:
                    self.is_over = True
                    self.sink.shutdown(socket.SHUT_WR)
                    return
            if self.pending:
                self.pending = self.pending[self.sink.send(self.pending) :]
        except BlockingIOError:
            pass


def relay_until_ended(child, listener, path):
    """Resolves to the exit code of the child, as a shell tells it."""
    events = selectors.DefaultSelector()
    ending = os.pidfd_open(child)
    events.register(ending, selectors.EVENT_READ, "ended")
    events.register(listener, selectors.EVENT_READ, "connected")
    while True:
        for key, _ in events.select(1):
            if key.data == "connected":
                accept(events, listener, path)
            elif key.data != "ended":
                advance(events, key.data)
        code = bury(child)
        if code is not None:
            return code


def bury(child):
    """Takes leave of whatever has ended; the exit code once that is the child itself."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if pid == 0:
            return None
        if pid == child:
            return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def accept(events, listener, path):
    try:
        inner, _ = listener.accept()
    except OSError:
        return
    outer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        outer.connect(path)
    except OSError:
        inner.close()
        outer.close()
        return
    inner.setblocking(False)
    outer.setblocking(False)
    halves = (Half(inner, outer), Half(outer, inner))
    watch(events, halves)


def advance(events, halves):
    # The other side's event of the same round may have ended both.
    if halves[0].source.fileno() == -1:
        return
    try:
        for half in halves:
            half.move()
    except OSError:
        drop(events, halves)
        return
    if all(half.is_over for half in halves):
        drop(events, halves)
        return
    watch(events, halves)


def watch(events, halves):
    there, back = halves
    for own, other in ((there, back), (back, there)):
        wanted = (selectors.EVENT_READ if own.wants_read() else 0) | (selectors.EVENT_WRITE if other.pending else 0)
        known = own.source in events.get_map()
        if not wanted and known:
            events.unregister(own.source)
        elif wanted and known:
            events.modify(own.source, wanted, halves)
        elif wanted:
            events.register(own.source, wanted, halves)


def drop(events, halves):
    for half in halves:
        if half.source in events.get_map():
            events.unregister(half.source)
        half.source.close()


def main(port, path, command):
    listener = listen(int(port))
    child = os.fork()
    if child == 0:
        listener.close()
        # Python itself does without them; the command may not.
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        try:
            os.execvp(command[0], command)
        except OSError as error:
            os.write(2, ("%s: %s\n" % (command[0], error.strerror)).encode())
            os._exit(127 if isinstance(error, FileNotFoundError) else 126)
    os.closerange(0, 4)
    os._exit(relay_until_ended(child, listener, path))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
