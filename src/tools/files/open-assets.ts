import type { Clock } from '../../base/clock.ts'
import { sha256 } from '../../base/ids.ts'
import { estimateTokens } from '../../base/tokens.ts'
import type { Label } from '../../protocol/messages.ts'
import type { Database, Reader, Writer } from '../../storage/database.ts'
import type { BlockRow } from '../../storage/feature-tables.ts'
import {
  type AssetActor,
  type AssetBackend,
  type AssetChange,
  type AssetChanged,
  type AssetEntry,
  type AssetFailure,
  type AssetPlace,
  type AssetText,
  type AssetVersion,
  type AssetWritten,
  createAssetVersions,
  createKeyedLock,
  cutPage,
  type Etag,
  failure,
  type NextAsset,
  notThere,
  type StoredAsset,
  tooLarge,
} from './assets.ts'
import { createFileBackend, createMakesPrompt, type FileBounds } from './file-backend.ts'
import {
  blockUri,
  checkBudgetIn,
  createPinnedBlocks,
  createPins,
  readBlockFolder,
  readBlockLabel,
  removePinIn,
} from './pins.ts'

export type OpenAssets = ReturnType<typeof openAssets>

export function openAssets(dependencies: {
  database: Database
  clock: Clock
  budget: () => number
  boundsOf(userId: string): FileBounds
  promptFiles?: () => readonly string[]
  /** Folders of skills beside the workspace's own. */
  promptFolders?: () => readonly string[]
  others?: readonly AssetBackend[]
}) {
  const { database, others = [] } = dependencies
  const pinned = createPinnedBlocks(dependencies)
  const needs = { ...dependencies, onPinnedChanged: pinned.refresh }
  const makesPrompt = createMakesPrompt(dependencies)
  const untrusted = createUntrustedFiles(dependencies)
  const backends = [createFileBackend({ ...dependencies, makesPrompt }), createBlockBackend(needs), ...others]
  return {
    assets: createAssets({ ...dependencies, backends, untrusted }),
    untrusted,
    makesPrompt,
    pins: createPins(needs),
    pinned,
    async agentOf(userId: string, sessionId: string): Promise<string> {
      const row = await database.read
        .selectFrom('sessions')
        .select('agent')
        .where((row) => row.and({ id: sessionId, user_id: userId }))
        .executeTakeFirst()
      return row?.agent ?? 'main'
    },
  }
}

interface TextEdit {
  old: string
  new: string
  /** Replace every occurrence of `old`; otherwise it must occur once. */
  all?: boolean | undefined
}

function applyEdit(text: string, edit: TextEdit, path: string) {
  if (edit.old === '') return failure('empty_old', 'old is empty: there is nothing to replace.')
  if (edit.old === edit.new) return failure('same', 'old and new are the same: nothing would change.')
  // Half a surrogate pair is never a valid text, though it would be found inside one.
  const pieces = edit.old.isWellFormed() ? text.split(edit.old) : [text]
  const count = pieces.length - 1
  if (count === 0) return failure('absent', `old does not occur in ${path}.${nearMiss(text, edit.old)}`)
  if (count > 1 && !edit.all) {
    const message = `old occurs ${count} times in ${path}. Give more of the surrounding text, or all: true.`
    return failure('ambiguous', message, { count })
  }
  return { ok: true as const, text: pieces.join(edit.new), count }
}

/** The two most common reasons for a miss. */
function nearMiss(text: string, old: string): string {
  if (text.replaceAll('\r\n', '\n').includes(old.replaceAll('\r\n', '\n'))) {
    return ' It does with other line endings (\\r\\n).'
  }
  const squeeze = (words: string) => words.replaceAll(/\s+/g, ' ').trim()
  const squeezed = squeeze(old)
  return squeezed !== '' && squeeze(text).includes(squeezed) ? ' It does with other white space.' : ''
}

const maxEntries = 1_000

