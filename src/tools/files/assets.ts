import type { Clock } from '../../base/clock.ts'
import { cutText } from '../../base/text.ts'
import { estimateTokens } from '../../base/tokens.ts'
import type { Label } from '../../protocol/messages.ts'
import { type Database, type Reader, toIndexKey, type Writer } from '../../storage/database.ts'
import type { AssetVersionRow } from '../../storage/feature-tables.ts'

export interface AssetText extends AssetPlace, StoredAsset {
  ok: true
  etag: string
  version: number
}

export interface AssetWritten extends AssetPlace {
  ok: true
  isNew: boolean
  /** False if it already had this content: nothing was written. */
  isChanged: boolean
  etag: string | null
  version: number
  trust: Label
}

/** The expected hash. Undefined: whatever exists. Null: only if nothing exists. */
export type Etag = string | null | undefined

/** The author of a request. Other users' assets do not exist for them. */
export interface AssetActor {
  userId: string
  author: 'user' | 'agent'
  /** The agent whose pins count: `main`, or `sessions.agent`. */
  agent: string
  trust: Label
}

export interface AssetPlace {
  uri: string
  /** For display; it can be used as input again. */
  path: string
}

interface LocatedAsset extends AssetPlace {
  ok: true
  /** Of a file: the trust of its folder. */
  folderTrust?: Label
}

export interface StoredAsset {
  content: string
  /** The trust of its content if none is recorded. */
  trust: Label
  modifiedAt: number
}

export interface AssetEntry extends AssetPlace {
  bytes: number
  modifiedAt: number
}

export interface AssetList {
  ok: true
  entries: AssetEntry[]
  isCut: boolean
}

export interface NextAsset {
  ok: true
  content: string | null
  trust: Label
}

/** A change to whatever exists at the time of writing. */
export interface AssetChange {
  /** A requested deletion: references to it are removed too. An undo that removes it is not such a deletion. */
  isRemoval?: true
  /** Computes the new content. Synchronous, and may be called again. */
  next(found: StoredAsset | undefined): (NextAsset & { isSame: boolean }) | AssetFailure
  /** Returns the version. In `writer`'s unit if there is one; otherwise before the change, so that nothing is lost. */
  record(step: RecordedStep, writer?: Writer): Promise<number>
  takeBack(version: number): Promise<void>
}

interface RecordedStep {
  found: StoredAsset | undefined
  next: NextAsset
}

export interface AssetChanged {
  ok: true
  next: NextAsset
  /** Null if it already had this content, and nothing was done. */
  version: number | null
}

/**
 * A store of texts. Reading by lines, editing, versions and undo are implemented outside, the same for every backend.
 *
 * A backend returns expected failures as data, and throws only for bugs. It must not show or change anything that the
 * actor may not access, whatever path it is given.
 */
export interface AssetBackend {
  /** The scheme of its addresses, before `://`; `file` has plain paths. */
  readonly scheme: string
  /** The canonical address of a name, whether or not it exists. */
  locate(actor: AssetActor, path: string): Promise<LocatedAsset | AssetFailure>
  /** The complete text, or the reason why not: never more than `maxBytes`, and only text. */
  read(actor: AssetActor, place: AssetPlace, maxBytes: number): Promise<({ ok: true } & StoredAsset) | AssetFailure>
  /** Everything under a folder, sorted by path; an empty prefix means all. */
  list(actor: AssetActor, prefix: string): Promise<AssetList | AssetFailure>
  stat(actor: AssetActor, place: AssetPlace): Promise<({ ok: true } & AssetEntry) | AssetFailure>
  /** Atomic: what `next` received is what is replaced. One change of a place at a time. Undefined: read-only. */
  write?(actor: AssetActor, place: AssetPlace, change: AssetChange): Promise<AssetChanged | AssetFailure>
}

/** Why something was not read or written. The same texts for every backend, apart from the path. */
export interface AssetFailure {
  ok: false
  code: AssetFailureCode
  /** A sentence for the caller: a model, or the user. */
  message: string
  /** With `ambiguous`: the number of occurrences. */
  count?: number
  /** With `conflict`: the current hash; null if it does not exist. */
  etag?: string | null
}

export type AssetFailureCode =
  | 'invalid_path'
  | 'unknown_scheme'
  | 'outside'
  | 'not_found'
  | 'is_directory'
  | 'not_regular'
  | 'linked'
  | 'moved'
  | 'no_permission'
  | 'protected'
  | 'read_only'
  | 'binary'
  | 'too_large'
  | 'past_end'
  | 'empty_old'
  | 'absent'
  | 'ambiguous'
  | 'same'
  | 'conflict'
  | 'budget'
  | 'no_version'

export function failure(
  code: AssetFailureCode,
  message: string,
  details: Pick<AssetFailure, 'count' | 'etag'> = {},
): AssetFailure {
  return { ok: false, code, message, ...details }
}

export function notThere(path: string): AssetFailure {
  return failure('not_found', `${path} does not exist.`)
}

export function tooLarge(path: string, maxBytes: number): AssetFailure {
  return failure('too_large', `${path} is too large: at most ${maxBytes} bytes can be read or written as one text.`)
}

export interface AssetVersion {
  version: number
  content: string | null
  tokens: number
  author: 'user' | 'agent'
  trust: Label
  at: number
}

