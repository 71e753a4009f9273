import { closeSync, fstatSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from './clock.ts'
import { toDisplayText } from './text.ts'

export const logLevels = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof logLevels)[number]
type LogFields = Readonly<Record<string, unknown>>

/** Never throws and never waits. Strings may come from anywhere: they are sanitized. */
export interface Logger {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
}

export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} }

export interface OpenLogger extends Logger {
  setLevel(level: LogLevel): void
  close(): void
}

/** Lines go to a file in `directory` as JSON, to `writeLine` as readable text, or to both. The caller closes it. */
export function openLogger(options: {
  level: LogLevel
  clock: Clock
  redact: (text: string) => string
  directory?: string
  writeLine?: (line: string) => void
  /** The level of readable lines; the file gets everything from `level` on. */
  lineLevel?: LogLevel
  /**
   * Fields that every line carries at this place in the code, such as the current request. The line's own fields win.
   */
  context?: () => LogFields
  maxFileBytes?: number
  keepFiles?: number
}): OpenLogger {
  const { clock, redact, directory, writeLine, context } = options
  const file = directory === undefined ? undefined : openLogFile({ ...options, directory })
  const lowestLine = logLevels.indexOf(options.lineLevel ?? 'debug')
  let lowest = logLevels.indexOf(options.level)

  // Redacts before and after: a secret may contain characters that the display drops, or be split by them.
  const clean = (text: string) => redact(toDisplayText(redact(text)))

  function log(level: LogLevel, message: string, fields: LogFields = {}) {
    if (logLevels.indexOf(level) < lowest) return
    const text = clean(message)
    const cleaned = cleanFields(context ? { ...context(), ...fields } : fields, clean)
    const at = clock.now()
    file?.write(`${JSON.stringify({ level, time: new Date(at).toISOString(), ...cleaned, message: text })}\n`)
    if (logLevels.indexOf(level) >= lowestLine) writeLine?.(humanLine({ level, text, fields: cleaned, at }))
  }

  return {
    debug: (message, fields) => log('debug', message, fields),
    info: (message, fields) => log('info', message, fields),
    warn: (message, fields) => log('warn', message, fields),
    error: (message, fields) => log('error', message, fields),
    setLevel(level) {
      lowest = logLevels.indexOf(level)
    },
    close: () => file?.close(),
  }
}

/** `10:12:03 warn  message key=value`: one line whatever the message contains, so that no text can forge another. */
function humanLine(entry: { level: LogLevel; text: string; fields: Record<string, unknown>; at: number }): string {
  const time = new Date(entry.at).toISOString().slice(11, 19)
  const pairs = Object.entries(entry.fields).map(([key, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return ` ${key}=${/^[^\s"]*$/.test(text) ? text : JSON.stringify(text)}`
  })
  return `${time} ${entry.level.padEnd(5)} ${entry.text}${pairs.join('')}`.replace(/\s*\n\s*/g, ' ⏎ ')
}

const reserved = new Set(['level', 'time', 'message'])
const maxDepth = 6

function cleanFields(fields: LogFields, clean: (text: string) => string): Record<string, unknown> {
  const seen = new Set<unknown>()

  function cleanValue(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return clean(value)
    if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value
    if (typeof value !== 'object') return clean(String(value))
    if (depth > maxDepth || seen.has(value)) return '…'
    seen.add(value)
    const inner = value instanceof Error ? errorFields(value) : value
    const cleaned = Array.isArray(inner)
      ? inner.map((item) => cleanValue(item, depth + 1))
      : cleanEntries(Object.entries(inner), depth)
    seen.delete(value)
    return cleaned
  }

  function cleanEntries(entries: [string, unknown][], depth: number): Record<string, unknown> {
    const defined = entries.filter(([, value]) => value !== undefined)
    return Object.fromEntries(defined.map(([key, value]) => [clean(key), cleanValue(value, depth + 1)]))
  }

  const cleaned = cleanEntries(Object.entries(fields), 0)
  return Object.fromEntries(Object.entries(cleaned).map(([key, value]) => [reserved.has(key) ? `${key}_` : key, value]))
}

function errorFields(error: Error): Record<string, unknown> {
  const code = 'code' in error ? error.code : undefined
  return { name: error.name, message: error.message, code, stack: error.stack, cause: error.cause }
}

const namePattern = /^familiar-\d{4}-\d{2}-\d{2}(?:\.(\d+))?\.log$/

/** A file per day (`familiar-2026-11-15.log`, `.1.log` once that is full); the oldest files are deleted. */
function openLogFile(options: { directory: string; clock: Clock; maxFileBytes?: number; keepFiles?: number }) {
  const { directory, clock, maxFileBytes = 10_000_000, keepFiles = 14 } = options
  let file: { descriptor: number; bytes: number; day: string; part: number } | undefined
  let dropped = 0

  function fileFor(bytes: number) {
    const day = new Date(clock.now()).toISOString().slice(0, 10)
    if (file && file.day === day && file.bytes + bytes <= maxFileBytes) return file
    let part = file?.day === day ? file.part + 1 : 0
    for (; ; part += 1) {
      close()
      const name = `familiar-${day}${part === 0 ? '' : `.${part}`}.log`
      const descriptor = openSync(join(directory, name), 'a', 0o600)
      file = { descriptor, bytes: fstatSync(descriptor).size, day, part }
      if (file.bytes === 0 || file.bytes + bytes <= maxFileBytes) break
    }
    dropOldest()
    return file
  }

  function dropOldest() {
    const names = readdirSync(directory).filter((name) => namePattern.test(name))
    const order = (name: string) => `${name.slice(0, 19)}${(namePattern.exec(name)?.[1] ?? '0').padStart(6, '0')}`
    names.sort((a, b) => (order(a) < order(b) ? -1 : 1))
    for (const name of names.slice(0, -keepFiles)) rmSync(join(directory, name), { force: true })
  }

  function close(): void {
    if (file) closeSync(file.descriptor)
    file = undefined
  }

  return {
    /** Never throws: a full disk must not stop the daemon. Lost lines are counted and reported later. */
    write(line: string): void {
      try {
        const note =
          dropped > 0 ? `{"level":"warn","message":"log lines could not be written","count":${dropped}}\n` : ''
        const bytes = Buffer.from(note + line)
        const target = fileFor(bytes.length)
        // A disk that fills up takes half a line, which must not be joined with the next one.
        const written = writeSync(target.descriptor, bytes)
        target.bytes += written
        if (written < bytes.length) throw new Error('short write')
        dropped = 0
      } catch {
        dropped += 1
      }
    },
    close,
  }
}
