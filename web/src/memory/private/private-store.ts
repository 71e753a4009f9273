import { t } from '../../strings/strings.ts'
import { type AskedCall, type CallOutcome, carryOut } from './client-tools.ts'

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
  /** Its author: Familiar can remove only its own entries. */
  source: 'user' | 'ai'
  /** Familiar may read it while the switch in the chat is on. The user decides, note by note; notes by Familiar begin shared. */
  isShared: boolean
  createdAt: string
  updatedAt: string
}

type EntryWords = Pick<PrivateEntry, 'title' | 'content' | 'category' | 'priority'>

export const maxTitleLength = 100
export const maxContentLength = 10_000

type Read<T> = { ok: true; value: T } | { ok: false; message: string }

/** Checks an entry that a model or a file provides. */
export function readWords(given: unknown): Read<EntryWords> {
  if (typeof given !== 'object' || given === null) return { ok: false, message: t.privateNotes.noteNeedsTitleContent }
  const { title, content, category = 'custom', priority = 5 } = given as Record<string, unknown>
  if (!isText(title, maxTitleLength)) return { ok: false, message: `title: must be 1 to ${maxTitleLength} characters.` }
  if (!isText(content, maxContentLength)) {
    return { ok: false, message: `content: must be 1 to ${maxContentLength.toLocaleString('en')} characters.` }
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

/** The memory of this browser: an IndexedDB of its own for each user, which no request ever reads. */
export interface PrivateStore {
  list(): Promise<PrivateEntry[]>
  put(entries: readonly PrivateEntry[]): Promise<void>
  remove(id: string): Promise<void>
  /**
   * Does what a call asks and writes down what came of it, in one: asked again, by another tab or after a reload, it answers
   * the same and does nothing.
   */
  carryOut(key: string, call: AskedCall, isReadable: boolean): Promise<{ outcome: CallOutcome; isFirst: boolean }>
  /** The daemon knows what came of a call. */
  wasTold(key: string): Promise<boolean>
  noteTold(key: string): Promise<void>
  /** A message went out with the tools of this browser. */
  noteSent(messageId: string): Promise<void>
  wasSentHere(messageIds: readonly string[]): Promise<boolean>
}

interface MadeCall {
  key: string
  text: string
  isError: boolean
  isTold: boolean
  at: string
}

/** Long after the daemon has stopped waiting. */
const keptDays = 7
const opened = new Map<string, Promise<PrivateStore>>()
const news = typeof BroadcastChannel === 'undefined' ? undefined : new BroadcastChannel('familiar.private-memory')
const listeners = new Set<() => void>()
news?.addEventListener('message', () => tellHere())

/** Told after every change, in whichever tab it was made. */
export function onEntriesChanged(listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

export function openPrivateStore(userName: string): Promise<PrivateStore> {
  const known = opened.get(userName)
  if (known) return known
  const store = openDatabase(`familiar.private-memory.${userName}`).then(createStore)
  opened.set(userName, store)
  store.catch(() => opened.delete(userName))
  return store
}

function createStore(database: IDBDatabase): PrivateStore {
  return {
    list: () => done(database.transaction('entries').objectStore('entries').getAll() as IDBRequest<PrivateEntry[]>),
    async put(entries) {
      const transaction = database.transaction('entries', 'readwrite')
      for (const entry of entries) transaction.objectStore('entries').put(entry)
      await committed(transaction)
      tellEverywhere()
    },
    async remove(id) {
      const transaction = database.transaction('entries', 'readwrite')
      transaction.objectStore('entries').delete(id)
      await committed(transaction)
      tellEverywhere()
    },
    async carryOut(key, call, isReadable) {
      const transaction = database.transaction(['entries', 'calls'], 'readwrite')
      const entries = transaction.objectStore('entries')
      const calls = transaction.objectStore('calls')
      const made = await done(calls.get(key) as IDBRequest<MadeCall | undefined>)
      if (made) {
        const { text, isError } = made
        return { outcome: { text, isError, saved: [], removed: [] }, isFirst: false }
      }
      const at = new Date().toISOString()
      const known = await done(entries.getAll() as IDBRequest<PrivateEntry[]>)
      const outcome = carryOut(known, call, { id: crypto.randomUUID(), at, isReadable })
      for (const { id } of outcome.removed) entries.delete(id)
      for (const entry of outcome.saved) entries.put(entry)
      calls.put({ key, text: outcome.text, isError: outcome.isError, isTold: false, at } satisfies MadeCall)
      forgetOld(calls)
      await committed(transaction)
      tellEverywhere()
      return { outcome, isFirst: true }
    },
    async wasTold(key) {
      const made = await done(database.transaction('calls').objectStore('calls').get(key) as IDBRequest<MadeCall>)
      return made?.isTold ?? false
    },
    async noteTold(key) {
      const transaction = database.transaction('calls', 'readwrite')
      const calls = transaction.objectStore('calls')
      const made = await done(calls.get(key) as IDBRequest<MadeCall | undefined>)
      if (made) calls.put({ ...made, isTold: true })
      await committed(transaction)
    },
    async noteSent(id) {
      const transaction = database.transaction('messages', 'readwrite')
      const messages = transaction.objectStore('messages')
      messages.put({ id, at: new Date().toISOString() })
      forgetOld(messages)
      await committed(transaction)
    },
    async wasSentHere(messageIds) {
      const messages = database.transaction('messages').objectStore('messages')
      const found = await Promise.all(messageIds.map((id) => done(messages.count(id))))
      return found.some((count) => count > 0)
    },
  }
}

function openDatabase(name: string): Promise<IDBDatabase> {
  const request = indexedDB.open(name, 1)
  request.onupgradeneeded = () => {
    request.result.createObjectStore('entries', { keyPath: 'id' })
    request.result.createObjectStore('calls', { keyPath: 'key' }).createIndex('at', 'at')
    request.result.createObjectStore('messages', { keyPath: 'id' }).createIndex('at', 'at')
  }
  return done(request).catch((cause: unknown) => {
    throw new Error(t.privateNotes.browserCannotStoreData, { cause })
  })
}

function forgetOld(store: IDBObjectStore): void {
  const oldest = new Date(Date.now() - keptDays * 86_400_000).toISOString()
  const request = store.index('at').openKeyCursor(IDBKeyRange.upperBound(oldest))
  request.onsuccess = () => {
    const cursor = request.result
    if (!cursor) return
    store.delete(cursor.primaryKey)
    cursor.continue()
  }
}

function done<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error ?? new Error(t.privateNotes.browsersStorageFailedReload))
  })
}

