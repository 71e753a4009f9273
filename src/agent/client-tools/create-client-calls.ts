import type { Clock } from '../../base/clock.ts'
import type { Wakeups } from '../../base/wakeups.ts'
import type { Json } from '../../protocol/json.ts'
import type { ToolDefinition } from '../../protocol/tool.ts'
import type { Database } from '../../storage/database.ts'
import type { ToolView } from '../../tools/registry.ts'
import { CallSuspended, type Tool, type ToolContext, type ToolOutcome } from '../../tools/tool.ts'
import { createClientCallStore, type StoredCall } from './client-call-store.ts'
import type { ClientCall, ClientCalls } from './client-calls.ts'
import { isOurName } from './refuse-our-names.ts'

/** A call that is being waited for in this process. */
interface OpenCall {
  turnId: string
  call: ClientCall
  /** Settled when it is known whether it still waits. */
  asked: PromiseWithResolvers<void>
  isOpen: boolean
}

const anyCall = 'asked'

export function createClientCalls(dependencies: {
  database: Database
  clock: Clock
  timeoutSeconds: () => number
  /** Aborts when the daemon begins to stop. */
  stopping: AbortSignal
  /** Done to every tool of a client, as to every other one. */
  prepareTool(tool: Tool): Tool
  wakeups: Wakeups
  /** Other daemons run turns too: which calls wait the database tells. */
  isShared: boolean
}): ClientCalls {
  const { clock, timeoutSeconds, stopping, prepareTool, wakeups, isShared } = dependencies
  const store = createClientCallStore(dependencies)
  const open = new Set<OpenCall>()

  function expiry(): number {
    return clock.now() + timeoutSeconds() * 1_000
  }

  /** Resolves when `answered` does, or the time is over. Throws where the turn stops or the daemon does. */
  async function settled(answered: Promise<'answered'>, expiresAt: number, signal: AbortSignal) {
    const over = new AbortController()
    const { promise, resolve, reject } = Promise.withResolvers<'late'>()
    const cancel = clock.after(Math.max(0, expiresAt - clock.now()), () => resolve('late'))
    const listen = { once: true, signal: over.signal }
    stopping.addEventListener('abort', () => reject(new CallSuspended()), listen)
    signal.addEventListener('abort', () => reject(signal.reason), listen)
    if (stopping.aborted) reject(new CallSuspended())
    if (signal.aborted) reject(signal.reason)
    try {
      return await Promise.race([answered, promise])
    } finally {
      over.abort()
      cancel()
    }
  }

  async function run(name: string, input: Json, context: ToolContext): Promise<ToolOutcome> {
    const { userId, sessionId, turnId, callId, signal } = context
    const key = { sessionId, callId }
    const seconds = timeoutSeconds()
    const call = { id: callId, name, arguments: input, expiresAt: expiry() }
    // At once, before anything is waited for: whoever hears of the first of several calls sees that there are more.
    const entry: OpenCall = { turnId, call, asked: Promise.withResolvers(), isOpen: true }
    open.add(entry)
    // Listened for before it is asked: the client may have heard of the call where it was written down, and be quick.
    const answered = Promise.withResolvers<'answered'>()
    const unfollow = wakeups.on(topicOf(key), () => answered.resolve('answered'))
    try {
      const asked = await store.ask({ userId, turnId, name, arguments: input, ...key, expiresAt: call.expiresAt })
      entry.isOpen = asked.state === 'asked'
      entry.asked.resolve()
      if (asked.state !== 'asked') return outcomeOf(asked, seconds)
      wakeups.wake(anyCall)
      const end = await settled(answered.promise, call.expiresAt, signal)
      return outcomeOf(end === 'late' ? await store.expire(key) : await store.find(key), seconds)
    } catch (cause) {
      // Stopped: a result that comes now would be nobody's.
      if (signal.aborted && !stopping.aborted) await store.expire(key)
      throw cause
    } finally {
      entry.isOpen = false
      entry.asked.resolve()
      open.delete(entry)
      unfollow()
    }
  }

  function toTool({ name, description, inputSchema }: ToolDefinition): Tool {
    return prepareTool({
      definition: { name, description, inputSchema },
      effect: 'idempotent',
      serial: false,
      core: true,
      aliases: [],
      isClients: true,
      // It may do anything, wherever the client runs (SEC-6).
      reach: () => ({ kind: 'acts', destination: `client:${name}` }),
      async beginIn(writer, { input, ...call }) {
        await store.askIn(writer, { ...call, name, arguments: input, expiresAt: expiry() })
      },
      run: (input, context) => run(name, input, context),
    })
  }

  async function openOf(turnId: string | null): Promise<ClientCall[]> {
    const entries = [...open].filter((entry) => entry.turnId === turnId)
    await Promise.all(entries.map(({ asked }) => asked.promise))
    return entries.filter(({ isOpen }) => isOpen).map(({ call }) => call)
  }

  return {
    addTo(view: ToolView, tools): ToolView {
      const theirs = new Map(tools.map((tool) => [tool.name, toTool(tool)]))
      return {
        find: (name) => (isOurName(view, name) ? undefined : theirs.get(name)) ?? view.find(name),
        // Behind ours: what stays the same from turn to turn stays in front.
        list: () => [
          ...view.list(),
          ...[...theirs.values()].filter(({ definition }) => !isOurName(view, definition.name)),
        ],
      }
    },
    async waitForCalls(turnOf, signal) {
      let wake = Promise.withResolvers<void>()
      const release = () => wake.resolve()
      const unfollow = wakeups.on(anyCall, release)
      signal.addEventListener('abort', release, { once: true })
      try {
        for (;;) {
          signal.throwIfAborted()
          wake = Promise.withResolvers<void>()
          const calls = isShared
            ? await store.waiting(await turnOf())
            : open.size > 0
              ? await openOf(await turnOf())
              : []
          if (calls.length > 0) return calls
          await wake.promise
        }
      } finally {
        unfollow()
        signal.removeEventListener('abort', release)
      }
    },
    async answer(given) {
      const answered = await store.answer(given)
      for (const { callId } of given.results) {
        for (const entry of open) {
          if (entry.call.id === callId && entry.turnId === answered.turnId) entry.isOpen = false
        }
        wakeups.wake(topicOf({ sessionId: given.sessionId, callId }))
      }
      return answered
    },
  }
}

function topicOf({ sessionId, callId }: { sessionId: string; callId: string }): string {
  return `${sessionId}/${callId}`
}

/**
 * Whose words it is: the client is the user's own program with their token, which could send the same as their message.
 * So it is trusted as much as they are, unless it says that it brings words of others; but it is never their word for
 * anything, and always private (SEC-6).
 */
function outcomeOf({ result }: StoredCall, seconds: number): ToolOutcome {
  if (!result) {
    const text = `The client gave no result within ${seconds} seconds. Whether it has done anything is not known: say so.`
    return { text, isError: true, timedOut: true }
  }
  const { text, isError, isUntrusted } = result
  return { text, isError, label: isUntrusted ? 'untrusted' : 'internal', isPrivate: true }
}
