/**
 * Classic BPF, the language in which the kernel takes a seccomp filter: a program runs over `struct seccomp_data` before
 * each system call and answers what becomes of it. Jumps go forward only and are counted in instructions.
 */
export interface Instruction {
  code: number
  ifTrue: number
  ifFalse: number
  value: number
}

export const codes = {
  /** The 32-bit word at an offset of the data becomes the accumulator. */
  load: 0x20,
  and: 0x54,
  jumpIfEqual: 0x15,
  jumpIfGreater: 0x25,
  jumpIfAnyBit: 0x45,
  answer: 0x06,
} as const

/** Offsets in `struct seccomp_data`. */
export const fields = {
  call: 0,
  architecture: 4,
  /** The lower half of an argument. The upper one is not looked at: the kernel cuts all that are compared here to 32 bits. */
  argument: (index: number) => 16 + index * 8,
} as const

export const answers = {
  allow: 0x7fff0000,
  refuse: (error: number) => 0x00050000 | error,
} as const

export function load(offset: number): Instruction {
  return { code: codes.load, ifTrue: 0, ifFalse: 0, value: offset }
}

export function and(mask: number): Instruction {
  return { code: codes.and, ifTrue: 0, ifFalse: 0, value: mask }
}

export function answer(value: number): Instruction {
  return { code: codes.answer, ifTrue: 0, ifFalse: 0, value }
}

type Test = 'jumpIfEqual' | 'jumpIfGreater' | 'jumpIfAnyBit'

/** Goes through `body` where the test holds and past it otherwise. */
export function when(test: Test, value: number, body: readonly Instruction[]): Instruction[] {
  return [{ code: codes[test], ifTrue: 0, ifFalse: distance(body), value }, ...body]
}

/** Goes through `body` unless the test holds. */
export function unless(test: Test, value: number, body: readonly Instruction[]): Instruction[] {
  return [{ code: codes[test], ifTrue: distance(body), ifFalse: 0, value }, ...body]
}

function distance(body: readonly Instruction[]): number {
  if (body.length > 255) throw new Error('A jump of BPF reaches no further than 255 instructions')
  return body.length
}

/** As the kernel reads it: an array of `struct sock_filter` in the byte order of the processor, which is little endian. */
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
