import { setTimeout as wait } from 'node:timers/promises'
import type { ChatReply, ErrorReply, StatusReply } from '../../src/protocol/api.ts'
import type { SentMessage } from './audit/evidence.ts'
import { type Errand, textOfErrand } from './errand.ts'

export interface Delivery {
  errand: Errand
  session: string
  source?: string
  sender?: string
}

/** Someone who wants to be heard: sends a message again, under the same key, until it is acknowledged. */
export interface Client {
  /** All that was ever sent, with what is known of its arrival. */
  messages: SentMessage[]
  /** Leaves the message; resolves when it is acknowledged. */
  notify(delivery: Delivery): Promise<void>
  /** Resolves with the reply, or the question, that ends the message's turn. */
  chat(delivery: Delivery): Promise<string>
  /** Sends it once and without a key; undefined where no answer comes. Whether it arrived is then not known. */
  chatOnce(delivery: Delivery): Promise<string | undefined>
  /** One attempt, whatever comes of it. */
  attempt(path: string, delivery: Delivery): Promise<Attempt>
  /** Running turns and waiting messages; undefined if the daemon does not answer. */
  load(): Promise<number | undefined>
}

export type Attempt = { status: number; body: unknown } | { status: 0; body: null }

const patienceMs = 3

export function createClient(options: {
  /** Asked at every attempt: there may be several daemons. */
  url: string | (() => string)
  token: string
  earlier?: readonly SentMessage[]
  signal?: AbortSignal
}): Client {
  const { signal } = options
  const urlNow = typeof options.url === 'string' ? () => options.url : options.url
  const headers = { authorization: `Bearer ${options.token}`, 'content-type': 'application/json' }
  const messages = (options.earlier ?? []).map((message) => ({ ...message }))
  let ordinal = Math.max(0, ...messages.map((message) => message.acknowledgedAt ?? message.sentAt))

  function remember({ errand }: Delivery, key: string | null = `key of ${errand.token}`): SentMessage {
    const known = messages.find((message) => message.token === errand.token)
    if (known) return known
    ordinal += 1
    const text = textOfErrand(errand)
    const message: SentMessage = { key, token: errand.token, text, sentAt: ordinal, acknowledgedAt: undefined }
    messages.push(message)
    return message
  }

  async function attempt(path: string, delivery: Delivery): Promise<Attempt> {
    const { session, source = 'http', sender = 'ada' } = delivery
    const { key, text } = remember(delivery)
    const body = JSON.stringify({ message: text, session, source, sender, ...(key !== null && { key }) })
    try {
      const response = await fetch(`${urlNow()}${path}`, { method: 'POST', headers, body })
      return { status: response.status, body: await response.json() }
    } catch {
      // Unreachable, or gone in the middle of its response.
      return { status: 0, body: null }
    }
  }

  function acknowledge(delivery: Delivery): SentMessage {
    const message = remember(delivery)
    ordinal += 1
    message.acknowledgedAt ??= ordinal
    return message
  }

  async function insist(path: string, delivery: Delivery): Promise<unknown> {
    for (;;) {
      signal?.throwIfAborted()
      const { status, body } = await attempt(path, delivery)
      if (status >= 200 && status < 300) {
        acknowledge(delivery)
        return body
      }
      // Gone, stopping, full or busy: those pass. Anything else is an answer that no retry changes.
      if (![0, 429, 503].includes(status)) throw new Error(`${status}: ${(body as ErrorReply).error}`)
      await wait(patienceMs)
    }
  }

  return {
    messages,
    attempt,
    async notify(delivery) {
      await insist('/api/v1/notify', delivery)
    },
    async chat(delivery) {
      const { reply } = (await insist('/api/v1/chat', delivery)) as ChatReply
      remember(delivery).reply = reply
      return reply
    },
    async chatOnce(delivery) {
      remember(delivery, null)
      const { status, body } = await attempt('/api/v1/chat', delivery)
      if (status === 0) return undefined
      if (status !== 200) throw new Error(`${status}: ${(body as ErrorReply).error}`)
      const { reply } = body as ChatReply
      acknowledge(delivery).reply = reply
      return reply
    },
    async load() {
      try {
        const status = (await (await fetch(`${urlNow()}/api/v1/status`, { headers })).json()) as StatusReply
        return status.stats && status.stats.turns_running + status.stats.messages_waiting
      } catch {
        return undefined
      }
    },
  }
}
