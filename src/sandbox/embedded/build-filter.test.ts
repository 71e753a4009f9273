import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import systemCalls from '../system-calls.json' with { type: 'json' }
import {
  type Architecture,
  auditArchitectures,
  buildFilter,
  codes,
  encode,
  type Instruction,
  type SystemCall,
  x32Bit,
} from '../system-calls.ts'

interface Call {
  number: number
  architecture?: number
  arguments?: readonly number[]
}

/** Interprets the program like the kernel. A jump out of the program, or a loop, is an error. */
function interpret(program: readonly Instruction[], data: DataView): number {
  let accumulator = 0
  for (let index = 0; ; ) {
    const instruction = program[index]
    if (!instruction) throw new Error(`The program was left at ${index}`)
    const { code, ifTrue, ifFalse, value } = instruction
    index += 1
    const jump = (holds: boolean) => {
      index += holds ? ifTrue : ifFalse
    }
    if (code === codes.answer) return value
    if (code === codes.load) accumulator = data.getUint32(value, true)
    else if (code === codes.and) accumulator = (accumulator & value) >>> 0
    else if (code === codes.jumpIfEqual) jump(accumulator === value >>> 0)
    else if (code === codes.jumpIfGreater) jump(accumulator > value)
    else if (code === codes.jumpIfAnyBit) jump((accumulator & value) !== 0)
    else throw new Error(`Not an instruction that is used here: ${code}`)
  }
}

/** `allowed`, or the error number that the program gets. */
function answerTo(architecture: Architecture, call: Call): 'allowed' | number {
  const data = new DataView(new ArrayBuffer(64))
  data.setUint32(0, call.number, true)
  data.setUint32(4, call.architecture ?? auditArchitectures[architecture], true)
  for (const [index, argument] of (call.arguments ?? []).entries()) {
    data.setBigUint64(16 + index * 8, BigInt.asUintN(64, BigInt(argument)), true)
  }
  const answer = interpret(buildFilter(architecture), data)
  if (answer === 0x7fff0000) return 'allowed'
  expect(answer & 0xffff0000).toBe(0x00050000)
  return answer & 0xffff
}

const notPermitted = 1
const notImplemented = 38
const familyNotSupported = 97

