"""A Python that is already awake, and forks a fresh sandbox for each script.

It runs as the sandbox's account and speaks with the driver over descriptor 3, a line of JSON at a time. It never sees
what a call is about: the forked process reads that itself, so nothing of one call is in the memory of the next.

The forked process becomes the first of new namespaces (user, mount, pid, network, ipc, uts, cgroup), joins its cgroup,
builds its own root and waits. With the request it adds what is mounted, leaves the host's files, drops every capability,
takes on the system call filter and only then forks the script.
"""

import atexit
import builtins
import ctypes
import fcntl
import gc
import importlib.machinery
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
import threading
import time
import types
import weakref

import familiar_relay

# What scripts use most is loaded once for all of them.
import argparse, base64, collections, copy, csv, dataclasses, datetime, decimal, enum, functools, glob, hashlib, hmac
import html, http.client, inspect, io, itertools, logging, math, operator, pathlib, platform, queue, random, re
import shlex, shutil, ssl, statistics, string, subprocess, tempfile, textwrap, traceback, typing, unicodedata
import urllib.error, urllib.parse, urllib.request, uuid, zoneinfo

CONTROL = 3
REQUEST = 4
STATUS = 5

X64 = os.uname().machine == "x86_64"
SYS_CLONE = 56 if X64 else 220
SYS_PIVOT_ROOT = 155 if X64 else 41
SYS_MOUNT_SETATTR = 442

# CLONE_NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. The cgroup's comes later: its top is where the process is then.
NEW_NAMESPACES = 0x7C020000
NEW_CGROUP_NAMESPACE = 0x02000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV = 1, 2, 4
AT_FDCWD, AT_RECURSIVE = -100, 0x8000

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 1, 4, 22, 24, 38, 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
PR_SET_MM, PR_SET_MM_MAP = 35, 14
SECCOMP_MODE_FILTER = 2

libc = ctypes.CDLL(None, use_errno=True)
# Keeps the interpreter's lock, so that the forked process holds it, too.
locked_libc = ctypes.PyDLL(None, use_errno=True)


class SetUpError(Exception):
    pass


def check(result, what):
    if result == -1:
        raise SetUpError("%s: %s" % (what, os.strerror(ctypes.get_errno())))
    return result


def text(value):
    return None if value is None else os.fsencode(value)


def mount(source, target, kind, flags, data=None):
    check(libc.mount(text(source), text(target), text(kind), ctypes.c_ulong(flags), text(data)), "mount on " + target)


def close_all_from(first):
    # The limit may be lower than what was opened before it.
    os.closerange(first, 65536)


# ---- the first process of a sandbox ----------------------------------------------------------------------------------


def bind_with(source, target, attributes):
    """With everything that is mounted below it."""
    mount(source, target, None, MS_BIND | MS_REC)
    wanted = struct.pack("QQQQ", attributes, 0, 0, 0)
    result = libc.syscall(SYS_MOUNT_SETATTR, AT_FDCWD, text(target), AT_RECURSIVE, wanted, ctypes.c_size_t(32))
    check(result, "set the rights of " + target)


def bind_read_only(source, target, devices=False):
    bind_with(source, target, ATTR_RDONLY | ATTR_NOSUID | (0 if devices else ATTR_NODEV))


def place_for(source, target):
    """A file or folder that can be mounted over."""
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
        return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if not os.path.lexists(target):
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))


def write_file(path, content):
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, content)
    finally:
        os.close(descriptor)


