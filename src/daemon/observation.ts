import { randomUUID } from 'node:crypto'
import type { Conversations } from '../agent/conversations.ts'
import { type Clock, sleep } from '../base/clock.ts'
import type { WorkContext } from '../base/work-context.ts'
import type { HttpObservation } from '../channels/http/http-observation.ts'

import { createGuardedFetch } from '../egress/guarded-fetch.ts'
import { openTelemetry } from '../monitor/telemetry/open-telemetry.ts'
import type { Telemetry } from '../monitor/telemetry/telemetry.ts'
import type { Database } from '../storage/database.ts'
import { allowedHostOf } from '../tools/builtin/fetches.ts'
import type { TelemetrySettings } from './config/read-telemetry.ts'

export interface Observation {
  telemetry: Telemetry
  http: HttpObservation
  /** From now on `/readyz` says so where the database answers. */
  ready(): void
  /** Takes no work any more; to be said before anything is closed. */
  draining(): void
  /** What is read from those who know it, at each reading. */
  watch(sources: { conversations: Pick<Conversations, 'load'>; database: Database }): void
  close(): Promise<void>
}

const closeWithinMs = 2_000
const databaseWithinMs = 2_000

/** How this daemon is looked at from outside. Opened after the logger and closed before it, so that the last of it is told. */
export function openObservation(dependencies: {
  settings: TelemetrySettings
  work: WorkContext
  version: string
  redact: (text: string) => string
  clock: Clock
}): Observation {
  const { settings, work, version, redact, clock } = dependencies
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

  return {
    telemetry,
    http: { telemetry, health: { isReady: async () => isTaking && (await answers()) } },
    ready() {
      isTaking = true
    },
    draining() {
      isTaking = false
    },
    watch(sources) {
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

/** What is still to be tried, by the index that the outbox itself goes by: what has arrived is never gone through. */
async function countOpenItems({ read }: Database) {
  const rows = await read
    .selectFrom('outbox')
    .select(({ fn }) => ['state', fn.countAll<number>().as('count')])
    .where('next_at', 'is not', null)
    .groupBy('state')
    .execute()
  return rows.map(({ state, count }) => ({ labels: { 'familiar.outbox.state': state }, value: Number(count) }))
}
