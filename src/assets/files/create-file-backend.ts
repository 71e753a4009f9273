import { namesBelow, type OpenFolder, realPathOf } from '../../base/open-folder.ts'
import type {
  AssetActor,
  AssetBackend,
  AssetChange,
  AssetChanged,
  AssetPlace,
  PlannedAsset,
  StoredAsset,
} from '../asset-backend.ts'
import { type AssetFailure, failure } from '../asset-failure.ts'
import { decodeAsset } from '../decode-asset.ts'
import { inFolderOf } from './in-folder-of.ts'
import { listFiles } from './list-files.ts'
import { describeSystemError, type FileBounds, type FileLocation, locateFile } from './locate-file.ts'
import { isPromptFile } from './prompt-files.ts'
import { lookAtFile, moved, readPlainFile } from './read-plain-file.ts'

/** What lies there is kept as a version before it is replaced: more than this is left alone. */
const mostReplacedBytes = 2_000_000

type StoredFile = ({ ok: true } & StoredAsset & { mode: number }) | AssetFailure

/** Files of the allowed folders. Texts alone: what is no text is neither shown nor replaced. */
export function createFileBackend(dependencies: {
  /** Which folders a user reaches; none for one who has no files here. */
  boundsOf(userId: string): FileBounds
  /** Further files of the workspace that the config puts into the prompt. */
  promptFiles?: () => readonly string[]
  /** Whole folders, wherever they lie, whose files can come into the prompt. */
  promptFolders?: () => readonly string[]
}): AssetBackend {
  const { boundsOf, promptFiles = () => [], promptFolders = () => [] } = dependencies

  async function makesPrompt({ inWorkspace, real }: FileLocation): Promise<boolean> {
    if (inWorkspace && isPromptFile(inWorkspace, promptFiles())) return true
    const folders = await Promise.all(promptFolders().map((folder) => realPathOf(folder).catch(() => folder)))
    return folders.some((folder) => namesBelow(folder, real) !== undefined)
  }

  /** Found anew for each call: what is reached is decided by what is there now. */
  async function reach<T>(
    actor: AssetActor,
    place: AssetPlace,
    work: (location: FileLocation) => Promise<T | AssetFailure>,
  ): Promise<T | AssetFailure> {
    const location = await locateFile(boundsOf(actor.userId), pathOf(place))
    if (!location.ok) return location
    // It has become a link since it was named: versions would go to another file's record.
    if (location.real !== pathOf(place)) return moved(place.path)
    return await work(location).catch((cause: unknown) => describeSystemError(cause, place.path))
  }

  return {
    scheme: 'file',
    async locate(actor, path) {
      const location = await locateFile(boundsOf(actor.userId), path)
      return location.ok ? { ok: true, uri: `file://${location.real}`, path: location.path } : location
    },
    read: (actor, place, mostBytes) =>
      reach(actor, place, async (location) => {
        const read = await inFolderOf(location, (folder, name) => readText(folder, name, { location, mostBytes }))
        if (!read.ok) return read
        const { content, trust, modifiedAt } = read
        return { ok: true, content, trust, modifiedAt }
      }),
    stat: (actor, place) =>
      reach(actor, place, (location) =>
        inFolderOf(location, async (folder, name) => {
          const seen = await lookAtFile(folder, name, location.path)
          if (!seen.ok) return seen
          return { ok: true, ...place, bytes: seen.stat.size, modifiedAt: Math.trunc(seen.stat.mtimeMs) }
        }),
      ),
    async list(actor, prefix) {
      const bounds = boundsOf(actor.userId)
      const location = await locateFile(bounds, prefix === '' ? '.' : prefix)
      if (!location.ok) return location
      return await listFiles(location, bounds).catch((cause: unknown) => describeSystemError(cause, location.path))
    },
    write: (actor, place, change) =>
      reach(actor, place, async (location) => {
        if (actor.author === 'agent' && (await makesPrompt(location))) {
          return failure('protected', `${place.path} makes your own prompt: only the user changes it.`)
        }
        return await replaceText(location, change)
      }),
  }
}

async function replaceText(location: FileLocation, change: AssetChange): Promise<AssetChanged | AssetFailure> {
  const found = await inFolderOf(location, (folder, name) =>
    readText(folder, name, { location, mostBytes: mostReplacedBytes }),
  ).catch((cause: unknown): StoredFile => describeSystemError(cause, location.path))
  if (!found.ok && found.code !== 'not_found') return found
  const before = found.ok ? found : undefined
  const next = change.next(before)
  if (!next.ok) return next
  if (next.isSame) return { ok: true, next, version: null }
  const version = await change.record({ found: before, next })
  try {
    const problem = await putText(location, next, before?.mode)
    if (!problem) return { ok: true, next, version }
    await change.takeBack(version)
    return problem
  } catch (cause) {
    await change.takeBack(version)
    throw cause
  }
}

async function putText(
  location: FileLocation,
  { content }: PlannedAsset,
  mode: number | undefined,
): Promise<AssetFailure | undefined> {
  return await inFolderOf(
    location,
    async (folder, name) => {
      if (!(await folder.isInPlace())) return moved(location.path)
      if (content === null) await folder.remove(name)
      else await folder.write(name, content, mode)
      return undefined
    },
    { make: content !== null },
  )
}

async function readText(
  folder: OpenFolder,
  name: string,
  { location, mostBytes }: { location: FileLocation; mostBytes: number },
): Promise<StoredFile> {
  const read = await readPlainFile(folder, name, { path: location.path, mostBytes })
  if (!read.ok) return read
  const text = decodeAsset(read.bytes, location.path)
  if (!text.ok) return text
  const { mtimeMs, mode } = read.stat
  const { trust } = location.root
  return { ok: true, content: text.content, trust, modifiedAt: Math.trunc(mtimeMs), mode: mode & 0o777 }
}

function pathOf({ uri }: AssetPlace): string {
  return uri.slice('file://'.length)
}