def prepare(settings, join_files):
    """Everything that does not depend on the call. The host's files are still there afterwards."""
    check(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "die with the fork server")
    for path in join_files:
        write_file(path, b"0")
    check(libc.unshare(NEW_CGROUP_NAMESPACE), "unshare the cgroup namespace")
    write_file("/proc/self/setgroups", b"deny")
    inner, outer = settings["inner"], settings["outer"]
    write_file("/proc/self/uid_map", b"%d %d 1" % (inner["uid"], outer["uid"]))
    write_file("/proc/self/gid_map", b"%d %d 1" % (inner["gid"], outer["gid"]))

    mount(None, "/", None, MS_REC | MS_PRIVATE)
    root = settings["rootDirectory"]
    mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=1m")
    for entry in settings["root"]:
        target = root + entry["path"]
        if entry["kind"] == "link":
            os.symlink(entry["target"], target)
        else:
            os.mkdir(target)
            bind_read_only(entry["path"], target)
    for bind in settings["binds"]:
        place_for(bind["source"], root + bind["target"])
        bind_read_only(bind["source"], root + bind["target"])
    os.mkdir(root + "/proc")
    mount("proc", root + "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    bind_read_only(root + "/proc/sys", root + "/proc/sys")
    for device in settings["devices"]:
        place_for(device, root + device)
        bind_read_only(device, root + device, devices=True)
    for path in settings["directories"]:
        os.makedirs(root + path, exist_ok=True)
    for path, target in settings["links"].items():
        os.symlink(target, root + path)
    socket.sethostname(inner["name"])
    raise_loopback()
    os.setsid()


def raise_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        get_flags, set_flags, is_up = 0x8913, 0x8914, 1
        (flags,) = struct.unpack_from("H", fcntl.ioctl(control, get_flags, struct.pack("16sH14x", b"lo", 0)), 16)
        fcntl.ioctl(control, set_flags, struct.pack("16sH14x", b"lo", flags | is_up))


def enter(settings, request):
    """What the call asks for, and then the host is out of sight."""
    root = settings["rootDirectory"]
    if request["scratchBytes"] is not None:
        mount("tmpfs", root + "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777,size=%d" % request["scratchBytes"])
    for bind in request["binds"]:
        place_for(bind["source"], root + bind["target"])
        if bind.get("isWritable"):
            bind_with(bind["source"], root + bind["target"], ATTR_NOSUID | ATTR_NODEV)
        else:
            bind_read_only(bind["source"], root + bind["target"])
    mount(None, root, None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)
    os.chdir(root)
    check(libc.syscall(SYS_PIVOT_ROOT, b".", b"."), "pivot_root")
    check(libc.umount2(b".", MNT_DETACH), "leave the host's files")
    try:
        os.chdir(request["workingDirectory"])
    except OSError as error:
        raise SetUpError("the working directory: %s" % error)


def give_up_rights(seccomp_filter):
    check(libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "ambient capabilities")
    for capability in range(64):
        # The first number that this kernel does not know ends the list.
        if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == -1:
            break
    version_3, none = 0x20080522, 0
    check(libc.capset(struct.pack("Ii", version_3, none), struct.pack("6I", *[none] * 6)), "capabilities")
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")
    # This process is not to be read or written by what it starts.
    check(libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "not dumpable")
    if seccomp_filter is None:
        return
    instructions = ctypes.create_string_buffer(seccomp_filter, len(seccomp_filter))
    program = struct.pack("HxxxxxxP", len(seccomp_filter) // 8, ctypes.addressof(instructions))
    check(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0), "system call filter")


def be_first_process(settings, seccomp_filter, join_files):
    """Never returns."""
    try:
        prepare(settings, join_files)
        # Where the fork server lies on the host is nobody's business.
        show_as(["sandbox"], {})
        wire = b""
        while chunk := os.read(REQUEST, 65536):
            wire += chunk
        if not wire:
            # Nobody wants this sandbox any more.
            os._exit(0)
        request = json.loads(wire)
        proxy = request["proxy"]
        listener = familiar_relay.listen(proxy["port"]) if proxy else None
        enter(settings, request)
        give_up_rights(seccomp_filter)
        script = os.fork()
        if script == 0:
            be_script(request, listener)
    except BaseException as error:
        os.write(STATUS, json.dumps({"broken": "%s: %s" % (type(error).__name__, error)}).encode())
        os._exit(1)
    # The pipes belong to the script alone: whoever reads them waits for the last one who could write.
    os.closerange(0, STATUS)
    code = familiar_relay.relay_until_ended(script, listener, proxy["path"]) if proxy else wait_for(script)
    os.write(STATUS, json.dumps({"code": code}).encode())
    os._exit(0)


def wait_for(script):
    """Also takes leave of processes whose parents are gone. With this process all others end."""
    while True:
        pid, status = os.wait()
        if pid == script:
            return code_of(status)


def code_of(status):
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


# ---- the script ------------------------------------------------------------------------------------------------------


def be_script(request, listener):
    """Never returns."""
    os.close(REQUEST)
    os.close(STATUS)
    if listener:
        listener.close()
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    for name, value in request["resources"].items():
        resource.setrlimit(getattr(resource, name), (value, value))
    os.environ.clear()
    os.environ.update(request["environment"])
    if "TZ" in request["environment"]:
        time.tzset()
    argv = request["argv"]
    is_text = argv[1] == "-c"
    first = "" if is_text else os.path.dirname(os.path.realpath(argv[1]))
    search_path = [first, *python_path(request["environment"])]
    source = argv[2] if is_text else readable_source(argv[1])
    if source is None or hides_loaded_module(search_path):
        try:
            os.execv(sys.executable, argv)
        except OSError as error:
            os.write(2, ("%s\n" % error).encode())
            os._exit(127)
    show_as(argv, request["environment"])
    # What the request held is of no use to the script.
    del request
    run_script(argv, source, search_path, is_text)


def show_as(argv, environment):
    """Lets the process look like what it is to whoever lists processes, inside and outside."""
    words = b"".join(os.fsencode(word) + b"\0" for word in argv)
    settings = b"".join(os.fsencode("%s=%s" % pair) + b"\0" for pair in environment.items())
    shown = ctypes.create_string_buffer(words + settings)
    # Must live as long as the process.
    show_as.shown = shown
    with open("/proc/self/stat", "rb") as file:
        numbers = [int(field) for field in file.read().rpartition(b")")[2].split()[1:]]
    # As the manual counts them; the third one is the first in the list, and was not a number.
    field = lambda number: numbers[number - 4]
    start = ctypes.addressof(shown)
    middle, end = start + len(words), start + len(words) + len(settings)
    libc.sbrk.restype = ctypes.c_void_p
    layout = [field(26), field(27), field(45), field(46), field(47), libc.sbrk(0), field(28), start, middle, middle, end]
    unchanged = 0xFFFFFFFF
    wanted = struct.pack("11QQII", *layout, 0, 0, unchanged)
    # A kernel that does not offer this shows the fork server's own name, and nothing else is lost.
    libc.prctl(PR_SET_MM, PR_SET_MM_MAP, wanted, ctypes.c_ulong(len(wanted)), 0)


def python_path(environment):
    parts = environment.get("PYTHONPATH", "")
    return [os.path.abspath(absolute(part)) for part in parts.split(":")] if parts else []


def absolute(path):
    """As the interpreter does it, without tidying."""
    return path if path.startswith("/") else os.getcwd() + "/" + path


def readable_source(path):
    """None for what an interpreter of its own has to look at: no file, a folder, an archive."""
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError:
        return None
    return None if b"\0" in source else source


def hides_loaded_module(search_path):
    """Whether the script brings a module of a name that is loaded already: it would not be the one that it gets."""
    for directory in search_path:
        try:
            names = os.listdir(directory or ".")
        except OSError:
            continue
        if not loaded_names.isdisjoint(name.split(".", 1)[0] for name in names):
            return True
    return False


def run_script(argv, source, search_path, is_text):
    sys.argv = ["-c", *argv[3:]] if is_text else argv[1:]
    sys.orig_argv = list(argv)
    unique = dict.fromkeys([*search_path, *library_path])
    sys.path[:] = unique
    main = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __annotations__={})
    name = "<string>" if is_text else absolute(argv[1])
    if is_text:
        main.__loader__ = importlib.machinery.BuiltinImporter
    else:
        main.__dict__.update(__file__=name, __cached__=None)
        main.__loader__ = importlib.machinery.SourceFileLoader("__main__", name)
    sys.modules["__main__"] = main
    code = 0
    try:
        exec(compile(source, name, "exec", dont_inherit=True), main.__dict__)
    except SystemExit as leaving:
        code = leaving_code(leaving.code)
    except BaseException as error:
        # The frame of this function is none of the script's.
        own = error.__traceback__
        error.__traceback__ = own and own.tb_next
        sys.excepthook(type(error), error, error.__traceback__)
        code = 130 if isinstance(error, KeyboardInterrupt) else 1
    del main
    leave(code)


