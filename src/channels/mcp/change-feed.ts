import { InMemoryServerEventBus, type ServerEventBus } from '@modelcontextprotocol/server'
import type { McpNeeds } from './mcp-needs.ts'

/** Changes come in bursts; one look serves them all. */
const settleMs = 50

/** Tells the clients of a user what has changed of what is theirs, and nobody else. */
export interface ChangeFeed {
  busOf(userId: string): ServerEventBus
  /** Follows one resource from now on. To be let go with the returned function, once. */
  follow(userId: string, uri: string): Promise<() => void>
  close(): void
}

interface Followed {
  followers: number
  /** What it was when somebody last looked; undefined where it is not there. */
  state: string | undefined
}

/** Nothing is looked at while nobody follows anything. */
export function createChangeFeed(
  needs: Pick<McpNeeds, 'onWrite' | 'capabilities' | 'skills' | 'clock' | 'logger'> & {
    /** The same text as long as the resource is the same. */
    stateOf(userId: string, uri: string): Promise<string | undefined>
    /** The same text as long as the list of tools is. */
    toolsOf(userId: string): string
  },
): ChangeFeed {
  const { clock, logger, stateOf, toolsOf } = needs
  const buses = new Map<string, InMemoryServerEventBus>()
  const tools = new Map<string, string>()
  const followed = new Map<string, Map<string, Followed>>()
  let cancelLook: (() => void) | undefined

  function busOf(userId: string): InMemoryServerEventBus {
    const known = buses.get(userId)
    if (known) return known
    const bus = new InMemoryServerEventBus((error) => logger.warn('an MCP client could not be told', { error }))
    buses.set(userId, bus)
    tools.set(userId, toolsOf(userId))
    return bus
  }

  async function look(): Promise<void> {
    for (const [userId, uris] of followed) {
      for (const [uri, entry] of uris) {
        const state = await stateOf(userId, uri)
        if (state === entry.state) continue
        entry.state = state
        busOf(userId).publish({ kind: 'resource_updated', uri })
      }
    }
  }

  function lookSoon(): void {
    if (followed.size === 0 || cancelLook) return
    cancelLook = clock.after(settleMs, () => {
      cancelLook = undefined
      look().catch((error: unknown) => logger.warn('changes for MCP clients were not found', { error }))
    })
  }

  function letGo(userId: string, uri: string): void {
    const uris = followed.get(userId)
    const entry = uris?.get(uri)
    if (!uris || !entry) return
    entry.followers -= 1
    if (entry.followers === 0) uris.delete(uri)
    if (uris.size === 0) followed.delete(userId)
  }

  const unfollow = [
    needs.onWrite(lookSoon),
    needs.skills?.onChange(() => {
      for (const bus of buses.values()) bus.publish({ kind: 'prompts_list_changed' })
    }),
    needs.capabilities?.catalog.onChange((userId) => {
      const now = buses.has(userId) ? toolsOf(userId) : undefined
      if (now === undefined || now === tools.get(userId)) return
      tools.set(userId, now)
      busOf(userId).publish({ kind: 'tools_list_changed' })
    }),
  ]

  return {
    busOf,
    async follow(userId, uri) {
      const uris = followed.get(userId) ?? new Map<string, Followed>()
      followed.set(userId, uris)
      const entry = uris.get(uri)
      if (entry) entry.followers += 1
      else {
        const fresh: Followed = { followers: 1, state: undefined }
        uris.set(uri, fresh)
        fresh.state = await stateOf(userId, uri)
      }
      let isHeld = true
      return () => {
        if (isHeld) letGo(userId, uri)
        isHeld = false
      }
    },
    close() {
      cancelLook?.()
      for (const end of unfollow) end?.()
      followed.clear()
    },
  }
}
