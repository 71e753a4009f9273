interface DotenvEntry {
  name: string
  value: string
  line: number
}

export interface Dotenv {
  entries: DotenvEntry[]
  /** Lines that are neither blank, comment nor NAME=VALUE. Their text is not repeated: it may hold a secret. */
  problems: { line: number; message: string }[]
}

const assignment = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=[ \t]*/
const unescaped: Record<string, string> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\', $: '$' }

/**
 * `NAME=VALUE`, one a line: bare (ends at ` #`, spaces around it dropped), 'as it stands' or "with \n, \", \\".
 * Nothing is expanded and quoted values end on their own line, so that a lost quote cannot swallow the lines below it.
 */
export function parseDotenv(text: string): Dotenv {
  const entries: DotenvEntry[] = []
  const problems: Dotenv['problems'] = []
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
    if (value === undefined) problems.push({ line, message: 'has a quote that does not end, or text behind it' })
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

/** The text with this variable set: in its place where it is there already, otherwise at the end. */
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
