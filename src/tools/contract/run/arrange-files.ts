import { posix } from 'node:path'
import type { DockerfileCopy, DockerfilePlan } from '../../../sandbox/read-dockerfile.ts'
import type { FolderFile } from '../folder/tool-folder.ts'

/** The files of a tool by the place at which it finds them. */
export type ArrangedFiles = ReadonlyMap<string, FolderFile>

/** What COPY puts where, in its order. `missing` are sources that match nothing in the folder. */
export function arrangeFiles(
  { copies, executables }: Pick<DockerfilePlan, 'copies' | 'executables'>,
  files: readonly FolderFile[],
): { arranged: ArrangedFiles; missing: string[] } {
  const arranged = new Map<string, FolderFile>()
  const missing: string[] = []
  for (const copy of copies) {
    const landing = files.flatMap((file) => {
      const place = placeOf(copy, file.path)
      return place === undefined ? [] : [{ place, file }]
    })
    for (const { place, file } of landing) arranged.set(place, file)
    if (landing.length === 0 && copy.source !== '.') missing.push(copy.source)
  }
  for (const place of executables) {
    const file = arranged.get(place)
    if (file) arranged.set(place, { ...file, isExecutable: true })
  }
  return { arranged, missing }
}

/** Where a file lands by this copy: under its own name, or, from a folder, under its way inside that folder. */
function placeOf({ source, target, isIntoDirectory }: DockerfileCopy, path: string): string | undefined {
  if (source === '.') return posix.join(target, path)
  const steps = source.split('/').length
  const start = path.split('/').slice(0, steps).join('/')
  const rest = path.split('/').slice(steps).join('/')
  if (start !== source && !posix.matchesGlob(start, source)) return undefined
  if (rest !== '') return posix.join(target, rest)
  return isIntoDirectory ? posix.join(target, posix.basename(path)) : target
}
