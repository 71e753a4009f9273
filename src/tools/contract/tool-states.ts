import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { parseJson } from '../../base/json.ts'
import type { Database } from '../../storage/database.ts'
import type { ToolStateRow } from '../../storage/tables.ts'

/** What the owner has decided about a tool. */
export interface ToolState {
  isEnabled: boolean
  /** What it was when the owner's word was given; null where it was not. */
  fingerprint: string | null
  /** Hosts that the owner lets it reach beside those that it declares. */
  hosts: readonly string[]
}

/** One of this home, for all its users. */
export interface ToolStates {
  all(): Promise<ReadonlyMap<string, ToolState>>
  /** What is left out stays as it is; for a tool without a state, off and without hosts. */
  write(name: string, change: Partial<ToolState>): Promise<void>
}

const hostsSchema = z.array(z.string())

export function createToolStates(dependencies: { database: Database; clock: Clock }): ToolStates {
  const { database, clock } = dependencies
  return {
    async all() {
      const rows = await database.read.selectFrom('tool_states').selectAll().execute()
      return new Map(rows.map((row) => [row.name, toState(row)]))
    },
    async write(name, { isEnabled, fingerprint, hosts }) {
      const change = {
        ...(isEnabled !== undefined && { is_enabled: isEnabled ? (1 as const) : (0 as const) }),
        ...(fingerprint !== undefined && { fingerprint }),
        ...(hosts !== undefined && { hosts: JSON.stringify(hosts) }),
        updated_at: clock.now(),
      }
      const row: ToolStateRow = { name, is_enabled: 0, fingerprint: null, hosts: '[]', state: null, ...change }
      await database.write((writer) =>
        writer
          .insertInto('tool_states')
          .values(row)
          .onConflict((conflict) => conflict.column('name').doUpdateSet(change))
          .execute(),
      )
    },
  }
}

function toState(row: ToolStateRow): ToolState {
  const hosts = parseJson(row.hosts, hostsSchema)
  return { isEnabled: row.is_enabled === 1, fingerprint: row.fingerprint, hosts: hosts.ok ? hosts.value : [] }
}
