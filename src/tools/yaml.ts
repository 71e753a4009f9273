import type { Document, LineCounter, Node } from 'yaml'

/** Parsed YAML, with every scalar as its text: what `yes`, `1.10` or `null` mean is up to the reader. */
export type YamlValue = string | YamlValue[] | { [key: string]: YamlValue }

type YamlReading = { ok: true; value: YamlValue } | { ok: false; line: number; problem: string }
type YamlLibrary = typeof import('yaml')

const deepest = 24
/** Repairing a line may bring up another one that is wrong. */
const maxPasses = 4
/** Public skills have one or two; each pass over a text with thousands takes a while. */
const maxWrongLines = 20

/**
 * The YAML that people write above a text. Anchors, aliases, tags and directives are refused, so nothing grows when it is
 * read and nothing is ever run. A value that only lacks its quotes is taken: `description: Use it so: like this`.
 * Never throws. The library is loaded with the first text: that costs 50 ms and 13 MB.
 */
export async function readYaml(text: string): Promise<YamlReading> {
  const directive = text.split('\n').findIndex((line) => line.startsWith('%'))
  if (directive >= 0) return { ok: false, line: directive + 1, problem: 'has a directive, which is not supported' }
  const library = await import('yaml')
  let current = text
  for (let pass = 1; ; pass += 1) {
    const lines = new library.LineCounter()
    const document = library.parseDocument(current, {
      schema: 'failsafe',
      // The library compares each key with every other one; `convert` uses a map.
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: 'silent',
      lineCounter: lines,
    })
    const [error] = document.errors
    if (!error) return convertDocument(library, document, lines)
    const { line } = lines.linePos(error.pos[0])
    if (error.code === 'RESOURCE_EXHAUSTION') return { ok: false, line, problem: 'is nested too deeply' }
    const wrongLines = new Set(document.errors.map(({ pos }) => lines.linePos(pos[0]).line))
    const isWorthIt = pass < maxPasses && wrongLines.size <= maxWrongLines
    const repaired = isWorthIt ? quoteValues(current, wrongLines) : current
    if (repaired === current) return { ok: false, line, problem: `is not valid YAML: ${error.message}` }
    current = repaired
  }
}

const keyAndValue = /^( *(?:- +)*)((?:[\p{L}\p{N}_][^:#]*|"[^"\\]*"|'[^']*'):[ \t]+)(\S.*)$/u
const reference = /^(?:[&!]|\*[\w-]+\s*$)/
/** A block, or what begins with a quote or bracket and does not end on its line. */
const openEnded = /^(?:[|>][-+\d]*\s*$|"[^"]*$|'[^']*$|\[[^\]]*$|\{[^}]*$)/
const comment = /(?:^|[ \t])#.*$/

/** The text with the values of these lines, and the lines that continue them, in quotes, unless that would be a guess. */
function quoteValues(text: string, wrongLines: ReadonlySet<number>): string {
  const lines = text.split('\n')
  for (const line of wrongLines) {
    const [, indent = '', key = '', value = ''] = keyAndValue.exec(lines[line - 1] ?? '') ?? []
    if (value === '' || reference.test(value) || openEnded.test(value)) continue
    let end = line
    while (end < lines.length && (lines[end] ?? '').search(/[^ ]/) > indent.length) end += 1
    const written = [value, ...lines.slice(line, end)].map((part) => part.replace(comment, '').trim()).join(' ')
    // Quoted text with an invalid escape is taken as it is written: "C:\Users".
    const content = /^"([^"]*)"$/.exec(written)?.[1] ?? written
    lines[line - 1] = indent + key + JSON.stringify(content)
    lines.fill('', line, end)
  }
  return lines.join('\n')
}

class YamlProblem extends Error {
  override readonly name = 'YamlProblem'
  readonly node: Node

  constructor(node: Node, message: string) {
    super(message)
    this.node = node
  }
}

function convertDocument(library: YamlLibrary, { contents }: Document.Parsed, lines: LineCounter): YamlReading {
  try {
    return { ok: true, value: contents ? convert(library, contents, 0) : {} }
  } catch (cause) {
    if (!(cause instanceof YamlProblem)) throw cause
    return { ok: false, line: lines.linePos(cause.node.range?.[0] ?? 0).line, problem: cause.message }
  }
}

/** Not the library's `toJS`: that one follows aliases. */
function convert(library: YamlLibrary, node: Node, depth: number): YamlValue {
  if (library.isAlias(node) || node.anchor !== undefined || node.tag !== undefined)
    throw new YamlProblem(node, 'has an anchor, an alias or a tag, which are not supported')
  if (depth > deepest) throw new YamlProblem(node, 'is nested too deeply')
  const { isNode } = library
  if (library.isSeq(node)) return node.items.map((item) => (isNode(item) ? convert(library, item, depth + 1) : ''))
  if (!library.isMap(node)) return typeof node.value === 'string' ? node.value : ''
  const entries = new Map<string, YamlValue>()
  for (const { key, value } of node.items) {
    const name = isNode(key) ? convert(library, key, depth + 1) : ''
    if (typeof name !== 'string') throw new YamlProblem(isNode(key) ? key : node, 'has a key that is not text')
    if (entries.has(name)) throw new YamlProblem(isNode(key) ? key : node, `has the key ${JSON.stringify(name)} twice`)
    entries.set(name, isNode(value) ? convert(library, value, depth + 1) : '')
  }
  return Object.fromEntries(entries)
}
