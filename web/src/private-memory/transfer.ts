import { type PrivateEntry, readWords } from './private-entry.ts'

const format = 'familiar-private-memory'

export function toFile(entries: readonly PrivateEntry[], exportedAt: string): string {
  return `${JSON.stringify({ format, version: 1, exported_at: exportedAt, entries }, null, 2)}\n`
}

/** The entries of an export, whoever made it: nothing of them is shared before the user says so here. */
export function readFile(text: string, now: string): { entries: PrivateEntry[]; leftOut: number } {
  const file = parse(text)
  if (file?.format !== format || !Array.isArray(file.entries)) {
    throw new Error('This is not an export of a browser’s memory.')
  }
  const read = file.entries.map((given) => readEntry(given, now))
  const entries = read.filter((entry) => entry !== undefined)
  return { entries, leftOut: read.length - entries.length }
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function readEntry(given: unknown, now: string): PrivateEntry | undefined {
  const words = readWords(given)
  if (!words.ok) return undefined
  const { id, source, createdAt, updatedAt } = given as Record<string, unknown>
  return {
    id: typeof id === 'string' && /^[\w-]{1,100}$/.test(id) ? id : crypto.randomUUID(),
    ...words.value,
    source: source === 'ai' ? 'ai' : 'user',
    isShared: false,
    createdAt: timeOf(createdAt, now),
    updatedAt: timeOf(updatedAt, now),
  }
}

function timeOf(value: unknown, now: string): string {
  const time = typeof value === 'string' ? new Date(value) : undefined
  return time && !Number.isNaN(time.getTime()) ? time.toISOString() : now
}

/** What an import changes: what is new, and what is newer than what is here. */
export function newerOf(here: readonly PrivateEntry[], brought: readonly PrivateEntry[]): PrivateEntry[] {
  const known = new Map(here.map((entry) => [entry.id, entry]))
  return brought.filter(({ id, updatedAt }) => (known.get(id)?.updatedAt ?? '') < updatedAt)
}
