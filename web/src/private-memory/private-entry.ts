export const categories = ['personal', 'project', 'reference', 'custom'] as const
export type Category = (typeof categories)[number]

/** Something that is kept in this browser alone (CLIENT-2). */
export interface PrivateEntry {
  id: string
  title: string
  content: string
  category: Category
  /** From 1 to 10, the most important. */
  priority: number
  /** Who wrote it: Familiar can take back only what is its own. */
  source: 'user' | 'ai'
  /** Familiar may read it while it is switched on in the talk. The user alone says so, of the words as they stand. */
  isShared: boolean
  createdAt: string
  updatedAt: string
}

export type EntryWords = Pick<PrivateEntry, 'title' | 'content' | 'category' | 'priority'>

export const longestTitle = 100
export const longestContent = 10_000

type Read<T> = { ok: true; value: T } | { ok: false; message: string }

/** What somebody else wrote, a model or a file, as words of an entry; or what is wrong with it. */
export function readWords(given: unknown): Read<EntryWords> {
  if (typeof given !== 'object' || given === null) return { ok: false, message: 'An entry has a title and a content.' }
  const { title, content, category = 'custom', priority = 5 } = given as Record<string, unknown>
  if (!isText(title, longestTitle)) return { ok: false, message: `title: must be 1 to ${longestTitle} characters.` }
  if (!isText(content, longestContent)) {
    return { ok: false, message: `content: must be 1 to ${longestContent.toLocaleString('en')} characters.` }
  }
  const known = categories.find((one) => one === category)
  if (known === undefined) return { ok: false, message: `category: must be one of ${categories.join(', ')}.` }
  if (typeof priority !== 'number' || !Number.isInteger(priority) || priority < 1 || priority > 10) {
    return { ok: false, message: 'priority: must be a whole number from 1 to 10.' }
  }
  return { ok: true, value: { title: title.trim(), content: content.trim(), category: known, priority } }
}

function isText(value: unknown, longest: number): value is string {
  return typeof value === 'string' && value.trim() !== '' && value.trim().length <= longest
}

/** The most important first, then the newest. */
export function inOrder(entries: readonly PrivateEntry[]): PrivateEntry[] {
  return entries.toSorted((a, b) => b.priority - a.priority || (a.updatedAt < b.updatedAt ? 1 : -1))
}

export function fits(entry: PrivateEntry, filter: { words: string; category: string; source: string }): boolean {
  const text = `${entry.title}\n${entry.content}`.toLocaleLowerCase()
  const words = filter.words.toLocaleLowerCase().split(/\s+/).filter(Boolean)
  return (
    (filter.category === '' || entry.category === filter.category) &&
    (filter.source === '' || entry.source === filter.source) &&
    words.every((word) => text.includes(word))
  )
}
