import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { parseJson } from '../../base/json.ts'
import type { Database } from '../../storage/database.ts'
import { type ListedTool, listedToolSchema } from './tool-listing.ts'

/** The owner's word for a server, and what it was given for. */
export interface McpApproval {
  isEnabled: boolean
  /** Null where the owner has given none. */
  fingerprint: string | null
  /** As they were when the word was given. */
  tools: ListedTool[]
  /** What is different since, where the server was switched off for it. */
  changes: string[]
}

/** Kept in `tool_states` under `mcp:NAME`. */
export interface McpApprovals {
  read(server: string): Promise<McpApproval>
  approve(server: string, approved: { fingerprint: string; tools: readonly ListedTool[] }): Promise<void>
  /** By the owner's wish, or because it is not what was approved any more: then with the changes. */
  disable(server: string, changes?: readonly string[]): Promise<void>
}

const keptSchema = z.object({ tools: z.array(listedToolSchema), changes: z.array(z.string()) })
const nothing = { tools: [], changes: [] }
const mostChanges = 100

export function createMcpApprovals(dependencies: { database: Database; clock: Clock }): McpApprovals {
  const { database, clock } = dependencies

  async function read(server: string): Promise<McpApproval> {
    const row = await database.read
      .selectFrom('tool_states')
      .selectAll()
      .where('name', '=', rowName(server))
      .executeTakeFirst()
    const kept = parseJson(row?.state ?? JSON.stringify(nothing), keptSchema)
    // What cannot be read was approved by nobody.
    if (!row || !kept.ok) return { isEnabled: false, fingerprint: null, ...nothing }
    return { isEnabled: row.is_enabled === 1, fingerprint: row.fingerprint, ...kept.value }
  }

  async function write(server: string, { isEnabled, fingerprint, tools, changes }: McpApproval): Promise<void> {
    const change = {
      is_enabled: isEnabled ? (1 as const) : (0 as const),
      fingerprint,
      state: JSON.stringify({ tools, changes: changes.slice(0, mostChanges) }),
      updated_at: clock.now(),
    }
    await database.write((writer) =>
      writer
        .insertInto('tool_states')
        .values({ name: rowName(server), hosts: '[]', ...change })
        .onConflict((conflict) => conflict.column('name').doUpdateSet(change))
        .execute(),
    )
  }

  return {
    read,
    approve: (server, { fingerprint, tools }) =>
      write(server, { isEnabled: true, fingerprint, tools: [...tools], changes: [] }),
    async disable(server, changes = []) {
      await write(server, { ...(await read(server)), isEnabled: false, changes: [...changes] })
    },
  }
}

function rowName(server: string): string {
  return `mcp:${server}`
}
