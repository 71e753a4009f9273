import { chmod, lstat, mkdir, readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ensurePrivateDirectory, readBundledText } from '../base/files.ts'
import { FamiliarError } from '../protocol/errors.ts'
import { type HomePaths, homePaths } from './home-paths.ts'

export type OpenedHome =
  | { ok: true; paths: HomePaths; isNew: boolean }
  /** `path` is the problematic one, `hint` what to do about it. */
  | { ok: false; path: string; message: string; hint: string }

/**
 * Prepares the home: private, with every directory and the starter files of the workspace. Existing files are kept;
 * only their permissions are tightened. Rejects a home that another user could have changed, because its files name
 * programs, hosts and prompts.
 */
export async function openHome(home: string): Promise<OpenedHome> {
  const paths = homePaths(home)
  const refused = await checkHome(paths.root)
  if (refused) return refused
  let current = paths.root
  try {
    await makeDirectory(paths.root)
    await ensurePrivateDirectory(paths.root)
    const isNew = (await readdir(paths.root)).length === 0
    for (const directory of directoriesOf(paths)) {
      current = directory
      await ensurePrivateDirectory(directory)
    }
    for (const file of [paths.config, paths.environment, paths.database, paths.key]) {
      current = file
      await makePrivate(file)
    }
    for (const name of starterFiles) {
      current = join(paths.workspace, name)
      await writeIfAbsent(current, `${readBundledText(new URL(`./starter/${name}`, import.meta.url))}\n`)
    }
    return { ok: true, paths, isNew }
  } catch (cause) {
    return describeFailure(current, cause)
  }
}

export const starterFiles = ['SOUL.md', 'AGENTS.md', 'USER.md', 'IDENTITY.md'] as const

function directoriesOf(paths: HomePaths): string[] {
  const { providers, workspace, workspaceMemory, skills, tools, capabilities, media, backups, log, run } = paths
  return [providers, workspace, workspaceMemory, skills, tools, capabilities, media, backups, log, run]
}

/** Problems that tightening cannot fix: others may have changed the files already. */
async function checkHome(root: string): Promise<Extract<OpenedHome, { ok: false }> | undefined> {
  const found = await lstat(root).catch(() => undefined)
  if (!found?.isDirectory() || (found.mode & 0o022) === 0) return undefined
  return {
    ok: false,
    path: root,
    message: `${root} can be changed by other users of this machine.`,
    hint: `Check whether anything in it is not yours, then: chmod 700 ${root}`,
  }
}

/** With its parents, one by one: Node's recursive `mkdir` never returns if the system answers ENOENT. */
async function makeDirectory(path: string): Promise<void> {
  const found = await lstat(path).catch((cause) => {
    if (errorCode(cause) !== 'ENOENT') throw cause
  })
  if (found) return
  await makeDirectory(dirname(path))
  await mkdir(path, { mode: 0o700 }).catch((cause) => {
    // Another process was faster.
    if (errorCode(cause) !== 'EEXIST') throw cause
  })
}

async function makePrivate(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined)
  if (found?.isFile() && (found.mode & 0o077) !== 0) await chmod(path, 0o600)
}

async function writeIfAbsent(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { mode: 0o600, flag: 'wx' })
  } catch (cause) {
    if (errorCode(cause) !== 'EEXIST') throw cause
  }
}

function describeFailure(path: string, cause: unknown): OpenedHome {
  const code = errorCode(cause instanceof FamiliarError ? (cause.cause ?? cause) : cause)
  const elsewhere = 'or choose another place: FAMILIAR_HOME=/your/path'
  switch (code) {
    case 'EACCES':
    case 'EPERM':
      return {
        ok: false,
        path,
        message: `No permission to write ${path}.`,
        hint: `Take ownership (chown, chmod 700), ${elsewhere}`,
      }
    case 'EROFS':
      return {
        ok: false,
        path,
        message: `${path} is on a read-only file system.`,
        hint: `Mount it writable, ${elsewhere}`,
      }
    case 'ENOSPC':
    case 'EDQUOT':
      return {
        ok: false,
        path,
        message: `The disk is full: ${path} was not written.`,
        hint: `Free some space, ${elsewhere}`,
      }
    case 'ENOTDIR':
    case 'ENOENT':
      return {
        ok: false,
        path,
        message: `${path} cannot be created: a part of it is not a directory.`,
        hint: `Check the path, ${elsewhere}`,
      }
    default:
      if (!(cause instanceof Error)) throw cause
      return { ok: false, path, message: cause.message, hint: `Check ${path}, ${elsewhere}` }
  }
}

function errorCode(cause: unknown): unknown {
  return cause instanceof Error && 'code' in cause ? cause.code : undefined
}
