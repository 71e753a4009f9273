import type { StreamableHTTPClientTransport, Transport } from '@modelcontextprotocol/client'
import type { Clock } from '../../base/clock.ts'
import type { GuardedFetch } from '../../egress/guarded-fetch.ts'
import { createFloodGate } from './flood-gate.ts'
import { limitAnswer } from './limited-answer.ts'
import type { McpAddress } from './server-settings.ts'

const shortestReconnectMs = 1_000
const longestReconnectMs = 5 * 60_000
/** Of JSON-RPC: an error of whoever carries the messages. */
const brokenOff = -32_000

/** Messages over HTTP, through the guard, each held to a size and all of them to a rate. */
export function createAddressTransport(options: {
  Transport: typeof StreamableHTTPClientTransport
  address: McpAddress
  fetch: GuardedFetch
  clock: Clock
}): { transport: Transport; reason: () => string } {
  const { Transport, address, fetch, clock } = options
  const gate = createFloodGate(clock)
  let reconnects = 0
  let reason = ''

  function breakOff(why: string): void {
    reason = why
    void transport.close()
  }

  const transport = new Transport(new URL(address.url), {
    requestInit: { headers: { ...address.headers } },
    fetch: async (url, init) => limitAnswer(await fetch(url, init), gate, breakOff),
    // A server may ask to be called again at once, for ever. It is called again ever more rarely.
    reconnectionScheduler(reconnect, delay) {
      const backoff = Math.min(longestReconnectMs, shortestReconnectMs * 2 ** reconnects)
      reconnects += 1
      return clock.after(Math.max(delay, backoff), reconnect)
    },
  })
  const send = transport.send.bind(transport)
  transport.send = (message, more) =>
    send(message, {
      ...more,
      // Where the answer ends before the result, whoever waits would wait until it is late. One that has it is not harmed.
      onRequestStreamEnd() {
        more?.onRequestStreamEnd?.()
        if (Array.isArray(message) || !('id' in message) || message.id === undefined) return
        const error = { code: brokenOff, message: 'its answer ended before the result came' }
        transport.onmessage?.({ jsonrpc: '2.0', id: message.id, error })
      },
    })
  return { transport, reason: () => reason }
}
