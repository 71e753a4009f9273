import type { Conversations } from '../agent/conversations.ts'
import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import type { Logger } from '../base/logger.ts'
import type { Users } from '../policy/users/users.ts'
import type { Vault } from '../secrets/vault.ts'
import type { Database } from '../storage/database.ts'
import type { DaemonRole, Fleet } from '../storage/fleet.ts'
import type { PostgresDatabase } from '../storage/postgres/open-postgres.ts'
import type { Tables } from '../storage/tables.ts'
import { watchTables } from '../storage/watch-tables.ts'
import type { CapabilityCatalog } from '../tools/capabilities/catalog/catalog.ts'
import type { OpenChannels } from './channels.ts'
import type { OpenTools } from './tools.ts'
import type { OpenWorkspace } from './workspace.ts'

/** What a daemon holds in memory of the database, and does by itself. */
interface Followers {
  users: Pick<Users, 'refresh'>
  vault: Pick<Vault, 'teachRedactor'>
  workspace: Pick<OpenWorkspace, 'readPins' | 'readSchedules'>
  channels: Pick<OpenChannels, 'outbox' | 'catchUp'>
  catalog: Pick<CapabilityCatalog, 'reload'>
  tools: Pick<OpenTools, 'readDecisions'>
  conversations: Pick<Conversations, 'recover'>
}

export interface OpenFleet extends Fleet {
  /** The same database; the others are told where something is written that they hold in memory. */
  tell(database: Database): Database
  /** Whether here or elsewhere: calls after something was written that others hold in memory. */
  onElsewhere(listener: () => void): () => void
  /** From now on what others write is read here too. */
  follow(followers: Followers): void
  /** Calls when this daemon is the one that does what is done once; and then looks after what nobody was asked to do. */
  whenLeading(lead: () => Promise<void>): void
}

type ReadAgain = (followers: Followers) => unknown

const readPins: ReadAgain = ({ workspace }) => workspace.readPins()
const readSchedules: ReadAgain = ({ workspace }) => workspace.readSchedules()
const readCapabilities: ReadAgain = ({ catalog }) => catalog.reload()

/** What is held in memory of which table. */
const readers = new Map<string, ReadAgain>(
  Object.entries({
    users: ({ users }) => users.refresh(),
    secrets: ({ vault }) => vault.teachRedactor(),
    blocks: readPins,
    pins: readPins,
    schedules: readSchedules,
    schedule_runs: readSchedules,
    capabilities: readCapabilities,
    capability_versions: readCapabilities,
    tool_states: ({ tools }) => tools.readDecisions(),
    outbox: ({ channels }) => channels.outbox.wake(),
  } satisfies { [Table in keyof Tables]?: ReadAgain }),
)

/** Whoever died between a commit and its notice left somebody waiting: then this finds it. */
const lookAfterMs = 30_000

/** The daemons that share the database, and what this one does about what they write. */
export async function openFleet(
  postgres: PostgresDatabase,
  options: { role: DaemonRole; clock: Clock; ids: Ids; logger: Logger },
): Promise<OpenFleet> {
  const { clock, logger } = options
  const { joinFleet } = await import('../storage/postgres/fleet/join-fleet.ts')
  const fleet = await joinFleet({ ...options, database: postgres })
  const { notices } = fleet
  let followers: Followers | undefined
  let cancelLook: (() => void) | undefined
  let isLeading = false

  async function read(tables: readonly string[]): Promise<void> {
    if (!followers) return
    for (const reader of new Set(tables.map((table) => readers.get(table)))) await reader?.(followers)
  }

  function report(cause: unknown): void {
    const error = cause instanceof Error ? cause.message : String(cause)
    logger.error('what another daemon wrote could not be read', { error })
  }

  function readAll(): void {
    read([...readers.keys()]).catch(report)
    if (isLeading) followers?.channels.catchUp().catch(report)
  }

  notices.on('written', (data) => {
    if (Array.isArray(data)) read(data.map(String)).catch(report)
  })
  notices.onGap(readAll)

  function lookAfter(): void {
    cancelLook = clock.after(lookAfterMs, () => {
      followers?.conversations.recover().catch(report)
      lookAfter()
    })
  }

  return {
    ...fleet,
    tell: (database) =>
      watchTables(database, (tables) => {
        const held = [...tables].filter((table) => readers.has(table))
        if (held.length > 0) notices.publish('written', held)
      }),
    onElsewhere: (listener) => notices.on('written', listener),
    follow(given) {
      followers = given
      readAll()
    },
    whenLeading(lead) {
      fleet.onLead(() => {
        isLeading = true
        logger.info('this daemon does what is done once: schedules, outbox, channels')
        lead().then(lookAfter, (cause) => {
          logger.error('what is done once could not be begun', { error: String(cause) })
        })
      })
    },
    async close() {
      cancelLook?.()
      await fleet.close()
    },
  }
}