/** Texts in the database, under labels. Pinned ones are in the prompt, so they have a budget. */
function createBlockBackend(dependencies: {
  database: Database
  clock: Clock
  budget: () => number
  /** A pinned block changed. Called after the commit. */
  onPinnedChanged(userId: string): Promise<void>
}): AssetBackend {
  const { database, clock, budget, onPinnedChanged } = dependencies

  async function writeIn(
    writer: Writer,
    actor: AssetActor,
    label: string,
    change: AssetChange,
  ): Promise<(AssetChanged & { isPinned: boolean }) | AssetFailure> {
    const { userId: user_id } = actor
    const row = await findRow(writer, user_id, label)
    const found = row && storedOf(row)
    const next = change.next(found)
    if (!next.ok) return next
    if (next.isSame) return { ok: true, next, version: null, isPinned: false }
    const tokens = next.content === null ? 0 : estimateTokens(next.content)
    const pins = writer.selectFrom('pins').select('agent')
    const pinning = (await pins.where((row) => row.and({ user_id, label })).execute()).map(({ agent }) => agent)
    if (next.content !== null) {
      for (const agent of new Set([actor.agent, ...pinning])) {
        const problem = await checkBudgetIn(writer, { userId: user_id, agent }, { label, tokens, budget: budget() })
        if (problem) return problem
      }
    }
    const version = await change.record({ found, next }, writer)
    const now = clock.now()
    const written = {
      content: next.content ?? '',
      tokens,
      version,
      is_deleted: next.content === null ? (1 as const) : (0 as const),
      trust: next.trust,
      updated_at: now,
    }
    await writer
      .insertInto('blocks')
      .values({ user_id, label, created_at: now, ...written })
      .onConflict((conflict) => conflict.columns(['user_id', 'label']).doUpdateSet(written))
      .execute()
    if (change.isRemoval) for (const agent of pinning) await removePinIn(writer, { userId: user_id, agent }, label)
    return { ok: true, next, version, isPinned: pinning.length > 0 }
  }

  return {
    scheme: 'familiar',
    async locate(_actor, path) {
      const read = readBlockLabel(path)
      if (!read.ok) return read
      return { ok: true, uri: blockUri(read.label), path: blockUri(read.label) }
    },
    async read({ userId }, { uri, path }, maxBytes) {
      const row = await findRow(database.read, userId, labelOf(uri))
      const stored = row && storedOf(row)
      if (!stored) return notThere(path)
      if (Buffer.byteLength(stored.content) > maxBytes) return tooLarge(path, maxBytes)
      return { ok: true, ...stored }
    },
    async stat({ userId }, { uri, path }) {
      const row = await findRow(database.read, userId, labelOf(uri))
      return row && row.is_deleted === 0 ? { ok: true, ...entryOf(row) } : notThere(path)
    },
    async list({ userId }, path) {
      const folder = readBlockFolder(path)
      if (!folder.ok) return folder
      const rows = await database.read
        .selectFrom('blocks')
        .selectAll()
        .where((row) => row.and({ user_id: userId, is_deleted: 0 }))
        .orderBy('label')
        .execute()
      const { prefix } = folder
      const inside = rows.filter(({ label }) => prefix === '' || label === prefix || label.startsWith(`${prefix}/`))
      const under = inside.length > 0 ? inside : rows.filter(({ label }) => label === `${prefix}.md`)
      if (prefix !== '' && under.length === 0) return notThere(blockUri(prefix))
      return { ok: true, entries: under.slice(0, maxEntries).map(entryOf), isCut: under.length > maxEntries }
    },
    async write(actor, { uri }, change) {
      const changed = await database.write((writer) => writeIn(writer, actor, labelOf(uri), change))
      if (!changed.ok) return changed
      const { isPinned, ...outcome } = changed
      if (isPinned) await onPinnedChanged(actor.userId)
      return outcome
    },
  }
}

function labelOf(uri: string): string {
  return uri.slice(blockUri('').length)
}

function findRow(reader: Reader | Writer, userId: string, label: string): Promise<BlockRow | undefined> {
  return reader
    .selectFrom('blocks')
    .selectAll()
    .where((row) => row.and({ user_id: userId, label }))
    .executeTakeFirst()
}

