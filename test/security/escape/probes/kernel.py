import ctypes
import mmap
import os
import resource

from probe import Closed, call, libc, main, opens, probe

CLONE_NEWUSER = 0x10000000
CLONE_NEWNS = 0x00020000
CLONE_NEWNET = 0x40000000


@probe("core-pattern", "write the host's core_pattern, which names a program that root runs")
def _(scene):
    path = "/proc/sys/kernel/core_pattern"
    with open(path, "rb") as file:
        now = file.read()
    # The same again: were it open, nothing of the host would change.
    with open(path, "wb", buffering=0) as file:
        file.write(now)
    return "written"


@probe("kernel-settings", "open any setting of the kernel for writing")
def _(scene):
    return opens([os.path.join(folder, name) for folder, _, names in os.walk("/proc/sys") for name in names], os.O_WRONLY)


@probe("sysrq", "open the host's emergency keys")
def _(scene):
    return opens(["/proc/sysrq-trigger", "/proc/kcore", "/proc/kmsg"], os.O_WRONLY)


@probe("kernel-secrets", "read the kernel's memory, log and keys")
def _(scene):
    return opens(["/proc/kcore", "/proc/kmsg", "/proc/vmcore"], os.O_RDONLY)


@probe("kernel-files", "open for writing any file of /proc that is no process's")
def _(scene):
    paths = []
    for folder, names, files in os.walk("/proc"):
        if folder == "/proc":
            # Pressure is open to every user of every machine.
            other = ("sys", "self", "thread-self", "net", "pressure")
            names[:] = [name for name in names if not name.isdigit() and name not in other]
        paths += [os.path.join(folder, name) for name in files]
    # Where something else lies over a file it is not the kernel's any more.
    return opens([path for path in paths if os.path.isfile(path)], os.O_WRONLY)


@probe("root-tables", "read what the kernel tells only to root")
def _(scene):
    names = ("slabinfo", "vmallocinfo", "pagetypeinfo", "kpageflags", "kpagecount", "kpagecgroup")
    return opens([f"/proc/{name}" for name in names], os.O_RDONLY)


@probe("sys-write", "open a file of /sys for writing, control groups among them")
def _(scene):
    paths = [os.path.join(folder, name) for folder, _, names in os.walk("/sys") for name in names]
    return opens(paths[:20000], os.O_WRONLY)


@probe("spare-me", "be the last that the host ends when memory runs out")
def _(scene):
    now = int(open("/proc/self/oom_score_adj").read())
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write(str(min(now, 0) - 1))
    return "lowered"


@probe("identity-map", "write its own map of users")
def _(scene):
    with open("/proc/self/uid_map", "w") as file:
        file.write("0 0 1\n")
    return "written"


@probe("capabilities", "have or gain a capability")
def _(scene):
    held = {}
    for line in open("/proc/self/status"):
        name, _, value = line.partition(":")
        if name in ("CapInh", "CapPrm", "CapEff", "CapAmb") and int(value, 16):
            held[name] = value.strip()
    if held:
        return held
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6)
    return call(126, header, data)


@probe("root", "become root")
def _(scene):
    if os.getuid() == 0 or os.geteuid() == 0:
        return "is root already"
    done = []
    for act in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0]), lambda: os.setresuid(0, 0, 0)):
        try:
            act()
            done.append("became")
        except OSError:
            pass
    return done or None


@probe("mount", "mount a file system")
def _(scene):
    return call(165, b"none", b"/tmp", b"tmpfs", 0, None)


@probe("new-mount-calls", "mount with the newer calls")
def _(scene):
    done = []
    for number, arguments in {
        430: (b"tmpfs", 0),
        428: (-100, b"/", 1),
        429: (-1, b"", -1, b"", 0),
        432: (-1, 0, 0),
        442: (-100, b"/tmp", 0, None, 0),
    }.items():
        try:
            done.append(call(number, *arguments))
        except Closed:
            pass
    return done or None


@probe("unshare-user", "make a user namespace, where everything is allowed")
def _(scene):
    return call(272, CLONE_NEWUSER)


@probe("unshare-others", "make a mount, network, process or host name namespace")
def _(scene):
    done = []
    for flag in (CLONE_NEWNS, CLONE_NEWNET, 0x20000000, 0x04000000, 0x08000000, 0x02000000, 0x80):
        try:
            done.append(call(272, flag))
        except Closed:
            pass
    return done or None


@probe("clone-user", "make a user namespace with a new process")
def _(scene):
    # Without a stack of its own the child shares the parent's copy, as after fork.
    ctypes.set_errno(0)
    child = libc.syscall(ctypes.c_long(56), ctypes.c_long(CLONE_NEWUSER | 17), None, None, None, None)
    if child == 0:
        os._exit(0)
    if child == -1:
        raise OSError(ctypes.get_errno(), "clone")
    os.waitpid(child, 0)
    return "made"


@probe("clone3-user", "make a user namespace with the newer call")
def _(scene):
    arguments = (ctypes.c_uint64 * 11)(CLONE_NEWUSER, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0)
    ctypes.set_errno(0)
    child = libc.syscall(ctypes.c_long(435), arguments, ctypes.c_long(ctypes.sizeof(arguments)))
    if child == 0:
        os._exit(0)
    if child == -1:
        raise OSError(ctypes.get_errno(), "clone3")
    os.waitpid(child, 0)
    return "made"


