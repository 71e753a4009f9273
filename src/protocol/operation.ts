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
  /**
   * Only the command line of this machine may call it, with the credential in the home. `page`: so may the page in a
   * browser on this machine.
   */
  isLocal?: true | 'page'
  query?: z.ZodType
  /** Default of a POST without a raw body: an empty object, or nothing. Undefined: it accepts no body. */
  body?: z.ZodType | undefined
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

/** The body of an operation that needs none. */
export const emptySchema = z.strictObject({})

/** Defines an operation: `operation('GET /api/v1/things/:id', 'Get a thing.', { scope: 'read', reply })`. */
export function operation<const Path extends string, const Of extends Options>(
  route: `${Method} ${Path}`,
  summary: string,
  options: Of,
): Of & { method: Method; path: Path; summary: string } {
  const [method, path] = route.split(' ') as [Method, Path]
  const defaults = method === 'POST' && !options.rawBody ? { body: emptySchema } : {}
  return { method, path, summary, ...defaults, ...options }
}

/** The access of operations that only the owner may call, on the command line of this machine. */
export const ownerOnMachine = { scope: 'owner', isOwners: true, isLocal: true } as const
/** The access of operations that connect models and change settings: as above, or in the owner's page on this machine. */
export const ownerInPage = { scope: 'owner', isOwners: true, isLocal: 'page' } as const
/** The access of operations that each user may call, on the command line of this machine. */
export const onMachine = { scope: 'owner', isLocal: true } as const
/** The access of operations on the whole home. */
export const ownerReads = { scope: 'read', isOwners: true } as const
export const ownerChanges = { scope: 'owner', isOwners: true } as const

/** The parameters of a path, such as `:id`. */
export type PathParameters<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? { [Key in Name | keyof PathParameters<Rest>]: string }
  : Path extends `${string}:${infer Name}`
    ? { [Key in Name]: string }
    : unknown

/** A time: milliseconds since the epoch inside the program, ISO 8601 on the wire. */
export const time = z.codec(z.string().meta({ format: 'date-time' }), z.number(), {
  decode: (text) => Date.parse(text),
  encode: (milliseconds) => new Date(milliseconds).toISOString(),
})

declare const written: unique symbol

const keptAsWritten = new WeakSet<z.core.$ZodType>()

/** Marks an object schema whose keys have the same names on the wire. */
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

/** A type with the names of the wire. */
export type SnakeKeys<T> = [Json] extends [T]
  ? T
  : T extends readonly (infer Item)[]
    ? SnakeKeys<Item>[]
    : T extends object
      ? typeof written extends keyof T
        ? T
        : { [Key in keyof T as Key extends string ? SnakeCase<Key> : Key]: SnakeKeys<T[Key]> }
      : T

/** The type of a schema on the wire: snake_case names, times in ISO 8601. */
export type Wire<Schema extends z.ZodType> = SnakeKeys<z.input<Schema>>

type DeepReadonly<T> = [Json] extends [T]
  ? T
  : T extends readonly (infer Item)[]
    ? readonly DeepReadonly<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
      : T

/** The type of a schema inside the program, read-only. */
export type Value<Schema extends z.ZodType> = DeepReadonly<z.output<Schema>>