def leaving_code(value):
    if value is None:
        return 0
    if isinstance(value, int):
        return value & 0xFF
    print(value, file=sys.stderr)
    return 1


def leave(code):
    """As the interpreter does it, but only for what the script has brought: the rest is shared memory, dear to touch."""
    threading._shutdown()
    atexit._run_exitfuncs()
    code = flush_output(code)
    flush_files()
    brought = [name for name in sys.modules if name == "__main__" or name not in loaded_modules]
    alive = [weakref.ref(module) for module in map(sys.modules.pop, brought) if isinstance(module, types.ModuleType)]
    # What nobody holds any more is finished while everything that it needs is still there.
    gc.collect()
    for module in filter(None, (reference() for reference in alive)):
        module.__dict__.clear()
    gc.collect()
    os._exit(flush_output(code))


def flush_files():
    """What was written and not closed. Collected later, the file below could be closed before the text above it."""
    for thing in gc.get_objects():
        if issubclass(type(thing), io.IOBase):
            try:
                thing.flush()
            except Exception:
                # Closed, or read only.
                pass


def flush_output(code):
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (ValueError, AttributeError):
            pass
        except OSError:
            code = 120
    return code


# ---- the fork server -------------------------------------------------------------------------------------------------


class Call:
    def __init__(self, pid, status, pipes):
        self.pid = pid
        self.pidfd = os.pidfd_open(pid)
        self.status = status
        self.pipes = pipes

    def close_pipes(self):
        for end in self.pipes:
            os.close(end)
        self.pipes = []


