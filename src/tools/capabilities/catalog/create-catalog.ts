import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../../base/clock.ts'
import type { Ids } from '../../../base/ids.ts'
import type { Logger } from '../../../base/logger.ts'
import { createTurnstile } from '../../../base/turnstile.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import type { CapabilityRow } from '../../../storage/capability-tables.ts'
import type { Database } from '../../../storage/database.ts'
import type { Capability } from '../capability.ts'
import type { VersionStore } from '../versions/version-store.ts'
import { createBuildStates } from './build-states.ts'
import { manifestColumns, selectCapabilities, toCapability } from './capability-record.ts'
import type { CapabilityCatalog } from './catalog.ts'
import { createHeldCapabilities } from './held-capabilities.ts'
import { publishVersion } from './publish-version.ts'
import { findRetirements } from './retirement.ts'
import { createRunRecords } from './run-records.ts'
import { createVersionRecords } from './version-records.ts'

/**
 * The catalog over its tables and the directories of versions. A directory is whole before a row names it; a directory
 * that no row names was left by a crash, and goes at the next start.
 */
export function createCapabilityCatalog(dependencies: {
  database: Database
  versions: VersionStore
  clock: Clock
  ids: Ids
  logger: Logger
}): CapabilityCatalog {
  const { database, versions, clock, ids, logger } = dependencies
  const held = createHeldCapabilities()
  const listeners = new Set<(userId: string) => void>()
  const records = createVersionRecords({ database, versions })
  const runs = createRunRecords({ database, clock })
  const states = createBuildStates({ clock, ids })
  // What is read later is newer: rows are looked at one after another, so that nothing old takes the place of it.
  const readInOrder = createTurnstile(1)
  // The number of a version is chosen, its directory written, its row committed: nobody may come in between.
  const changeInOrder = createTurnstile(1)

  async function load(capabilityId: string): Promise<Capability | undefined> {
    return await readInOrder(async () => {
      const row = await selectCapabilities(database.read).where('id', '=', capabilityId).executeTakeFirst()
      if (!row) return undefined
      const capability = toCapability(row)
      held.put(capability)
      return capability
    })
  }

  async function loadChanged(capabilityId: string): Promise<Capability> {
    const capability = await load(capabilityId)
    if (!capability) throw new FamiliarError('not_found', 'There is no such capability.')
    for (const listener of [...listeners]) listener(capability.userId)
    return capability
  }

  function need(userId: string, name: string): Capability {
    const capability = held.find(userId, name)
    if (!capability) throw new FamiliarError('not_found', `There is no capability named ${name}.`)
    return capability
  }

  async function change(id: string, changes: Partial<CapabilityRow>): Promise<Capability> {
    const values = { ...changes, updated_at: clock.now() }
    await database.write((writer) =>
      writer.updateTable('capabilities').set(values).where('id', '=', id).executeTakeFirstOrThrow(),
    )
    return await loadChanged(id)
  }

  return {
    async start() {
      const rows = await selectCapabilities(database.read).execute()
      for (const row of rows) held.put(toCapability(row))
      const known = await records.known()
      const swept = await versions.sweep(known)
      if (swept.length > 0) logger.warn('versions that were never finished were removed', { directories: swept })
      // Of a home that had no shared place before. Nobody here waits for it.
      void versions.share(known).then(
        (count) => count > 0 && logger.info('versions were put into the shared place', { count }),
        (error: unknown) => logger.warn('versions are not in the shared place yet', { error }),
      )
    },
    find: held.find,
    list(userId, { state } = {}) {
      const all = held.list(userId)
      return state === undefined ? all : all.filter((capability) => capability.state === state)
    },
    async version(userId, name, version) {
      const capability = held.find(userId, name)
      const wanted = version ?? capability?.version
      return capability && wanted != null ? await records.find(capability.id, wanted) : undefined
    },
    versionsOf: (capabilities) =>
      records.findAll(
        capabilities.flatMap(({ id, version }) => (version === null ? [] : [{ capabilityId: id, version }])),
      ),
    async versions(userId, name) {
      const capability = held.find(userId, name)
      return capability ? await records.list(capability.id) : []
    },
    read: versions.read,
    async statistics(userId, name) {
      const capability = held.find(userId, name)
      return capability && (await runs.statistics(capability))
    },

    beginBuildIn: states.beginBuildIn,
    endBuildIn: states.endBuildIn,
    async refresh(capabilityId) {
      await loadChanged(capabilityId)
    },
    async reload() {
      const rows = await readInOrder(() => selectCapabilities(database.read).execute())
      const changed = rows
        .map(toCapability)
        .filter((capability) => !isDeepStrictEqual(held.byId(capability.id), capability))
      for (const capability of changed) held.put(capability)
      for (const userId of new Set(changed.map((capability) => capability.userId))) {
        for (const listener of [...listeners]) listener(userId)
      }
    },

    publish: (published) =>
      changeInOrder(async () => {
        const { capabilityId, version } = await publishVersion({ ...dependencies, records }, published)
        return { capability: await loadChanged(capabilityId), version }
      }),

    rollback: (userId, name, version) =>
      changeInOrder(async () => {
        const capability = need(userId, name)
        const wanted = version ?? (await records.before(capability.id, capability.version ?? 0))
        if (wanted === undefined) throw new FamiliarError('conflict', `${name} has no version before this one.`)
        const older = await records.find(capability.id, wanted)
        if (!older) throw new FamiliarError('not_found', `${name} has no version ${wanted}.`)
        // One that is not as it was written must not serve.
        const reading = await versions.read(older)
        if (!reading.ok) throw new FamiliarError('conflict', reading.problem)
        return await change(capability.id, { ...manifestColumns(older.manifest), version: wanted })
      }),
    setEnabled: (userId, name, isEnabled, problem) =>
      changeInOrder(async () => {
        const { id, state, version } = need(userId, name)
        if (version === null) {
          const why = state === 'building' ? 'it is being built for the first time' : 'it was never built'
          throw new FamiliarError('conflict', `${name} cannot be switched ${isEnabled ? 'on' : 'off'}: ${why}.`)
        }
        if (!isEnabled) return await change(id, { state: 'disabled', problem: problem ?? null })
        return state === 'disabled' ? await change(id, { state: 'active', problem: null }) : need(userId, name)
      }),

    async recordRun(capabilityId, input, run) {
      await runs.record(capabilityId, input, run)
      // Nobody is told: what a call changes is no reason to look at the catalog again.
      await load(capabilityId)
    },
    async lastFailure(userId, name) {
      const capability = held.find(userId, name)
      return capability && (await runs.lastFailure(capability.id))
    },
    proposals: (userId) => findRetirements({ database, now: clock.now() }, held.list(userId)),
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
