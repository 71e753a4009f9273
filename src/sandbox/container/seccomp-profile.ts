/**
 * Which calls of the kernel a container may make: those on this list and no other, so that a call which a kernel learns
 * tomorrow is closed today. Wider profiles that engines bring (Podman's lets through mount, unshare, ptrace and the key
 * ring, and leaves it to missing capabilities) stop at less.
 */
export function seccompProfile(architecture: string): object {
  return {
    defaultAction: 'SCMP_ACT_ERRNO',
    defaultErrnoRet: errno.EPERM,
    // Only the machine's own: a 32-bit call on a 64-bit machine has other numbers and ends the process.
    architectures: [architecture === 'arm64' || architecture === 'aarch64' ? 'SCMP_ARCH_AARCH64' : 'SCMP_ARCH_X86_64'],
    syscalls: [
      { names: allowed, action: 'SCMP_ACT_ALLOW' },
      // A new namespace of any kind is a way to capabilities. The libraries fall back from clone3, whose flags lie in
      // memory where a filter does not look.
      { names: ['clone'], action: 'SCMP_ACT_ALLOW', args: [{ index: 0, op: 'SCMP_CMP_MASKED_EQ', ...noNamespace }] },
      { names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: errno.ENOSYS },
      // Local, IPv4 and IPv6. No netlink, vsock, packet, bluetooth or key management.
      ...[1, 2, 10].map((value) => ({ names: ['socket'], action: 'SCMP_ACT_ALLOW', args: [equals(0, value)] })),
      ...[0, 0xffff_ffff].map((value) => ({
        names: ['personality'],
        action: 'SCMP_ACT_ALLOW',
        args: [equals(0, value)],
      })),
      // Not typing into a terminal.
      { names: ['ioctl'], action: 'SCMP_ACT_ALLOW', args: [{ index: 1, value: 0x5412, op: 'SCMP_CMP_NE' }] },
    ],
  }
}

const errno = { EPERM: 1, ENOSYS: 38 }

/** For a masked comparison, `value` is the mask and `valueTwo` what must be left. */
const noNamespace = { value: 0x7e02_0000, valueTwo: 0 }

function equals(index: number, value: number) {
  return { index, value, op: 'SCMP_CMP_EQ' }
}

const files = `
  access chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2 fadvise64 fallocate
  fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync fgetxattr flistxattr flock fremovexattr fsetxattr fstat
  fstatfs fsync ftruncate futimesat getcwd getdents getdents64 getxattr lchown lgetxattr link linkat listxattr llistxattr
  lremovexattr lseek lsetxattr lstat mkdir mkdirat newfstatat open openat openat2 pread64 preadv preadv2 pwrite64 pwritev
  pwritev2 read readahead readlink readlinkat readv removexattr rename renameat renameat2 rmdir sendfile setxattr stat
  statfs statx symlink symlinkat sync sync_file_range syncfs truncate umask unlink unlinkat utime utimensat utimes write
  writev`

const waiting = `
  epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 inotify_add_watch inotify_init
  inotify_init1 inotify_rm_watch pause pipe pipe2 poll ppoll pselect6 select signalfd signalfd4 splice tee timerfd_create
  timerfd_gettime timerfd_settime`

const memory = `
  brk get_mempolicy madvise membarrier memfd_create mincore mlock mlock2 mlockall mmap mprotect mremap msync munlock
  munlockall munmap pkey_alloc pkey_free pkey_mprotect`

const processes = `
  arch_prctl capget capset execve execveat exit exit_group fork futex futex_requeue futex_wait futex_waitv futex_wake
  get_robust_list get_thread_area getcpu getegid geteuid getgid getgroups getpgid getpgrp getpid getppid getpriority
  getresgid getresuid getrlimit getrusage getsid gettid getuid ioprio_get ioprio_set kill landlock_add_rule
  landlock_create_ruleset landlock_restrict_self pidfd_open pidfd_send_signal prctl prlimit64 restart_syscall rseq
  rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo
  sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam sched_getscheduler
  sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield seccomp
  set_robust_list set_thread_area set_tid_address setfsgid setfsuid setgid setgroups setpgid setpriority setregid setresgid
  setresuid setreuid setrlimit setsid setuid sigaltstack tgkill tkill uname sysinfo vfork wait4 waitid`

const clocks = `
  alarm clock_getres clock_gettime clock_nanosleep getitimer gettimeofday getrandom nanosleep setitimer time timer_create
  timer_delete timer_getoverrun timer_gettime timer_settime times`

const sockets = `
  accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg recvmsg sendmmsg sendmsg sendto
  setsockopt shutdown socketpair`

const allowed = [files, waiting, memory, processes, clocks, sockets].flatMap((group) => group.trim().split(/\s+/))
