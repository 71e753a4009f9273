import os
import socket
import stat

from probe import Closed, call, main, opens, probe


def read(path):
    with open(path, "rb") as file:
        return file.read(4096).decode(errors="replace")


@probe("host-file", "read a file of the host that everybody there may read")
def _(scene):
    return read(scene["secretFile"])


@probe("driver-folder", "read the sandbox's own folder on the host")
def _(scene):
    return os.listdir(scene["driverFolder"])


@probe("host-etc", "read the accounts, keys and identity of the host")
def _(scene):
    return opens(["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh", "/etc/machine-id", "/etc/fstab"], os.O_RDONLY)


@probe("homes", "list the homes of the host's users")
def _(scene):
    found = [os.path.join(home, name) for home in ("/root", "/home") if os.path.isdir(home) for name in os.listdir(home)]
    return found or None


@probe("program-folder", "read the program that started the sandbox")
def _(scene):
    return read(os.path.join(scene["programFolder"], "package.json"))


@probe("other-tool", "climb out of the mounted folder to the next tool's")
def _(scene):
    found = []
    for path in ("/tool/../other-tool/secret", "../other-tool/secret", "/other-tool/secret"):
        try:
            found.append(read(path))
        except OSError:
            pass
    return found or None


@probe("symlink-out", "follow a link in the mounted folder to a file of the host")
def _(scene):
    return read("/tool/link")


@probe("process-roots", "reach the host's files through the roots and folders of processes")
def _(scene):
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        for link in ("root", "cwd"):
            try:
                found.append(read(f"/proc/{name}/{link}{scene['secretFile']}"))
            except OSError:
                pass
    return found or None


@probe("host-processes", "see a process of the host")
def _(scene):
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                line = read(f"/proc/{name}/cmdline")
            except OSError:
                continue
            if scene["victimMark"] in line:
                found.append(line)
    return found or None


@probe("host-environment", "find the host's environment in its own or in that of any process")
def _(scene):
    found = [value for name, value in os.environ.items() if name == scene["canaryName"]]
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if scene["canaryName"] in read(f"/proc/{name}/environ"):
                    found.append(name)
            except OSError:
                pass
    return found or None


@probe("kill-host", "end a process of the host by its number")
def _(scene):
    os.kill(scene["victim"], 9)
    return "the signal was delivered"


@probe("mount-write", "write, add, rename and remove in the mounted folder")
def _(scene):
    done = []
    for what, act in {
        "wrote": lambda: open("/tool/file", "w").write("changed"),
        "added": lambda: open("/tool/new", "w").write("x"),
        "renamed": lambda: os.rename("/tool/file", "/tool/renamed"),
        "removed": lambda: os.unlink("/tool/file"),
        "opened up": lambda: os.chmod("/tool/file", 0o777),
        "linked": lambda: os.link("/tool/file", "/tool/second"),
        "touched": lambda: os.utime("/tool/file", (0, 0)),
    }.items():
        try:
            act()
            done.append(what)
        except OSError:
            pass
    return done or None


@probe("mount-remount", "make the mounted folder writable")
def _(scene):
    return call(165, b"none", b"/tool", None, 32 | 4096, None)


@probe("mount-sources", "read from the list of mounts where the host keeps what is mounted")
def _(scene):
    lists = [f"/proc/{pid}/{name}" for pid in ("self", "1") for name in ("mountinfo", "mounts", "mountstats")]
    found = []
    for path in lists:
        with open(path) as file:
            text = file.read()
        found += [place for place in (scene["openFolder"], scene["driverFolder"], scene["programFolder"]) if place in text]
    return found or None


@probe("mount-undo", "take mounts away to see what lies below")
def _(scene):
    done = []
    for path in (b"/tool", b"/tmp", b"/proc/sys", b"/usr", b"/proc", b"/sys"):
        try:
            done.append(call(166, path, 2, closed=(1, 13, 22, 2, 38)))
        except Closed:
            pass
    return done or None


