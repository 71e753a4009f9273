import { basename, isAbsolute, join, relative, sep } from 'node:path'

/** Where a passage stands, for a person who wants to look it up. */
export interface FilePlace {
  /** As people know it: from the folder on that they added, or inside the workspace. */
  path: string
  /** The whole path. */
  file: string
  firstLine: number
  lastLine: number
}

/** `notes/trip.md:12-18` */
export function citePlace({ path, firstLine, lastLine }: FilePlace): string {
  return `${path}:${firstLine}${lastLine > firstLine ? `-${lastLine}` : ''}`
}

export function shownPath({ root, path, workspace }: { root: string; path: string; workspace: string }): string {
  return isInside(workspace, root) ? relative(workspace, path) : join(basename(root), relative(root, path))
}

export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path)
  return !isAbsolute(way) && way.split(sep)[0] !== '..'
}
