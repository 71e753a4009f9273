import { chmod, mkdir, open, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SandboxCommand, SandboxMount } from '../sandbox.ts'
import { openDoor } from './open-door.ts'

/** What one run has on this machine's disk. Nobody but this user and the run's own container reaches it. */
export interface RunFolder extends AsyncDisposable {
  /** Becomes descriptor 3. */
  resultPath: string
  /** Where the shell that waits writes what it saw. */
  accountPath: string
  /** Null where the command does not go through the proxy. */
  proxyPath: string | null
  /** The command's, by names that the engine can read. */
  mounts: SandboxMount[]
}

export async function makeRunFolder(folder: string, { mounts, network }: SandboxCommand): Promise<RunFolder> {
  await mkdir(folder, { mode: 0o700 })
  const place = (name: string) => join(folder, name)
  const isProxied = network.kind === 'proxy'
  const door = isProxied && (await openDoor({ folder, name: 'proxy.sock', target: network.socketPath }))
  for (const name of ['result', 'account']) {
    await writeFile(place(name), '')
    // The user inside is another one.
    await chmod(place(name), 0o666)
  }
  return {
    resultPath: place('result'),
    accountPath: place('account'),
    proxyPath: isProxied ? place('proxy.sock') : null,
    mounts: await Promise.all(mounts.map((mount, index) => plainlyNamed(mount, place(`mount-${index}`)))),
    async [Symbol.asyncDispose]() {
      if (door) await door[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Podman reads a mount as a line of options: a comma in a path would begin the next one. */
async function plainlyNamed(mount: SandboxMount, link: string): Promise<SandboxMount> {
  if (/^[\w/.@+ -]+$/.test(mount.source)) return mount
  await symlink(mount.source, link)
  return { ...mount, source: link }
}

/** The first bytes of a file that may have become anything. */
export async function readStart(path: string, maxBytes: number): Promise<{ bytes: Uint8Array; isWhole: boolean }> {
  const file = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(maxBytes), 0, maxBytes, 0)
    return { bytes: buffer.subarray(0, bytesRead), isWhole: (await file.stat()).size <= maxBytes }
  } finally {
    await file.close()
  }
}
