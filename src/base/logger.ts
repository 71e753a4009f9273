import type { Clock } from './clock.ts'
import { openLogFile } from './log-file.ts'
import { toDisplayText } from './text.ts'

export const logLevels = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof logLevels)[number]
type LogFields = Readonly<Record<string, unknown>>

/** Never throws and never waits. Strings may come from anywhere: they are made harmless on the way. */
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

/** Lines go to a file in `directory` as JSON, to `writeLine` for people, or to both. Whoever opens it closes it. */
export function openLogger(options: {
  level: LogLevel
  clock: Clock
  /** Takes secrets out. */
  redact: (text: string) => string
  directory?: string
  writeLine?: (line: string) => void
  /** What people are shown; the file takes everything from `level` on. */
  lineLevel?: LogLevel
  /** What every line carries at this place in the code, such as the request that is being answered. What a line says itself counts. */
  context?: () => LogFields
  maxFileBytes?: number
  keepFiles?: number
}): OpenLogger {
  const { clock, redact, directory, writeLine, context } = options
  const file = directory === undefined ? undefined : openLogFile({ ...options, directory })
  const lowestLine = logLevels.indexOf(options.lineLevel ?? 'debug')
  let lowest = logLevels.indexOf(options.level)

  // Before and after: a secret may hold what the display drops, or be spelled with it in between.
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

/** `10:12:03 warn  message key=value`: one line whatever the message holds, so that no text can forge another. */
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
