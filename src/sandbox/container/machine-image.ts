import { existsSync } from 'node:fs'
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sha256 } from '../../base/hash.ts'
import { canonicalJson } from '../../base/json.ts'
import { innerRoot } from '../embedded/stage/inner-root.ts'
import type { SandboxImage, SandboxMount } from '../sandbox.ts'
import { kitPath } from './entry-kit.ts'

/** What a command without an image of its own sees: an image with nothing in it, and this machine's programs. */
export interface MachineImage {
  image: SandboxImage
  mounts: SandboxMount[]
  environment: Record<string, string>
}

// What the programs look up, and nothing that tells of this machine or its users.
const settings = ['alternatives', 'ld.so.cache', 'ssl/certs', 'ca-certificates', 'pki/tls/certs'].map(
  (name) => `/etc/${name}`,
)

const dockerfile = 'FROM scratch\nCOPY root /\n'

/** Makes the folder that the image is built from. Nothing of this machine goes into the image itself but links. */
export async function prepareMachineImage(directory: string): Promise<MachineImage> {
  const entries = innerRoot()
  const hash = sha256(canonicalJson({ entries, dockerfile })).slice(0, 16)
  const folder = join(directory, `machine-${hash}`)
  await rm(folder, { recursive: true, force: true })
  await mkdir(join(folder, 'root/etc'), { recursive: true })
  await writeFile(join(folder, 'Dockerfile'), dockerfile)
  const mounts: SandboxMount[] = []
  for (const entry of entries) {
    if (entry.kind === 'link') await symlink(entry.target, join(folder, 'root', entry.path))
    else mounts.push({ source: entry.path, target: entry.path })
  }
  for (const path of settings) if (existsSync(path)) mounts.push({ source: path, target: path })
  const environment = { PATH: ['/usr/local/bin', '/usr/bin', '/bin', kitPath].join(':') }
  return { image: { directory: folder, hash, name: 'machine' }, mounts, environment }
}