function storedOf(row: BlockRow): StoredAsset | undefined {
  if (row.is_deleted) return undefined
  return { content: row.content, trust: row.trust, modifiedAt: row.updated_at }
}

function entryOf({ label, content, updated_at }: BlockRow): AssetEntry {
  const uri = blockUri(label)
  return { uri, path: uri, bytes: Buffer.byteLength(content), modifiedAt: updated_at }
}

const maxCharacters = 4_096
// C0, DEL, C1, bidirectional and zero-width characters: a path that looks like another one is rejected.
const unseen = /[\p{Cc}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e01ef}]/u
const uri = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/is

/** `ikigai` is the scheme's earlier name. */
const otherNames: Readonly<Record<string, string>> = { ikigai: 'familiar' }

/** `notes/x.md`, `/home/max/x.md`, `familiar:///blocks/x.md`: the backend, and the path for it. */
export function parseAddress(text: string): { ok: true; scheme: string; path: string } | AssetFailure {
  if (text.trim() === '') return failure('invalid_path', 'The path is empty.')
  if (text.length > maxCharacters) return failure('invalid_path', 'The path is too long.')
  if (!text.isWellFormed() || unseen.test(text)) {
    return failure('invalid_path', 'The path contains invisible characters.')
  }
  const [, scheme, rest] = uri.exec(text) ?? []
  if (scheme === undefined || rest === undefined) return { ok: true, scheme: 'file', path: text }
  const lower = scheme.toLowerCase()
  if (lower === 'file') return failure('unknown_scheme', 'Use the plain path of a file, without file://.')
  return { ok: true, scheme: otherNames[lower] ?? lower, path: rest }
}

export type UntrustedFiles = ReturnType<typeof createUntrustedFiles>

/** Files without versions that are not as trusted as their folder: by content, so that a copy is recognized too. */
function createUntrustedFiles({ database, clock }: { database: Database; clock: Clock }) {
  return {
    async has(userId: string, hash: string): Promise<boolean> {
      const rows = database.read.selectFrom('untrusted_files').select('hash')
      return (await rows.where((row) => row.and({ user_id: userId, hash })).executeTakeFirst()) !== undefined
    },
    async add(userId: string, hash: string): Promise<void> {
      await database.write((writer) =>
        writer
          .insertInto('untrusted_files')
          .values({ user_id: userId, hash, at: clock.now() })
          .onConflict((conflict) => conflict.doNothing())
          .execute(),
      )
    },
  }
}

/** Changed text is kept as a version, so the limit is smaller than for reading. */
const maxWrittenBytes = 2_000_000
const maxReadBytes = 64_000_000
/** An undo of a file that keeps changing gives up. */
const maxAttempts = 5

type MakeNext = (
  found: StoredAsset | undefined,
  place: AssetPlace,
  newest: AssetVersion | undefined,
) => NextAsset | AssetFailure

/**
 * Files and blocks, with the same kind of names: `notes/x.md`, `familiar:///blocks/x.md`. All operations on a text are
 * implemented here, once: the backends only store it, so that results and failures are the same everywhere. Expected
 * failures are data.
 *
 * No change loses data: the previous content is a version. An undo is a change like any other, and can be undone.
 */
export type Assets = ReturnType<typeof createAssets>

