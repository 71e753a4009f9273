import type { Clock } from '../base/clock.ts'
import { sha256 } from '../base/hash.ts'
import type { Label } from '../protocol/label.ts'
import type { Database } from '../storage/database.ts'
import { applyEdit } from './apply-edit.ts'
import type { AssetActor, AssetBackend, AssetChange, AssetPlace, NextAsset, StoredAsset } from './asset-backend.ts'
import { type AssetFailure, failure, notThere, tooLarge } from './asset-failure.ts'
import { type AssetVersion, createAssetVersions } from './asset-versions.ts'
import type { Assets, AssetWritten } from './assets.ts'
import { cutPage } from './cut-page.ts'
import { createKeyedLock } from './keyed-lock.ts'
import { parseAddress } from './parse-address.ts'

/** What is changed has to be kept as a version, so it is smaller than what can be looked at. */
const mostWrittenBytes = 2_000_000
const mostReadBytes = 64_000_000
/** An undo of what is being changed all the time gives up. */
const mostAttempts = 5

type MakeNext = (
  found: StoredAsset | undefined,
  place: AssetPlace,
  newest: AssetVersion | undefined,
) => NextAsset | AssetFailure

type Resolved = { ok: true; backend: AssetBackend; place: AssetPlace }

/**
 * One interface over several stores. What is done to a text is done here, once: the backends only keep it, so that
 * results and failures are the same wherever it lies.
 */
