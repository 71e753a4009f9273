import { useEffect } from 'react'
import { ApiError, call, type Input, pageKey, type Reply } from '../api/call.ts'
import { noteSentHere } from '../memory/private/use-client-tools.ts'
import { onConnection } from '../notices/notices.ts'
import { listWaiting, putWaiting, removeWaiting, type WaitingMessage } from './waiting-store.ts'
import { requestSync, startWorker } from './worker.ts'

/**
 * Messages that could not be sent because the daemon was not reached. They stay in this browser over a reload and are sent in
 * order, once each, when it is back. One tab sends at a time.
 */

type Receipt = Reply<'chat.post'>

export type OutboxNews =
  | { kind: 'sent'; key: string; receipt: Receipt }
  /** These are waiting now, and no others. */
  | { kind: 'waiting'; messages: readonly WaitingMessage[] }

const listeners = new Set<(news: OutboxNews) => void>()

export function onOutbox(listener: (news: OutboxNews) => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

function tell(news: OutboxNews): void {
  for (const listener of listeners) listener(news)
}

const alone = <T>(work: () => Promise<T>): Promise<T> =>
  navigator.locks ? navigator.locks.request('familiar.outbox', work) : work()

/** The daemon did not answer, or a proxy in front of it did. */
export function isUnreached(error: unknown): boolean {
  return error instanceof ApiError && [0, 502, 504].includes(error.status)
}

let channel: BroadcastChannel | undefined

/** Other tabs read the store again. */
function changed(): void {
  channel?.postMessage('changed')
}

const firstPauseMs = 2_000
const maxPauseMs = 30_000
let pauseMs = firstPauseMs
let timer: ReturnType<typeof setTimeout> | undefined

/** Tries again later: a request may fail although the stream of notices is there. */
function sendLater(user: string): void {
  clearTimeout(timer)
  timer = setTimeout(() => void sendWaiting(user).catch(() => undefined), pauseMs)
  pauseMs = Math.min(pauseMs * 2, maxPauseMs)
}

let lastOrder = 0

/** Keeps a message before it is sent, so that a crash of the browser in the middle loses nothing. */
export async function keepMessage(message: Omit<WaitingMessage, 'order'>): Promise<void> {
  lastOrder = Math.max(Date.now(), lastOrder + 1)
  await putWaiting({ ...message, order: lastOrder })
}

export async function forgetMessage(key: string): Promise<void> {
  await removeWaiting(key)
  changed()
}

/** The messages of this user. */
export async function waitingOf(user: string): Promise<WaitingMessage[]> {
  return (await listWaiting()).filter((message) => message.user === user)
}

/** Lets the browser send what waits even when the page is closed, where it can do that. */
export async function scheduleSending(user: string): Promise<void> {
  sendLater(user)
  if (!(await requestSync())) return
  const authorization = `Page ${pageKey.get()}`
  for (const message of await waitingOf(user)) {
    if (message.authorization === undefined) await putWaiting({ ...message, authorization })
  }
}

/** Sends what waits, until one cannot be sent. */
async function sendWaiting(user: string): Promise<void> {
  await alone(async () => {
    clearTimeout(timer)
    for (const message of await waitingOf(user)) {
      if (message.error !== undefined) continue
      try {
        const receipt = await call('chat.post', message.body as Input<'chat.post'>)
        await removeWaiting(message.key)
        await noteSentHere(user, receipt.message_id).catch(() => undefined)
        tell({ kind: 'sent', key: message.key, receipt })
        pauseMs = firstPauseMs
      } catch (error) {
        if (!(error instanceof ApiError) || isUnreached(error) || error.status === 401 || error.status === 429) {
          sendLater(user)
          break
        }
        // Refused: it is shown with the reason, and the next ones are sent.
        await putWaiting({ ...message, error: error.message })
      }
    }
    await tellWaiting(user)
    changed()
  })
}

async function tellWaiting(user: string): Promise<void> {
  tell({ kind: 'waiting', messages: await waitingOf(user) })
}

/** False if it was sent meanwhile. */
export async function cancelWaiting(user: string, key: string): Promise<boolean> {
  return alone(async () => {
    const isThere = (await waitingOf(user)).some((message) => message.key === key)
    await removeWaiting(key)
    await tellWaiting(user)
    changed()
    return isThere
  })
}

/** Tries one again that the daemon refused. */
export async function retryWaiting(user: string, key: string): Promise<void> {
  const refused = (await waitingOf(user)).find((message) => message.key === key)
  if (refused) {
    const { error: _, ...message } = refused
    await putWaiting(message)
  }
  await sendWaiting(user)
}

/** Sends what waits when the page opens and each time the daemon is reached again, whichever screen is shown. */
export function useSending(user: string): void {
  useEffect(() => {
    const send = () => void sendWaiting(user).catch(() => undefined)
    send()
    const unfollow = onConnection((isConnected) => isConnected && send())
    const stop = startWorker(send)
    channel = 'BroadcastChannel' in window ? new BroadcastChannel('familiar.outbox') : undefined
    channel?.addEventListener('message', () => void tellWaiting(user).catch(() => undefined))
    return () => {
      clearTimeout(timer)
      channel?.close()
      channel = undefined
      unfollow()
      stop()
    }
  }, [user])
}