def begin(settings, seccomp_filter, message):
    """Forks a sandbox that waits for its request."""
    stdin, request, stdout, stderr, result, status = [os.pipe() for _ in range(6)]
    pid = check(locked_libc.syscall(SYS_CLONE, NEW_NAMESPACES | signal.SIGCHLD, 0, 0, 0, 0), "clone")
    if pid == 0:
        wanted = (stdin[0], stdout[1], stderr[1], result[1], request[0], status[1])
        # Out of the way first: a number that is still needed must not be overwritten.
        high = [fcntl.fcntl(end, fcntl.F_DUPFD, 64) for end in wanted]
        for number, end in enumerate(high):
            os.dup2(end, number)
        close_all_from(STATUS + 1)
        os.set_inheritable(REQUEST, False)
        os.set_inheritable(STATUS, False)
        be_first_process(settings, seccomp_filter, message["join"])
    os.close(status[1])
    pipes = [end for pipe in (stdin, request, stdout, stderr, result) for end in pipe]
    numbers = {"stdin": stdin[0], "request": request[0], "stdout": stdout[1], "stderr": stderr[1], "result": result[1]}
    return Call(pid, status[0], pipes), numbers


def finish(call):
    """The first process is gone only when all others of its namespace are."""
    os.waitpid(call.pid, 0)
    told = os.read(call.status, 65536)
    os.close(call.status)
    os.close(call.pidfd)
    call.close_pipes()
    return json.loads(told) if told else {"broken": "the first process was ended"}


def say(message):
    line = json.dumps(message).encode() + b"\n"
    while line:
        line = line[os.write(CONTROL, line) :]


def serve():
    os.set_inheritable(CONTROL, False)
    close_all_from(CONTROL + 1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
    os.umask(0o022)
    check(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "die with the driver")
    with open(sys.argv[1]) as file:
        settings = json.load(file)
    seccomp_filter = None
    if settings["filter"] is not None:
        with open(settings["filter"], "rb") as file:
            seccomp_filter = file.read()
    gc.collect()
    gc.freeze()
    calls = {}
    events = select.poll()
    events.register(CONTROL, select.POLLIN)
    rest = b""
    say({"ready": True})
    while True:
        for descriptor, _ in events.poll():
            if descriptor != CONTROL:
                id = next(id for id, call in calls.items() if call.pidfd == descriptor)
                events.unregister(descriptor)
                say({"id": id, **finish(calls.pop(id))})
                continue
            chunk = os.read(CONTROL, 65536)
            if not chunk:
                os._exit(0)
            *lines, rest = (rest + chunk).split(b"\n")
            for message in map(json.loads, lines):
                call = calls.get(message["id"])
                if message["do"] == "begin":
                    try:
                        call, numbers = begin(settings, seccomp_filter, message)
                    except (SetUpError, OSError) as error:
                        say({"id": message["id"], "broken": str(error)})
                        continue
                    calls[message["id"]] = call
                    events.register(call.pidfd, select.POLLIN)
                    say({"id": message["id"], "pid": call.pid, "pipes": numbers})
                elif call and message["do"] == "opened":
                    call.close_pipes()
                elif call and message["do"] == "kill":
                    os.kill(call.pid, signal.SIGKILL)


del sys.modules["familiar_relay"]
library_path = [entry for entry in sys.path[1:]]
sys.path[:] = library_path
sys.excepthook = sys.__excepthook__
loaded_modules = frozenset(sys.modules)
loaded_names = frozenset(name.split(".", 1)[0] for name in loaded_modules)
serve()
