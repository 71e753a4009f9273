import { type AskedCall, type CallOutcome, carryOut } from './carry-out.ts'
import type { PrivateEntry } from './private-entry.ts'

/** The memory of this browser: an IndexedDB of its own for each user, which no request ever reads. */
export interface PrivateStore {
  list(): Promise<PrivateEntry[]>
  put(entries: readonly PrivateEntry[]): Promise<void>
  remove(id: string): Promise<void>
  /**
   * Does what a call asks and writes down what came of it, in one: asked again, by another tab or after a reload, it answers
   * the same and does nothing.
   */
  carryOut(key: string, call: AskedCall): Promise<{ outcome: CallOutcome; isFirst: boolean }>
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
    async carryOut(key, call) {
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
      const outcome = carryOut(known, call, { id: crypto.randomUUID(), at })
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
    throw new Error('This browser keeps nothing for this page. In a private window it may not.', { cause })
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
    request.onerror = () => reject(request.error ?? new Error('The browser’s store failed.'))
  })
}

function committed(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve()
    transaction.onabort = () => reject(transaction.error ?? new Error('The browser’s store failed.'))
  })
}

function tellHere(): void {
  for (const listener of listeners) listener()
}

function tellEverywhere(): void {
  tellHere()
  news?.postMessage(null)
}
