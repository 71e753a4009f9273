import type { ConfigFiles, ConfigProblem } from './config.ts'
import { nearestName } from './toml.ts'

interface Variable {
  value: string
  /** The `.env` file, `environment`, `command line` or `vault`. */
  file: string
  line: number | null
  key: string
}

export interface ConfigFlags {
  port?: number | undefined
  host?: string | undefined
}

/** Keys from the vault, by the names of variables. */
export type StoredKeys = Readonly<Record<string, string>>

export type Environment = ReturnType<typeof readEnvironment>

const prefix = 'FAMILIAR_'
const familiarVariables = [
  'FAMILIAR_HOME',
  'FAMILIAR_TOKEN',
  'FAMILIAR_PORT',
  'FAMILIAR_HOST',
  'FAMILIAR_MODEL',
  'FAMILIAR_EMBEDDING',
  'FAMILIAR_SANDBOX',
  'FAMILIAR_LOG',
  'FAMILIAR_DATABASE_URL',
  'FAMILIAR_KEY_FILE',
] as const

/**
 * The command line overrides the real environment, which overrides `.env`, which overrides keys in the vault; the source
 * of each value is kept, so that a problem can name its place.
 */
export function readEnvironment(source: {
  file: string
  files: ConfigFiles
  env: Readonly<Record<string, string | undefined>>
  flags: ConfigFlags
  /** Keys that were given in the page, by the names of variables. */
  stored?: StoredKeys
  problems: ConfigProblem[]
  warnings: string[]
}) {
  const { file, files, env, flags, stored = {}, problems, warnings } = source
  const variables = new Map<string, Variable>()
  for (const [name, value] of Object.entries(stored))
    variables.set(name, { value, file: 'vault', line: null, key: name })
  const dotenv = parseDotenv(readOrReport(files, file, problems) ?? '')
  for (const { name, value, line } of dotenv.entries) variables.set(name, { value, file, line, key: name })
  for (const { line, message } of dotenv.problems) problems.push({ file, line, key: '', message })
  if (dotenv.entries.length > 0 && files.isExposed(file))
    warnings.push(`other users can read ${file}, which contains keys: chmod 600 ${file}`)

  // Service files and compose files write "not set" as an empty value.
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && value !== '') variables.set(name, { value, file: 'environment', line: null, key: name })

  for (const [flag, value] of Object.entries(flags))
    if (value !== undefined) {
      const variable = { value: String(value), file: 'command line', line: null, key: `--${flag}` }
      variables.set(`${prefix}${flag.toUpperCase()}`, variable)
    }

  for (const name of variables.keys()) {
    if (!name.startsWith(prefix) || familiarVariables.some((known) => known === name)) continue
    const near = nearestName(
      name.slice(prefix.length),
      familiarVariables.map((known) => known.slice(prefix.length)),
    )
    if (near) warnings.push(`${name} is not known; did you mean ${prefix}${near}?`)
  }

  return {
    get(name: string) {
      const found = variables.get(name)
      return found?.value === '' ? undefined : found
    },
    values: (): Record<string, string> => Object.fromEntries([...variables].map(([name, { value }]) => [name, value])),
  }
}

/** The value of the first of these variables that is set. */
export function firstOf(environment: Environment, names: readonly string[]): string | undefined {
  return names.map((name) => environment.get(name)?.value).find((value) => value !== undefined)
}

/** The file's text; an unreadable file is a problem like any other. */
export function readOrReport(files: ConfigFiles, file: string, problems: ConfigProblem[]): string | undefined {
  try {
    return files.read(file)
  } catch (cause) {
    const reason = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause)
    problems.push({ file, line: null, key: '', message: `cannot be read (${reason})` })
    return undefined
  }
}

const assignment = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=[ \t]*/
const unescaped: Record<string, string> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\', $: '$' }

/**
 * `NAME=VALUE`, one per line: bare (ends at ` #`, trimmed), 'literal' or "with \n, \", \\". Nothing is expanded, and
 * quoted values end on their own line, so that a missing quote cannot swallow the lines below it. Problems do not repeat
 * the text of their line: it may contain a secret.
 */
export function parseDotenv(text: string) {
  const entries: { name: string; value: string; line: number }[] = []
  const problems: { line: number; message: string }[] = []
  for (const [index, content] of text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .entries()) {
    const line = index + 1
    if (/^\s*(?:#|$)/.test(content)) continue
    const start = assignment.exec(content)
    if (!start?.[1]) {
      problems.push({ line, message: 'must be NAME=VALUE' })
      continue
    }
    const value = readValue(content.slice(start[0].length))
    if (value === undefined) problems.push({ line, message: 'has an unclosed quote, or text after a quote' })
    else entries.push({ name: start[1], value, line })
  }
  return { entries, problems }
}

function readValue(text: string): string | undefined {
  if (text.startsWith("'")) return /^'([^']*)'\s*(?:#.*)?$/.exec(text)?.[1]
  if (text.startsWith('"')) {
    const inner = /^"((?:\\.|[^"\\])*)"\s*(?:#.*)?$/.exec(text)?.[1]
    return inner?.replace(/\\(.)/g, (pair, letter: string) => unescaped[letter] ?? pair)
  }
  return text.replace(/(?:^|\s)#.*$/, '').trim()
}

/** The text with this variable set: in its place if it exists, otherwise at the end. */
export function setDotenvValue(text: string, name: string, value: string): string {
  const lines = text === '' ? [] : text.replace(/\r?\n$/, '').split(/\r?\n/)
  const written = `${name}=${quote(value)}`
  const known = parseDotenv(text).entries.filter((entry) => entry.name === name)
  if (known.length === 0) lines.push(written)
  for (const entry of known) lines[entry.line - 1] = written
  return `${lines.join('\n')}\n`
}

function quote(value: string): string {
  if (/^[A-Za-z0-9_./:@+-][A-Za-z0-9_./:@+=-]*$/.test(value)) return value
  const escaped = value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n').replaceAll('\r', '\\r')
  return `"${escaped}"`
}
