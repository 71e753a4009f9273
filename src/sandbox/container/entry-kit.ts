import { execFile } from 'node:child_process'
import { chmod, copyFile, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { sha256 } from '../../base/hash.ts'

/**
 * This machine's shell, and Node for the relay, with the libraries and the loader that they need: bound read-only into
 * every container, so that the entry is the same in an image that has no shell, an old one, or another C library. The
 * files are started through their own loader and leave no trace in what runs after them.
 */
export interface EntryKit {
  directory: string
  /** Starts the shell inside. */
  shell: string[]
  /** Starts Node inside. Null where it cannot be taken along. */
  node: string[] | null
  /** Starts the relay inside, before the command that it serves. */
  relay: string[] | null
  /** The files of this machine that the kit itself does not hold, and where they are bound. */
  binds: { source: string; target: string }[]
}

export const kitPath = '/.familiar'

/** Undefined where the shell of this machine cannot run in a container: then the image must have one. */
export async function prepareEntryKit(directory: string): Promise<EntryKit | undefined> {
  const shell = await programFiles('/bin/sh')
  if (!shell) return undefined
  const node = await programFiles(process.execPath)
  const files = new Map(shell.libraries.map((path) => [basename(path), path]))
  // Two C libraries do not mix in one folder.
  const withNode = node?.loader !== undefined && node.loader === shell.loader
  if (withNode) for (const path of node.libraries) files.set(basename(path), path)
  files.set('sh', '/bin/sh')
  files.set('relay.mjs', fileURLToPath(new URL('../embedded/network/relay.mjs', import.meta.url)))

  const first = basename(shell.loader ?? 'sh')
  const kit = join(directory, `kit-${await fingerprint([...files])}`)
  await makeKit(kit, files, first)
  const start = shell.loader ? [`${kitPath}/${first}`, '--library-path', kitPath] : []
  const startNode = withNode ? [...start, `${kitPath}/node`, ...lightNode] : null
  return {
    directory: kit,
    shell: [...start, `${kitPath}/sh`],
    node: startNode,
    relay: startNode && [...startNode, ...relay],
    binds: withNode ? [{ source: process.execPath, target: `${kitPath}/node` }] : [],
  }
}

// The relay shares the memory and the processes that the command may use.
const lightNode = ['--single-threaded', '--max-old-space-size=32', '--no-warnings']

/** In a network that is empty but for this, any port is free. */
const relayPort = 3128
export const relayAddress = `http://127.0.0.1:${relayPort}`
const relay = [`${kitPath}/relay.mjs`, String(relayPort), `${kitPath}/proxy.sock`]

/** Where the kit is bound and something else is bound inside of it, a file must lie there already. */
const mountPoints = ['account', 'node', 'proxy.sock', 'result']

async function makeKit(kit: string, files: ReadonlyMap<string, string>, first: string): Promise<void> {
  if (await stat(kit).catch(() => undefined)) return
  const parent = join(kit, '..')
  await mkdir(parent, { recursive: true, mode: 0o700 })
  const building = await mkdtemp(join(parent, 'new-kit-'))
  try {
    for (const [name, source] of files) {
      await copyFile(source, join(building, name))
      // What nobody inside can read and only start makes a process whose memory and descriptors nobody inside can touch.
      await chmod(join(building, name), name === first ? 0o711 : 0o755)
    }
    for (const name of mountPoints) await writeFile(join(building, name), '')
    await chmod(building, 0o755)
    // Whoever was first has made the same.
    await rename(building, kit).catch(async (cause) => {
      if (!(await stat(kit).catch(() => undefined))) throw cause
    })
  } finally {
    await rm(building, { recursive: true, force: true })
  }
}

async function fingerprint(files: readonly (readonly [string, string])[]): Promise<string> {
  const hashes = await Promise.all(files.map(async ([name, path]) => `${name} ${sha256(await readFile(path))}`))
  return sha256([...hashes.sort(), ...mountPoints].join('\n')).slice(0, 16)
}

interface ProgramFiles {
  loader: string | undefined
  libraries: string[]
}

async function programFiles(path: string): Promise<ProgramFiles | undefined> {
  if (process.platform !== 'linux') return undefined
  try {
    const { stdout } = await promisify(execFile)('ldd', [path], { env: { LC_ALL: 'C' } })
    const libraries = [...stdout.matchAll(/(?:=>\s+)?(\/\S+)\s+\(0x/g)].map(([, library = '']) => library)
    return { loader: libraries.find((library) => /^ld[-.]/.test(basename(library))), libraries }
  } catch (cause) {
    const said = cause instanceof Error && 'stderr' in cause ? String(cause.stderr) : ''
    return /not a (valid )?dynamic/i.test(said) ? { loader: undefined, libraries: [] } : undefined
  }
}
