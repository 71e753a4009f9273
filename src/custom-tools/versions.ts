import { readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { sha256 } from '../base/ids.ts'
import { camelKeys, type Parsed, parseAnyJson, parseJson, snakeKeys } from '../base/json.ts'
import { reasonOf } from '../base/text.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { BlobStore } from '../storage/blobs.ts'
import type { Database, Writer } from '../storage/database.ts'
import type { CapabilityVersionRow } from '../storage/feature-tables.ts'
import { type CapabilityManifest, checkedManifestSchema } from './manifest.ts'
import { makeFolder, placeTree } from './stored-files.ts'
import {
  type CapabilityFiles,
  checkFiles,
  decodeUtf8,
  readCapabilityFolder,
  readRequirements,
  readTextFile,
} from './tool-folder.ts'

/** A version, whole and never changed again. */
export interface CapabilityVersion extends RegisteredVersion {
  manifest: CapabilityManifest
  /** Holds `main.py` or `main.js`, `manifest.json`, `requirements.txt`, `RUN.md`, `examples.json`, `lock.json` and others. */
  directory: string
  buildId: string | null
  createdAt: number
}

/** A column that this program wrote. Anything else means that the file was changed from outside. */
export function readColumn<T>(text: string, schema: z.ZodType<T>): T {
  const read = parseJson(text, schema)
  if (!read.ok) throw new Error(`A row of the capabilities cannot be read: ${read.message}`)
  return read.value
}

export type VersionRecords = ReturnType<typeof createVersionRecords>

export function createVersionRecords({
  database,
  versions,
}: {
  database: Database
  versions: Pick<VersionStore, 'directoryOf'>
}) {
  const select = () => database.read.selectFrom('capability_versions').selectAll()

  function toVersion(row: CapabilityVersionRow): CapabilityVersion {
    const key = { capabilityId: row.capability_id, version: Number(row.version) }
    const manifest: CapabilityManifest = readColumn(row.manifest, checkedManifestSchema)
    return { ...camelKeys(row), ...key, manifest, directory: versions.directoryOf(key) }
  }

  const records = {
    async find(capabilityId: string, version: number): Promise<CapabilityVersion | undefined> {
      return (await records.findAll([{ capabilityId, version }])).get(capabilityId)
    },
    /** Those of these that there are, by the ids of their capabilities: one question for all of them. */
    async findAll(keys: readonly VersionKey[]): Promise<ReadonlyMap<string, CapabilityVersion>> {
      if (keys.length === 0) return new Map()
      const rows = await select()
        .where(({ and, or }) =>
          or(keys.map(({ capabilityId, version }) => and({ capability_id: capabilityId, version }))),
        )
        .execute()
      return new Map(rows.map((row) => [row.capability_id, toVersion(row)]))
    },
    async list(capabilityId: string): Promise<CapabilityVersion[]> {
      const rows = await select().where('capability_id', '=', capabilityId).orderBy('version').execute()
      return rows.map(toVersion)
    },
    async ofBuild(buildId: string): Promise<VersionKey | undefined> {
      const row = await select().where('build_id', '=', buildId).executeTakeFirst()
      return row && toVersion(row)
    },
    /** The newest number below this one. */
    async before(capabilityId: string, version: number): Promise<number | undefined> {
      const row = await select()
        .where('capability_id', '=', capabilityId)
        .where('version', '<', version)
        .orderBy('version', 'desc')
        .executeTakeFirst()
      return row && Number(row.version)
    },
    async known(): Promise<RegisteredVersion[]> {
      const rows = await database.read
        .selectFrom('capability_versions')
        .select(['capability_id', 'version', 'hash'])
        .execute()
      return rows.map((row) => ({ ...camelKeys(row), version: Number(row.version) }))
    },
    async insertIn(writer: Writer, { manifest, ...version }: Omit<CapabilityVersion, 'directory'>): Promise<void> {
      const row = { ...snakeKeys(version), manifest: JSON.stringify(manifest) }
      await writer.insertInto('capability_versions').values(row).execute()
    },
  }
  return records
}

export interface VersionKey {
  capabilityId: string
  version: number
}

/** A version, and the hash that the database has of it. */
export type RegisteredVersion = VersionKey & { hash: string }

const isId = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/

export type VersionStore = ReturnType<typeof createVersionStore>

/**
 * Versions on disk, each a directory that is whole from the moment it has its name and never changes again. A directory
 * that the database does not name is left over, and swept. If daemons share a place, a version is there before the
 * database names it, and a daemon that lacks it fetches it.
 *
 * `directory` lies in the private home. Its content is readable by all, since the sandbox has an account of its own.
 */
export function createVersionStore({ directory, shared }: { directory: string; shared?: BlobStore | undefined }) {
  /** Downloads in progress: other callers wait for the same one. */
  const fetching = new Map<string, Promise<VersionReading>>()

  function directoryOf({ capabilityId, version }: VersionKey): string {
    if (!isId.test(capabilityId) || !Number.isSafeInteger(version) || version < 1) {
      throw new FamiliarError('bad_request', 'There is no such version of a capability')
    }
    return join(directory, capabilityId, `v${version}`)
  }

  async function placeVersion(target: string, files: CapabilityFiles, { replace = false } = {}): Promise<void> {
    await makeFolder(directory)
    await makeFolder(dirname(target))
    if (await placeTree(target, files, { replace, durable: true })) return
    throw new FamiliarError('conflict', `${target} is there already`)
  }

  /** Held against what the database says was registered, and not only against the lock that lies beside it. */
  async function readHere(version: RegisteredVersion): Promise<VersionReading> {
    const place = directoryOf(version)
    const reading = await readVersion(place)
    if (!reading.ok || reading.hash === version.hash) return reading
    return { ok: false, problem: `${place} is no longer what was registered: ${lockFile} was changed.` }
  }

  async function bringHere(from: BlobStore, version: RegisteredVersion): Promise<VersionReading> {
    try {
      const fetched = await fetchVersion(from, version)
      if (!fetched.ok) return fetched
      await placeVersion(directoryOf(version), fetched.files, { replace: true })
      return await readHere(version)
    } catch (cause) {
      return { ok: false, problem: `A version of the capability could not be fetched: ${reasonOf(cause)}` }
    }
  }

  return {
    directoryOf,
    /**
     * When this resolves the version survives a power cut; on every failure there is nothing of it. `manifest.json` gets the
     * number and the time, `lock.json` is added, and the hash is of every path and byte. `conflict` where it is there already.
     */
    async write({
      files: given,
      createdAt,
      ...key
    }: VersionKey & { files: CapabilityFiles; createdAt: number }): Promise<{ directory: string; hash: string }> {
      const target = directoryOf(key)
      const problems = given.has(lockFile) ? [`${lockFile} is written with the version.`] : checkFiles(given)
      if (problems.length > 0) throw new FamiliarError('bad_request', problems.join(' '))
      const files = new Map(given)
      files.set('manifest.json', stampManifest(given, { version: key.version, createdAt }))
      const lock = new TextEncoder().encode(`${JSON.stringify(makeLock(files, createdAt), null, 2)}\n`)
      files.set(lockFile, lock)
      const hash = sha256(lock)
      await placeVersion(target, files)
      try {
        if (shared) await shareVersion(shared, { ...key, hash }, files)
      } catch (cause) {
        await rm(target, { recursive: true, force: true })
        throw cause
      }
      return { directory: target, hash }
    },
    /**
     * The files, `lock.json` among them, after a look at whether they are those that were registered. From then on they are
     * in the version's directory.
     */
    async read(version: RegisteredVersion): Promise<VersionReading> {
      const here = await readHere(version)
      if (here.ok || !shared) return here
      const name = `${directoryOf(version)} ${version.hash}`
      const bringing = fetching.get(name) ?? bringHere(shared, version).finally(() => fetching.delete(name))
      fetching.set(name, bringing)
      return await bringing
    },
    /** For a version that was never named in the database. */
    async remove(version: RegisteredVersion): Promise<void> {
      await rm(directoryOf(version), { recursive: true, force: true })
      const names = shared ? await Array.fromAsync(shared.list(`${sharedFolder(version)}/`)) : []
      for (const name of names) await shared?.delete(name)
    },
    /** Removes every version that is not known, and what was never finished. Only at start: nothing may be writing. */
    async sweep(known: Iterable<VersionKey>): Promise<string[]> {
      const kept = new Set(Array.from(known, directoryOf))
      const removed: string[] = []
      const entries = await readdir(directory, { withFileTypes: true }).catch(() => [])
      // Only this store writes here; other entries are ignored.
      for (const entry of entries.filter((one) => one.isDirectory())) {
        const folder = join(directory, entry.name)
        const names = await readdir(folder)
        const left = names.map((name) => join(folder, name)).filter((path) => !kept.has(path))
        for (const path of left) await rm(path, { recursive: true, force: true })
        removed.push(...left)
        if (left.length === names.length) await rm(folder, { recursive: true, force: true })
      }
      return removed
    },
    /** Puts into the shared place what this home had before it had one, and tells how many. */
    async share(known: Iterable<RegisteredVersion>): Promise<number> {
      if (!shared) return 0
      // A version is whole there from its lock on.
      const there = new Set(await Array.fromAsync(shared.list('')))
      let count = 0
      for (const version of known) {
        if (there.has(`${sharedFolder(version)}/${lockFile}`)) continue
        const here = await readHere(version)
        if (!here.ok) continue
        await shareVersion(shared, version, here.files)
        count += 1
      }
      return count
    },
  }
}

export const lockFile = 'lock.json'

const lockSchema = z.object({
  format: z.literal(1),
  runtime: z.enum(['python', 'node']),
  requirements: z.array(z.string()),
  files: z.record(z.string(), z.string().regex(/^[0-9a-f]{64}$/)),
  created_at: z.number(),
})
type Lock = z.output<typeof lockSchema>

function makeLock(files: CapabilityFiles, createdAt: number): Lock {
  const manifest = parseAnyJson(readTextFile(files, 'manifest.json') ?? '')
  const isNode = manifest.ok && (manifest.value as { runtime?: unknown } | null)?.runtime === 'node'
  const hashes = Array.from(files, ([path, bytes]) => [path, sha256(bytes)] as const)
  return {
    format: 1,
    runtime: isNode ? 'node' : 'python',
    requirements: readRequirements(readTextFile(files, 'requirements.txt') ?? '').toSorted(),
    files: Object.fromEntries(hashes.sort(([a], [b]) => (a < b ? -1 : 1))),
    created_at: createdAt,
  }
}

function readLock(bytes: Uint8Array): Parsed<Lock> {
  return parseJson(decodeUtf8(bytes) ?? '', lockSchema)
}

export type VersionReading =
  | { ok: true; directory: string; files: CapabilityFiles; lock: Lock; hash: string }
  /** Which file is not what it was, or what is missing. */
  | { ok: false; problem: string }

/** A version as it lies on disk, held against its lock. */
export async function readVersion(directory: string): Promise<VersionReading> {
  const reading = await readCapabilityFolder(directory)
  if (!reading.ok) return reading
  const { files } = reading
  const lockBytes = files.get(lockFile)
  if (lockBytes === undefined) return wrong(`${lockFile} is missing`)
  const lock = readLock(lockBytes)
  if (!lock.ok) return wrong(`${lockFile} cannot be read: ${lock.message}`)
  const locked = new Map(Object.entries(lock.value.files))
  const added = [...files.keys()].find((path) => path !== lockFile && !locked.has(path))
  if (added !== undefined) return wrong(`${added} was added`)
  for (const [path, hash] of locked) {
    const bytes = files.get(path)
    if (bytes === undefined) return wrong(`${path} is missing`)
    if (sha256(bytes) !== hash) return wrong(`${path} was changed`)
  }
  return { ok: true, directory, files, lock: lock.value, hash: sha256(lockBytes) }

  function wrong(what: string): VersionReading {
    return { ok: false, problem: `${directory} is no longer what was registered: ${what}.` }
  }
}

/** The folder by which all daemons know a version: not by its number, for which two may race, but by what it is. */
function sharedFolder({ capabilityId, hash }: RegisteredVersion): string {
  return `${capabilityId}/${hash}`
}

/** Puts a version, `lock.json` among its files, where other daemons find it. The lock comes last: where it is, all is. */
async function shareVersion(shared: BlobStore, version: RegisteredVersion, files: CapabilityFiles): Promise<void> {
  const paths = [...files.keys()].filter((path) => path !== lockFile)
  for (const path of [...paths, lockFile]) {
    await shared.put(`${sharedFolder(version)}/${path}`, files.get(path) ?? new Uint8Array())
  }
}

/**
 * The files of a version from the shared place. The hash is the database's: it proves the lock, and the lock proves
 * every file. If one byte differs there are no files at all (SCALE-5).
 */
async function fetchVersion(
  shared: BlobStore,
  version: RegisteredVersion,
): Promise<{ ok: true; files: CapabilityFiles } | { ok: false; problem: string }> {
  const folder = sharedFolder(version)
  const lockBytes = await shared.get(`${folder}/${lockFile}`)
  if (!lockBytes) return wrong('it is not in the shared place')
  if (sha256(lockBytes) !== version.hash) return wrong(`${lockFile} in the shared place is not what was registered`)
  const lock = readLock(lockBytes)
  if (!lock.ok) return wrong(`${lockFile} cannot be read: ${lock.message}`)
  const files = new Map<string, Uint8Array>()
  for (const [path, hash] of Object.entries(lock.value.files)) {
    const bytes = await shared.get(`${folder}/${path}`)
    if (!bytes) return wrong(`${path} is not in the shared place`)
    if (sha256(bytes) !== hash) return wrong(`${path} in the shared place is not what was registered`)
    files.set(path, bytes)
  }
  const [problem] = checkFiles(files)
  if (problem !== undefined) return wrong(problem)
  return { ok: true, files: files.set(lockFile, lockBytes) }

  function wrong(what: string): { ok: false; problem: string } {
    return { ok: false, problem: `A version of the capability cannot be used here: ${what}.` }
  }
}

/** `manifest.json` of a version: what its writer wrote, unknown keys too, with the number and the times that are true. */
function stampManifest(files: CapabilityFiles, stamp: { version: number; createdAt: number }): Uint8Array {
  const parsed = parseAnyJson(readTextFile(files, 'manifest.json') ?? '{}')
  const written = parsed.ok && parsed.value !== null && typeof parsed.value === 'object' ? parsed.value : {}
  const first = 'created_at' in written && typeof written.created_at === 'string' ? written.created_at : undefined
  const now = new Date(stamp.createdAt).toISOString()
  const stamped = { ...written, version: stamp.version, created_at: first ?? now, updated_at: now }
  return new TextEncoder().encode(`${JSON.stringify(stamped, null, 2)}\n`)
}
