"""Runs the probes of one file, each in a process of its own, and tells of each one what it tried and how it ended.

A probe returns what it got hold of, or raises OSError (or Closed) where it was stopped. Anything else is a probe that
did not really run, and is told as that.
"""

import ctypes
import errno
import json
import os
import signal
import sys

libc = ctypes.CDLL(None, use_errno=True)
probes = []


class Closed(Exception):
    pass


def probe(name, attempt):
    def register(function):
        probes.append((name, attempt, function))
        return function

    return register


def call(number, *arguments, closed=(errno.EPERM, errno.EACCES, errno.ENOSYS)):
    """A call of the kernel. Past the errors that mean "no" it has looked at the arguments: that is a way in."""
    ctypes.set_errno(0)
    prepared = [value if isinstance(value, (bytes, ctypes._Pointer, ctypes.Array, ctypes.Structure, type(None)))
                else ctypes.c_long(value) for value in arguments]
    result = libc.syscall(ctypes.c_long(number), *prepared)
    if result != -1:
        return f"call {number} gave {result}"
    code = ctypes.get_errno()
    if code in closed:
        raise Closed(errno.errorcode[code])
    return f"call {number} was looked at: {errno.errorcode.get(code, code)}"


def opens(paths, flags):
    """Those that can be opened."""
    found = []
    for path in paths:
        try:
            os.close(os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY))
            found.append(path)
        except OSError:
            pass
    if not found:
        raise Closed("none of them opens")
    return found


def tell(nonce, name, **fields):
    os.write(1, (json.dumps({"nonce": nonce, "probe": name, **fields}) + "\n").encode())


def attempt_one(scene, name, attempt, function):
    nonce = scene["nonce"]
    tell(nonce, name, attempt=attempt)
    signal.alarm(20)
    try:
        evidence = function(scene)
        if evidence is None:
            tell(nonce, name, end="stopped", detail="got nothing")
        else:
            tell(nonce, name, end="escaped", detail=str(evidence)[:500])
    except (OSError, Closed) as stop:
        tell(nonce, name, end="stopped", detail=f"{type(stop).__name__}: {stop}"[:300])
    except BaseException as fault:
        tell(nonce, name, end="broken", detail=f"{type(fault).__name__}: {fault}"[:300])


def main():
    scene = json.loads(sys.stdin.read())
    for name, attempt, function in probes:
        child = os.fork()
        if child == 0:
            try:
                attempt_one(scene, name, attempt, function)
            finally:
                os._exit(0)
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            how = signal.Signals(os.WTERMSIG(status)).name
            tell(scene["nonce"], name, end="broken" if how == "SIGALRM" else "stopped", detail=f"ended by {how}")
