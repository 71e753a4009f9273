import type { Attachment } from '../../../src/protocol/api.ts'

/**
 * The database of this browser for things to do later: messages that could not be sent, content that another app shared with
 * Familiar, and the files of drafts. The page and its service worker use it.
 */

export interface WaitingMessage {
  /** The idempotency key of the message, so that a repeated attempt sends nothing twice. */
  key: string
  /** The name of the signed-in user. Nothing is sent for another one. */
  user: string
  /** The session, or the name of the conversation that it starts. */
  place: string
  isNewConversation: boolean
  text: string
  /** The body of the request. */
  body: Record<string, unknown>
  order: number
  /** The daemon refused it: it is not sent again by itself. */
  error?: string
  /** For the service worker, which cannot read the key of the page. Gone with the message. */
  authorization?: string
}

export interface Shared {
  id: string
  text: string
  files: File[]
}

/** The files of a draft, of one tab. */
interface DraftFiles {
  id: string
  attachments: Attachment[]
  at: number
}

const databaseName = 'familiar.waiting'
/** A draft of a tab that was closed long ago. */
const maxDraftMs = 14 * 24 * 60 * 60_000

type StoreName = 'messages' | 'shared' | 'drafts'
let opening: Promise<IDBDatabase> | undefined

function open(): Promise<IDBDatabase> {
  opening ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(databaseName, 1)
    request.onupgradeneeded = () => {
      request.result.createObjectStore('messages', { keyPath: 'key' })
      request.result.createObjectStore('shared', { keyPath: 'id' })
      request.result.createObjectStore('drafts', { keyPath: 'id' })
    }
    request.onsuccess = () => {
      // Signing out deletes it while other tabs have it open.
      request.result.onversionchange = () => {
        request.result.close()
        opening = undefined
      }
      resolve(request.result)
    }
    request.onerror = () => {
      opening = undefined
      reject(request.error ?? new Error(databaseName))
    }
  })
  return opening
}

async function run<T>(
  store: StoreName,
  mode: IDBTransactionMode,
  work: (store: IDBObjectStore) => IDBRequest<T>,
): Promise<T> {
  const transaction = (await open()).transaction(store, mode)
  const request = work(transaction.objectStore(store))
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve(request.result)
    transaction.onabort = () => reject(transaction.error ?? request.error ?? new Error(store))
    transaction.onerror = () => reject(transaction.error ?? request.error ?? new Error(store))
  })
}

export async function listWaiting(): Promise<WaitingMessage[]> {
  const all = await run<WaitingMessage[]>('messages', 'readonly', (store) => store.getAll())
  return all.sort((one, other) => one.order - other.order)
}

export const putWaiting = (message: WaitingMessage) =>
  run('messages', 'readwrite', (store) => store.put(message)).then(() => undefined)

export const removeWaiting = (key: string) =>
  run('messages', 'readwrite', (store) => store.delete(key)).then(() => undefined)

export const putShared = (shared: Shared) =>
  run('shared', 'readwrite', (store) => store.put(shared)).then(() => undefined)

/** Empties it: what was shared goes into one draft. */
export async function takeShared(): Promise<Shared[]> {
  const all = await run<Shared[]>('shared', 'readonly', (store) => store.getAll())
  if (all.length > 0) await run('shared', 'readwrite', (store) => store.clear())
  return all
}

export const writeDraftFiles = (draft: DraftFiles) =>
  run('drafts', 'readwrite', (store) => store.put(draft)).then(() => undefined)

export const forgetDraftFiles = (id: string) =>
  run('drafts', 'readwrite', (store) => store.delete(id)).then(() => undefined)

export async function readDraftFiles(id: string): Promise<Attachment[]> {
  const all = await run<DraftFiles[]>('drafts', 'readonly', (store) => store.getAll())
  for (const old of all.filter(({ at }) => at < Date.now() - maxDraftMs)) await forgetDraftFiles(old.id)
  return all.find((draft) => draft.id === id)?.attachments ?? []
}

/** Forgets everything, when the user signs out. */
export function deleteWaiting(): Promise<void> {
  return new Promise((resolve) => {
    const request = indexedDB.deleteDatabase(databaseName)
    const done = () => resolve()
    request.onsuccess = done
    request.onerror = done
    request.onblocked = done
  })
}
