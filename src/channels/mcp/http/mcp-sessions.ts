import { randomBytes } from 'node:crypto'
import { type Server, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import type { Clock } from '../../../base/clock.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import type { ChangeFeed } from '../change-feed.ts'
import type { McpSubscriptions } from '../create-mcp-server.ts'
import { isSameCaller, type McpCaller } from '../mcp-caller.ts'
import { createEventMemory } from './event-memory.ts'

const mostOfOneUser = 128
const mostSubscriptions = 200
const idleMs = 30 * 60_000
const sweepMs = 60_000

interface McpSession {
  id: string
  caller: McpCaller
  transport: WebStandardStreamableHTTPServerTransport
  /** While a request or a stream of it is open it is not idle; to be called once with its end. */
  use(): () => void
  end(): Promise<void>
}

/**
 * Sessions of clients of the older generation. Each belongs to the token that made it: for any other it does not exist.
 * They live in memory: after a restart a client is told so, and begins a new one.
 */
interface McpSessions {
  find(id: string, caller: McpCaller): McpSession | undefined
  /** A new one, to be given the `initialize` request. Of too many of one user, the one that is longest unused ends. */
  open(caller: McpCaller): Promise<McpSession>
  endAll(): Promise<void>
}

export function createMcpSessions(dependencies: {
  serve(caller: McpCaller, subscriptions: McpSubscriptions): Server
  feed: Pick<ChangeFeed, 'busOf' | 'follow'>
  clock: Clock
}): McpSessions {
  const { serve, feed, clock } = dependencies
  const sessions = new Map<string, McpSession & { usedAt: number; open: number }>()
  let cancelSweep: (() => void) | undefined

  function sweep(): void {
    cancelSweep = undefined
    const oldest = clock.now() - idleMs
    for (const session of sessions.values()) if (session.open === 0 && session.usedAt < oldest) void session.end()
    sweepLater()
  }

  function sweepLater(): void {
    if (sessions.size > 0) cancelSweep ??= clock.after(sweepMs, sweep)
  }

  async function makeRoom(userId: string): Promise<void> {
    const own = [...sessions.values()].filter(({ caller }) => caller.userId === userId)
    if (own.length < mostOfOneUser) return
    const [unused] = own.toSorted((a, b) => Math.min(a.open, 1) - Math.min(b.open, 1) || a.usedAt - b.usedAt)
    await unused?.end()
  }

  return {
    find(id, caller) {
      const session = sessions.get(id)
      return session && isSameCaller(session.caller, caller) ? session : undefined
    },

    async open(caller) {
      await makeRoom(caller.userId)
      const id = randomBytes(32).toString('base64url')
      const followed = new Map<string, () => void>()
      const server = serve(caller, {
        async add(uri) {
          if (followed.has(uri)) return
          if (followed.size >= mostSubscriptions) {
            throw new FamiliarError('bad_request', `A session follows ${mostSubscriptions} resources at most`)
          }
          const letGo = await feed.follow(caller.userId, uri)
          if (followed.has(uri)) letGo()
          else followed.set(uri, letGo)
        },
        remove(uri) {
          followed.get(uri)?.()
          followed.delete(uri)
        },
      })
      const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: () => id,
        eventStore: createEventMemory(),
      })
      const unsubscribe = feed.busOf(caller.userId).subscribe((event) => {
        if (event.kind === 'tools_list_changed') void server.sendToolListChanged().catch(() => undefined)
        if (event.kind === 'prompts_list_changed') void server.sendPromptListChanged().catch(() => undefined)
        if (event.kind === 'resource_updated' && followed.has(event.uri)) {
          void server.sendResourceUpdated({ uri: event.uri }).catch(() => undefined)
        }
      })
      // Whoever closes it: the client, time, or the end of the daemon.
      server.onclose = () => {
        sessions.delete(id)
        unsubscribe()
        for (const letGo of followed.values()) letGo()
        followed.clear()
      }
      await server.connect(transport)
      const session = {
        id,
        caller,
        transport,
        usedAt: clock.now(),
        open: 0,
        use() {
          session.usedAt = clock.now()
          session.open += 1
          return () => {
            session.open -= 1
            session.usedAt = clock.now()
          }
        },
        end: () => server.close(),
      }
      sessions.set(id, session)
      sweepLater()
      return session
    },

    async endAll() {
      cancelSweep?.()
      await Promise.all([...sessions.values()].map((session) => session.end()))
    },
  }
}
