"""Calls `run` of the capability in /capability, or a piece of code beside it, and reports over descriptor 3.

Everything comes over standard input, so that no secret is in an argument or the environment. The report is the last thing
that happens: with it the process ends, whatever threads and children are still about.
"""

import sys

# A file of the capability may have the name of a module that is needed here. The folder of this file holds none.
own_path = sys.path[1:]
sys.path[:] = [entry for entry in own_path if entry not in ("/capability", "/familiar/python")]

import importlib
import inspect
import json
import os
import traceback

sys.path[:] = own_path

HOME = "/capability/"
CODE = "<code>"
OWN_PROCESS = os.getpid()


def encode(value):
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


class Named(dict):
    """By `context.secrets` as well as by `context["secrets"]`."""

    def __missing__(self, name):
        raise KeyError("%s is not there: manifest.json does not declare it" % name)

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None


class Storage:
    """What is kept between calls, as JSON. What is set here is written once `run` has returned."""

    def __init__(self, kept):
        self._kept = dict(kept)
        self._changes = {}

    def get(self, key, default=None):
        text = self._kept.get(key)
        return default if text is None else json.loads(text)

    def set(self, key, value):
        if not isinstance(key, str):
            raise TypeError("The key of a stored value is a text, not %s" % type(key).__name__)
        self._kept[key] = self._changes[key] = encode(value)

    def delete(self, key):
        if key in self._kept:
            del self._kept[key]
            self._changes[key] = None

    def keys(self):
        return list(self._kept)


def call(run, arguments, context):
    kinds = inspect.Parameter
    parameters = list(inspect.signature(run).parameters.values())
    positional = [one for one in parameters if one.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    if len(positional) > 1:
        return run(arguments, context)
    if any(one.name == "context" and one.kind == kinds.KEYWORD_ONLY for one in parameters):
        return run(arguments, context=context)
    return run(arguments) if parameters else run()


def settle(value):
    """Not with asyncio.run, which at its end waits for threads that are no longer needed."""
    if not inspect.isawaitable(value):
        return value
    import asyncio

    async def wait():
        return await value

    return asyncio.new_event_loop().run_until_complete(wait())


def run_capability(given, context):
    run = getattr(importlib.import_module("main"), "run", None)
    if not callable(run):
        return failure("no_run", "main.py")
    value = settle(call(run, given["input"], context))
    if value is None:
        return failure("nothing", "None")
    try:
        return {"ok": True, "value": encode(value)}
    except (TypeError, ValueError, RecursionError) as error:
        return failure("no_json", str(error))


def run_code(code, context):
    import linecache

    linecache.cache[CODE] = (len(code), None, code.splitlines(True), CODE)
    exec(compile(code, CODE, "exec", dont_inherit=True), {"__name__": "__main__", "context": context})
    return {"ok": True, "value": None}


def failure(kind, detail, is_service=False):
    return {"ok": False, "kind": kind, "detail": detail, "isService": is_service}


def describe(error):
    """The frames of the capability itself: the place inside a library does not help."""
    earlier = earlier_of(error)
    began = "".join(traceback.format_exception_only(type(earlier), earlier)) + "led to:\n" if earlier else ""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if is_own(frame.filename)]
    said = traceback.format_exception_only(type(error), error)
    return (began + "".join(traceback.format_list(frames)) + "".join(said)).rstrip()


def is_own(name):
    return name == CODE or name.startswith(HOME)


def earlier_of(error):
    return error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def is_of_service(error):
    """Whether what failed lies at the other end of the network, or on the way there."""
    import socket
    import urllib.error

    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, urllib.error.HTTPError):
            return error.code >= 500 or error.code == 429
        if isinstance(error, (ConnectionError, TimeoutError, socket.gaierror, urllib.error.URLError)):
            return True
        error = error.__cause__ or error.__context__
    return False


def attempt(given):
    storage = None if given["context"]["storage"] is None else Storage(given["context"]["storage"])
    context = Named(secrets=Named(given["context"]["secrets"]))
    if storage:
        context["storage"] = storage
    try:
        report = run_code(given["code"], context) if "code" in given else run_capability(given, context)
    except SystemExit as leaving:
        is_plain_end = "code" in given and leaving.code in (None, 0)
        word = "" if leaving.code is None else repr(leaving.code)
        report = {"ok": True, "value": None} if is_plain_end else failure("exit", "sys.exit(%s)" % word)
    except BaseException as error:
        report = failure("exception", describe(error), is_of_service(error))
    return {**report, "storage": list(storage._changes.items()) if storage else []}


def main():
    channel = os.dup(3)
    os.close(3)
    # One stream for both, so that the log has everything in its order.
    os.dup2(1, 2)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")
    given = json.loads(sys.stdin.buffer.read())
    report = json.dumps(attempt(given)).encode()
    # A forked child that came back out of `run` has nothing to say.
    if os.getpid() == OWN_PROCESS:
        while report:
            report = report[os.write(channel, report) :]
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass
    os._exit(0)


# Not where a child of multiprocessing loads it again.
if __name__ == "__main__":
    main()
