import errno
import os
import socket

from probe import Closed, main, probe

refused = {errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EAFNOSUPPORT}


def family(number, kinds=(socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET)):
    """Whether the kernel looks at anything but the family."""
    for kind in kinds:
        try:
            socket.socket(number, kind, 0).close()
            return f"family {number}, kind {int(kind)}"
        except OSError as error:
            if error.errno not in refused:
                return f"family {number} was looked at: {errno.errorcode.get(error.errno)}"
    return None


@probe("vsock", "reach the machine's hypervisor")
def _(scene):
    return family(40)


@probe("netlink", "talk to the kernel's network and device tables")
def _(scene):
    return family(16)


@probe("packets", "read and write packets as they are")
def _(scene):
    return family(17)


@probe("kernel-crypto", "use the kernel's cryptography")
def _(scene):
    return family(38)


@probe("odd-families", "open a socket of any other family")
def _(scene):
    usual = {0, 1, 2, 10, 16, 17, 38, 40}
    return [found for number in range(46) if number not in usual for found in [family(number)] if found] or None


@probe("raw-internet", "make raw internet packets")
def _(scene):
    done = []
    for number, protocol in ((socket.AF_INET, 1), (socket.AF_INET, 255), (socket.AF_INET6, 58)):
        try:
            socket.socket(number, socket.SOCK_RAW, protocol).close()
            done.append(f"{int(number)}/{protocol}")
        except OSError:
            pass
    return done or None


def connects(addresses):
    done = []
    for host, port in addresses:
        try:
            with socket.create_connection((host, port), 2):
                done.append(f"{host}:{port}")
        except OSError:
            pass
    return done or None


@probe("host-port", "reach a service that listens on the host's loopback address")
def _(scene):
    return connects([(host, scene["port"]) for host in ("127.0.0.1", "localhost", "0.0.0.0", "::1", "::ffff:127.0.0.1")])


@probe("host-lan", "reach a service of the host by its address in the network")
def _(scene):
    return connects([(host, scene["port"]) for host in scene["addresses"]])


@probe("gateway", "reach what container engines and machines put beside a sandbox")
def _(scene):
    hosts = ["172.17.0.1", "10.88.0.1", "10.0.2.2", "192.168.0.1", "192.168.1.1", "host.docker.internal", "host.containers.internal"]
    return connects([(host, scene["port"]) for host in hosts])


@probe("metadata", "reach the cloud's metadata service")
def _(scene):
    return connects([("169.254.169.254", 80), ("fd00:ec2::254", 80), ("metadata.google.internal", 80)])


@probe("internet", "reach the internet")
def _(scene):
    return connects([("1.1.1.1", 443), ("8.8.8.8", 53), ("2606:4700:4700::1111", 443)])


@probe("names", "look up a name")
def _(scene):
    return socket.getaddrinfo("example.com", 80)[0][4]


@probe("datagrams", "send without a connection, to the host and to a name server")
def _(scene):
    done = []
    for host, port in [("127.0.0.1", scene["datagramPort"]), ("8.8.8.8", 53)] + [(each, scene["datagramPort"]) for each in scene["addresses"]]:
        try:
            sender = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
            sender.sendto(scene["nonce"].encode(), (host, port))
            if host != "127.0.0.1":
                done.append(host)
        except OSError:
            pass
    # What is sent to its own loopback goes nowhere: whether it came in, the host tells.
    return done or None


@probe("interfaces", "have an interface beside its own loopback")
def _(scene):
    names = [line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line]
    return [name for name in names if name != "lo"] or None


@probe("host-socket", "connect to a socket file of the host")
def _(scene):
    client = socket.socket(socket.AF_UNIX)
    client.connect(scene["socketFile"])
    return "connected"


@probe("abstract-socket", "connect to a socket of the host that has no file")
def _(scene):
    client = socket.socket(socket.AF_UNIX)
    client.connect("\0" + scene["abstractName"])
    return "connected"


@probe("engine-socket", "talk to the host's container engine or message bus")
def _(scene):
    paths = [
        "/var/run/docker.sock", "/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock",
        "/run/dbus/system_bus_socket", "/run/systemd/private", "/.familiar/proxy.sock", *scene["engineSockets"],
    ]
    done = []
    for path in paths:
        try:
            socket.socket(socket.AF_UNIX).connect(path)
            done.append(path)
        except OSError:
            pass
    return done or None


@probe("listen-outside", "be reached from the host")
def _(scene):
    server = socket.socket()
    server.bind(("0.0.0.0", 0))
    server.listen()
    names = [line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line]
    if names == ["lo"]:
        raise Closed("nobody is there to reach it")
    return f"listens on {server.getsockname()} with {names}"


if __name__ == "__main__":
    main()
