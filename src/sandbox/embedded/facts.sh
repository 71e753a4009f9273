# Says what a sandbox looks like from the inside, for the driver to judge. Its arguments are files of the host.
section() { printf '== %s\n' "$1"; }

section status
cat /proc/self/status
section users
cat /proc/self/uid_map
section namespaces
for name in user mnt pid net ipc uts cgroup; do readlink "/proc/self/ns/$name"; done
section interfaces
cat /proc/net/dev
section routes
cat /proc/net/route
section descriptors
ls -l /proc/self/fd
section host
for path in "$@"; do [ -e "$path" ] && printf '%s\n' "$path"; done
section writable
# Opened and not written: if it can be, this machine is not to suffer for it.
for path in /proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sys/vm/overcommit_memory; do
  (: >>"$path") 2>/dev/null && printf '%s\n' "$path"
done
for folder in / /usr /etc /dev /run /var /proc /opt; do
  (: >"$folder/familiar-proof") 2>/dev/null && printf '%s\n' "$folder"
done
section end
