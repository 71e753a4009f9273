import { execFile } from 'node:child_process'
import { chmod, copyFile, mkdir, mkdtemp, open, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { sha256 } from '../../base/ids.ts'
import { driverEnvironment, openDoor, proxyPort } from '../embedded/prepare-command.ts'
import type { SandboxCommand, SandboxMount } from '../sandbox.ts'

/** An unused id: distributions keep it free, and default user namespaces include it. */
export const containerUser = { uid: 65_532, gid: 65_532 } as const

/** The relay's needs beside the command: Node's threads and memory. */
const relayProcesses = 16
const relayBytes = 96 * 1024 * 1024

/** Tells the janitor which driver the container belongs to. */
export const lifeLabel = 'familiar.life'

/** A command in the engine's format. Engines fill in defaults, so every option is set explicitly. */
export function containerSpec(parts: {
  command: SandboxCommand
  image: string
  kit: EntryKit | undefined
  /** The engine's option for the system call list. */
  seccomp: string
  folder: RunFolder
  /** Identifies this instance of the driver. */
  life: string
}): object {
  const { command, image, kit, seccomp, folder, life } = parts
  const { limits, network } = command
  const isProxied = network.kind === 'proxy'
  const memory = limits.memoryBytes + (isProxied ? relayBytes : 0)
  return {
    Image: image,
    Entrypoint: [...(kit?.shell ?? ['/bin/sh']), '-c', entryScript(command), 'sh'],
    Cmd: [...(isProxied ? (kit?.relay ?? []) : []), ...command.argv],
    Env: Object.entries({ ...driverEnvironment(command), ...command.environment }).map((pair) => pair.join('=')),
    WorkingDir: command.workingDirectory,
    User: `${containerUser.uid}:${containerUser.gid}`,
    Labels: { [lifeLabel]: life },
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: false,
    StopTimeout: 0,
    Healthcheck: { Test: ['NONE'] },
    HostConfig: {
      NetworkMode: network.kind === 'host' ? 'host' : 'none',
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges', seccomp],
      Memory: memory,
      // The same number: no swap in addition.
      MemorySwap: memory,
      // One more for the waiting shell.
      PidsLimit: limits.processes + 1 + (isProxied ? relayProcesses : 0),
      Ulimits: ulimits(limits),
      CpuShares: 256,
      OomScoreAdj: 500,
      // No writable shared memory, and none of the machine's.
      IpcMode: 'none',
      LogConfig: { Type: 'none' },
      AutoRemove: false,
      RestartPolicy: { Name: 'no' },
      Tmpfs: writablePlaces(command),
      Mounts: [
        ...(kit ? [bind(kit.directory, kitPath), ...kit.binds.map(({ source, target }) => bind(source, target))] : []),
        ...(folder.proxyPath ? [bind(folder.proxyPath, `${kitPath}/proxy.sock`)] : []),
        { ...bind(folder.resultPath, `${kitPath}/result`), ReadOnly: false },
        { ...bind(folder.accountPath, `${kitPath}/account`), ReadOnly: false },
        ...command.mounts.map(({ source, target, isWritable }) => ({
          ...bind(source, target),
          ReadOnly: isWritable !== true,
        })),
      ],
    },
  }
}

/** Without nested mounts, which would not be read-only. */
function bind(source: string, target: string) {
  const options = { Propagation: 'private', NonRecursive: true }
  return { Type: 'bind', Source: source, Target: target, ReadOnly: true, BindOptions: options }
}

/**
 * The line that starts the command. It arrives through standard input, so the shell that reads it is attached: an
 * engine may drop output from before that (Podman does).
 */
export const startLine = '\n'

/**
 * The shell stays as the first process and waits: as first process, the command could not be ended by a signal. The
 * shell's own messages ("Killed") are discarded; the command has the real standard error, and the result as descriptor
 * 3. At the end the shell reads its cgroup, because engines do not reliably report that memory ran out.
 */
function entryScript({ environment, mounts }: SandboxCommand): string {
  // Set by engines and shells, not by the author of the command.
  const foreign = ['container', 'HOSTNAME', 'PWD', 'OLDPWD', 'SHLVL', 'TERM', '_']
  const unset = foreign.filter((name) => !Object.hasOwn(environment, name))
  return [
    `unset ${unset.join(' ')}`,
    // The user inside may be unknown to this machine: what it writes must be readable and removable for this one.
    ...(mounts.some(({ isWritable }) => isWritable) ? ['umask 0'] : []),
    'exec 4>&2 2>/dev/null',
    // From an input that cannot seek, a shell reads exactly one line.
    'read -r line || exit 125',
    `"$@" 3>${kitPath}/result 2>&4 4>&-`,
    'code=$?',
    // Podman discards output when the input ends early.
    'while read -r line; do :; done',
    `exec >${kitPath}/account`,
    'for file in /sys/fs/cgroup/memory/memory.oom_control /sys/fs/cgroup/memory.events; do',
    '[ -r $file ] && while read -r name value; do [ "$name" = oom_kill ] && echo "oom_kill $value"; done <$file',
    'done',
    'for file in /sys/fs/cgroup/memory/memory.max_usage_in_bytes /sys/fs/cgroup/memory.peak; do',
    '[ -r $file ] && read -r value <$file && echo "peak $value"',
    'done',
    'exit $code',
  ].join('\n')
}

/** Podman makes /run, /tmp and /var/tmp writable in a read-only container unless they are configured otherwise. */
function writablePlaces({ isWritable, limits }: SandboxCommand): Record<string, string> {
  const closed = 'ro,nosuid,nodev,noexec,size=4k,mode=755'
  const open = `rw,nosuid,nodev,size=${limits.scratchBytes},mode=1777`
  return { '/tmp': isWritable ? open : closed, '/run': closed, '/var/tmp': closed }
}

/**
 * All set explicitly, because an engine's defaults may exceed what an unprivileged process may request (Podman as root
 * without CAP_SYS_RESOURCE). The file size limits the result, which is on this machine's disk.
 */
function ulimits({ scratchBytes, outputBytes }: SandboxCommand['limits']) {
  const limits = {
    core: 0,
    // More than fits, so that a full folder is an error that a program can handle, not a signal that ends it.
    fsize: Math.max(scratchBytes, outputBytes) + 1024 * 1024,
    memlock: 64 * 1024,
    msgqueue: 0,
    nofile: 1024,
    nproc: 4096,
    sigpending: 1024,
  }
  return Object.entries(limits).map(([Name, value]) => ({ Name, Soft: value, Hard: value }))
}

/**
 * This machine's shell, and Node for the relay, with their libraries and loader: mounted read-only into every
 * container, so that the entry works in an image without a shell, with an old one, or with another C library. The files
 * are started through their own loader and leave no trace in the command.
 */
type EntryKit = NonNullable<Awaited<ReturnType<typeof prepareEntryKit>>>

export const kitPath = '/.familiar'

/** Undefined if this machine's shell cannot run in a container: then the image must have one. */
export async function prepareEntryKit(directory: string) {
  const shell = await programFiles('/bin/sh')
  if (!shell) return undefined
  const node = await programFiles(process.execPath)
  const files = new Map(shell.libraries.map((path) => [basename(path), path]))
  // Two C libraries cannot share one folder.
  const withNode = node?.loader !== undefined && node.loader === shell.loader
  if (withNode) for (const path of node.libraries) files.set(basename(path), path)
  files.set('sh', '/bin/sh')
  files.set('relay.mjs', fileURLToPath(new URL('../embedded/relay.mjs', import.meta.url)))

  const first = basename(shell.loader ?? 'sh')
  const kit = join(directory, `kit-${await fingerprint([...files])}`)
  await makeKit(kit, files, first)
  const start = shell.loader ? [`${kitPath}/${first}`, '--library-path', kitPath] : []
  const startNode = withNode ? [...start, `${kitPath}/node`, ...lightNode] : null
  return {
    directory: kit,
    /** Starts the shell inside. */
    shell: [...start, `${kitPath}/sh`],
    /** Starts Node inside. Null if it is not available there. */
    node: startNode,
    /** Starts the relay inside, before the command that it serves. */
    relay: startNode && [...startNode, ...relay],
    /** Files of this machine that the kit does not contain, and where they are mounted. */
    binds: withNode ? [{ source: process.execPath, target: `${kitPath}/node` }] : [],
  }
}

// The relay shares the memory and the processes of the command.
const lightNode = ['--single-threaded', '--max-old-space-size=32', '--no-warnings']

const relay = [`${kitPath}/relay.mjs`, String(proxyPort), `${kitPath}/proxy.sock`]

/** Mount points inside the kit must exist as files. */
const mountPoints = ['account', 'node', 'proxy.sock', 'result']

async function makeKit(kit: string, files: ReadonlyMap<string, string>, first: string): Promise<void> {
  if (await stat(kit).catch(() => undefined)) return
  const parent = join(kit, '..')
  await mkdir(parent, { recursive: true, mode: 0o700 })
  const building = await mkdtemp(join(parent, 'new-kit-'))
  try {
    for (const [name, source] of files) {
      await copyFile(source, join(building, name))
      // A file that code inside can run but not read gives a process whose memory and descriptors it cannot access.
      await chmod(join(building, name), name === first ? 0o711 : 0o755)
    }
    for (const name of mountPoints) await writeFile(join(building, name), '')
    await chmod(building, 0o755)
    // A concurrent call made the same kit.
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

async function programFiles(path: string): Promise<{ loader: string | undefined; libraries: string[] } | undefined> {
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

export type RunFolder = Awaited<ReturnType<typeof makeRunFolder>>

/** The files of one run on this machine's disk, accessible only to this user and the run's container. */
export async function makeRunFolder(folder: string, { mounts, network }: SandboxCommand) {
  await mkdir(folder, { mode: 0o700 })
  const place = (name: string) => join(folder, name)
  const isProxied = network.kind === 'proxy'
  const door =
    isProxied && (await openDoor({ directory: folder, name: 'proxy.sock', target: network.socketPath, mode: 0o666 }))
  for (const name of ['result', 'account']) {
    await writeFile(place(name), '')
    // The user inside is a different one.
    await chmod(place(name), 0o666)
  }
  return {
    /** Becomes descriptor 3. */
    resultPath: place('result'),
    /** The report of the waiting shell. */
    accountPath: place('account'),
    /** Null if the command does not use the proxy. */
    proxyPath: isProxied ? place('proxy.sock') : null,
    /** The command's mounts, under names that the engine can parse. */
    mounts: await Promise.all(mounts.map((mount, index) => plainlyNamed(mount, place(`mount-${index}`)))),
    async [Symbol.asyncDispose]() {
      if (door) await door.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Podman parses a mount as a line of options: a comma in a path would start the next one. */
async function plainlyNamed(mount: SandboxMount, link: string): Promise<SandboxMount> {
  if (/^[\w/.@+ -]+$/.test(mount.source)) return mount
  await symlink(mount.source, link)
  return { ...mount, source: link }
}

/** Reads the first bytes of a file that the run may have replaced by anything. */
export async function readStart(path: string, maxBytes: number): Promise<{ bytes: Uint8Array; isWhole: boolean }> {
  const file = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(maxBytes), 0, maxBytes, 0)
    return { bytes: buffer.subarray(0, bytesRead), isWhole: (await file.stat()).size <= maxBytes }
  } finally {
    await file.close()
  }
}
