import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'

/** The first of the candidates that can be run: paths as they are, names on `searchPath`. */
export async function findProgram(candidates: readonly string[], searchPath: string): Promise<string | undefined> {
  const directories = searchPath.split(delimiter).filter(isAbsolute)
  const paths = candidates.flatMap((candidate) =>
    isAbsolute(candidate) ? [candidate] : directories.map((directory) => join(directory, candidate)),
  )
  for (const path of paths) {
    const isRunnable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isRunnable) return path
  }
  return undefined
}
