import { type OpenFolder, openFolder } from '../../base/open-folder.ts'
import { type AssetFailure, failure } from '../asset-failure.ts'
import type { FileLocation } from './locate-file.ts'

/** Opens the folder of a file, step by step from its root, for as long as the work takes. */
export async function inFolderOf<T>(
  { root, names, path }: FileLocation,
  work: (folder: OpenFolder, name: string) => Promise<T>,
  options: { make?: boolean } = {},
): Promise<T | AssetFailure> {
  const name = names.at(-1)
  if (name === undefined) return failure('is_directory', `${path} is a folder.`)
  const folder = await openFolder(root.path, names.slice(0, -1), options)
  try {
    return await work(folder, name)
  } finally {
    await folder.close()
  }
}