/** `timeZone` is `time_zone` on the wire. */
export function wireName(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** Whether the keys of an object schema have other names on the wire. */
export function hasWireNames(schema: z.core.$ZodType): boolean {
  return !keptAsWritten.has(schema)
}

/** Converts a value of the program to the names and times of the wire. Only keys of the schema are kept, in its order. */
export function toWire(schema: z.core.$ZodType, value: unknown): unknown {
  return convert(schema, value, 'toWire')
}

/** Converts the names of a value from the wire, which is not validated yet. Unknown keys are kept. */
export function fromWire(schema: z.core.$ZodType, value: unknown): unknown {
  return convert(schema, value, 'fromWire')
}

/** Validates a value from the wire. Unknown keys are dropped; names and times stay as they are on the wire. */
export function parseWire<Schema extends z.ZodType>(schema: Schema, value: unknown): Wire<Schema> {
  return toWire(schema, schema.parse(fromWire(schema, value))) as Wire<Schema>
}

/** The path of an issue in the names of the wire. */
export function wirePath(schema: z.core.$ZodType, path: readonly PropertyKey[]): PropertyKey[] {
  const [first, ...rest] = path
  if (first === undefined) return []
  const def = defOf(schema)
  if (def.type === 'object') {
    const field = def.fields.find(({ name }) => name === first)
    return field ? [field.wire, ...wirePath(field.schema, rest)] : [def.nameOf(String(first)), ...rest]
  }
  return def.type === 'list' ? [first, ...wirePath(def.element, rest)] : [...path]
}

type Direction = 'toWire' | 'fromWire'

/** The parts of a schema that matter for names. `list`: an array, or a record with any keys. */
type Def =
  | {
      type: 'object'
      fields: { name: string; wire: string; schema: z.core.$ZodType }[]
      nameOf(name: string): string
    }
  | { type: 'list'; element: z.core.$ZodType }
  | { type: 'union'; options: z.core.$ZodType[] }
  | { type: 'time' | 'other' }

const defs = new WeakMap<z.core.$ZodType, Def>()

function defOf(schema: z.core.$ZodType): Def {
  const known = defs.get(schema)
  if (known) return known
  const def = readDef(schema)
  defs.set(schema, def)
  return def
}

function readDef(schema: z.core.$ZodType): Def {
  if (schema === time) return { type: 'time' }
  const def = schema._zod.def as unknown as Record<string, never> & { type: string }
  switch (def.type) {
    case 'object': {
      const nameOf = hasWireNames(schema) ? wireName : (name: string) => name
      const shape = Object.entries<z.core.$ZodType>(def.shape ?? {})
      return {
        type: 'object',
        fields: shape.map(([name, field]) => ({ name, wire: nameOf(name), schema: field })),
        nameOf,
      }
    }
    case 'array':
      return { type: 'list', element: def.element as never }
    case 'record':
      return { type: 'list', element: def.valueType as never }
    case 'union':
      return { type: 'union', options: def.options as never }
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'catch':
    case 'readonly':
      return defOf(def.innerType as never)
    default:
      return { type: 'other' }
  }
}

function convert(schema: z.core.$ZodType, value: unknown, direction: Direction): unknown {
  const def = defOf(schema)
  switch (def.type) {
    case 'time':
      return direction === 'toWire' && typeof value === 'number' ? time.encode(value) : value
    case 'list': {
      if (defOf(def.element).type === 'other') return value
      const convertItem = (item: unknown) => convert(def.element, item, direction)
      if (Array.isArray(value)) return value.map(convertItem)
      if (!isPlain(value)) return value
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, convertItem(item)]))
    }
    case 'union': {
      const option = def.options.find((one) => fits(one, value, direction))
      return option ? convert(option, value, direction) : value
    }
    case 'object':
      if (!isPlain(value)) return value
      return direction === 'toWire' ? objectToWire(def.fields, value) : objectFromWire(def.fields, value)
    default:
      return value
  }
}

type Fields = Extract<Def, { type: 'object' }>['fields']

function objectToWire(fields: Fields, value: Record<string, unknown>): object {
  const result: Record<string, unknown> = {}
  for (const { name, wire, schema } of fields) {
    const inner = value[name]
    if (inner !== undefined) result[wire] = convert(schema, inner, 'toWire')
  }
  return result
}

const unknownMark = '\u0000'

function objectFromWire(fields: Fields, value: Record<string, unknown>): object {
  const entries = Object.entries(value).map(([key, inner]) => {
    const field = fields.find(({ wire }) => wire === key)
    if (field) return [field.name, convert(field.schema, inner, 'fromWire')]
    // `timeZone` is not `time_zone`: it stays unknown.
    return [fields.some(({ name }) => name === key) ? `${unknownMark}${key}` : key, inner]
  })
  return Object.fromEntries(entries)
}

/** An unknown key as the caller wrote it. */
export function givenKey(key: string): string {
  return key.startsWith(unknownMark) ? key.slice(1) : key
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether the value has the required keys and the literals of this option of a union. */
function fits(schema: z.core.$ZodType, value: unknown, direction: Direction): boolean {
  const def = defOf(schema)
  if (def.type !== 'object') return !isPlain(value)
  if (!isPlain(value)) return false
  return def.fields.every(({ name, wire, schema: field }) => {
    const given = value[direction === 'toWire' ? name : wire]
    if (field._zod.values) return field._zod.values.has(given as never)
    return given !== undefined || field._zod.optin === 'optional'
  })
}