function createAssets(dependencies: {
  backends: readonly AssetBackend[]
  database: Database
  clock: Clock
  untrusted: Pick<UntrustedFiles, 'has'>
}) {
  const { untrusted } = dependencies
  const backends = new Map(dependencies.backends.map((backend) => [backend.scheme, backend]))
  const versions = createAssetVersions(dependencies)
  const oneAtATime = createKeyedLock()

  function backendOf(path: string): { ok: true; backend: AssetBackend; path: string } | AssetFailure {
    const address = parseAddress(path)
    if (!address.ok) return address
    const backend = backends.get(address.scheme)
    if (backend) return { ok: true, backend, path: address.path }
    const known = [...backends.keys()].filter((scheme) => scheme !== 'file').map((scheme) => `${scheme}://`)
    return failure('unknown_scheme', `${address.scheme}:// is not supported. Use a plain path, or: ${known.join(', ')}`)
  }

  async function resolve(actor: AssetActor, path: string) {
    const found = backendOf(path)
    if (!found.ok) return found
    const place = await found.backend.locate(actor, found.path)
    return place.ok ? { ok: true as const, backend: found.backend, place: { uri: place.uri, path: place.path } } : place
  }

  async function load(actor: AssetActor, path: string, maxBytes: number): Promise<AssetText | AssetFailure> {
    const resolved = await resolve(actor, path)
    if (!resolved.ok) return resolved
    const { backend, place } = resolved
    const stored = await backend.read(actor, place, maxBytes)
    if (!stored.ok) return stored
    const newest = await versions.newest(actor.userId, place.uri)
    const { content, modifiedAt } = stored
    // Content that was once untrusted stays so until it is replaced completely, even after edits by others.
    const trust = newest?.content == null ? await trustOf(actor, stored) : newest.trust
    return { ok: true, ...place, content, etag: etagOf(content), version: newest?.version ?? 0, trust, modifiedAt }
  }

  async function trustOf({ userId }: AssetActor, { trust, content }: StoredAsset): Promise<Label> {
    return (await untrusted.has(userId, sha256(content))) ? 'untrusted' : trust
  }

  async function change(
    actor: AssetActor,
    request: { path: string; etag?: Etag; isRemoval?: true },
    make: MakeNext,
  ): Promise<AssetWritten | AssetFailure> {
    const resolved = await resolve(actor, request.path)
    if (!resolved.ok) return resolved
    const { place } = resolved
    return oneAtATime(`${actor.userId} ${place.uri}`, () => changeAlone(actor, { ...request, ...resolved }, make))
  }

  async function changeAlone(
    actor: AssetActor,
    request: { place: AssetPlace; backend: AssetBackend; etag?: Etag; isRemoval?: true },
    make: MakeNext,
  ): Promise<AssetWritten | AssetFailure> {
    const { place, backend } = request
    if (!backend.write) return failure('read_only', `${place.path} is read-only.`)
    const newest = await versions.newest(actor.userId, place.uri)
    let before: StoredAsset | undefined
    const asked: AssetChange = {
      ...(request.isRemoval && { isRemoval: true }),
      next(found) {
        before = found
        const conflict = conflictOf(found, request.etag, place.path)
        if (conflict) return conflict
        const next = make(found, place, newest)
        if (!next.ok) return next
        if (next.content === null) return { ...next, isSame: found === undefined }
        if (next.content.includes('\u0000'))
          return failure('binary', `${place.path} must be text, which cannot contain NUL.`)
        const content = next.content.toWellFormed()
        if (Buffer.byteLength(content) > maxWrittenBytes) return tooLarge(place.path, maxWrittenBytes)
        // The user may write the same content again to declare it trusted; the agent may not.
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
    load: (actor: AssetActor, { path }: { path: string }) => load(actor, path, maxWrittenBytes),

    async read(
      actor: AssetActor,
      { path, offset, limit }: { path: string; offset?: number | undefined; limit?: number | undefined },
    ) {
      const loaded = await load(actor, path, maxReadBytes)
      if (!loaded.ok) return loaded
      const { content, ...known } = loaded
      const page = cutPage(content, { offset, limit })
      return page.ok ? { ...known, ...page } : page
    },

    write: (actor: AssetActor, request: { path: string; content: string; etag?: Etag }) =>
      change(actor, request, () => ({ ok: true, content: request.content, trust: actor.trust })),

    async edit(actor: AssetActor, request: TextEdit & { path: string; etag?: Etag }) {
      let count = 0
      const written = await change(actor, request, (found, place, newest) => {
        if (!found) return notThere(place.path)
        const edited = applyEdit(found.content, request, place.path)
        if (!edited.ok) return edited
        count = edited.count
        // The rest keeps its trust.
        return { ok: true, content: edited.text, trust: graver(actor.trust, newest?.trust ?? found.trust) }
      })
      return written.ok ? { ...written, count } : written
    },

    /** Deletes it; its versions stay, and an undo restores it. */
    remove: (actor: AssetActor, request: { path: string; etag?: Etag }) =>
      change(actor, { ...request, isRemoval: true }, (found, place, newest) =>
        found ? { ok: true, content: null, trust: newest?.trust ?? found.trust } : notThere(place.path),
      ),

    /** The entries of a folder; an empty prefix means the workspace. */
    async list(actor: AssetActor, { prefix }: { prefix: string }) {
      const found = backendOf(prefix || '.')
      return found.ok ? await found.backend.list(actor, prefix && found.path) : found
    },

    /** The trust of a file with this content, read or not. */
    async trustOf(actor: AssetActor, { path, hash }: { path: string; hash: string }): Promise<Label> {
      if (await untrusted.has(actor.userId, hash)) return 'untrusted'
      const found = backendOf(path)
      const place = found.ok ? await found.backend.locate(actor, found.path) : found
      if (!place.ok) return 'untrusted'
      const newest = await versions.newest(actor.userId, place.uri)
      return newest?.content == null ? (place.folderTrust ?? 'untrusted') : newest.trust
    },

    async stat(actor: AssetActor, { path }: { path: string }) {
      const resolved = await resolve(actor, path)
      return resolved.ok ? await resolved.backend.stat(actor, resolved.place) : resolved
    },

    async history(actor: AssetActor, { path }: { path: string }) {
      const resolved = await resolve(actor, path)
      if (!resolved.ok) return resolved
      const { backend, place } = resolved
      const kept = await versions.list(actor.userId, place.uri)
      const stored = await backend.stat(actor, place)
      if (kept.length === 0 && !stored.ok) return stored
      return { ok: true as const, ...place, versions: kept }
    },

    async undo(actor: AssetActor, request: { path: string; version?: number | undefined; etag?: Etag }) {
      for (let attempt = 1; ; attempt += 1) {
        const resolved = await resolve(actor, request.path)
        if (!resolved.ok) return resolved
        const { backend, place } = resolved
        const stored = await backend.read(actor, place, maxWrittenBytes)
        if (!stored.ok && stored.code !== 'not_found') return stored
        const content = stored.ok ? stored.content : null
        const kept = await versions.list(actor.userId, place.uri)
        const target = targetOf(kept, content, request.version)
        if (!target) {
          return failure('no_version', `${place.path} has no ${request.version ?? 'earlier'} version.`)
        }
        const current = content === null ? null : etagOf(content)
        const etag = request.etag === undefined ? current : request.etag
        const { content: earlier, trust } = target
        const undone = await change(actor, { path: request.path, etag }, () => ({ ok: true, content: earlier, trust }))
        const isOvertaken = !undone.ok && undone.code === 'conflict' && request.etag === undefined
        if (isOvertaken && attempt < maxAttempts) continue
        return undone.ok ? { ...undone, restored: target.version } : undone
      }
    },
  }
}

/** The named version; otherwise the one before the current content, which may be unrecorded. */
function targetOf(
  kept: readonly AssetVersion[],
  content: string | null,
  version: number | undefined,
): AssetVersion | undefined {
  if (version !== undefined) return kept.find((one) => one.version === version)
  const [newest, before] = kept
  return newest && newest.content !== content ? newest : before
}

function conflictOf(found: StoredAsset | undefined, expected: Etag, path: string): AssetFailure | undefined {
  if (expected === undefined) return undefined
  const etag = found ? etagOf(found.content) : null
  if (etag === expected) return undefined
  return failure('conflict', `${path} was changed in the meantime: nothing was written. Read it again.`, { etag })
}

/** Equal content has an equal hash, wherever it is. */
function etagOf(content: string): string {
  return sha256(content).slice(0, 32)
}

const gravity: readonly Label[] = ['owner', 'internal', 'untrusted']

function graver(one: Label, other: Label): Label {
  return gravity[Math.max(gravity.indexOf(one), gravity.indexOf(other))] ?? 'untrusted'
}