describe.each(['x64', 'arm64'] as const)('the system call filter of %s', (architecture) => {
  const ask = (call: SystemCall, ...given: number[]) => {
    const number = systemCalls[call][architecture]
    if (number === null) throw new Error(`${call} is not a call of ${architecture}`)
    return answerTo(architecture, { number, arguments: given })
  }
  const conditional = ['clone', 'clone3', 'unshare', 'socket', 'socketpair', 'ioctl', 'personality']
  const refused = (Object.keys(systemCalls) as SystemCall[]).filter(
    (call) => !conditional.includes(call) && systemCalls[call][architecture] !== null,
  )

  it.each(refused)('SEC-12 blocks %s with any arguments', (call) => {
    expect(ask(call)).toBe(notPermitted)
    expect(ask(call, -1, -1, -1, -1, -1, -1)).toBe(notPermitted)
  })

  it('SEC-12 names the calls that must never be missing', () => {
    expect(refused).toEqual(
      expect.arrayContaining([
        ...['ptrace', 'process_vm_readv', 'process_vm_writev', 'add_key', 'request_key', 'keyctl', 'userfaultfd'],
        ...['io_uring_setup', 'io_uring_enter', 'io_uring_register', 'bpf', 'perf_event_open', 'setns'],
        ...['mount', 'umount2', 'pivot_root', 'open_tree', 'move_mount', 'fsopen', 'fsconfig', 'fsmount', 'fspick'],
        ...['mount_setattr', 'kexec_load', 'kexec_file_load', 'init_module', 'finit_module', 'delete_module'],
        ...['swapon', 'swapoff', 'reboot', 'quotactl', 'name_to_handle_at', 'open_by_handle_at', 'pidfd_getfd'],
      ]),
    )
  })

  it('SEC-12 allows threads and children, and no namespaces', () => {
    const signalOfChild = 17
    const thread = 0x3d0f00
    expect(ask('clone', signalOfChild)).toBe('allowed')
    expect(ask('clone', thread)).toBe('allowed')
    expect(ask('unshare', 0x400)).toBe('allowed')
    for (const bit of [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000]) {
      expect(ask('clone', bit | signalOfChild)).toBe(notPermitted)
      expect(ask('unshare', bit)).toBe(notPermitted)
    }
    expect(ask('unshare', 0x80)).toBe(notPermitted)
    // Its flags cannot be checked. Programs treat this as an old kernel and use clone.
    expect(ask('clone3', 0)).toBe(notImplemented)
  })

  it('SEC-12 allows local and internet sockets, and no raw ones', () => {
    const [stream, datagram, raw, packet, nonBlocking] = [1, 2, 3, 10, 0x800]
    for (const family of [1, 2, 10]) {
      expect(ask('socket', family, stream | nonBlocking)).toBe('allowed')
      expect(ask('socket', family, datagram)).toBe('allowed')
      expect(ask('socket', family, raw | nonBlocking)).toBe(notPermitted)
      expect(ask('socket', family, packet)).toBe(notPermitted)
    }
    // NETLINK, PACKET, BLUETOOTH, ALG, VSOCK, XDP, and one that does not exist.
    for (const family of [16, 17, 31, 38, 40, 44, 99]) expect(ask('socket', family, stream)).toBe(familyNotSupported)
    expect(ask('socketpair', 1, stream)).toBe('allowed')
    expect(ask('socketpair', 2, stream)).toBe(familyNotSupported)
  })

  it('SEC-12 allows terminal queries but no typing', () => {
    expect(ask('ioctl', 0, 0x5401)).toBe('allowed')
    for (const command of [0x5412, 0x541c, 0x5423]) expect(ask('ioctl', 0, command)).toBe(notPermitted)
    // The kernel uses the lower half only, so a number with higher bits is the same command.
    expect(ask('ioctl', 0, 0x5412 + 2 ** 32)).toBe(notPermitted)
  })

  it('SEC-12 allows reading the personality but not changing it', () => {
    expect(ask('personality', 0xffffffff)).toBe('allowed')
    for (const wanted of [0, 8, 0x40000, 0x400000]) expect(ask('personality', wanted)).toBe(notPermitted)
  })

  it('SEC-12 blocks calls of another architecture and unknown calls', () => {
    const other = [auditArchitectures.x64, auditArchitectures.arm64, 0x40000003, 0x40000028, 0]
    for (const foreign of other.filter((each) => each !== auditArchitectures[architecture])) {
      expect(answerTo(architecture, { number: 0, architecture: foreign })).toBe(notPermitted)
    }
    for (const number of [467, 500, 4095, 0x3fffffff]) expect(answerTo(architecture, { number })).toBe(notImplemented)
    if (architecture === 'x64') expect(answerTo('x64', { number: x32Bit | 1 })).toBe(notPermitted)
  })

  it('SEC-12 decides about every call, and allows all but the named ones', () => {
    const named = new Set((Object.keys(systemCalls) as SystemCall[]).map((call) => systemCalls[call][architecture]))
    const anything = fc.integer({ min: 0, max: 0xffffffff })
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 466 }), fc.array(anything, { maxLength: 6 }), (number, given) => {
        const answer = answerTo(architecture, { number, arguments: given })
        if (!named.has(number)) expect(answer).toBe('allowed')
      }),
    )
    fc.assert(
      fc.property(anything, anything, (number, claimed) => {
        expect(() => answerTo(architecture, { number, architecture: claimed })).not.toThrow()
      }),
    )
  })

  it("SEC-12 has the kernel's binary format", () => {
    const program = buildFilter(architecture)
    const bytes = encode(program)
    expect(bytes.length).toBe(program.length * 8)
    // BPF_LD | BPF_W | BPF_ABS at the offset of the architecture, then a jump on its value.
    expect(Buffer.from(bytes.subarray(0, 8)).toString('hex')).toBe('2000000004000000')
    expect(Buffer.from(bytes.subarray(8, 10)).toString('hex')).toBe('1500')
    expect(program.length).toBeLessThan(4096)
  })
})
