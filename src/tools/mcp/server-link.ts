import { reasonOf } from '../../base/text.ts'
import { untilAborted } from '../../base/work.ts'
import { UserAsked } from './call-host.ts'
import { type ConnectNeeds, connectServer, type McpConnection } from './connect-server.ts'
import { LoginNeeded, LoginRefused } from './login.ts'
import type { McpOffers, McpServerSettings } from './server-program.ts'
import { type ListedTool, readToolListing, serverFingerprint, type ToolListing } from './tool-listing.ts'

const shortestPauseMs = 1_000
const maxPauseMs = 5 * 60_000
/** A server that hangs this often in a row is restarted. */
const maxTimeouts = 2

export interface LinkLimits {
  connectMs: number
  callMs: number
}

/** Why there is no result. `refused`: the server said no, differs from what was approved, or needs a login. */
export class McpFailure extends Error {
  readonly kind: 'refused' | 'timed_out' | 'unavailable'
  constructor(kind: McpFailure['kind'], message: string, options?: { cause: unknown }) {
    super(message, options)
    this.name = 'McpFailure'
    this.kind = kind
  }
}

/** Started by the first call, and again by the first call after a failure, with growing pauses. */
export type ServerLink = ReturnType<typeof createServerLink>

export function createServerLink(
  needs: ConnectNeeds & {
    server: string
    settings: McpServerSettings
    limits: LinkLimits
    /** Its list, at each start and change. False: it differs from what was approved, and must not be called. */
    onListed(listing: ToolListing, offers: McpOffers): Promise<boolean>
    /** `scope`: what the server asked for; empty if it named none. */
    onLogin(isNeeded: boolean, scope: string): Promise<void>
  },
) {
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
    notBefore = clock.now() + Math.min(maxPauseMs, shortestPauseMs * 2 ** (failures - 1))
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
      await needs.onLogin(false, '')
      return own
    } catch (cause) {
      await own?.close()
      // Retried at the next call, without a pause: the login comes from a command while Familiar runs.
      opening = undefined
      if (cause instanceof McpFailure && cause.kind === 'refused') throw cause
      if (cause instanceof LoginNeeded) throw await loginFailure(cause)
      if (cause instanceof LoginRefused) throw new McpFailure('refused', cause.message)
      const late = `it did not answer within ${limits.connectMs / 1_000} seconds`
      const reason = limit.signal.aborted ? late : describe(cause)
      failed(reason)
      throw new McpFailure('unavailable', `The MCP server ${server} cannot be used: ${reason}.`, { cause })
    } finally {
      limit.stop()
    }
  }

  async function check(connection: McpConnection, signal: AbortSignal): Promise<void> {
    const listing = readToolListing(await connection.listTools(signal))
    if (await needs.onListed(listing, connection.offers)) return
    const why = listing.ok ? 'has changed since it was approved' : `is refused. ${listing.problem}`
    throw new McpFailure('refused', `The MCP server ${server} ${why}. See: familiar mcp show ${server}`)
  }

  /** It reports that its tools have changed. Until they are checked, it is not called. */
  async function checkAgain(connection: McpConnection): Promise<void> {
    const limit = timeLimit(limits.connectMs)
    const checking = check(connection, limit.signal).then(() => connection)
    opening = checking
    try {
      await checking
    } catch (cause) {
      logger.warn('an MCP server is no longer used', { server, reason: describe(cause) })
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
      const message = `The MCP server ${server} is down: ${lastFailure}. The next attempt is possible in ${seconds} seconds.`
      throw new McpFailure('unavailable', message)
    }
    opening ??= open()
    return opening
  }

  return {
    isConnected: () => isOpen,
    /** One request, within the time limit of a call. Throws an `McpFailure`, `UserAsked` or the signal's reason. */
    async request<T>(
      signal: AbortSignal,
      send: (connection: McpConnection, signal: AbortSignal) => Promise<T>,
    ): Promise<T> {
      const own = await untilAborted(connection(), signal)
      const limit = timeLimit(limits.callMs)
      try {
        const result = await send(own, AbortSignal.any([signal, limit.signal]))
        failures = 0
        timeouts = 0
        return result
      } catch (cause) {
        if (signal.aborted) throw signal.reason
        if (cause instanceof UserAsked) throw cause
        if (limit.signal.aborted) {
          timeouts += 1
          if (timeouts >= maxTimeouts) {
            timeouts = 0
            failed('it no longer answers')
            await own.close()
          }
          const message = `The MCP server ${server} did not answer within ${limits.callMs / 1_000} seconds.`
          throw new McpFailure('timed_out', message)
        }
        throw await failureOf(own, cause)
      } finally {
        limit.stop()
      }
    },
    async close(): Promise<void> {
      ending.abort(new Error('Familiar is stopping'))
      const own = await opening?.catch(() => undefined)
      isOpen = false
      await own?.close()
    },
  }

  async function loginFailure(cause: LoginNeeded): Promise<McpFailure> {
    await needs.onLogin(true, cause.scope)
    const message = `The MCP server ${server} cannot be used: ${cause.message}. Only the user can do that, in a terminal.`
    return new McpFailure('refused', message, { cause })
  }

  /** An error from the server is an answer; after any other error the connection is no longer trusted. */
  async function failureOf(own: McpConnection, cause: unknown): Promise<McpFailure> {
    if (cause instanceof LoginNeeded) return await loginFailure(cause)
    if (cause instanceof LoginRefused) return new McpFailure('refused', cause.message)
    const { ProtocolError, SdkError, SdkErrorCode } = await import('@modelcontextprotocol/client')
    // It requested something unsupported, or too often: the connection itself is sound.
    const asksTooMuch =
      SdkError.isInstance(cause) &&
      (cause.code === SdkErrorCode.CapabilityNotSupported || cause.code === SdkErrorCode.InputRequiredRoundsExceeded)
    if (ProtocolError.isInstance(cause) || asksTooMuch)
      return new McpFailure('refused', `The MCP server ${server} refused: ${describe(cause)}`)
    const reason = isOpen ? describe(cause) : lastFailure
    if (isOpen) failed(reason)
    await own.close()
    const message = `The call did not complete: the MCP server ${server} is gone (${reason}).`
    return new McpFailure('unavailable', message, { cause })
  }
}

function describe(cause: unknown): string {
  return reasonOf(cause).slice(0, 500).toWellFormed()
}

export type ServerInspection =
  | ({ ok: true; tools: ListedTool[]; fingerprint: string } & Pick<
      McpConnection,
      'offers' | 'serverName' | 'protocolVersion'
    >)
  | { ok: false; problem: string; needsLogin?: true; scope?: string }

/** Starts a server to read its list, and stops it. For the owner, before an approval. */
export async function inspectServer(
  needs: ConnectNeeds & { server: string; settings: McpServerSettings; signal: AbortSignal },
): Promise<ServerInspection> {
  try {
    const connection = await connectServer({ ...needs, onListChanged: () => undefined, onClosed: () => undefined })
    try {
      const listing = readToolListing(await connection.listTools(needs.signal))
      if (!listing.ok) return listing
      const { serverName, protocolVersion, offers } = connection
      const fingerprint = serverFingerprint(needs.settings, listing.tools)
      return { ok: true, tools: listing.tools, offers, fingerprint, serverName, protocolVersion }
    } finally {
      await connection.close()
    }
  } catch (cause) {
    const needsLogin = cause instanceof LoginNeeded && { needsLogin: true as const }
    const scope = cause instanceof LoginNeeded && cause.scope !== '' && { scope: cause.scope }
    return { ok: false, problem: reasonOf(cause), ...needsLogin, ...scope }
  }
}
