import { execFile } from 'node:child_process'
import { chmod, chown, copyFile, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ensurePrivateDirectory } from '../../../base/safe-file.ts'
import { readBundledText } from '../../../base/text-file.ts'
import { encodedFilter } from '../../seccomp/build-filter.ts'
import type { Architecture } from '../../seccomp/system-calls.ts'
import { ownNode, ownPrograms } from '../inner-programs.ts'
import type { SandboxAccount } from '../sandbox-account.ts'
import { innerUser, makeInnerEtc } from './inner-etc.ts'
import { innerDevices, innerDirectories, innerLinks, innerRoot, type RootEntry } from './inner-root.ts'
import { createReadableFolders, type ReadableFolders } from './readable-folders.ts'

/** Where the sandbox's own files are found inside. */
export const innerFiles = '/etc/familiar'

/** What the driver has on the disk for the time of its life: the parts of every sandbox, readable for its account. */
export interface Stage {
  root: readonly RootEntry[]
  /** Mounted in every sandbox. */
  binds: readonly { source: string; target: string }[]
  filter: string
  /** The shell that is the first process of what bubblewrap makes. */
  firstShell: string
  forkServer: { program: string; settingsFile: string }
  doors: string
  folders: ReadableFolders
  remove(): Promise<void>
}

/** Root's sandboxes belong to an account that can enter no home; the place for them is the system's. */
const systemPlace = '/var/lib/familiar-sandbox'

export function stagePlace(directory: string, account: SandboxAccount): string {
  return account.isOther ? systemPlace : directory
}

export async function openStage(options: {
  directory: string
  instance: string
  account: SandboxAccount
  architecture: Architecture
  /** False for tests only. */
  hasFilter: boolean
}): Promise<Stage> {
  const { account } = options
  await ensurePrivateDirectory(options.directory)
  const place = stagePlace(options.directory, account)
  const stage = join(place, options.instance)
  const at = (name: string) => join(stage, name)
  if (account.isOther) {
    await mkdir(place, { recursive: true })
    await chmod(place, 0o711)
  }

  await mkdir(stage)
  for (const name of ['copies', 'doors', 'root', 'server']) await mkdir(at(name))
  await makeInnerEtc(at('etc'), account.gid)
  await writeFile(at('filter'), encodedFilter(options.architecture))
  await mkdir(at('etc/familiar'))
  await copyBundled(at('etc/familiar'), innerPrograms)
  const firstShell = await copyShell(at('etc/familiar/sh'))
  await copyBundled(at('server'), { 'fork-server.py': forkServer, 'familiar_relay.py': relayProgram })

  const folders = createReadableFolders({ directory: at('copies'), account })
  await share(['', 'copies', 'doors'])
  const node = ownNode()
  const binds = [{ source: at('etc'), target: '/etc' }]
  if (node) binds.push({ source: (await folders.hold(node)).path, target: `${ownPrograms}/node` })
  const root = innerRoot()
  const settings = {
    inner: innerUser,
    outer: account,
    rootDirectory: at('root'),
    filter: options.hasFilter ? at('filter') : null,
    root,
    binds,
    devices: innerDevices,
    directories: innerDirectories,
    links: innerLinks,
  }
  await writeFile(at('settings.json'), JSON.stringify(settings))
  for (const name of ['root', 'server', 'etc/familiar']) await chmod(at(name), 0o755)
  for (const name of ['filter', 'settings.json']) await chmod(at(name), 0o644)

  /** With the account, and with nobody else. */
  async function share(names: readonly string[]): Promise<void> {
    for (const name of account.isOther ? names : []) {
      await chown(at(name), 0, account.gid)
      await chmod(at(name), 0o710)
    }
  }

  return {
    root,
    binds,
    filter: at('filter'),
    firstShell,
    forkServer: { program: at('server/fork-server.py'), settingsFile: at('settings.json') },
    doors: at('doors'),
    folders,
    remove: () => rm(stage, { recursive: true, force: true }),
  }
}

/**
 * A shell that can be run and not be read: the kernel keeps the memory of what was started from such a file from
 * everybody, so the code cannot take over the process that holds its sandbox together.
 */
async function copyShell(target: string): Promise<string> {
  await copyFile('/bin/sh', target)
  await chmod(target, 0o111)
  // Where nothing in a home may be run, the system's own serves.
  const canRun = await promisify(execFile)(target, ['-c', 'exit 0'], { timeout: 5_000 }).then(
    () => true,
    () => false,
  )
  return canRun ? `${innerFiles}/sh` : '/bin/sh'
}

const relayProgram = new URL('../network/familiar_relay.py', import.meta.url)
const innerPrograms = {
  'relay.py': relayProgram,
  'relay.mjs': new URL('../network/relay.mjs', import.meta.url),
  'facts.sh': new URL('../proof/facts.sh', import.meta.url),
  'facts.py': new URL('../proof/facts.py', import.meta.url),
}
const forkServer = new URL('../fork-server/fork-server.py', import.meta.url)

async function copyBundled(directory: string, files: Readonly<Record<string, URL>>): Promise<void> {
  for (const [name, url] of Object.entries(files)) {
    await writeFile(join(directory, name), `${readBundledText(url)}\n`)
    await chmod(join(directory, name), 0o644)
  }
}
