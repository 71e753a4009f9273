import type { Pool } from 'pg'
import { z } from 'zod'
import { parseJson } from '../../../base/json.ts'
import type { Json } from '../../../protocol/json.ts'
import type { Notices } from '../../notices.ts'

export const noticeChannel = 'familiar'

/** PostgreSQL takes less than 8,000 bytes. */
const mostBytes = 7_900

/** With a name it is parsed once for a connection. */
const notify = { name: 'familiar_notify', text: 'select pg_notify($1, payload) from unnest($2::text[]) as payload' }

const noticeSchema = z.object({ from: z.string(), topic: z.string(), data: z.json() })

/**
 * Notices over NOTIFY. They are sent outside of any transaction that writes: inside, every commit of the database would
 * wait for one lock. `hear` is given what the listening connection receives.
 */
export function createPostgresNotices({
  pool,
  daemonId,
  onFailure,
}: {
  pool: Pick<Pool, 'query'>
  daemonId: string
  onFailure(cause: unknown): void
}): Notices & { hear(payload: string): void; tellGap(): void; flush(): Promise<void> } {
  const listeners = new Map<string, Set<(data: Json) => void>>()
  const gapListeners = new Set<() => void>()
  let waiting: string[] = []
  let sending: Promise<void> | undefined

  async function send(): Promise<void> {
    while (waiting.length > 0) {
      const payloads = waiting
      waiting = []
      await pool.query({ ...notify, values: [noticeChannel, payloads] })
    }
  }

  function flush(): Promise<void> {
    sending ??= send()
      .catch(onFailure)
      .finally(() => {
        sending = undefined
      })
    return sending
  }

  return {
    publish(topic, data) {
      const payload = JSON.stringify({ from: daemonId, topic, data })
      if (Buffer.byteLength(payload) > mostBytes) return
      waiting.push(payload)
      // After what this moment still has to tell.
      if (waiting.length === 1) setImmediate(() => void flush())
    },
    on(topic, listener) {
      const known = listeners.get(topic) ?? new Set()
      listeners.set(topic, known.add(listener))
      return () => void known.delete(listener)
    },
    onGap(listener) {
      gapListeners.add(listener)
      return () => void gapListeners.delete(listener)
    },
    hear(payload) {
      const notice = parseJson(payload, noticeSchema)
      if (!notice.ok || notice.value.from === daemonId) return
      for (const listener of [...(listeners.get(notice.value.topic) ?? [])]) listener(notice.value.data)
    },
    tellGap() {
      for (const listener of [...gapListeners]) listener()
    },
    flush,
  }
}
