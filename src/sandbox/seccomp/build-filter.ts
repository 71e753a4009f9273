import { and, answer, answers, encode, fields, type Instruction, load, unless, when } from './bpf.ts'
import {
  type Architecture,
  auditArchitectures,
  callNumber,
  lastKnownCall,
  type SystemCall,
  systemCalls,
  x32Bit,
} from './system-calls.ts'

const errors = { notPermitted: 1, notImplemented: 38, familyNotSupported: 97 } as const

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. */
const namespaceFlags = 0x7e020000
/** CLONE_NEWTIME: only `unshare` takes it; in `clone` its bit belongs to the signal of the child's end. */
const timeNamespaceFlag = 0x80

const families = { unix: 1, inet: 2, inet6: 10 } as const
const socketTypes = { mask: 0xf, raw: 3, packet: 10 } as const

/** Put text into a terminal's input as if it were typed, or drive a console. */
const terminalCommands = { TIOCSTI: 0x5412, TIOCLINUX: 0x541c, TIOCSETD: 0x5423 } as const

/** Asks for the personality instead of setting it. */
const askPersonality = 0xffffffff

const refuse = answer(answers.refuse(errors.notPermitted))
const refuseAsUnknown = answer(answers.refuse(errors.notImplemented))

/** Calls that are let through or not by what they ask for. Each rule ends in an answer on every way. */
const conditional: Partial<Record<SystemCall, readonly Instruction[]>> = {
  clone: [load(fields.argument(0)), ...when('jumpIfAnyBit', namespaceFlags, [refuse]), answer(answers.allow)],
  // Its flags lie in memory, where no filter can look. Programs fall back to clone.
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
 * What sandboxed code may ask the kernel for: everything but what reaches other processes, other namespaces, the
 * machine itself, or parts of the kernel that have often been the way out. Refused calls fail, the program goes on.
 */
export function buildFilter(architecture: Architecture): Instruction[] {
  const calls = Object.keys(systemCalls) as SystemCall[]
  const rules = calls.flatMap((call) => {
    const number = callNumber(call, architecture)
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

export function encodedFilter(architecture: Architecture): Uint8Array {
  return encode(buildFilter(architecture))
}
