import { chmod, lstat, mkdir, readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ensurePrivateDirectory, hasCode, readBundledText } from '../base/files.ts'
import { reasonOf } from '../base/text.ts'
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
    const { providers, workspace, workspaceMemory, skills, tools, capabilities, media, backups, log, run } = paths
    const inside = [providers, workspace, workspaceMemory, skills, tools, capabilities, media, backups, log, run]
    for (const directory of inside) {
      current = directory
      await ensurePrivateDirectory(directory)
    }
    for (const file of [paths.config, paths.environment, paths.database, paths.key]) {
      current = file
      const found = await lstat(file).catch(() => undefined)
      if (found?.isFile() && (found.mode & 0o077) !== 0) await chmod(file, 0o600)
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
    if (!hasCode(cause, 'ENOENT')) throw cause
  })
  if (found) return
  await makeDirectory(dirname(path))
  await mkdir(path, { mode: 0o700 }).catch((cause) => {
    // Another process was faster.
    if (!hasCode(cause, 'EEXIST')) throw cause
  })
}

async function writeIfAbsent(path: string, text: string): Promise<void> {
  await writeFile(path, text, { mode: 0o600, flag: 'wx' }).catch((cause) => {
    if (!hasCode(cause, 'EEXIST')) throw cause
  })
}

/** By the system's error code: what is wrong, and what to do about it. */
const failures: { codes: string[]; message(path: string): string; advice: string }[] = [
  {
    codes: ['EACCES', 'EPERM'],
    message: (path) => `No permission to write ${path}.`,
    advice: 'Take ownership (chown, chmod 700)',
  },
  { codes: ['EROFS'], message: (path) => `${path} is on a read-only file system.`, advice: 'Mount it writable' },
  {
    codes: ['ENOSPC', 'EDQUOT'],
    message: (path) => `The disk is full: ${path} was not written.`,
    advice: 'Free some space',
  },
  {
    codes: ['ENOTDIR', 'ENOENT'],
    message: (path) => `${path} cannot be created: a part of it is not a directory.`,
    advice: 'Check the path',
  },
]

function describeFailure(path: string, cause: unknown): OpenedHome {
  const first = cause instanceof FamiliarError ? (cause.cause ?? cause) : cause
  const known = failures.find(({ codes }) => hasCode(first, ...codes))
  if (!known && !(cause instanceof Error)) throw cause
  const message = known ? known.message(path) : reasonOf(cause)
  const hint = `${known?.advice ?? `Check ${path}`}, or choose another place: FAMILIAR_HOME=/your/path`
  return { ok: false, path, message, hint }
}