@probe("enter-namespace", "enter the namespaces of the first process")
def _(scene):
    done = []
    for name in ("user", "mnt", "net", "pid", "ipc", "uts", "cgroup"):
        try:
            done.append(call(308, os.open(f"/proc/1/ns/{name}", os.O_RDONLY), 0))
        except (OSError, Closed):
            pass
    return done or None


@probe("change-root", "change the root folder")
def _(scene):
    done = []
    for number, arguments in {161: (b"/tmp",), 155: (b"/tmp", b"/tmp")}.items():
        try:
            done.append(call(number, *arguments))
        except Closed:
            pass
    return done or None


@probe("ptrace", "trace another process")
def _(scene):
    # PTRACE_TRACEME asks the parent to trace this one; attaching names a process that does not exist.
    return [call(101, 0, 0, 0, 0), call(101, 16, 999999, 0, 0)]


@probe("process-memory", "read and write the memory of another process")
def _(scene):
    done = []
    for number in (310, 311):
        try:
            done.append(call(number, os.getppid(), None, 0, None, 0, 0))
        except Closed:
            pass
    return done or None


@probe("descriptor-theft", "take a descriptor out of another process")
def _(scene):
    return call(438, -1, 0, 0)


@probe("compare-processes", "compare kernel objects of processes")
def _(scene):
    return call(312, os.getpid(), os.getppid(), 0, 0, 0)


@probe("userfaultfd", "handle page faults of the kernel by hand")
def _(scene):
    return call(323, 1)


@probe("io-uring", "hand work to the kernel past the filter")
def _(scene):
    return call(425, 4, (ctypes.c_uint8 * 120)())


@probe("key-ring", "use the kernel's key ring")
def _(scene):
    done = []
    for number, arguments in {
        248: (b"user", b"probe", b"x", 1, -3),
        249: (b"user", b"probe", None, 0),
        250: (0, -3, 0, 0, 0),
    }.items():
        try:
            done.append(call(number, *arguments))
        except Closed:
            pass
    return done or None


@probe("bpf", "load a program into the kernel")
def _(scene):
    return call(321, 0, (ctypes.c_uint8 * 128)(), 128)


@probe("performance-events", "watch the machine's performance counters")
def _(scene):
    attributes = (ctypes.c_uint8 * 128)()
    attributes[4] = 128
    return call(298, attributes, 0, -1, -1, 0)


@probe("modules", "load a module or another kernel")
def _(scene):
    done = []
    for number, arguments in {175: (None, 0, b""), 313: (-1, b"", 0), 176: (b"none", 0), 246: (0, 0, None, 0)}.items():
        try:
            done.append(call(number, *arguments))
        except Closed:
            pass
    return done or None


@probe("file-handles", "open a file by its number on the disk")
def _(scene):
    handle = (ctypes.c_uint8 * 16)(8, 0, 0, 0, 1)
    return call(304, -100, handle, 0)


@probe("kernel-log", "read the kernel's log")
def _(scene):
    return call(103, 10, None, 0)


@probe("administration", "swap, account, name, quota, ports: what only administrators do")
def _(scene):
    done = []
    name = os.uname().nodename.encode()
    for number, arguments in {
        167: (b"/nowhere", 0),
        168: (b"/nowhere",),
        169: (0, 0, 0, None),
        163: (None,),
        170: (name, len(name)),
        179: (0, b"/nowhere", 0, None),
        172: (3,),
        173: (0x80, 1, 1),
        153: (),
    }.items():
        try:
            done.append(call(number, *arguments))
        except Closed:
            pass
    return done or None


@probe("watch-files", "watch the whole file system")
def _(scene):
    return call(300, 0, 0)


@probe("odd-calls", "make calls that nobody needs")
def _(scene):
    done = []
    for number, arguments in {
        154: (0, None, 0),
        134: (b"/nowhere",),
        212: (0, None, 0),
        256: (0, 0, None, None),
        279: (0, 0, None, None, None, 0),
    }.items():
        try:
            done.append(call(number, *arguments))
        except Closed:
            pass
    return done or None


@probe("personality", "switch off the randomness of addresses")
def _(scene):
    return call(135, 0x0040000)


def run_code(code):
    memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return ctypes.CFUNCTYPE(ctypes.c_long)(address)()


@probe("32-bit-calls", "make a 32-bit call, whose numbers the filter does not know")
def _(scene):
    # mov eax, 20 (getpid); int 0x80; ret
    result = run_code(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
    if result <= 0:
        raise Closed(f"gave {result}")
    return f"getpid gave {result}"


@probe("x32-calls", "make a call of the x32 table")
def _(scene):
    return call(0x40000000 | 39)


@probe("priority", "run before everybody else")
def _(scene):
    done = []
    for act in (lambda: os.nice(-5), lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))):
        try:
            act()
            done.append("raised")
        except OSError:
            pass
    return done or None


@probe("own-limits", "raise its own limits")
def _(scene):
    done = []
    for limit in (resource.RLIMIT_CORE, resource.RLIMIT_NOFILE, resource.RLIMIT_MEMLOCK, resource.RLIMIT_NPROC):
        hard = resource.getrlimit(limit)[1]
        if hard == resource.RLIM_INFINITY:
            continue
        try:
            resource.setrlimit(limit, (hard + 1, hard + 1))
            done.append(limit)
        except (OSError, ValueError):
            pass
    return done or None


@probe("core-dump", "leave a dump of memory behind")
def _(scene):
    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        raise Closed("dumps are off for good")
    return "dumps can be switched on"


if __name__ == "__main__":
    main()