export function createAssets(dependencies: {
  backends: readonly AssetBackend[]
  database: Database
  clock: Clock
}): Assets {
  const backends = new Map(dependencies.backends.map((backend) => [backend.scheme, backend]))
  const versions = createAssetVersions(dependencies)
  const oneAtATime = createKeyedLock()

  function backendOf(path: string): { ok: true; backend: AssetBackend; path: string } | AssetFailure {
    const address = parseAddress(path)
    if (!address.ok) return address
    const backend = backends.get(address.scheme)
    if (backend) return { ok: true, backend, path: address.path }
    const known = [...backends.keys()].filter((scheme) => scheme !== 'file').map((scheme) => `${scheme}://`)
    return failure(
      'unknown_scheme',
      `Nothing is kept under ${address.scheme}://. A plain path, or: ${known.join(', ')}`,
    )
  }

  async function resolve(actor: AssetActor, path: string): Promise<Resolved | AssetFailure> {
    const found = backendOf(path)
    if (!found.ok) return found
    const place = await found.backend.locate(actor, found.path)
    return place.ok ? { ok: true, backend: found.backend, place: { uri: place.uri, path: place.path } } : place
  }

  async function load(actor: AssetActor, path: string, mostBytes: number) {
    const resolved = await resolve(actor, path)
    if (!resolved.ok) return resolved
    const { backend, place } = resolved
    const stored = await backend.read(actor, place, mostBytes)
    if (!stored.ok) return stored
    const newest = await versions.newest(actor.userId, place.uri)
    const { content, modifiedAt } = stored
    return {
      ok: true as const,
      ...place,
      content,
      etag: etagOf(content),
      version: newest?.version ?? 0,
      // What once held the words of others is theirs until it is replaced as a whole, whoever touched it in between.
      trust: newest?.content == null ? stored.trust : newest.trust,
      modifiedAt,
    }
  }

  async function change(
    actor: AssetActor,
    request: { path: string; etag?: string | null | undefined },
    make: MakeNext,
  ): Promise<AssetWritten | AssetFailure> {
    const resolved = await resolve(actor, request.path)
    if (!resolved.ok) return resolved
    const { backend, place } = resolved
    return oneAtATime(`${actor.userId} ${place.uri}`, () => changeAlone(actor, { ...request, place, backend }, make))
  }

  async function changeAlone(
    actor: AssetActor,
    request: { place: AssetPlace; backend: AssetBackend; etag?: string | null | undefined },
    make: MakeNext,
  ): Promise<AssetWritten | AssetFailure> {
    const { place, backend } = request
    if (!backend.write) return failure('read_only', `${place.path} can be read, and not written.`)
    const newest = await versions.newest(actor.userId, place.uri)
    let before: StoredAsset | undefined
    const asked: AssetChange = {
      next(found) {
        before = found
        const conflict = conflictOf(found, request.etag, place.path)
        if (conflict) return conflict
        const next = make(found, place, newest)
        if (!next.ok) return next
        if (next.content === null) return { ...next, isSame: found === undefined }
        if (next.content.includes('\u0000')) return failure('binary', `${place.path} is for text: a NUL is in no text.`)
        const content = next.content.toWellFormed()
        if (Buffer.byteLength(content) > mostWrittenBytes) return tooLarge(place.path, mostWrittenBytes)
        // The user may write the same once more to say that it is theirs; the agent's word changes nothing.
        const isSaidAgain = actor.author === 'user' && next.trust !== (newest?.trust ?? found?.trust)
        return { ...next, content, isSame: found?.content === content && !isSaidAgain }
      },
      record: (step, writer) => versions.record(actor, place.uri, step, writer),
      takeBack: (version) => versions.drop(actor.userId, place.uri, version),
    }
    const changed = await backend.write(actor, place, asked)
    if (!changed.ok) return changed
    const { next, version } = changed
    return {
      ok: true,
      ...place,
      isNew: before === undefined,
      isChanged: version !== null,
      etag: next.content === null ? null : etagOf(next.content),
      version: version ?? newest?.version ?? 0,
      trust: next.trust,
    }
  }

  return {
    load: (actor, { path }) => load(actor, path, mostWrittenBytes),

    async read(actor, { path, offset, limit }) {
      const loaded = await load(actor, path, mostReadBytes)
      if (!loaded.ok) return loaded
      const { content, ...known } = loaded
      const page = cutPage(content, { offset, limit })
      return page.ok ? { ...known, ...page } : page
    },

    write: (actor, request) =>
      change(actor, request, () => ({ ok: true, content: request.content, trust: actor.trust })),

    async edit(actor, request) {
      let count = 0
      const written = await change(actor, request, (found, place, newest) => {
        if (!found) return notThere(place.path)
        const edited = applyEdit(found.content, request, place.path)
        if (!edited.ok) return edited
        count = edited.count
        // The rest of it is still whoever's it was.
        return { ok: true, content: edited.text, trust: graver(actor.trust, newest?.trust ?? found.trust) }
      })
      return written.ok ? { ...written, count } : written
    },

    remove: (actor, request) =>
      change(actor, request, (found, place, newest) =>
        found ? { ok: true, content: null, trust: newest?.trust ?? found.trust } : notThere(place.path),
      ),

    async list(actor, { prefix }) {
      const found = prefix === '' ? backendOf('.') : backendOf(prefix)
      if (!found.ok) return found
      return found.backend.list(actor, prefix === '' ? '' : found.path)
    },

    async stat(actor, { path }) {
      const resolved = await resolve(actor, path)
      return resolved.ok ? resolved.backend.stat(actor, resolved.place) : resolved
    },

    async history(actor, { path }) {
      const resolved = await resolve(actor, path)
      if (!resolved.ok) return resolved
      const { backend, place } = resolved
      const kept = await versions.list(actor.userId, place.uri)
      const stored = await backend.stat(actor, place)
      if (kept.length === 0 && !stored.ok) return stored
      return { ok: true, ...place, versions: kept }
    },

    async undo(actor, request) {
      for (let attempt = 1; ; attempt += 1) {
        const resolved = await resolve(actor, request.path)
        if (!resolved.ok) return resolved
        const { backend, place } = resolved
        const stored = await backend.read(actor, place, mostWrittenBytes)
        if (!stored.ok && stored.code !== 'not_found') return stored
        const content = stored.ok ? stored.content : null
        const kept = await versions.list(actor.userId, place.uri)
        const target = targetOf(kept, content, request.version)
        if (!target) {
          return failure('no_version', `There is no ${request.version ?? 'earlier'} version of ${place.path}.`)
        }
        const etag = request.etag === undefined ? (content === null ? null : etagOf(content)) : request.etag
        const undone = await change(actor, { path: request.path, etag }, () => ({
          ok: true,
          content: target.content,
          trust: target.trust,
        }))
        const isOvertaken = !undone.ok && undone.code === 'conflict' && request.etag === undefined
        if (isOvertaken && attempt < mostAttempts) continue
        return undone.ok ? { ...undone, restored: target.version } : undone
      }
    },
  }
}

/** The version that was named; otherwise the one before what is there, which may be unknown to the record. */
function targetOf(
  kept: readonly AssetVersion[],
  content: string | null,
  version: number | undefined,
): AssetVersion | undefined {
  if (version !== undefined) return kept.find((one) => one.version === version)
  const [newest, before] = kept
  return newest && newest.content !== content ? newest : before
}

function conflictOf(
  found: StoredAsset | undefined,
  expected: string | null | undefined,
  path: string,
): AssetFailure | undefined {
  if (expected === undefined) return undefined
  const etag = found ? etagOf(found.content) : null
  if (etag === expected) return undefined
  return failure('conflict', `${path} was changed in the meantime: nothing was written. Read it again.`, { etag })
}

/** The same content has the same one, wherever it lies. */
function etagOf(content: string): string {
  return sha256(content).slice(0, 32)
}

const gravity: readonly Label[] = ['owner', 'internal', 'untrusted']

function graver(one: Label, other: Label): Label {
  return gravity[Math.max(gravity.indexOf(one), gravity.indexOf(other))] ?? 'untrusted'
}
