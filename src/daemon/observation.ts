import { randomUUID } from 'node:crypto'
import type { Conversations } from '../agent/conversations.ts'
import { type Clock, sleep } from '../base/clock.ts'
import { openTelemetry } from '../base/telemetry/open-telemetry.ts'
import type { WorkContext } from '../base/work.ts'
import { createGuardedFetch } from '../security/network/guarded-fetch.ts'
import type { Database } from '../storage/database.ts'
import { allowedHostOf } from '../tools/builtin/fetches.ts'
import type { RestartConfig } from './config/config.ts'

const closeWithinMs = 2_000
const databaseWithinMs = 2_000
/** With less, a message could not be stored, and nothing unstored is acknowledged. */
const leastFreeBytes = 16 * 1024 * 1024

/** Monitoring of this daemon. Opened after the logger and closed before it, so that the last data is sent. */
export function openObservation(dependencies: {
  settings: RestartConfig['telemetry']
  work: WorkContext
  version: string
  redact: (text: string) => string
  clock: Clock
  /** On the disk of the home. */
  freeBytes(): Promise<number>
}) {
  const { settings, work, version, redact, clock, freeBytes } = dependencies
  const targets = [settings.traces, settings.metrics].flatMap((url) => (url === null ? [] : [new URL(url)]))
  const fetch = createGuardedFetch({ allowedHosts: targets.map(allowedHostOf), maxRedirects: 0 })
  const { telemetry, close } = openTelemetry({
    settings,
    resource: { 'service.version': version, 'service.instance.id': randomUUID(), ...settings.resource },
    work,
    fetch,
    redact,
    clock,
  })
  let isTaking = false
  let database: Database | undefined

  async function answers(): Promise<boolean> {
    const asked = database?.read.selectFrom('users').select('id').limit(1).execute()
    const late = sleep(clock, databaseWithinMs).then(() => undefined)
    return (await Promise.race([asked, late]).catch(() => undefined)) !== undefined
  }

  /** A failed query does not count: the database reports its own problems. */
  const hasRoom = async () => (await freeBytes().catch(() => Number.POSITIVE_INFINITY)) >= leastFreeBytes

  return {
    telemetry,
    http: { telemetry, health: { isReady: async () => isTaking && (await hasRoom()) && (await answers()) } },
    /** From now on `/readyz` reports ready if the database answers. */
    ready() {
      isTaking = true
    },
    /** Accepts no more work; called before anything is closed. */
    draining() {
      isTaking = false
    },
    /** Sources of metrics that are read at each reading. */
    watch(sources: { conversations: Pick<Conversations, 'load'>; database: Database }) {
      database = sources.database
      const { load } = sources.conversations
      telemetry.observe('familiar.turns.running', () => [{ value: load().running }])
      telemetry.observe('familiar.messages.waiting', () => [{ value: load().waiting }])
      telemetry.observe('familiar.outbox.items', () => countOpenItems(sources.database))
    },
    async close() {
      await close(closeWithinMs)
      await fetch.close()
    },
  }
}

/** Pending items, by the outbox's own index: delivered ones are not read. */
async function countOpenItems({ read }: Database) {
  const rows = await read
    .selectFrom('outbox')
    .select(({ fn }) => ['state', fn.countAll<number>().as('count')])
    .where('next_at', 'is not', null)
    .groupBy('state')
    .execute()
  return rows.map(({ state, count }) => ({ labels: { 'familiar.outbox.state': state }, value: Number(count) }))
}
