import { z } from 'zod'
import type { Json } from './messages.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** An operation of the HTTP API. The server binds a handler to it, clients call it, and the OpenAPI document lists it. */
export interface Operation {
  method: Method
  path: string
  summary: string
  /** The scope that a token needs. */
  scope: 'owner' | 'chat' | 'read'
  /**
   * `token` is the default. `optional`: without a token, the reply has less. `signature`: the body is signed.
   * `link`: the path contains a one-time link as `:token`, which identifies the user.
   */
  auth?: 'token' | 'optional' | 'signature' | 'link'
  /** The required purpose of a one-time link. */
  link?: 'secret'
  /** It concerns the whole home: only its owner may call it, whatever the token of another user allows. */
  isOwners?: true
  /** Only the command line of this machine may call it, with the credential in the home. */
  isLocal?: true
  query?: z.ZodType
  body?: z.ZodType
  /** The body may contain files, so it may be larger. */
  attachments?: true
  /** The media types of a body that is not JSON, which the handler reads. `isSpooled`: it is never held in memory. */
  rawBody?: { mediaTypes: readonly string[]; isSpooled?: true }
  /** Absent if the reply is not JSON. */
  reply?: z.ZodType
  /** The status of success. Default: 200. */
  status?: 200 | 201 | 202
  /** It can reply with a stream of events. */
  events?: true
  /** The data of `progress` events. The stream ends with one `result` event, which has the reply. */
  progress?: z.ZodType
  /** The media types of a reply that is not JSON. */
  mediaTypes?: readonly string[]
  /** The reply shows a new secret once, so it is not redacted. */
  showsSecret?: true
}

type Options = Omit<Operation, 'method' | 'path' | 'summary'>

/** Defines an operation: `operation('GET /api/v1/things/:id', 'Get a thing.', { scope: 'read', reply })`. */
export function operation<const Path extends string, const Of extends Options>(
  route: `${Method} ${Path}`,
  summary: string,
  options: Of,
): Of & { method: Method; path: Path; summary: string } {
  const [method, path] = route.split(' ') as [Method, Path]
  return { method, path, summary, ...options }
}

/** The access of operations that only the owner may call, on the command line of this machine. */
export const ownerOnMachine = { scope: 'owner', isOwners: true, isLocal: true } as const

/** Names in the path, such as `:id`. */
export type PathParameters<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? { [Key in Name | keyof PathParameters<Rest>]: string }
  : Path extends `${string}:${infer Name}`
    ? { [Key in Name]: string }
    : unknown

/** A moment: milliseconds since the epoch inside the program, ISO 8601 on the wire. */
export const time = z.codec(z.string().meta({ format: 'date-time' }), z.number(), {
  decode: (text) => Date.parse(text),
  encode: (milliseconds) => new Date(milliseconds).toISOString(),
})

declare const written: unique symbol

const keptAsWritten = new WeakSet<z.core.$ZodType>()

/** Keeps the names inside a schema as they are written, where the wire has them so. */
export function asWritten<Schema extends z.ZodType>(
  schema: Schema,
): Schema & { _zod: { input: { [written]?: true } } } {
  keptAsWritten.add(schema)
  return schema as never
}

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? First extends Uppercase<First>
    ? First extends Lowercase<First>
      ? `${First}${SnakeCase<Rest>}`
      : `_${Lowercase<First>}${SnakeCase<Rest>}`
    : `${First}${SnakeCase<Rest>}`
  : Name

/** A value with the names that it has on the wire. */
export type SnakeKeys<T> = [Json] extends [T]
  ? T
  : T extends readonly (infer Item)[]
    ? SnakeKeys<Item>[]
    : T extends object
      ? typeof written extends keyof T
        ? T
        : { [Key in keyof T as Key extends string ? SnakeCase<Key> : Key]: SnakeKeys<T[Key]> }
      : T

/** What stands on the wire for a schema: snake_case names, times in ISO 8601. */
export type Wire<Schema extends z.ZodType> = SnakeKeys<z.input<Schema>>

type DeepReadonly<T> = [Json] extends [T]
  ? T
  : T extends readonly (infer Item)[]
    ? readonly DeepReadonly<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
      : T

/** A value of a schema inside the program, which only reads it. */
export type Value<Schema extends z.ZodType> = DeepReadonly<z.output<Schema>>

