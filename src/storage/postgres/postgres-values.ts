import pg from 'pg'
import { escapeNulls, unescapeNulls } from './escape-nulls.ts'

type ReadValue = (text: string) => unknown

const builtin = pg.types.builtins
const textArray = 1009
const readTextArray = pg.types.getTypeParser(textArray as never) as ReadValue
const readBytes = pg.types.getTypeParser(builtin.BYTEA) as (text: string) => Uint8Array

const readers = new Map<number, ReadValue>([
  [builtin.TEXT, unescapeNulls],
  [builtin.VARCHAR, unescapeNulls],
  [textArray, (text) => unescapeAll(readTextArray(text))],
  [builtin.INT8, readNumber],
  [builtin.NUMERIC, Number],
  // A copy: a view into a shared buffer may begin anywhere, and vectors have to begin at a multiple of four.
  [builtin.BYTEA, (text) => new Uint8Array(readBytes(text))],
])

/** Values as SQLite would give them: numbers, text and bytes. */
export const readValues: pg.CustomTypesConfig = {
  getTypeParser: ((type: number, format?: 'text' | 'binary') =>
    (format !== 'binary' && readers.get(type)) || pg.types.getTypeParser(type, format as 'text')) as never,
}

/** A value as PostgreSQL can hold it. Whatever SQLite refuses is refused here too. */
export function toParameter(value: unknown, redact?: (text: string) => string): unknown {
  if (typeof value === 'string') return escapeNulls(redact ? redact(value) : value)
  if (Array.isArray(value)) return value.map((item) => toParameter(item, redact))
  if (value === undefined || typeof value === 'boolean') throw new TypeError(`A ${typeof value} cannot be stored.`)
  return value
}

function readNumber(text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number)) throw new RangeError(`${text} is too large to be read as a number.`)
  return number
}

function unescapeAll(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unescapeAll)
  return typeof value === 'string' ? unescapeNulls(value) : value
}
