import type { Json } from '../../../src/protocol/messages.ts'

/** A text of what a tool was called with; empty where there is none. A model may write any shape. */
export function inputText(input: Json, key: string): string {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return ''
  const value = input[key]
  return typeof value === 'string' ? value : ''
}

interface CommandOutcome {
  /** Such as "exit code 0, 0.1 s". */
  end: string
  output: string
  errors: string
}

/** A result of `exec`; undefined where the text is something else. */
export function readCommand(text: string): CommandOutcome | undefined {
  const [, end, rest = ''] = /^\[([^\]\n]{1,200})\](?:\n([\s\S]*))?$/.exec(text) ?? []
  if (end === undefined) return undefined
  const mark = '[stderr]\n'
  const place = rest.startsWith(mark) ? 0 : rest.lastIndexOf(`\n${mark}`)
  if (place < 0) return { end, output: rest, errors: '' }
  return { end, output: rest.slice(0, place), errors: rest.slice(place).replace(/^\n/, '').slice(mark.length) }
}

interface FoundTool {
  name: string
  description: string
}

/** A result of `find_tools` or `lookup_capability`: a tool as JSON on each line; other lines are skipped. */
export function readFoundTools(text: string): FoundTool[] {
  return text.split('\n').flatMap((line) => {
    if (!line.startsWith('{')) return []
    try {
      const { name, description } = JSON.parse(line) as { name?: unknown; description?: unknown }
      if (typeof name !== 'string') return []
      return [{ name, description: typeof description === 'string' ? description : '' }]
    } catch {
      return []
    }
  })
}

interface ToldMemory {
  id: string
  day: string
  /** Such as "fact; tags: home"; empty where there is nothing to say. */
  marks: string
  text: string
  isUntrusted: boolean
}

interface ToldMemories {
  /** Null where nothing was counted. */
  count: number | null
  memories: ToldMemory[]
}

const line = /^\[memory:([0-9a-f-]{8,40})\] (\d{4}-\d{2}-\d{2}) (\[untrusted\] )?(?:\(([^)]*)\) )?(.*)$/
const counted = /^Count: (\d+)$/

/** A result of the memory tools, memory by memory. */
export function readMemories(text: string): ToldMemories {
  const memories: ToldMemory[] = []
  let count: number | null = null
  for (const one of text.split('\n')) {
    const number = counted.exec(one)?.[1]
    const [, id, day, untrusted, marks = '', words = ''] = line.exec(one) ?? []
    const last = memories.at(-1)
    if (number !== undefined) count = Number(number)
    else if (id !== undefined && day !== undefined) {
      const isUntrusted = untrusted !== undefined
      memories.push({ id, day, marks, text: isUntrusted ? unquoted(words) : words, isUntrusted })
    } else if (last && one.startsWith('  ')) last.text += `\n${one.slice(2)}`
  }
  return { count, memories }
}

/** Untrusted text is quoted for the model. */
function unquoted(text: string): string {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'string' ? value : text
  } catch {
    return text
  }
}

interface ReadPage {
  title: string
  url: string
  host: string
  text: string
}

/** A result of `web_fetch`; undefined where the text is something else. */
export function readPage(text: string): ReadPage | undefined {
  const [, title = '', url = '', rest = ''] = /^(?:# (.*)\n)?(https?:\S+)\n\n([\s\S]*)$/.exec(text) ?? []
  if (!URL.canParse(url)) return undefined
  const { host } = new URL(url)
  return { title: title || host, url, host, text: rest }
}

interface SearchHit {
  title: string
  url: string
  host: string
  snippet: string
}

const head = /^\d{1,3}\. (.*)$/

/** A result of `web_search`, hit by hit; empty where the text is something else. */
export function readSearchHits(text: string): SearchHit[] {
  const hits: SearchHit[] = []
  const lines = text.split('\n')
  for (const [index, line] of lines.entries()) {
    const title = head.exec(line)?.[1]
    const url = lines[index + 1]?.trim() ?? ''
    if (title === undefined || !URL.canParse(url)) continue
    const next = lines[index + 2] ?? ''
    hits.push({ title, url, host: new URL(url).host, snippet: next.startsWith('   ') ? next.trim() : '' })
  }
  return hits
}
