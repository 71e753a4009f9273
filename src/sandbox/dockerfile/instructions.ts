/** One instruction with its continued lines joined, before anything in it is understood. */
export interface Instruction {
  /** Of its first line, counted from 1. */
  line: number
  /** In capitals. */
  name: string
  /** `--from=builder` and the like, without the dashes. */
  flags: Record<string, string>
  /** What follows the name and the flags. */
  rest: string
  /** The bodies of its here-documents. */
  documents: string[]
}

export interface Instructions {
  instructions: Instruction[]
  /** The character that continues a line and escapes in words: a backslash unless the first comment says otherwise. */
  escapeWith: string
  unfinished: { line: number; message: string }[]
}

/** Splits a Dockerfile: comments, continued lines, flags and here-documents. Takes any text. */
export function readInstructions(text: string): Instructions {
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/)
  const escapeWith = readEscape(lines)
  const instructions: Instruction[] = []
  const unfinished: Instructions['unfinished'] = []
  let at = 0

  function joinContinued(): string {
    let joined = ''
    while (at < lines.length) {
      const line = lines[at++] ?? ''
      // Inside an instruction a comment or an empty line is left out; it does not end it.
      if (joined !== '' && isIgnored(line)) continue
      const continued = withoutContinuation(line, escapeWith)
      if (continued === undefined) return joined + line
      joined += continued === '' ? ' ' : continued
    }
    return joined
  }

  function readDocument({ word, stripsTabs }: DocumentStart, line: number): string {
    const body: string[] = []
    while (at < lines.length) {
      const next = lines[at++] ?? ''
      const bare = stripsTabs ? next.replace(/^\t+/, '') : next
      if (bare === word) return body.join('\n')
      body.push(bare)
    }
    unfinished.push({ line, message: `The text after <<${word} has no line ${word} at its end` })
    return body.join('\n')
  }

  while (at < lines.length) {
    if (isIgnored(lines[at] ?? '')) {
      at += 1
      continue
    }
    const line = at + 1
    const joined = joinContinued().trim()
    const [, name = '', after = ''] = /^(\S+)\s*([\s\S]*)$/.exec(joined) ?? []
    if (name === '') continue
    const { flags, rest } = splitFlags(after)
    const starts = takesDocuments.has(name.toUpperCase()) ? documentStarts(rest) : []
    const documents = starts.map((start) => readDocument(start, line))
    instructions.push({ line, name: name.toUpperCase(), flags, rest, documents })
  }
  return { instructions, escapeWith, unfinished }
}

const takesDocuments = new Set(['RUN', 'COPY', 'ADD'])

interface DocumentStart {
  word: string
  stripsTabs: boolean
}

function documentStarts(rest: string): DocumentStart[] {
  // `<<<` is a here-string of the shell and brings no lines.
  const starts = rest.matchAll(/(?<![<\d])\d*<<(-?)(["']?)([A-Za-z_][A-Za-z0-9_]*)\2/g)
  return [...starts].map(([, dash, , word = '']) => ({ word, stripsTabs: dash === '-' }))
}

function isIgnored(line: string): boolean {
  return /^\s*(#|$)/.test(line)
}

function withoutContinuation(line: string, escapeWith: string): string | undefined {
  const trimmed = line.trimEnd()
  return trimmed.endsWith(escapeWith) ? trimmed.slice(0, -1) : undefined
}

/** Directives stand in comments before everything else. */
function readEscape(lines: readonly string[]): string {
  for (const line of lines) {
    const directive = /^\s*#\s*([a-z]+)\s*=\s*(\S+)\s*$/i.exec(line)
    if (!directive) return '\\'
    if (directive[1]?.toLowerCase() === 'escape') return directive[2] === '`' ? '`' : '\\'
  }
  return '\\'
}

function splitFlags(text: string): { flags: Record<string, string>; rest: string } {
  const flags: Record<string, string> = Object.create(null)
  let rest = text
  for (;;) {
    const flag = /^--([a-z][a-z-]*)(?:=(\S*))?(?:\s+|$)/.exec(rest)
    if (!flag) return { flags, rest }
    flags[flag[1] ?? ''] = flag[2] ?? ''
    rest = rest.slice(flag[0].length)
  }
}
