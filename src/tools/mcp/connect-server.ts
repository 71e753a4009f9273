import type { CallToolResult, Client, Progress, Transport } from '@modelcontextprotocol/client'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import type { GuardedFetch } from '../../egress/guarded-fetch.ts'
import type { Json } from '../../protocol/json.ts'
import { createAddressTransport } from './address-transport.ts'
import { createProgramTransport } from './program-transport.ts'
import { isProgram, type McpServerSettings } from './server-settings.ts'
import { untilAborted } from './until-aborted.ts'

/** A server that answers. */
export interface McpConnection {
  readonly protocolVersion: string
  readonly serverName: string
  /** Its tools as it lists them now, unchecked. */
  listTools(signal: AbortSignal): Promise<unknown[]>
  callTool(call: {
    name: string
    arguments: { [key: string]: Json }
    signal: AbortSignal
    onProgress(progress: Progress): void
  }): Promise<CallToolResult>
  /** Ends it. Nothing of it is left when this resolves: no process, no open stream. */
  close(): Promise<void>
}

export interface ConnectNeeds {
  /** The value of a variable of this machine's environment. */
  environment: (name: string) => string | undefined
  /** Where programs run. */
  workingDirectory: string
  /** Made for streams: messages are limited here. */
  fetch: GuardedFetch
  /** Of Familiar, as servers are told it. */
  version: string
  clock: Clock
  logger: Logger
}

/** Programs that wait for `initialize` never answer the question that newer ones are asked first. */
const probeMs = 3_000
const mostPages = 20
/** The protocol's own limit, above all of ours. */
const lastResortMs = 15 * 60_000

/**
 * Connects in the newest protocol version that both sides know. Throws what went wrong, in words for the user; nothing
 * is left running then.
 */
export async function connectServer(
  needs: ConnectNeeds & {
    server: string
    settings: McpServerSettings
    signal: AbortSignal
    onListChanged(): void
    /** Once, when the connection is gone, however that came. */
    onClosed(reason: string): void
  },
): Promise<McpConnection> {
  const { server, settings, logger, signal } = needs
  const sdk = await import('@modelcontextprotocol/client')
  let reasonOf = () => ''

  function openTransport(): Transport {
    if (isProgram(settings)) {
      const transport = createProgramTransport({ ...needs, program: settings, parse: sdk.deserializeMessage })
      reasonOf = transport.reason
      return transport
    }
    const Transport = sdk.StreamableHTTPClientTransport
    const { transport, reason } = createAddressTransport({ ...needs, Transport, address: settings })
    reasonOf = reason
    return transport
  }

  function createClient(): Client {
    const client = new sdk.Client(
      { name: 'familiar', version: needs.version },
      {
        // It is asked for nothing: no sampling, no questions to the user, no folders.
        capabilities: {},
        versionNegotiation: { mode: 'auto', probe: { timeoutMs: probeMs } },
        inputRequired: { autoFulfill: false },
        listMaxPages: mostPages,
        // A foreign schema is compiled nowhere: its patterns could take for ever.
        jsonSchemaValidator: {
          getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
        },
        listChanged: { tools: { autoRefresh: false, onChanged: () => needs.onListChanged() } },
      },
    )
    client.onerror = (error) => logger.debug('an MCP server made trouble', { server, error: error.message })
    return client
  }

  async function connect(options: { prior?: { kind: 'legacy' } }): Promise<Client> {
    const client = createClient()
    const transport = openTransport()
    try {
      await untilAborted(client.connect(transport, { timeout: lastResortMs, signal, ...options }), signal)
      return client
    } catch (cause) {
      await transport.close().catch(() => undefined)
      throw cause
    }
  }

  async function connectOrSay(): Promise<Client> {
    try {
      return await connect({}).catch((cause: unknown) => {
        // Some older programs end when they are asked what they do not know. Started again, they are asked the old way.
        const isEra = sdk.SdkError.isInstance(cause) && cause.code === sdk.SdkErrorCode.EraNegotiationFailed
        if (!isProgram(settings) || !isEra || signal.aborted) throw cause
        return connect({ prior: { kind: 'legacy' } })
      })
    } catch (cause) {
      // A program that ended has said more than the protocol can.
      throw reasonOf() ? new Error(reasonOf(), { cause }) : cause
    }
  }

  const client = await connectOrSay()
  client.onclose = () => needs.onClosed(reasonOf() || 'the connection was closed')

  return {
    protocolVersion: client.getNegotiatedProtocolVersion() ?? '',
    serverName: client.getServerVersion()?.name ?? '',
    async listTools(listSignal) {
      const options = { signal: listSignal, timeout: lastResortMs, cacheMode: 'refresh' as const }
      return (await untilAborted(client.listTools(undefined, options), listSignal)).tools
    },
    callTool: ({ name, arguments: given, signal: callSignal, onProgress }) =>
      untilAborted(
        client.callTool(
          { name, arguments: given },
          { signal: callSignal, timeout: lastResortMs, onprogress: onProgress },
        ),
        callSignal,
      ),
    async close() {
      await client.close().catch(() => undefined)
    },
  }
}
