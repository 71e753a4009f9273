import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import { camelKeys, parseAnyJson } from '../base/json.ts'
import type { Logger } from '../base/logger.ts'
import { toStorableText } from '../base/text.ts'
import { createTurnstile } from '../base/work.ts'
import type { CapabilityStatistics, RetirementProposal } from '../protocol/custom-tools.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { Json } from '../protocol/messages.ts'
import { type Database, fromVectorBytes, type Reader, vectorNumbers, type Writer } from '../storage/database.ts'
import type { CapabilityRow } from '../storage/feature-tables.ts'
import type { CapabilityRun } from './execute.ts'
import { type CapabilityManifest, jsonObjectSchema, permissionsSchema } from './manifest.ts'
import type { CapabilityFiles } from './tool-folder.ts'
import { createVectorTable, duplicateFrom, unpackVectors } from './tool-vectors.ts'
import {
  type CapabilityVersion,
  createVersionRecords,
  readColumn,
  type VersionKey,
  type VersionRecords,
  type VersionStore,
} from './versions.ts'

export type CapabilityState = CapabilityRow['state']
export type CapabilityOrigin = CapabilityRow['origin']

/** One line of the catalog. With `building` and a version, an older version serves meanwhile. */
export type Capability = ReturnType<typeof toCapability>

/** As the model calls it. */
export function toolNameOf(name: string): string {
  return `cap_${name}`
}

/** The owner under which the vault has the secrets of a capability. */
export function secretOwnerOf(name: string): string {
  return `capability:${name}`
}

/** Whether it can be called: while a new version is built the old one serves. */
export function serves({ state, version }: Capability): boolean {
  return version !== null && (state === 'active' || state === 'building')
}

function selectCapabilities(reader: Reader | Writer) {
  return reader.selectFrom('capabilities').selectAll()
}

function findNamed(reader: Reader | Writer, userId: string, name: string): Promise<CapabilityRow | undefined> {
  return selectCapabilities(reader).where('user_id', '=', userId).where('name', '=', name).executeTakeFirst()
}

/** A row as the catalog keeps it. The schema is parsed when it is needed: ten thousand of them stay text. */
function toCapability(row: CapabilityRow) {
  const { input_schema: inputSchema, failing_input: _input, ...rest } = row
  return {
    ...camelKeys(rest),
    version: row.version === null ? null : Number(row.version),
    get inputSchema() {
      return readColumn(inputSchema, jsonObjectSchema)
    },
    tags: readColumn(row.tags, z.array(z.string())),
    permissions: readColumn(row.permissions, permissionsSchema),
    calls: Number(row.calls),
    failures: Number(row.failures),
  }
}

function manifestColumns(manifest: CapabilityManifest) {
  const { hosts, secrets, storage } = manifest
  return {
    description: manifest.description,
    input_schema: JSON.stringify(manifest.inputSchema),
    tags: JSON.stringify(manifest.tags),
    permissions: JSON.stringify({ hosts, secrets, storage }),
  }
}

/** Larger inputs are not kept as an example. */
const largestInput = 16 * 1024
const maxErrorLength = 4_000
const maxCalls = 200

interface PublishedVersion {
  userId: string
  manifest: CapabilityManifest
  files: CapabilityFiles
  origin: CapabilityOrigin
  buildId: string | null
  /** `disabled` for an import that is not approved yet. */
  state: 'active' | 'disabled'
  problem?: string
  also?(writer: Writer, version: VersionKey): Promise<void>
}

export type CapabilityCatalog = ReturnType<typeof createCapabilityCatalog>

/**
 * The built tools of every user (SEC-22), held in memory, so that a look is free; a change is committed before it is seen.
 * A name that is not there is undefined or `not_found`. The directory of a version is whole before a row names it; a
 * directory without a row was left by a crash and is removed at the next start.
 */
