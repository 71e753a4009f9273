import numbers from './system-calls.json' with { type: 'json' }

export type Architecture = 'x64' | 'arm64'

/** The architecture value in `struct seccomp_data` for native 64-bit calls. */
export const auditArchitectures: Readonly<Record<Architecture, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 }

/** The last reviewed call. Calls of newer kernels are blocked until they are reviewed. */
const lastKnownCall = 466

/** On x86-64 this bit marks x32 calls; they reach the same code by other numbers. */
export const x32Bit = 0x40000000

/** Numbers on x86-64 and on arm64; null if that architecture never had the call. */
const systemCalls: Readonly<Record<SystemCall, Readonly<Record<Architecture, number | null>>>> = numbers

export type SystemCall = keyof typeof numbers

/**
 * Classic BPF, the language of seccomp filters: a program runs over `struct seccomp_data` before each system call and
 * decides about it. Jumps go forward only and are counted in instructions.
 */
export interface Instruction {
  code: number
  ifTrue: number
  ifFalse: number
  value: number
}

export const codes = {
  /** Loads the 32-bit word at an offset of the data into the accumulator. */
  load: 0x20,
  and: 0x54,
  jumpIfEqual: 0x15,
  jumpIfGreater: 0x25,
  jumpIfAnyBit: 0x45,
  answer: 0x06,
} as const

/** Offsets in `struct seccomp_data`. */
const fields = {
  call: 0,
  architecture: 4,
  /**
   * The lower half of an argument. The upper half is ignored: the kernel truncates all arguments that are compared here
   * to 32 bits.
   */
  argument: (index: number) => 16 + index * 8,
} as const

const answers = {
  allow: 0x7fff0000,
  refuse: (error: number) => 0x00050000 | error,
} as const

function load(offset: number): Instruction {
  return { code: codes.load, ifTrue: 0, ifFalse: 0, value: offset }
}

function and(mask: number): Instruction {
  return { code: codes.and, ifTrue: 0, ifFalse: 0, value: mask }
}

function answer(value: number): Instruction {
  return { code: codes.answer, ifTrue: 0, ifFalse: 0, value }
}

type Test = 'jumpIfEqual' | 'jumpIfGreater' | 'jumpIfAnyBit'

function when(test: Test, value: number, body: readonly Instruction[]): Instruction[] {
  return [{ code: codes[test], ifTrue: 0, ifFalse: distance(body), value }, ...body]
}

function unless(test: Test, value: number, body: readonly Instruction[]): Instruction[] {
  return [{ code: codes[test], ifTrue: distance(body), ifFalse: 0, value }, ...body]
}

function distance(body: readonly Instruction[]): number {
  if (body.length > 255) throw new Error('A BPF jump cannot exceed 255 instructions')
  return body.length
}

/** In the kernel's format: an array of `struct sock_filter` in little-endian byte order. */
export function encode(program: readonly Instruction[]): Uint8Array {
  const bytes = new Uint8Array(program.length * 8)
  const view = new DataView(bytes.buffer)
  for (const [index, { code, ifTrue, ifFalse, value }] of program.entries()) {
    view.setUint16(index * 8, code, true)
    view.setUint8(index * 8 + 2, ifTrue)
    view.setUint8(index * 8 + 3, ifFalse)
    view.setUint32(index * 8 + 4, value >>> 0, true)
  }
  return bytes
}

const errors = { notPermitted: 1, notImplemented: 38, familyNotSupported: 97 } as const

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. */
const namespaceFlags = 0x7e020000
/** CLONE_NEWTIME: only `unshare` accepts it; in `clone` its bit belongs to the exit signal. */
const timeNamespaceFlag = 0x80

const families = { unix: 1, inet: 2, inet6: 10 } as const
const socketTypes = { mask: 0xf, raw: 3, packet: 10 } as const

/** Type text into a terminal's input, or control a console. */
const terminalCommands = { TIOCSTI: 0x5412, TIOCLINUX: 0x541c, TIOCSETD: 0x5423 } as const

/** Reads the personality instead of setting it. */
const askPersonality = 0xffffffff

const refuse = answer(answers.refuse(errors.notPermitted))
const refuseAsUnknown = answer(answers.refuse(errors.notImplemented))

/** Calls that depend on their arguments. Each rule ends in a decision on every path. */
const conditional: Partial<Record<SystemCall, readonly Instruction[]>> = {
  clone: [load(fields.argument(0)), ...when('jumpIfAnyBit', namespaceFlags, [refuse]), answer(answers.allow)],
  // Its flags are in memory, which a filter cannot read. Programs fall back to clone.
  clone3: [refuseAsUnknown],
  unshare: [
    load(fields.argument(0)),
    ...when('jumpIfAnyBit', namespaceFlags | timeNamespaceFlag, [refuse]),
    answer(answers.allow),
  ],
  socket: [
    load(fields.argument(1)),
    and(socketTypes.mask),
    ...when('jumpIfEqual', socketTypes.raw, [refuse]),
    ...when('jumpIfEqual', socketTypes.packet, [refuse]),
    ...onlyFamilies(Object.values(families)),
  ],
  socketpair: onlyFamilies([families.unix]),
  ioctl: [
    load(fields.argument(1)),
    ...Object.values(terminalCommands).flatMap((command) => when('jumpIfEqual', command, [refuse])),
    answer(answers.allow),
  ],
  personality: [load(fields.argument(0)), ...when('jumpIfEqual', askPersonality, [answer(answers.allow)]), refuse],
}

function onlyFamilies(allowed: readonly number[]): Instruction[] {
  return [
    load(fields.argument(0)),
    ...allowed.flatMap((family) => when('jumpIfEqual', family, [answer(answers.allow)])),
    answer(answers.refuse(errors.familyNotSupported)),
  ]
}

/**
 * The system calls of sandboxed code: everything except calls that reach other processes, other namespaces, the machine
 * itself, or parts of the kernel with a history of escapes. Blocked calls fail, and the program continues.
 */
export function buildFilter(architecture: Architecture): Instruction[] {
  const calls = Object.keys(systemCalls) as SystemCall[]
  const rules = calls.flatMap((call) => {
    const number = systemCalls[call][architecture]
    return number === null ? [] : when('jumpIfEqual', number, conditional[call] ?? [refuse])
  })
  return [
    load(fields.architecture),
    ...unless('jumpIfEqual', auditArchitectures[architecture], [refuse]),
    load(fields.call),
    ...(architecture === 'x64' ? when('jumpIfAnyBit', x32Bit, [refuse]) : []),
    ...when('jumpIfGreater', lastKnownCall, [refuseAsUnknown]),
    ...rules,
    answer(answers.allow),
  ]
}
