import type { Label } from '../../protocol/label.ts'
import type { AssetFailure } from '../asset-failure.ts'
import { inFolderOf } from './in-folder-of.ts'
import { describeSystemError, type FileBounds, locateFile } from './locate-file.ts'
import { readPlainFile } from './read-plain-file.ts'

/** All of a file that is no text, inside the bounds like any other. `too_large` where it has more than `mostBytes`. */
export async function readFileBytes(
  bounds: FileBounds,
  { path, mostBytes }: { path: string; mostBytes: number },
): Promise<{ ok: true; path: string; data: Uint8Array; trust: Label } | AssetFailure> {
  const location = await locateFile(bounds, path)
  if (!location.ok) return location
  const read = await inFolderOf(location, (folder, name) =>
    readPlainFile(folder, name, { path: location.path, mostBytes }),
  ).catch((cause: unknown) => describeSystemError(cause, location.path))
  return read.ok ? { ok: true, path: location.path, data: read.bytes, trust: location.root.trust } : read
}
