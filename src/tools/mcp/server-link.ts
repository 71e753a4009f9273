import type { CallToolResult } from '@modelcontextprotocol/client'
import { type ConnectNeeds, connectServer, type McpConnection } from './connect-server.ts'
import type { McpServerSettings } from './server-settings.ts'
import { readToolListing, type ToolListing } from './tool-listing.ts'
import { untilAborted } from './until-aborted.ts'

const shortestPauseMs = 1_000
const longestPauseMs = 5 * 60_000
/** A server that hangs this often, one call after another, is started anew. */
const mostTimeouts = 2

export interface LinkLimits {
  /** To start it and to hear what it has. */
  connectMs: number
  callMs: number
}

/** Why there is no result. `refused`: the server said no, or is not what was approved. */
export class McpFailure extends Error {
  readonly kind: 'refused' | 'timed_out' | 'unavailable'
  constructor(kind: McpFailure['kind'], message: string, options?: { cause: unknown }) {
    super(message, options)
    this.name = 'McpFailure'
    this.kind = kind
  }
}

type Call = Parameters<McpConnection['callTool']>[0]

/**
 * The way to one server: started by the first call, and by the first call after it went down, ever more rarely where it
 * keeps going down. Nothing restarts by itself.
 */
export interface ServerLink {
  /** Throws an `McpFailure`, or the signal's reason. */
  call(call: Call): Promise<CallToolResult>
  isConnected(): boolean
  close(): Promise<void>
}

export function createServerLink(
  needs: ConnectNeeds & {
    server: string
    settings: McpServerSettings
    limits: LinkLimits
    /** What it lists, at each start and when it changes. False: it is not what was approved, and must not be called. */
    onListed(listing: ToolListing): Promise<boolean>
  },
): ServerLink {
  const { server, limits, clock, logger } = needs
  let opening: Promise<McpConnection> | undefined
  let isOpen = false
  const ending = new AbortController()
  let failures = 0
  let notBefore = 0
  let lastFailure = ''
  let timeouts = 0

  function failed(reason: string): void {
    opening = undefined
    isOpen = false
    failures += 1
    lastFailure = reason
    notBefore = clock.now() + Math.min(longestPauseMs, shortestPauseMs * 2 ** (failures - 1))
    if (!ending.signal.aborted) logger.warn('an MCP server is down', { server, reason, failures })
  }

  async function open(): Promise<McpConnection> {
    const limit = timeLimit(limits.connectMs)
    const signal = AbortSignal.any([limit.signal, ending.signal])
    let own: McpConnection | undefined
    try {
      own = await connectServer({
        ...needs,
        signal,
        onListChanged: () => void (own && checkAgain(own)),
        onClosed(reason) {
          if (own && isOpen) failed(reason)
        },
      })
      await check(own, signal)
      isOpen = true
      return own
    } catch (cause) {
      await own?.close()
      if (cause instanceof McpFailure && cause.kind === 'refused') {
        opening = undefined
        throw cause
      }
      const reason = limit.signal.aborted
        ? `it did not answer within ${limits.connectMs / 1_000} seconds`
        : describe(cause)
      failed(reason)
      throw new McpFailure('unavailable', `The MCP server ${server} cannot be used: ${reason}.`, { cause })
    } finally {
      limit.stop()
    }
  }

  async function check(connection: McpConnection, signal: AbortSignal): Promise<void> {
    const listing = readToolListing(await connection.listTools(signal))
    if (await needs.onListed(listing)) return
    const why = listing.ok ? 'has changed since it was approved' : `is refused. ${listing.problem}`
    throw new McpFailure('refused', `The MCP server ${server} ${why}. See: familiar mcp show ${server}`)
  }

  /** It says that its tools have changed. Whatever it is that has changed, it is not called meanwhile. */
  async function checkAgain(connection: McpConnection): Promise<void> {
    const limit = timeLimit(limits.connectMs)
    const checking = check(connection, limit.signal).then(() => connection)
    opening = checking
    try {
      await checking
    } catch (cause) {
      logger.warn('an MCP server is not used any more', { server, reason: describe(cause) })
      if (opening === checking) opening = undefined
      isOpen = false
      await connection.close()
    } finally {
      limit.stop()
    }
  }

  function timeLimit(milliseconds: number): { signal: AbortSignal; stop: () => void } {
    const controller = new AbortController()
    return { signal: controller.signal, stop: clock.after(milliseconds, () => controller.abort(new Error('too late'))) }
  }

  function connection(): Promise<McpConnection> {
    if (ending.signal.aborted) throw new McpFailure('unavailable', 'Familiar is stopping.')
    const pause = notBefore - clock.now()
    if (!opening && pause > 0) {
      const seconds = Math.ceil(pause / 1_000)
      const message = `The MCP server ${server} is down: ${lastFailure}. It is tried again in ${seconds} seconds at the earliest.`
      throw new McpFailure('unavailable', message)
    }
    opening ??= open()
    return opening
  }

  return {
    isConnected: () => isOpen,
    async call(call) {
      const own = await untilAborted(connection(), call.signal)
      const limit = timeLimit(limits.callMs)
      try {
        const signal = AbortSignal.any([call.signal, limit.signal])
        const result = await own.callTool({ ...call, signal })
        failures = 0
        timeouts = 0
        return result
      } catch (cause) {
        if (call.signal.aborted) throw call.signal.reason
        if (limit.signal.aborted) {
          timeouts += 1
          if (timeouts >= mostTimeouts) await hangUp(own)
          throw new McpFailure(
            'timed_out',
            `The MCP server ${server} did not answer within ${limits.callMs / 1_000} seconds.`,
          )
        }
        throw await failureOf(own, cause)
      } finally {
        limit.stop()
      }
    },
    async close() {
      ending.abort(new Error('Familiar is stopping'))
      const own = await opening?.catch(() => undefined)
      isOpen = false
      await own?.close()
    },
  }

  async function hangUp(own: McpConnection): Promise<void> {
    timeouts = 0
    failed('it does not answer any more')
    await own.close()
  }

  /** An error that the server sent is an answer; after any other, the connection is not trusted any more. */
  async function failureOf(own: McpConnection, cause: unknown): Promise<McpFailure> {
    const { ProtocolError } = await import('@modelcontextprotocol/client')
    if (ProtocolError.isInstance(cause))
      return new McpFailure('refused', `The MCP server ${server} refused: ${describe(cause)}`)
    const reason = isOpen ? describe(cause) : lastFailure
    if (isOpen) failed(reason)
    await own.close()
    return new McpFailure('unavailable', `The call did not end: the MCP server ${server} is gone (${reason}).`, {
      cause,
    })
  }
}

function describe(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : String(cause)
  return text.slice(0, 500).toWellFormed()
}
