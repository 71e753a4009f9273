import { join } from 'node:path'
import type { Conversations } from '../agent/conversations.ts'
import type { Clock } from '../base/clock.ts'
import { type Ids, sha256 } from '../base/ids.ts'
import type { Logger } from '../base/logger.ts'
import { reasonOf } from '../base/text.ts'
import type { CapabilityCatalog } from '../custom-tools/built-catalog.ts'
import type { DaemonRole } from '../fleet/fleet.ts'
import type { Fleet } from '../fleet/join-fleet.ts'
import { bucketAddress, createAskS3, createS3Blobs, type S3Settings } from '../fleet/s3.ts'
import { createCachedBlobs, type SharedPlace } from '../fleet/shared-files.ts'
import { createGuardedFetch } from '../security/network/guarded-fetch.ts'
import type { Users } from '../security/users.ts'
import type { Vault } from '../security/vault.ts'
import { type BlobStore, createDirectoryBlobs, folderOf, maxBlobBytes } from '../storage/blobs.ts'
import { type Database, watchTables } from '../storage/database.ts'
import type { PostgresDatabase } from '../storage/postgres/open-postgres.ts'
import type { Tables } from '../storage/tables.ts'
import type { OpenChannels } from './channels.ts'
import type { SharedSettings } from './config/load-config.ts'
import type { Component } from './daemon.ts'
import type { OpenTools } from './tools.ts'
import type { OpenWorkspace } from './workspace.ts'

/** The caches and background jobs of a daemon that depend on the database. */
interface Followers {
  users: Pick<Users, 'refresh'>
  vault: Pick<Vault, 'teachRedactor'>
  workspace: Pick<OpenWorkspace, 'readPins' | 'readSchedules'>
  channels: Pick<OpenChannels, 'outbox' | 'catchUp'>
  catalog: Pick<CapabilityCatalog, 'reload'>
  tools: Pick<OpenTools, 'readDecisions'>
  conversations: Pick<Conversations, 'recover'>
}

type OpenFleet = Awaited<ReturnType<typeof openFleet>>

/** For a database of its own. */
export const soleDaemon: OpenFleet = {
  fleet: undefined,
  role: 'all',
  lost: new Promise(() => undefined),
  tell: (database) => database,
  onElsewhere: () => () => undefined,
  follow() {},
  whenLeading: (lead) => lead(),
  tellConfig() {},
  onConfig() {},
  async drain() {},
  async stop() {},
}

type ReadAgain = (followers: Followers) => unknown

const readPins: ReadAgain = ({ workspace }) => workspace.readPins()
const readSchedules: ReadAgain = ({ workspace }) => workspace.readSchedules()
const readCapabilities: ReadAgain = ({ catalog }) => catalog.reload()

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

/** A daemon that died between a commit and its notice left waiters behind; this finds them. */
const lookAfterMs = 30_000

/** The daemons that share the database, and what this one does about what they write. */
export async function openFleet(
  postgres: PostgresDatabase,
  options: { role: DaemonRole; clock: Clock; ids: Ids; logger: Logger },
) {
  const { clock, logger } = options
  const { joinFleet } = await import('../fleet/join-fleet.ts')
  const fleet = await joinFleet({ ...options, database: postgres })
  const { notices } = fleet
  let followers: Followers | undefined
  let cancelLook: (() => void) | undefined
  let isLeading = false

  async function read(tables: readonly string[]): Promise<void> {
    if (!followers) return
    for (const reader of new Set(tables.map((table) => readers.get(table)))) await reader?.(followers)
  }

  const report = (cause: unknown) =>
    logger.error('could not read the changes of another daemon', { error: reasonOf(cause) })

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
    /** For the coordination of turns; undefined for a single daemon. */
    fleet: fleet as Fleet | undefined,
    role: fleet.role,
    lost: fleet.lost,
    /** The same database; the other daemons hear of writes to tables that they hold in memory. */
    tell: (database: Database) =>
      watchTables(database, (tables) => {
        const held = [...tables].filter((table) => readers.has(table))
        if (held.length > 0) notices.publish('written', held)
      }),
    /** Called after another daemon wrote to such a table. */
    onElsewhere: (listener: () => void) => notices.on('written', listener),
    /** From now on this daemon reads again what others write. */
    follow(given: Followers) {
      followers = given
      readAll()
    },
    tellConfig: () => notices.publish('config', null),
    onConfig: (listener: () => void) => void notices.on('config', listener),
    /** Takes no further job; resolves when none is in progress. */
    drain: fleet.jobs.drain,
    /** Calls `lead` when this daemon is the one for duties that one daemon does. */
    async whenLeading(lead: () => Promise<void>) {
      if (fleet.role === 'api') return
      fleet.onLead(() => {
        isLeading = true
        logger.info('this daemon now leads: schedules, outbox, channels')
        lead().then(lookAfter, (cause) => {
          logger.error('could not start the duties of the leader', { error: String(cause) })
        })
      })
    },
    async stop() {
      cancelLook?.()
      await fleet.close()
    },
  }
}

/** The storage of `[shared]`. It is not accessed yet. */
export function openSharedPlace(options: {
  settings: SharedSettings
  /** Only for this daemon: the cache of recently used files. */
  cacheDirectory: string
  clock: Clock
  random: () => number
}): SharedPlace & Component {
  const { settings, cacheDirectory } = options
  if (settings.kind === 'directory') return partsOf(createDirectoryBlobs(settings))
  const { ask, close } = openS3({ ...options, s3: settings.s3 })
  const parts = partsOf(createS3Blobs({ ask, prefix: () => settings.s3.prefix }))
  const media = createCachedBlobs({
    store: parts.media,
    directory: join(cacheDirectory, 'media'),
    mostBytes: settings.cacheMegabytes * 1024 ** 2,
    isSound: (name, bytes) => sha256(bytes) === name,
  })
  return { ...parts, media, stop: close }
}

/** Requests to one bucket, which can reach its host and no other on the owner's own network. */
export function openS3(options: { s3: S3Settings; clock: Clock; random: () => number; timeoutMs?: number }) {
  const { s3, clock, random, timeoutMs = 120_000 } = options
  const { hostname, port, protocol } = new URL(bucketAddress(s3))
  const allowedHosts = [{ host: hostname, port: Number(port) || (protocol === 'http:' ? 80 : 443) }]
  const fetch = createGuardedFetch({ allowedHosts, maxBytes: maxBlobBytes, timeoutMs, clock })
  return { ask: createAskS3({ settings: () => s3, fetch, clock, random }), close: fetch.close }
}

function partsOf(store: BlobStore): SharedPlace {
  return { media: folderOf(store, 'media'), capabilities: folderOf(store, 'capabilities') }
}
