import { isAbsolute, resolve } from 'node:path'
import { namesBelow, realPathOf } from '../../base/open-folder.ts'
import { type AssetFailure, failure } from '../asset-failure.ts'
import { type FileRoot, innermost } from './file-root.ts'

/** Where a file lies, with no link left in its path. */
export interface FileLocation {
  ok: true
  root: FileRoot
  /** The way from the root down; empty for the root itself. */
  names: string[]
  real: string
  /** Relative where it is in the workspace. */
  path: string
  /** The way from the workspace down, where it is in there. */
  inWorkspace: string[] | undefined
}

export interface FileBounds {
  /** The first is the workspace: where relative paths begin. */
  roots: readonly FileRoot[]
  /** Folders that are closed, also inside a root; a root inside one of them is open again. */
  closed: readonly string[]
}

// Nothing is told of what lies there, not even whether it does.
const outside = failure('outside', 'That path is outside of the folders that can be reached.')

/**
 * Finds the one real path of what is named. Nothing outside the roots is looked at: first the path as it is written must
 * lie in one, then what its links lead to.
 */
export async function locateFile(bounds: FileBounds, path: string): Promise<FileLocation | AssetFailure> {
  const [workspace] = bounds.roots
  if (!workspace) return outside
  if (path === '~' || path.startsWith('~/')) {
    return failure('invalid_path', '~ means nothing here. Give a path in the workspace, or a whole one.')
  }
  const written = isAbsolute(path) ? resolve(path) : resolve(workspace.path, path)
  const roots = await Promise.all(bounds.roots.map(realRoot))
  const closed = await Promise.all(bounds.closed.map(realOrWritten))
  if (![...bounds.roots, ...roots].some((root) => namesBelow(root.path, written))) return outside
  const real = await realPathOf(written).catch((cause: NodeJS.ErrnoException) => cause)
  if (real instanceof Error) return describeSystemError(real, path)
  const holder = innermost([...roots, ...closed.map((folder) => ({ path: folder, trust: undefined }))], real)
  if (holder?.trust === undefined) return outside
  const root = { path: holder.path, trust: holder.trust }
  const home = roots[0]?.path ?? workspace.path
  const inWorkspace = namesBelow(home, real)
  return {
    ok: true,
    root,
    names: namesBelow(root.path, real) ?? [],
    real,
    path: inWorkspace ? inWorkspace.join('/') || '.' : real,
    inWorkspace,
  }
}

async function realRoot(root: FileRoot): Promise<FileRoot> {
  return { ...root, path: await realOrWritten(root.path) }
}

/** A root that cannot be looked at is no reason to reach nothing else. */
function realOrWritten(path: string): Promise<string> {
  return realPathOf(path).catch(() => path)
}

/** What the system says, as a failure; a fault of ours or of the disk is thrown on. */
export function describeSystemError(cause: unknown, path: string): AssetFailure {
  switch (cause instanceof Error && 'code' in cause ? cause.code : undefined) {
    case 'ENOENT':
      return failure('not_found', `${path} is not there.`)
    case 'ENOTDIR':
    case 'ELOOP':
      return failure('not_regular', `A part of ${path} is no plain folder.`)
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return failure('no_permission', `There is no permission for ${path}.`)
    case 'ENAMETOOLONG':
    case 'EINVAL':
    case 'EILSEQ':
      return failure('invalid_path', 'The path is too long, or no path on this machine.')
    default:
      throw cause
  }
}