function committed(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve()
    transaction.onabort = () => reject(transaction.error ?? new Error(t.privateNotes.browsersStorageFailedReload))
  })
}

function tellHere(): void {
  for (const listener of listeners) listener()
}

function tellEverywhere(): void {
  tellHere()
  news?.postMessage(null)
}

const format = 'familiar-private-memory'

export function toFile(entries: readonly PrivateEntry[], exportedAt: string): string {
  return `${JSON.stringify({ format, version: 1, exported_at: exportedAt, entries }, null, 2)}\n`
}

/** The entries of an export. None is shared until the user shares it here. */
export function readPrivateFile(text: string, now: string): { entries: PrivateEntry[]; leftOut: number } {
  const file = parse(text)
  if (file?.format !== format || !Array.isArray(file.entries)) {
    throw new Error(t.privateNotes.fileExportPrivateNotes)
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

/** The changes of an import: new entries, and newer versions of known ones. */
export function newerOf(here: readonly PrivateEntry[], brought: readonly PrivateEntry[]): PrivateEntry[] {
  const known = new Map(here.map((entry) => [entry.id, entry]))
  return brought.filter(({ id, updatedAt }) => (known.get(id)?.updatedAt ?? '') < updatedAt)
}

const kinds = '(?:full|first|last|real|given|preferred|new)'
const owner = "(?:(?:the\\s+)?user(?:['’]?s)?|my)"
/** Words that may follow it, so that “User name for the router” is another subject. */
const end = '(?:\\s+is\\b.*|\\s*[:=–—-].*)?$'

const ownTitle = new RegExp(`^${owner}\\s+(?:${kinds}\\s+)?name${end}`, 'iu')
const bareTitle = new RegExp(`^(?:${kinds}\\s+)?name${end}`, 'iu')
const ownContent = new RegExp(
  `\\b${owner}\\s+(?:${kinds}\\s+)?name\\s+is\\b|\\b(?:user|they)\\s+(?:is|are|wants? to be|likes? to be|prefers? to be)\\s+called\\b|\\bcall (?:me|the user)\\b`,
  'iu',
)

/** Whether an entry holds the user's own name, not that of a pet, colleague or account (CLIENT-3). */
export function isUsersName({ title, content }: { title: string; content: string }): boolean {
  const name = title.trim()
  return ownTitle.test(name) || (bareTitle.test(name) && ownContent.test(content))
}
