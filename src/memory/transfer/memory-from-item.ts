import type { MemoryKind } from '../memory.ts'
import { idFromText, unescapeLine } from './markdown-escape.ts'

/** A list item of an exported document. */
export interface MarkdownItem {
  line: number
  /** Behind the dash, still escaped. */
  first: string
  others: string[]
  details: { key: string; value: string }[]
}

/** The written form of a memory, not yet checked. Undefined where the item has no date or no id. */
export function memoryFromItem(item: MarkdownItem, kind: MemoryKind): unknown {
  const date = /^([+-]?\d{4,6}-\d\d-\d\d) /.exec(item.first)?.[1]
  if (date === undefined) return undefined
  const text = item.first.slice(date.length + 1)
  const ending = text.search(/ [#^]/)
  const marks = ending < 0 ? undefined : marksOf(text.slice(ending))
  if (!marks) return undefined
  const details = new Map(item.details.map(({ key, value }) => [key, value]))
  const all = (key: string) => item.details.filter((detail) => detail.key === key).map((detail) => detail.value)
  return {
    type: 'memory',
    id: marks.id,
    kind,
    content: [unescapeLine(text.slice(0, ending)), ...item.others].join('\n'),
    tags: marks.tags,
    created_at: date,
    title: details.get('title'),
    category: details.get('category'),
    speaker: details.get('speaker'),
    thread_id: details.get('thread'),
    position: numberOf(details.get('position')),
    passages: numberOf(details.get('passages')),
    tier: details.get('tier'),
    priority: numberOf(details.get('priority')),
    source: details.get('source'),
    label: details.get('label'),
    happened_from: details.get('happened from'),
    happened_until: details.get('happened until'),
    superseded_at: details.get('replaced'),
    superseded_by: details.get('replaced by'),
    fact: details.has('entity') ? factOf(details, date) : undefined,
    episode: details.has('began') ? episodeOf(details, all) : undefined,
    commitment: details.has('who') ? commitmentOf(details) : undefined,
  }
}

/** ` #tag #[another tag] ^id`, up to the end. */
function marksOf(text: string): { id: string; tags: string[] } | undefined {
  const tags: string[] = []
  const tag = / #(?:\[((?:\\.|[^\\\]])*)\]|([^\s[\]#^]+))/suy
  let end = 0
  for (let found = tag.exec(text); found; found = tag.exec(text)) {
    tags.push(found[2] ?? (found[1] ?? '').replaceAll(/\\(.)/gs, '$1'))
    end = tag.lastIndex
  }
  const id = /^ \^(\S+)\s*$/.exec(text.slice(end))?.[1]
  return id === undefined ? undefined : { id: idFromText(id), tags }
}

type TextDetails = ReadonlyMap<string, string>

function factOf(details: TextDetails, date: string): unknown {
  return {
    entity: details.get('entity'),
    attribute: details.get('attribute'),
    value: details.get('value'),
    confidence: numberOf(details.get('confidence')) ?? 1,
    valid_from: details.get('since') ?? date,
    valid_to: details.get('until'),
  }
}

function episodeOf(details: TextDetails, all: (key: string) => string[]): unknown {
  return {
    topics: all('topic'),
    decisions: all('decision'),
    tone: details.get('tone'),
    started_at: details.get('began'),
    ended_at: details.get('ended'),
  }
}

function commitmentOf(details: TextDetails): unknown {
  return {
    who: details.get('who'),
    to_whom: details.get('to'),
    what: details.get('what'),
    deadline: details.get('by'),
    state: details.get('state'),
    closed_at: details.get('closed'),
  }
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined || text.trim() === '' ? undefined : Number(text)
}