// The oldest are deleted first, including the content before the first change; never the user's newest text.
const maxVersions = 50

/** All recorded states: 0 is the content before the first change. */
export function createAssetVersions({ database, clock }: { database: Database; clock: Clock }) {
  async function recordIn(writer: Writer, actor: AssetActor, given: string, step: RecordedStep): Promise<number> {
    const { userId: user_id, author } = actor
    const uri = toIndexKey(given)
    const at = clock.now()
    const known = await newestVersionIn(writer, user_id, uri)
    const { found, next } = step
    let version = known?.version ?? -1
    const insert = async (row: Pick<AssetVersionRow, 'content' | 'author' | 'trust' | 'at'>) => {
      version += 1
      const tokens = row.content === null ? 0 : estimateTokens(row.content)
      await writer
        .insertInto('asset_versions')
        .values({ user_id, uri, version, tokens, ...row })
        .execute()
    }
    // Changed by other means, or never changed by us: it must be restorable.
    if (!known || known.content !== (found?.content ?? null)) {
      const trust = known?.trust ?? found?.trust ?? next.trust
      await insert({ content: found?.content ?? null, author: 'user', trust, at: found?.modifiedAt ?? at })
    }
    await insert({ content: next.content, author, trust: next.trust, at })
    const usersNewest = await versionsOf(writer, user_id, uri)
      .where('author', '=', 'user')
      .where('content', 'is not', null)
      .limit(1)
      .executeTakeFirst()
    await writer
      .deleteFrom('asset_versions')
      .where((row) => row.and({ user_id, uri }))
      .where('version', '<=', version - maxVersions)
      .where('version', '!=', usersNewest?.version ?? -1)
      .execute()
    return version
  }

  return {
    list: (userId: string, uri: string): Promise<AssetVersion[]> => versionsOf(database.read, userId, uri).execute(),
    newest: (userId: string, uri: string) => newestVersionIn(database.read, userId, uri),
    /** In `writer`'s unit, or in its own. Returns the new current version. */
    record: (actor: AssetActor, uri: string, step: RecordedStep, writer?: Writer): Promise<number> =>
      writer ? recordIn(writer, actor, uri, step) : database.write((own) => recordIn(own, actor, uri, step)),
    /** The change recorded as this version was not made. */
    async drop(userId: string, uri: string, version: number): Promise<void> {
      await database.write((writer) =>
        writer
          .deleteFrom('asset_versions')
          .where((row) => row.and({ user_id: userId, uri: toIndexKey(uri), version }))
          .execute(),
      )
    },
  }
}

export function newestVersionIn(
  reader: Reader | Writer,
  userId: string,
  uri: string,
): Promise<AssetVersion | undefined> {
  return versionsOf(reader, userId, uri).limit(1).executeTakeFirst()
}

function versionsOf(reader: Reader | Writer, userId: string, uri: string) {
  return reader
    .selectFrom('asset_versions')
    .select(['version', 'content', 'tokens', 'author', 'trust', 'at'])
    .where((row) => row.and({ user_id: userId, uri: toIndexKey(uri) }))
    .orderBy('version', 'desc')
}

const maxLines = 2_000
// Less than what a result of a tool may have (src/agent/tool-calls.ts): the note must not be what is cut off.
const maxCharacters = 25_000

/**
 * Lines of a text from `offset` on, as many as fit. A single line that is too long is cut. Lines are counted from 1. The
 * note says how to continue, or what is missing of a line; null if complete.
 */
export function cutPage(
  text: string,
  { offset = 1, limit = maxLines }: { offset?: number | undefined; limit?: number | undefined },
) {
  if (text === '') return { ok: true as const, text, firstLine: 0, lastLine: 0, lines: 0, note: null }
  const starts = lineStarts(text)
  const lines = starts.length
  const first = Math.max(1, offset)
  const from = starts[first - 1]
  if (from === undefined) return failure('past_end', `There are ${lines} lines; line ${first} is past the end.`)
  let last = Math.min(lines, first + Math.max(1, limit) - 1)
  const endOf = (line: number) => starts[line] ?? text.length
  if (last > first && endOf(last) - from > maxCharacters) {
    last = first
    while ((starts[last + 1] ?? Number.POSITIVE_INFINITY) - from <= maxCharacters) last += 1
  }
  const whole = text.slice(from, endOf(last))
  const isCut = whole.length > maxCharacters
  const notes = [
    ...(isCut ? [`line ${first} has ${whole.length} characters, of which ${maxCharacters} are shown`] : []),
    ...(last < lines ? [`${lines - last} more lines: continue with offset ${last + 1}`] : []),
  ]
  const note = notes.length > 0 ? `[${notes.join('; ')}]` : null
  const shown = isCut ? cutText(whole, maxCharacters) : whole
  return { ok: true as const, text: shown, firstLine: first, lastLine: last, lines, note }
}

function lineStarts(text: string): number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at >= 0 && at + 1 < text.length; at = text.indexOf('\n', at + 1))
    starts.push(at + 1)
  return starts
}

/** Runs tasks of the same key one after the other, in order. */
export function createKeyedLock(): <T>(key: string, task: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>()
  return async (key, task) => {
    const before = last.get(key)
    const own = (before ?? Promise.resolve()).then(task, task)
    last.set(key, own)
    try {
      return await own
    } finally {
      if (last.get(key) === own) last.delete(key)
    }
  }
}