export function createCapabilityCatalog(dependencies: {
  database: Database
  versions: VersionStore
  clock: Clock
  ids: Ids
  logger: Logger
}) {
  const { database, versions, clock, ids, logger } = dependencies
  const held = createHeldCapabilities()
  const listeners = new Set<(userId: string) => void>()
  const records = createVersionRecords({ database, versions })
  // Rows are read one after another, so that an older row never replaces a newer one.
  const readInOrder = createTurnstile(1)
  // One change at a time: choosing a number, writing the directory and committing the row belong together.
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
    /** Reads what there is, and clears away what a crash left half done. */
    async start(): Promise<void> {
      const rows = await selectCapabilities(database.read).execute()
      for (const row of rows) held.put(toCapability(row))
      const known = await records.known()
      const swept = await versions.sweep(known)
      if (swept.length > 0) logger.warn('versions that were never finished were removed', { directories: swept })
      // For a home that had no shared place before. The start does not wait for it.
      void versions.share(known).then(
        (count) => count > 0 && logger.info('versions were put into the shared place', { count }),
        (error: unknown) => logger.warn('versions are not in the shared place yet', { error }),
      )
    },
    find: held.find,
    list(userId: string, { state }: { state?: CapabilityState } = {}): readonly Capability[] {
      const all = held.list(userId)
      return state === undefined ? all : all.filter((capability) => capability.state === state)
    },
    async version(userId: string, name: string, version?: number): Promise<CapabilityVersion | undefined> {
      const capability = held.find(userId, name)
      const wanted = version ?? capability?.version
      return capability && wanted != null ? await records.find(capability.id, wanted) : undefined
    },
    /** The versions that these lines of the catalog stand for, by the ids of the capabilities. A handful at a time. */
    versionsOf: (capabilities: readonly Capability[]): Promise<ReadonlyMap<string, CapabilityVersion>> =>
      records.findAll(
        capabilities.flatMap(({ id, version }) => (version === null ? [] : [{ capabilityId: id, version }])),
      ),
    async versions(userId: string, name: string): Promise<CapabilityVersion[]> {
      const capability = held.find(userId, name)
      return capability ? await records.list(capability.id) : []
    },
    /** The files of a version, held against what was registered. After it they are in the version's directory. */
    read: versions.read,
    async statistics(userId: string, name: string): Promise<CapabilityStatistics | undefined> {
      const capability = held.find(userId, name)
      if (!capability) return undefined
      const rows = await database.read
        .selectFrom('tool_calls')
        .select('duration_ms')
        .where('user_id', '=', userId)
        .where('tool', '=', toolNameOf(name))
        .where('outcome', '!=', 'refused')
        .orderBy('at', 'desc')
        .limit(maxCalls)
        .execute()
      const times = rows.map((row) => Number(row.duration_ms)).sort((a, b) => a - b)
      const { calls, failures, lastCalledAt, lastError } = capability
      return { calls, failures, medianMs: times[times.length >> 1] ?? null, lastCalledAt, lastError }
    },

    /** In the unit that writes the build: a new one in `building`, or the one that is there, which serves meanwhile (CAP-2). */
    async beginBuildIn(
      writer: Writer,
      wanted: { userId: string; name: string; description: string; inputSchema: { [key: string]: Json } },
    ): Promise<{ id: string }> {
      const { userId, name, description, inputSchema } = wanted
      const row = await findNamed(writer, userId, name)
      if (row?.state === 'disabled') {
        throw new FamiliarError('conflict', `${name} is switched off: "familiar caps enable ${name}" comes first.`)
      }
      const now = clock.now()
      const asked = { description, input_schema: JSON.stringify(inputSchema) }
      const building = { state: 'building' as const, problem: null, updated_at: now }
      if (row) {
        // The active version keeps its description and parameters until the new one replaces it.
        const changes = row.version === null ? { ...asked, ...building } : building
        await writer.updateTable('capabilities').set(changes).where('id', '=', row.id).execute()
        return { id: row.id }
      }
      const id = ids.next()
      const permissions = JSON.stringify({ hosts: [], secrets: [], storage: false })
      const first = { origin: 'built' as const, tags: '[]', permissions, created_at: now }
      await writer
        .insertInto('capabilities')
        .values({ id, user_id: userId, name, ...asked, ...building, ...first })
        .execute()
      return { id }
    },
    /** In the unit that ends the build: `failed` with its reason, or back to the version that serves. */
    async endBuildIn(writer: Writer, ended: { capabilityId: string; problem: string }): Promise<void> {
      const { capabilityId, problem } = ended
      const row = await selectCapabilities(writer).where('id', '=', capabilityId).executeTakeFirst()
      // It has been switched off meanwhile, or a version was registered.
      if (row?.state !== 'building') return
      const state = row.version === null ? { state: 'failed' as const, problem } : { state: 'active' as const }
      const changes = { ...state, updated_at: clock.now() }
      await writer.updateTable('capabilities').set(changes).where('id', '=', capabilityId).execute()
    },
    /** After a unit of the two above is committed. */
    async refresh(capabilityId: string): Promise<void> {
      await loadChanged(capabilityId)
    },
    /** Reads all of them again: another daemon has changed some. */
    async reload(): Promise<void> {
      const rows = await readInOrder(() => selectCapabilities(database.read).execute())
      const changed = rows
        .map(toCapability)
        .filter((capability) => !isDeepStrictEqual(held.find(capability.userId, capability.name), capability))
      for (const capability of changed) held.put(capability)
      for (const userId of new Set(changed.map((capability) => capability.userId))) {
        for (const listener of [...listeners]) listener(userId)
      }
    },

    /**
     * A new version that serves from now on. Its directory is whole before it is named in the database; `also` is written in
     * the same unit. With the id of a build that has registered already, nothing happens and that version is returned.
     */
    publish: (published: PublishedVersion): Promise<{ capability: Capability; version: number }> =>
      changeInOrder(async () => {
        const { capabilityId, version } = await publishVersion({ ...dependencies, records }, published)
        return { capability: await loadChanged(capabilityId), version }
      }),

    rollback: (userId: string, name: string, version?: number): Promise<Capability> =>
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
    setEnabled: (userId: string, name: string, isEnabled: boolean, problem?: string): Promise<Capability> =>
      changeInOrder(async () => {
        const { id, state, version } = need(userId, name)
        if (version === null) {
          const why = state === 'building' ? 'it is being built for the first time' : 'it was never built'
          throw new FamiliarError('conflict', `${name} cannot be switched ${isEnabled ? 'on' : 'off'}: ${why}.`)
        }
        if (!isEnabled) return await change(id, { state: 'disabled', problem: problem ?? null })
        return state === 'disabled' ? await change(id, { state: 'active', problem: null }) : need(userId, name)
      }),

    /** The statistics of a call, and the failure that a repair needs. Secrets are already removed. */
    async recordRun(capabilityId: string, input: Json, run: CapabilityRun): Promise<void> {
      // It has not run: that says nothing of how it serves.
      if (run.outcome !== 'refused') {
        const given = JSON.stringify(input)
        const error = toStorableText(run.error ?? 'It did not say why.').slice(-maxErrorLength)
        const failure = {
          last_error: error.toWellFormed(),
          failing_input: Buffer.byteLength(given) <= largestInput ? given : null,
        }
        await database.write((writer) =>
          writer
            .updateTable('capabilities')
            .set((set) => ({
              calls: set('calls', '+', 1),
              last_called_at: clock.now(),
              ...(!run.ok && { failures: set('failures', '+', 1), ...failure }),
            }))
            .where('id', '=', capabilityId)
            .execute(),
        )
      }
      // Listeners are not called: a call does not change the list.
      await load(capabilityId)
    },
    async lastFailure(userId: string, name: string): Promise<{ input: Json; error: string } | undefined> {
      const row = await findNamed(database.read, userId, name)
      if (row?.failing_input == null || row.last_error === null) return undefined
      const input = parseAnyJson(row.failing_input)
      return input.ok ? { input: input.value, error: row.last_error } : undefined
    },
    proposals: (userId: string): Promise<RetirementProposal[]> =>
      findRetirements({ database, now: clock.now() }, held.list(userId)),
    onChange(listener: (userId: string) => void): () => void {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

/** Every capability in memory, for each user their own. */
function createHeldCapabilities() {
  const users = new Map<string, { byName: Map<string, Capability>; names: string[] | undefined }>()
  return {
    find: (userId: string, name: string): Capability | undefined => users.get(userId)?.byName.get(name),
    list(userId: string): Capability[] {
      const user = users.get(userId)
      if (!user) return []
      // Names are only ever added, so the order does not change with the capabilities.
      user.names ??= [...user.byName.keys()].sort()
      return user.names.flatMap((name) => user.byName.get(name) ?? [])
    },
    /** In place of what was held under its name. */
    put(capability: Capability): void {
      const { userId, name } = capability
      const user = users.get(userId) ?? { byName: new Map(), names: undefined }
      users.set(userId, user)
      if (!user.byName.has(name)) user.names = undefined
      user.byName.set(name, capability)
    },
  }
}

const attempts = 5

/**
 * Writes the directory first, then everything else in one unit: a crash in between leaves a directory without a row.
 * Only one version is published at a time in this process; if another daemon took the number, the next one is tried.
 */
async function publishVersion(
  dependencies: { database: Database; versions: VersionStore; records: VersionRecords; clock: Clock; ids: Ids },
  published: PublishedVersion,
): Promise<VersionKey> {
  const { database, versions, records, clock, ids } = dependencies
  const { userId, manifest, files, buildId, also } = published
  for (let attempt = 1; ; attempt += 1) {
    const registered = buildId === null ? undefined : await records.ofBuild(buildId)
    if (registered) return registered
    const before = await findNamed(database.read, userId, manifest.name)
    const capabilityId = before?.id ?? ids.next()
    const newest = await records.before(capabilityId, Number.MAX_SAFE_INTEGER)
    const key = { capabilityId, version: (newest ?? 0) + 1 }
    const createdAt = clock.now()
    const { hash } = await versions.write({ ...key, files, createdAt })
    try {
      await database.write(async (writer) => {
        await writeServing(writer, { ...key, now: createdAt }, published)
        await records.insertIn(writer, { ...key, manifest, hash, buildId, createdAt })
        await also?.(writer, key)
      })
      return key
    } catch (cause) {
      // It may have been committed all the same: what a row names stays.
      const named = await records.find(key.capabilityId, key.version)
      if (named?.hash === hash) throw cause
      await versions.remove({ ...key, hash })
      // The row of the other version may be in the same commit, and not visible yet.
      const isOvertaken = cause instanceof FamiliarError && cause.code === 'conflict'
      if (!isOvertaken || attempt === attempts) throw cause
    }
  }
}

async function writeServing(
  writer: Writer,
  { capabilityId, version, now }: VersionKey & { now: number },
  published: PublishedVersion,
): Promise<void> {
  const { userId, manifest, origin, buildId, state, problem = null } = published
  const current = await selectCapabilities(writer).where('id', '=', capabilityId).executeTakeFirst()
  const serving = {
    ...manifestColumns(manifest),
    origin,
    version,
    state,
    problem,
    last_called_at: current?.last_called_at ?? null,
    // The last failure belongs to the previous version.
    last_error: null,
    failing_input: null,
    updated_at: now,
  }
  if (!current) {
    const row = { id: capabilityId, user_id: userId, name: manifest.name, created_at: now, ...serving }
    await writer.insertInto('capabilities').values(row).execute()
    return
  }
  // A capability that the owner has disabled meanwhile stays disabled.
  const staysOff = buildId !== null && current.state === 'disabled'
  const changes = staysOff ? { ...serving, state: current.state, problem: current.problem } : serving
  await writer.updateTable('capabilities').set(changes).where('id', '=', capabilityId).execute()
}

const dayMs = 24 * 60 * 60_000
const unusedDays = 60
/** Only the most used are compared with the others: comparing all of ten thousand would take minutes. */
const maxCompared = 500
const maxNeighbours = 10

/**
 * Capabilities that the owner might disable, in order of name: unused ones, and those that a more used one replaces.
 */
async function findRetirements(
  { database, now }: { database: Database; now: number },
  capabilities: readonly Capability[],
): Promise<RetirementProposal[]> {
  const active = capabilities.filter(({ state }) => state === 'active')
  const better = await findBetter(database, active)
  return active.flatMap(({ name, lastCalledAt, updatedAt }) => {
    const successor = better.get(name)
    if (successor) {
      return [{ name, reason: `${successor.name} does much the same and is used more (${successor.calls} calls).` }]
    }
    const days = Math.floor((now - Math.max(lastCalledAt ?? 0, updatedAt)) / dayMs)
    if (days < unusedDays) return []
    const since = lastCalledAt === null ? 'It was never called, and is' : 'It was last used'
    return [{ name, reason: `${since} ${days} days ${lastCalledAt === null ? 'old' : 'ago'}.` }]
  })
}

/** For each that has one: the most used one of those that mean the same. */
async function findBetter(database: Database, active: readonly Capability[]): Promise<ReadonlyMap<string, Capability>> {
  const better = new Map<string, Capability>()
  const used = active.filter(({ calls }) => calls > 0).sort((a, b) => b.calls - a.calls)
  if (used.length === 0) return better
  const byId = new Map(active.map((capability) => [capability.id, capability]))
  const rows = await database.read
    .selectFrom('capability_vectors')
    .innerJoin('capabilities', 'capabilities.id', 'capability_vectors.capability_id')
    .select(['capability_id', 'model', 'vector'])
    .where('user_id', '=', used[0]?.userId ?? '')
    .execute()
  for (const [model, ofModel] of Map.groupBy(rows, (row) => row.model)) {
    const vectors = new Map(ofModel.map((row) => [row.capability_id, unpackVectors(row.vector).said]))
    const [first] = vectors.values()
    if (!first) continue
    const table = createVectorTable(vectorNumbers(first).length)
    for (const [id, vector] of vectors) {
      if (byId.has(id) && vector.length === first.length) table.put(id, vectorNumbers(vector))
    }
    for (const user of used.slice(0, maxCompared)) {
      const vector = vectors.get(user.id)
      if (vector?.length !== first.length) continue
      for (const { id, cosine } of table.compare(fromVectorBytes(vector)).nearest(maxNeighbours)) {
        const other = byId.get(id)
        if (!other || cosine < duplicateFrom(model, 'written') || other.calls >= user.calls || better.has(other.name))
          continue
        better.set(other.name, user)
      }
    }
  }
  return better
}