@probe("system-write", "write into the system's folders")
def _(scene):
    done = []
    for folder in ("/", "/usr", "/usr/bin", "/bin", "/lib", "/etc", "/var", "/opt", "/root", "/home", "/run", "/dev", "/sys"):
        try:
            open(os.path.join(folder, "familiar-probe"), "w").close()
            done.append(folder)
        except OSError:
            pass
    return done or None


@probe("host-tmp-write", "leave a file in the host's /tmp")
def _(scene):
    open(os.path.join(scene["openFolder"], "left-by-a-probe"), "w").write("x")
    return "written"


@probe("shared-memory-file", "read the host's shared memory")
def _(scene):
    return read(scene["sharedMemoryFile"])


@probe("shared-memory-segment", "attach the host's System V segment")
def _(scene):
    return call(30, scene["segment"], None, 4096, closed=(1, 13, 22, 38, 43))


@probe("devices", "open disks, memory and other devices")
def _(scene):
    harmless = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "fd", "stdin", "stdout", "stderr"}
    found = []
    for folder, _, names in os.walk("/dev"):
        for name in names:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            if (stat.S_ISBLK(mode) or stat.S_ISCHR(mode)) and name not in harmless:
                found.append(path)
    return opens(found + ["/dev/mem", "/dev/kmem", "/dev/kmsg", "/dev/port", "/dev/kvm", "/dev/vda", "/dev/sda", "/dev/loop-control"], os.O_RDONLY)


@probe("device-node", "make a node for the host's disk")
def _(scene):
    done = []
    for folder in ("/tmp", "/dev", "."):
        path = os.path.join(folder, "disk")
        try:
            os.mknod(path, 0o666 | stat.S_IFBLK, os.makedev(*scene["rootDevice"]))
            os.open(path, os.O_RDONLY)
            done.append(path)
        except OSError:
            pass
    return done or None


@probe("set-user-id", "gain the owner's rights through a set-user-id program")
def _(scene):
    for line in read("/proc/self/status").splitlines():
        if line.startswith("NoNewPrivs:") and line.split()[1] == "1":
            raise Closed("no new privileges")
    return "a set-user-id program would gain its owner's rights"


@probe("descriptors", "use descriptors that the host left open")
def _(scene):
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            # The one that listed them.
            continue
        if int(name) > 3:
            found.append(f"{name} is {target}")
    for number in range(0, 1024):
        try:
            found.append(f"{number} is a folder: {os.listdir(number)}")
        except OSError:
            pass
    return found or None


@probe("first-process", "take over the process that holds the sandbox together, or its descriptors")
def _(scene):
    own = {os.readlink(f"/proc/self/fd/{number}") for number in range(4)} | {"/dev/null"}
    found = []
    try:
        os.close(os.open("/proc/1/mem", os.O_RDWR))
        found.append("its memory")
    except OSError:
        pass
    try:
        for name in os.listdir("/proc/1/fd"):
            path = f"/proc/1/fd/{name}"
            try:
                if os.readlink(path) not in own:
                    os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
                    found.append(f"{name} is {os.readlink(path)}")
            except OSError:
                pass
    except OSError:
        pass
    return found or None


@probe("terminal", "type into the terminal that the host was started from")
def _(scene):
    import fcntl
    import termios

    done = []
    for number in (0, 1, 2):
        try:
            fcntl.ioctl(number, termios.TIOCSTI, b"x")
            done.append(number)
        except OSError:
            pass
    try:
        fcntl.ioctl(os.open("/dev/tty", os.O_RDWR), termios.TIOCSTI, b"x")
        done.append("/dev/tty")
    except OSError:
        pass
    return done or None


@probe("machine-name", "learn the name of the host")
def _(scene):
    return socket.gethostname() if socket.gethostname() == scene["hostname"] else None


if __name__ == "__main__":
    main()
