/** The supported architectures of the filter. */
export type Architecture = 'x64' | 'arm64'

/** The architecture value in `struct seccomp_data` for native 64-bit calls. */
export const auditArchitectures: Readonly<Record<Architecture, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 }

/** The last reviewed call. Calls of newer kernels are blocked until they are reviewed. */
export const lastKnownCall = 466

/** On x86-64 this bit marks x32 calls; they reach the same code by other numbers. */
export const x32Bit = 0x40000000

type Numbers = readonly [x64: number | null, arm64: number | null]

/** Numbers on x86-64 and on arm64; null if that architecture never had the call. */
export const systemCalls = {
  clone: [56, 220],
  clone3: [435, 435],
  unshare: [272, 97],
  socket: [41, 198],
  socketpair: [53, 199],
  ioctl: [16, 29],
  personality: [135, 92],

  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  process_madvise: [440, 440],
  process_mrelease: [448, 448],
  pidfd_getfd: [438, 438],
  kcmp: [312, 272],

  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],

  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  fanotify_init: [300, 262],
  memfd_secret: [447, 447],

  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  setns: [308, 268],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  statmount: [457, 457],
  listmount: [458, 458],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  swapon: [167, 224],
  swapoff: [168, 225],

  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  create_module: [174, null],
  query_module: [178, null],
  get_kernel_syms: [177, null],
  reboot: [169, 142],
  syslog: [103, 116],
  acct: [163, 89],
  vhangup: [153, 58],
  sethostname: [170, 161],
  setdomainname: [171, 162],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  clock_adjtime: [305, 266],
  adjtimex: [159, 171],
  iopl: [172, null],
  ioperm: [173, null],
  modify_ldt: [154, null],
  uselib: [134, null],
  ustat: [136, null],
  sysfs: [139, null],
  _sysctl: [156, null],
  nfsservctl: [180, 42],
  lookup_dcookie: [212, 18],
  vserver: [236, null],

  mbind: [237, 235],
  set_mempolicy: [238, 237],
  set_mempolicy_home_node: [450, 450],
  migrate_pages: [256, 238],
  move_pages: [279, 239],
} as const satisfies Readonly<Record<string, Numbers>>

export type SystemCall = keyof typeof systemCalls

export function callNumber(call: SystemCall, architecture: Architecture): number | null {
  return systemCalls[call][architecture === 'x64' ? 0 : 1]
}
