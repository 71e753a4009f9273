import type { OpenFolder } from '../../base/open-folder.ts'
import { type AssetFailure, failure, tooLarge } from '../asset-failure.ts'

type FileStat = Awaited<ReturnType<OpenFolder['look']>>

/** What a name in an open folder is. A file under two names may be one from outside. */
export async function lookAtFile(
  folder: OpenFolder,
  name: string,
  path: string,
): Promise<{ ok: true; stat: FileStat } | AssetFailure> {
  const stat = await folder.look(name)
  if (stat.isDirectory()) return failure('is_directory', `${path} is a folder.`)
  if (!stat.isFile()) return failure('not_regular', `${path} is no plain file.`)
  if (stat.nlink > 1) return failure('linked', `${path} is one file under several names (a hard link): not touched.`)
  return { ok: true, stat }
}

/** The bytes of a plain file that lies below its root before and after. Fails as the system does where it is gone. */
export async function readPlainFile(
  folder: OpenFolder,
  name: string,
  { path, mostBytes }: { path: string; mostBytes: number },
): Promise<{ ok: true; bytes: Uint8Array; stat: FileStat } | AssetFailure> {
  const seen = await lookAtFile(folder, name, path)
  if (!seen.ok) return seen
  const { stat, bytes } = await folder.read(name, mostBytes)
  // Between the look and the opening it may have become another one, or its folder may have been carried off.
  const isSame = stat.isFile() && stat.nlink <= 1 && stat.ino === seen.stat.ino && stat.dev === seen.stat.dev
  if (!isSame || !(await folder.isInPlace())) return moved(path)
  return bytes ? { ok: true, bytes, stat } : tooLarge(path, mostBytes)
}

export function moved(path: string): AssetFailure {
  return failure('moved', `${path} was moved or replaced at this very moment. Try again.`)
}
