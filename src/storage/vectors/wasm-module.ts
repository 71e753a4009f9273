/** Machine code of WebAssembly, as bytes. What a name does stands at https://webassembly.github.io/spec/core */
export type Code = readonly number[]

export interface WasmFunction {
  name: string
  /** All of them 32-bit integers. It returns nothing. */
  parameters: number
  /** Numbered after the parameters. */
  locals: readonly ('i32' | 'v128')[]
  body: Code
}

/** A module with a memory of one page, exported as `memory`, that grows up to `maximumPages`. */
export function encodeWasmModule(functions: readonly WasmFunction[], maximumPages: number): Uint8Array {
  const types = functions.map(({ parameters }) => [0x60, ...list(Array(parameters).fill([valueType.i32])), 0])
  const exported = functions.map(({ name }, index) => [...text(name), 0x00, ...unsigned(index)])
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d],
    ...[0x01, 0x00, 0x00, 0x00],
    ...section(1, list(types)),
    ...section(3, list(functions.map((_function, index) => unsigned(index)))),
    ...section(5, list([[0x01, 1, ...unsigned(maximumPages)]])),
    ...section(7, list([[...text('memory'), 0x02, 0], ...exported])),
    ...section(10, list(functions.map(encodeBody))),
  ])
}

const valueType = { i32: 0x7f, v128: 0x7b }
const none = 0x40
const end = 0x0b

export const wasm = {
  get: (local: number): Code => [0x20, local],
  set: (local: number): Code => [0x21, local],
  /** Sets it and leaves the value where it is. */
  tee: (local: number): Code => [0x22, local],
  constant: (value: number): Code => [0x41, ...signed(value)],
  add: [0x6a],
  subtract: [0x6b],
  shiftLeft: [0x74],
  isLess: [0x49],
  store: [0x36, 2, 0],
  /** Runs the body again for as long as it leaves something other than zero. */
  repeatWhile: (body: Code): Code => [0x03, none, ...body, 0x0d, 0, end],

  /** What follows works on sixteen bytes at once. */
  load16: (offset: number): Code => simd(0x00, [4, ...unsigned(offset)]),
  store16: (offset: number): Code => simd(0x0b, [4, ...unsigned(offset)]),
  constant16: (byte: number): Code => simd(0x0c, Array<number>(16).fill(byte)),
  and: simd(0x4e),
  /** i8x16.swizzle: for each byte of the second the one of the first that it numbers. */
  pick: simd(0x0e),
  /** i8x16.add, i16x8.add, i32x4.add */
  addBytes: simd(0x6e),
  addHalves: simd(0x8e),
  addWords: simd(0xae),
  /** i16x8.shr_u */
  shiftHalvesRight: simd(0x8d),
  /** i16x8.extend_low_i8x16_s and so on: the first or last eight bytes, each as 16 bits. */
  widenFirstSigned: simd(0x87),
  widenLastSigned: simd(0x88),
  widenFirst: simd(0x89),
  widenLast: simd(0x8a),
  /** i32x4.dot_i16x8_s: eight products of 16-bit numbers, added in pairs. */
  multiplyHalves: simd(0xba),
  /** i32x4.extract_lane */
  word: (lane: number): Code => simd(0x1b, [lane]),
} as const

function simd(operation: number, immediate: Code = []): Code {
  return [0xfd, ...unsigned(operation), ...immediate]
}

function encodeBody({ locals, body }: WasmFunction): Code {
  const declared = list(locals.map((type) => [1, valueType[type]]))
  const code = [...declared, ...body, end]
  return [...unsigned(code.length), ...code]
}

function section(id: number, content: Code): Code {
  return [id, ...unsigned(content.length), ...content]
}

function list(items: readonly Code[]): Code {
  return [...unsigned(items.length), ...items.flat()]
}

function text(value: string): Code {
  const bytes = new TextEncoder().encode(value)
  return [...unsigned(bytes.length), ...bytes]
}

/** LEB128: seven bits to a byte, the lowest first, the eighth bit set where more follow. */
function unsigned(value: number): Code {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)]
}

function signed(value: number): Code {
  return value >= -0x40 && value < 0x40 ? [value & 0x7f] : [(value & 0x7f) | 0x80, ...signed(value >> 7)]
}
