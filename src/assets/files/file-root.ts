import { namesBelow } from '../../base/open-folder.ts'
import type { Label } from '../../protocol/label.ts'

/** A folder whose files can be reached. */
export interface FileRoot {
  /** Absolute, as the user wrote it. */
  path: string
  /** Whose words its files are, where nothing is on record. */
  trust: Label
}

/** The innermost of the folders that hold the path: a closed folder inside a root is closed, and the other way round. */
export function innermost<T extends { path: string }>(folders: readonly T[], path: string): T | undefined {
  return folders
    .filter((folder) => namesBelow(folder.path, path) !== undefined)
    .sort((one, other) => other.path.length - one.path.length)[0]
}