/** `timeZone` is `time_zone` on the wire. */
export function wireName(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** Whether the schema is an object whose names differ on the wire. */
export function hasWireNames(schema: z.core.$ZodType): boolean {
  return !keptAsWritten.has(schema)
}

type Convert = (value: unknown) => unknown
type Direction = 'toWire' | 'fromWire'
interface Names {
  toWire: Convert
  fromWire: Convert
}

const same: Convert = (value) => value
const known = new WeakMap<z.core.$ZodType, Names>()

/**
 * What goes out: only what the schema names, in its order, under the names of the wire. Nothing is checked, because it
 * comes from the program itself.
 */
export function toWire(schema: z.core.$ZodType, value: unknown): unknown {
  return namesOf(schema).toWire(value)
}

/** What came in under the names of the program, to be checked. Keys that the schema does not know stay. */
export function fromWire(schema: z.core.$ZodType, value: unknown): unknown {
  return namesOf(schema).fromWire(value)
}

/** Checks a value from the wire. Unknown keys are dropped, and names and times stay as they are on the wire. */
export function parseWire<Schema extends z.ZodType>(schema: Schema, value: unknown): Wire<Schema> {
  return toWire(schema, schema.parse(fromWire(schema, value))) as Wire<Schema>
}

/** The path of an issue in the names of the wire. */
export function wirePath(schema: z.core.$ZodType, path: readonly PropertyKey[]): PropertyKey[] {
  const [first, ...rest] = path
  if (first === undefined) return []
  const inner = unwrapped(schema)
  if (inner.type === 'object') {
    const child = inner.shape[String(first)]
    const name = keptAsWritten.has(inner.schema) ? first : wireName(String(first))
    return [name, ...(child ? wirePath(child, rest) : rest)]
  }
  if (inner.type === 'array') return [first, ...wirePath(inner.element, rest)]
  if (inner.type === 'record') return [first, ...wirePath(inner.valueType, rest)]
  return [...path]
}

function namesOf(schema: z.core.$ZodType): Names {
  const found = known.get(schema)
  if (found) return found
  // Entered first: a schema may hold itself.
  const names: Names = { toWire: same, fromWire: same }
  known.set(schema, names)
  const made = makeNames(schema)
  Object.assign(names, made)
  return names
}

type Def =
  | { type: 'object'; shape: Record<string, z.core.$ZodType>; schema: z.core.$ZodType }
  | { type: 'array'; element: z.core.$ZodType }
  | { type: 'record'; valueType: z.core.$ZodType }
  | { type: 'union'; options: z.core.$ZodType[] }
  | { type: 'time' }
  | { type: 'other' }

/** What a schema is below `optional`, `nullable`, `default` and the like. */
function unwrapped(schema: z.core.$ZodType): Def {
  if (schema === time) return { type: 'time' }
  const def = schema._zod.def as unknown as Record<string, never> & { type: string }
  switch (def.type) {
    case 'object':
      return { type: 'object', shape: def.shape ?? {}, schema }
    case 'array':
      return { type: 'array', element: def.element as never }
    case 'record':
      return { type: 'record', valueType: def.valueType as never }
    case 'union':
      return { type: 'union', options: def.options as never }
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'catch':
    case 'readonly':
      return unwrapped(def.innerType as never)
    default:
      return { type: 'other' }
  }
}

function makeNames(schema: z.core.$ZodType): Names {
  const inner = unwrapped(schema)
  switch (inner.type) {
    case 'time':
      return { toWire: (value) => (typeof value === 'number' ? time.encode(value) : value), fromWire: same }
    case 'array':
      return both((direction) => {
        const item = (value: unknown) => namesOf(inner.element)[direction](value)
        return (value) => (Array.isArray(value) ? value.map(item) : value)
      })
    case 'record':
      return both((direction) => (value) => {
        if (!isPlain(value)) return value
        const convert = namesOf(inner.valueType)[direction]
        return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, convert(item)]))
      })
    case 'union':
      return both((direction) => (value) => {
        const option = inner.options.find((one) => fits(one, value, direction))
        return option ? namesOf(option)[direction](value) : value
      })
    case 'object':
      return objectNames(inner.shape, keptAsWritten.has(inner.schema) ? (name) => name : wireName)
    default:
      return { toWire: same, fromWire: same }
  }
}

function both(make: (direction: Direction) => Convert): Names {
  return { toWire: make('toWire'), fromWire: make('fromWire') }
}

function objectNames(shape: Record<string, z.core.$ZodType>, nameOf: (name: string) => string): Names {
  const fields = Object.entries(shape).map(([name, schema]) => ({ name, wire: nameOf(name), schema }))
  const byWire = new Map(fields.map((field) => [field.wire, field]))
  const taken = new Set(fields.flatMap(({ name, wire }) => (name === wire ? [] : [name])))
  return {
    toWire(value) {
      if (!isPlain(value)) return value
      const result: Record<string, unknown> = {}
      for (const { name, wire, schema } of fields) {
        const inner = value[name]
        if (inner !== undefined) result[wire] = namesOf(schema).toWire(inner)
      }
      return result
    },
    fromWire(value) {
      if (!isPlain(value)) return value
      const entries = Object.entries(value).map(([key, inner]) => {
        const field = byWire.get(key)
        if (field) return [field.name, namesOf(field.schema).fromWire(inner)]
        // `timeZone` is not `time_zone`: it stays unknown.
        return [taken.has(key) ? `${unknownMark}${key}` : key, inner]
      })
      return Object.fromEntries(entries)
    },
  }
}

const unknownMark = '\u0000'

/** A key that was not understood, as the caller wrote it. */
export function givenKey(key: string): string {
  return key.startsWith(unknownMark) ? key.slice(1) : key
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Of several shapes the first that the value has all required keys of, and whose literals it holds. */
function fits(schema: z.core.$ZodType, value: unknown, direction: Direction): boolean {
  const inner = unwrapped(schema)
  if (inner.type !== 'object') return !isPlain(value)
  if (!isPlain(value)) return false
  const nameOf = direction === 'toWire' || keptAsWritten.has(inner.schema) ? (name: string) => name : wireName
  return Object.entries(inner.shape).every(([name, field]) => {
    const given = value[nameOf(name)]
    if (field._zod.values) return field._zod.values.has(given as never)
    return given !== undefined || field._zod.optin === 'optional'
  })
}
