import type { ConfigFiles } from './config-files.ts'
import type { ConfigProblem } from './config-problem.ts'
import { parseDotenv } from './dotenv.ts'
import { nearestName } from './nearest-name.ts'

interface Variable {
  value: string
  /** The `.env` file, `environment` or `command line`. */
  file: string
  line: number | null
  /** How it is called there. */
  key: string
}

/** What the command line may set. */
export interface ConfigFlags {
  port?: number | undefined
  host?: string | undefined
}

/** The command line over the real environment over `.env`; where each value came from is kept, so that a problem can name its place. */
export interface Environment {
  get(name: string): Variable | undefined
  values(): Record<string, string>
}

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

export function readEnvironment(source: {
  file: string
  files: ConfigFiles
  env: Readonly<Record<string, string | undefined>>
  flags: ConfigFlags
  problems: ConfigProblem[]
  warnings: string[]
}): Environment {
  const { file, files, env, flags, problems, warnings } = source
  const variables = new Map<string, Variable>()
  const dotenv = parseDotenv(readOrReport(files, file, problems) ?? '')
  for (const { name, value, line } of dotenv.entries) variables.set(name, { value, file, line, key: name })
  for (const { line, message } of dotenv.problems) problems.push({ file, line, key: '', message })
  if (dotenv.entries.length > 0 && files.isExposed(file))
    warnings.push(`${file} can be read by other users; it holds keys: chmod 600 ${file}`)

  // Set but empty is how service files and compose files write "not set".
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
    get: (name) => {
      const found = variables.get(name)
      return found?.value === '' ? undefined : found
    },
    values: () => Object.fromEntries([...variables].map(([name, { value }]) => [name, value])),
  }
}

/** The value of the first of these variables that is set. */
export function firstOf(environment: Environment, names: readonly string[]): string | undefined {
  return names.map((name) => environment.get(name)?.value).find((value) => value !== undefined)
}

/** The file's text; a file that is there and cannot be read is a problem like any other. */
export function readOrReport(files: ConfigFiles, file: string, problems: ConfigProblem[]): string | undefined {
  try {
    return files.read(file)
  } catch (cause) {
    const reason = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause)
    problems.push({ file, line: null, key: '', message: `cannot be read (${reason})` })
    return undefined
  }
}
