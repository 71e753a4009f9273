import type { CallToolResult, ElicitRequestParams, ElicitResult, Progress } from '@modelcontextprotocol/client'
import type { Clock } from '../../base/clock.ts'
import { untilAborted } from '../../base/work.ts'
import { type CallHost, UserAsked } from './call-host.ts'

/** As long as the answers of a call are kept. */
const parkedMs = 30 * 60_000

interface OpenCall {
  host: CallHost | undefined
  result: Promise<CallToolResult>
  onProgress(progress: Progress): void
  /** Ends the call on the server, too. */
  controller: AbortController
  /** The user has to answer first: the caller gets the question. */
  onAsked(cause: UserAsked): void
  /** Requests of the server that wait for the user. */
  waiting: Set<() => void>
}

/**
 * The calls on one connection, with the server's questions during them.
 *
 * A call whose server asks the user stays open while the turn ends and the user answers. The repeated call continues with
 * it, so that the server does its work once. Another call on the same server ends it: a server's request does not name
 * its call, so only one may be open. The repeated call then starts from the beginning, with the user's answer.
 */
export function createOpenCalls({ clock }: { clock: Clock }) {
  const running = new Set<OpenCall>()
  /** By the call: the same user, session, tool and arguments. */
  const parked = new Map<string, OpenCall>()

  /** With several calls running, a server's request cannot be assigned. */
  function only(): OpenCall | undefined {
    const [call, ...others] = running
    return others.length === 0 ? call : undefined
  }

  function drop(key: string, reason: string): void {
    const call = parked.get(key)
    parked.delete(key)
    if (!call) return
    running.delete(call)
    call.controller.abort(new Error(reason))
  }

  function park(key: string, call: OpenCall): void {
    parked.set(key, call)
    const cancel = clock.after(parkedMs, () => parked.get(key) === call && drop(key, 'The user did not answer in time'))
    const forget = () => {
      cancel()
      if (parked.get(key) === call) parked.delete(key)
    }
    // A server that did not wait for the answer and failed is called again. A result counts, whenever it comes.
    call.result.then(({ isError }) => isError && forget(), forget)
  }

  function start(
    host: CallHost | undefined,
    send: (options: { signal: AbortSignal; onprogress: (progress: Progress) => void }) => Promise<CallToolResult>,
  ): OpenCall {
    for (const key of [...parked.keys()]) drop(key, 'Another call was made')
    const controller = new AbortController()
    const call: OpenCall = {
      host,
      controller,
      onProgress: () => {},
      onAsked: () => {},
      waiting: new Set(),
      result: Promise.reject(new Error('It has not started')),
    }
    call.result.catch(() => {})
    running.add(call)
    call.result = send({ signal: controller.signal, onprogress: (progress) => call.onProgress(progress) })
    call.result.catch(() => {}).finally(() => running.delete(call))
    return call
  }

  return {
    only: () => only()?.host,
    /** The user's answer. Waits for it over the end of the turn, as long as the call is open. */
    async elicit(params: ElicitRequestParams, signal: AbortSignal): Promise<ElicitResult> {
      const call = only()
      if (!call?.host) return { action: 'decline' }
      for (;;) {
        try {
          return await call.host.elicit(params)
        } catch (cause) {
          if (!(cause instanceof UserAsked)) throw cause
          const resumed = Promise.withResolvers<void>()
          call.waiting.add(resumed.resolve)
          call.onAsked(cause)
          await untilAborted(resumed.promise, AbortSignal.any([signal, call.controller.signal]))
        }
      }
    },
    /** Throws `UserAsked` if the user has to answer a question first; the same call then continues with the answer. */
    async run(wanted: {
      /** Without it, all requests of the server are declined. */
      host: CallHost | undefined
      signal: AbortSignal
      onProgress(progress: Progress): void
      send: Parameters<typeof start>[1]
    }): Promise<CallToolResult> {
      const { host, signal, onProgress, send } = wanted
      signal.throwIfAborted()
      const key = host?.key ?? ''
      const known = parked.get(key)
      parked.delete(key)
      const call = known ?? start(host, send)
      const asked = Promise.withResolvers<never>()
      asked.promise.catch(() => {})
      Object.assign(call, { host, onProgress, onAsked: asked.reject })
      const waiting = [...call.waiting]
      call.waiting.clear()
      for (const resume of waiting) resume()
      try {
        const result = await untilAborted(Promise.race([call.result, asked.promise]), signal)
        host?.done()
        return result
      } catch (cause) {
        if (cause instanceof UserAsked) park(key, call)
        else {
          running.delete(call)
          call.controller.abort(signal.aborted ? signal.reason : cause)
        }
        throw cause
      }
    },
  }
}
