import { type ConnectNeeds, connectServer } from './connect-server.ts'
import { fingerprintOf } from './fingerprint.ts'
import type { McpServerSettings } from './server-settings.ts'
import { type ListedTool, readToolListing } from './tool-listing.ts'

export type Inspection =
  | { ok: true; tools: ListedTool[]; fingerprint: string; serverName: string; protocolVersion: string }
  | { ok: false; problem: string }

/** Starts a server to see what it brings, and ends it. For the owner, who is about to say a word for it or not. */
export async function inspectServer(
  needs: ConnectNeeds & { server: string; settings: McpServerSettings; signal: AbortSignal },
): Promise<Inspection> {
  try {
    const connection = await connectServer({ ...needs, onListChanged: () => undefined, onClosed: () => undefined })
    try {
      const listing = readToolListing(await connection.listTools(needs.signal))
      if (!listing.ok) return listing
      const { serverName, protocolVersion } = connection
      const fingerprint = fingerprintOf(needs.settings, listing.tools)
      return { ok: true, tools: listing.tools, fingerprint, serverName, protocolVersion }
    } finally {
      await connection.close()
    }
  } catch (cause) {
    return { ok: false, problem: cause instanceof Error ? cause.message : String(cause) }
  }
}
