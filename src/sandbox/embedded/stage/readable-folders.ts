import { realpath, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { sha256 } from '../../../base/hash.ts'
import { SandboxUnavailable } from '../../sandbox.ts'
import type { SandboxAccount } from '../sandbox-account.ts'
import { copyTree } from './copy-tree.ts'
import { stampTree } from './stamp-tree.ts'

/** A place where the sandbox's account can read what was asked for, until it is released. */
interface ReadableFolder {
  path: string
  release(): void
}

export interface ReadableFolders {
  /** Throws `SandboxUnavailable` where there is nothing. */
  hold(source: string): Promise<ReadableFolder>
}

interface Copy {
  source: string
  ready: Promise<string>
  users: number
}

/**
 * A user's own sandbox reads the user's own files where they lie. The sandbox of root belongs to an account that can
 * enter no home, so it gets a copy that only that account can read, made once for each state of the original.
 */
export function createReadableFolders(options: {
  directory: string
  account: SandboxAccount
  /** False where `directory` is closed to everybody already, and the account is only known inside of a container. */
  isPrivate?: boolean
}): ReadableFolders {
  const { directory, account, isPrivate = true } = options
  const copies = new Map<string, Copy>()

  async function hold(source: string): Promise<ReadableFolder> {
    const real = await realpath(source).catch(() => {
      throw new SandboxUnavailable(`${source} is not there`)
    })
    if (!account.isOther) return { path: real, release() {} }
    const { stamp, isOpen } = await stampTree(real)
    if (isOpen) return { path: real, release() {} }
    const key = sha256(`${real}\0${stamp}`).slice(0, 24)
    const copy = copies.get(key) ?? startCopy(key, real)
    copy.users += 1
    const release = () => {
      copy.users -= 1
      dropOutdated(real)
    }
    try {
      return { path: await copy.ready, release }
    } catch (cause) {
      copies.delete(key)
      throw cause
    }
  }

  function startCopy(key: string, source: string): Copy {
    const copy: Copy = { source, ready: makeCopy(key, source), users: 0 }
    // The newest one is the last in the map.
    copies.set(key, copy)
    return copy
  }

  async function makeCopy(key: string, source: string): Promise<string> {
    const target = join(directory, key)
    const temporary = `${target}.new`
    await rm(temporary, { recursive: true, force: true })
    await copyTree({ source, target: temporary, gid: account.gid, isPrivate })
    await rename(temporary, target)
    return target
  }

  function dropOutdated(source: string): void {
    const ofSource = [...copies].filter(([, copy]) => copy.source === source)
    for (const [key, copy] of ofSource.slice(0, -1)) {
      if (copy.users > 0) continue
      copies.delete(key)
      void copy.ready.then((path) => rm(path, { recursive: true, force: true })).catch(() => undefined)
    }
  }

  return { hold }
}
