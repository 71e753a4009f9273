import { constants, existsSync } from 'node:fs'
import { lstat, mkdir, open, readdir, readlink, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { z } from 'zod'
import { replaceFile } from '../../base/files.ts'
import { sha256 } from '../../base/ids.ts'
import { canonicalJson, parseJson } from '../../base/json.ts'
import type { Logger } from '../../base/logger.ts'
import { readLines, reasonOf } from '../../base/text.ts'
import { untilAborted } from '../../base/work.ts'
import { instanceName, isAbandoned } from '../embedded/janitor.ts'
import { innerRoot } from '../embedded/stage.ts'
import { type SandboxImage, type SandboxMount, SandboxUnavailable } from '../sandbox.ts'
import allowedCalls from './allowed-calls.json' with { type: 'json' }
import { kitPath, lifeLabel, prepareEntryKit } from './container-spec.ts'
import { createEngineClient, type EngineClient, EngineError, removeContainer } from './run-container.ts'

export type ReadyEngine = Awaited<ReturnType<typeof prepareEngine>>

/** An engine and the state that all runs on it share. */
export async function prepareEngine(options: {
  socketPath: string | null
  runtimeDirectory: string | null
  directory: string
  logger: Logger
  /** Also aborts the builds. */
  signal: AbortSignal
}) {
  const { directory, logger, signal } = options
  const engine = await findEngine(options)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await removeLeftovers(engine, directory, logger)
  // An engine in a virtual machine or elsewhere may not run this machine's programs.
  const kit = engine.architecture === ownArchitecture ? await prepareEntryKit(directory) : undefined
  // Undefined if this machine's programs cannot run inside.
  const machine = kit && (await prepareMachineImage(directory))
  const images = createImageBuilds({ client: engine.client, home: directory, logger, closing: signal })
  const profile = JSON.stringify(seccompProfile(engine.architecture))
  const profilePath = join(directory, 'seccomp.json')
  await replaceFile(profilePath, profile)
  // Docker receives the list itself, Podman the name of its file.
  const seccomp = `seccomp=${engine.kind === 'podman' ? profilePath : profile}`
  // Identifies this instance of the driver, so that a later one finds its leftovers.
  const life = instanceName()
  // Mounts that the user inside could not read in place are copied here.
  const copies = join(directory, `copies-${life}`)
  await mkdir(copies, { mode: 0o700 })
  return { ...engine, kit, machine, images, seccomp, life, copies }
}

/** In the engines' spelling. */
const ownArchitecture = process.arch === 'x64' ? 'amd64' : process.arch

/**
 * Removes containers of drivers that ended without cleaning up. Another live process of the same home keeps its own.
 */
async function removeLeftovers({ client }: Engine, directory: string, logger: Logger): Promise<void> {
  const query = { all: '1', filters: JSON.stringify({ label: [lifeLabel] }) }
  const all = await client.json({ method: 'GET', path: '/containers/json', query }, containersSchema)
  const left = all.filter(({ Labels }) => isAbandoned(Labels[lifeLabel] ?? ''))
  for (const { Id } of left) await removeContainer(client, Id)
  if (left.length > 0) logger.warn('Removed leftover containers', { count: left.length })
  for (const name of await readdir(directory)) {
    const of = /^(?:copies|run)-(.+)$/.exec(name)?.[1]
    if (of && isAbandoned(of)) await rm(join(directory, name), { recursive: true, force: true })
  }
}

const containersSchema = z.array(z.object({ Id: z.string(), Labels: z.record(z.string(), z.string()) }))

type Engine = Awaited<ReturnType<typeof askEngine>>

const versionSchema = z.object({
  Version: z.string(),
  Arch: z.string(),
  Components: z.array(z.object({ Name: z.string() })).default([]),
})

/** The engine that answers: on the configured socket, otherwise on one of the default ones. */
async function findEngine(options: {
  socketPath: string | null
  runtimeDirectory: string | null
  signal: AbortSignal
}): Promise<Engine> {
  const { socketPath, runtimeDirectory, signal } = options
  const usual = ['/var/run/docker.sock', '/run/podman/podman.sock']
  if (runtimeDirectory) usual.push(join(runtimeDirectory, 'docker.sock'), join(runtimeDirectory, 'podman/podman.sock'))
  const candidates = socketPath ? [socketPath] : usual.filter((path) => existsSync(path))
  const refusals: string[] = []
  for (const path of candidates) {
    try {
      return await askEngine(createEngineClient(path), signal)
    } catch (cause) {
      signal.throwIfAborted()
      refusals.push(`${path}: ${reasonOf(cause)}`)
    }
  }
  const why = refusals.length > 0 ? refusals.join('; ') : 'none of the default sockets exists'
  throw new SandboxUnavailable(
    `No container engine was found (${why})`,
    'Start Docker, or run: systemctl --user enable --now podman.socket',
  )
}

/** `architecture` is as the engine spells it: `amd64`, `arm64`. */
async function askEngine(client: EngineClient, signal: AbortSignal) {
  const patience = AbortSignal.any([signal, AbortSignal.timeout(answerWithinMs)])
  const { Version, Arch, Components } = await client.json(
    { method: 'GET', path: '/version', signal: patience },
    versionSchema,
  )
  const kind = Components.some(({ Name }) => /podman/i.test(Name)) ? 'podman' : 'docker'
  return { client, kind, architecture: Arch, version: Version }
}

const answerWithinMs = 10_000

/**
 * A folder as a tar archive, for an engine to build from. The same files give the same bytes: owners and times are
 * omitted. Links are sent as links and never followed, so that nothing outside the folder is read.
 */
export function tarDirectory(directory: string): Readable {
  return Readable.from(tarArchive(directory), { objectMode: false })
}

async function* tarArchive(root: string): AsyncGenerator<Uint8Array> {
  yield* tarFolder(root, '')
  yield new Uint8Array(blockBytes * 2)
}

async function* tarFolder(root: string, folder: string): AsyncGenerator<Uint8Array> {
  for (const name of (await readdir(join(root, folder))).sort()) {
    // The git history is not part of a tool.
    if (name === '.git') continue
    const path = folder + name
    const found = await lstat(join(root, path))
    if (found.isDirectory()) {
      yield* header({ path: `${path}/`, kind: '5', mode: 0o755, size: 0 })
      yield* tarFolder(root, `${path}/`)
    } else if (found.isSymbolicLink()) {
      yield* header({ path, kind: '2', mode: 0o777, size: 0, link: await readlink(join(root, path)) })
    } else if (found.isFile()) {
      yield* tarFile(root, path)
    }
  }
}

async function* tarFile(root: string, path: string): AsyncGenerator<Uint8Array> {
  const file = await open(join(root, path), constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    const { size, mode } = await file.stat()
    yield* header({ path, kind: '0', mode: mode & 0o111 ? 0o755 : 0o644, size })
    // A file that grows or shrinks meanwhile must not shift the rest of the archive.
    let left = size
    while (left > 0) {
      const piece = Buffer.alloc(Math.min(left, pieceBytes))
      const { bytesRead } = await file.read(piece, 0, piece.length, null)
      if (bytesRead === 0) throw new Error(`${path} was truncated while it was being read`)
      left -= bytesRead
      yield piece.subarray(0, bytesRead)
    }
    yield* padding(size)
  } finally {
    await file.close()
  }
}

const blockBytes = 512
const pieceBytes = 65_536

interface Entry {
  path: string
  kind: '0' | '2' | '5' | 'x'
  mode: number
  size: number
  link?: string
}

function* header(entry: Entry): Generator<Uint8Array> {
  // Long or non-ASCII names go into an extra record before the entry.
  const records = { path: entry.path, ...(entry.link !== undefined && { linkpath: entry.link }) }
  const unusual = Object.entries(records).filter(([, value]) => !/^[\x20-\x7e]{1,100}$/.test(value))
  if (unusual.length > 0) {
    const body = Buffer.from(unusual.map(([key, value]) => extraRecord(key, value)).join(''))
    yield block({ path: 'extra', kind: 'x', mode: 0o644, size: body.length })
    yield body
    yield* padding(body.length)
  }
  yield block(entry)
}

/** `LENGTH key=value\n`, where the length includes itself. */
function extraRecord(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`)
  let length = rest + String(rest).length
  if (rest + String(length).length !== length) length = rest + String(length).length
  return `${length} ${key}=${value}\n`
}

function block({ path, kind, mode, size, link = '' }: Entry): Uint8Array {
  const bytes = Buffer.alloc(blockBytes)
  const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, '0')}\0`
  bytes.write(path, 0, 100)
  bytes.write(octal(mode, 8), 100)
  bytes.write(octal(0, 8), 108)
  bytes.write(octal(0, 8), 116)
  bytes.write(octal(size, 12), 124)
  bytes.write(octal(0, 12), 136)
  bytes.fill(' ', 148, 156)
  bytes.write(kind, 156)
  bytes.write(link, 157, 100)
  bytes.write('ustar\x0000', 257, 'latin1')
  const sum = bytes.reduce((total, byte) => total + byte, 0)
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return bytes
}

function* padding(size: number): Generator<Uint8Array> {
  const over = size % blockBytes
  if (over > 0) yield new Uint8Array(blockBytes - over)
}

/** Another home may have a tool of the same name. */
const homeLabel = 'familiar.home'
const toolLabel = 'familiar.tool'

const buildMs = 15 * 60_000
const toldLines = 15
/** A build runs the tool's own steps. */
const buildBytes = String(2 * 1024 * 1024 * 1024)

/** Builds each image once per hash. Concurrent callers wait for the same build. */
function createImageBuilds(options: {
  client: EngineClient
  home: string
  logger: Logger
  /** Aborts builds. */
  closing: AbortSignal
}) {
  const { client, home, logger, closing } = options
  const builds = new Map<string, Promise<void>>()

  async function build(tag: string, { directory, name }: SandboxImage): Promise<void> {
    if (await hasImage(client, tag, closing)) return
    logger.info('Building the image of a tool', { tool: name, tag })
    const labels = JSON.stringify({ [homeLabel]: home, [toolLabel]: name })
    const signal = AbortSignal.any([closing, AbortSignal.timeout(buildMs)])
    const query = { t: tag, rm: '1', forcerm: '1', labels, memory: buildBytes, memswap: buildBytes }
    const body = tarDirectory(directory)
    const answer = await client.stream({ method: 'POST', path: '/build', query, body, signal }).catch((cause) => {
      throw cause instanceof EngineError ? notBuilt(name, [cause.message]) : cause
    })
    const lines: string[] = []
    let failure: string | undefined
    for await (const line of readLines(answer)) {
      const parsed = parseJson(line, progressSchema)
      if (!parsed.ok) continue
      const { stream, error } = parsed.value
      if (stream?.trim()) lines.push(...stream.trimEnd().split('\n'))
      lines.splice(0, lines.length - toldLines)
      failure ??= error
    }
    if (failure === undefined && (await hasImage(client, tag, closing))) {
      return removeOlder(tag, name).catch((cause) =>
        logger.debug('Could not remove older images of a tool', { tool: name, cause }),
      )
    }
    throw notBuilt(name, [...lines, failure ?? 'the engine gave no reason'])
  }

  /** Removes images of earlier versions of the tool. One that is in use stays until the next time. */
  async function removeOlder(tag: string, name: string): Promise<void> {
    const query = { filters: JSON.stringify({ label: [toolLabel] }) }
    const images = await client.json({ method: 'GET', path: '/images/json', query, signal: closing }, imagesSchema)
    const own = images.filter(({ Labels }) => Labels?.[homeLabel] === home && Labels[toolLabel] === name)
    for (const old of own.flatMap(({ RepoTags }) => RepoTags ?? [])) {
      if (old.endsWith(tag)) continue
      await client.send({ method: 'DELETE', path: `/images/${encodeURIComponent(old)}`, signal: closing })
    }
  }

  return {
    /** The image's tag. Throws `SandboxUnavailable` with the last lines if the build fails. */
    async ready(image: SandboxImage, signal: AbortSignal): Promise<string> {
      const tag = tagOf(image)
      let building = builds.get(tag)
      if (!building) {
        building = build(tag, image)
        builds.set(tag, building)
        // Not cached: a failed build is retried, and a built image may have been removed by hand.
        const forget = () => builds.delete(tag)
        building.then(forget, forget)
      }
      await untilAborted(building, signal)
      return tag
    },
  }
}

const progressSchema = z.object({ stream: z.string().optional(), error: z.string().optional() })
const imagesSchema = z.array(
  z.object({ RepoTags: z.array(z.string()).nullish(), Labels: z.record(z.string(), z.string()).nullish() }),
)

function notBuilt(name: string, lines: readonly string[]): SandboxUnavailable {
  return new SandboxUnavailable(`The image of ${name} could not be built: ${lines.join('\n')}`)
}

function tagOf({ name, hash }: Pick<SandboxImage, 'name' | 'hash'>): string {
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
  return `familiar-tool-${plain || 'unnamed'}:${hash.replace(/[^A-Za-z0-9]/g, '').slice(0, 64)}`
}

async function hasImage(client: EngineClient, tag: string, signal: AbortSignal): Promise<boolean> {
  try {
    await client.send({ method: 'GET', path: `/images/${encodeURIComponent(tag)}/json`, signal })
    return true
  } catch (cause) {
    if (cause instanceof EngineError && cause.status === 404) return false
    throw cause
  }
}

// The configuration that programs look up, and nothing that identifies this machine or its users.
const settings = ['alternatives', 'ld.so.cache', 'ssl/certs', 'ca-certificates', 'pki/tls/certs'].map(
  (name) => `/etc/${name}`,
)

const dockerfile = 'FROM scratch\nCOPY root /\n'

/** The image of a command without its own, and the folder that it is built from: only links to this machine's programs. */
async function prepareMachineImage(directory: string) {
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

/**
 * The system calls that a container may make: only those on this list, so that calls of future kernels are blocked too.
 * The wider profiles of engines (Podman's allows mount, unshare, ptrace and the key ring, and relies on missing
 * capabilities) stop less.
 */
function seccompProfile(architecture: string): object {
  return {
    defaultAction: 'SCMP_ACT_ERRNO',
    defaultErrnoRet: errno.EPERM,
    // Only the machine's own: a 32-bit call on a 64-bit machine has other numbers and ends the process.
    architectures: [architecture === 'arm64' || architecture === 'aarch64' ? 'SCMP_ARCH_AARCH64' : 'SCMP_ARCH_X86_64'],
    syscalls: [
      { names: Object.values(allowedCalls).flat(), action: 'SCMP_ACT_ALLOW' },
      // A new namespace of any kind is a way to gain capabilities. Libraries fall back from clone3, whose flags a
      // filter cannot read.
      { names: ['clone'], action: 'SCMP_ACT_ALLOW', args: [{ index: 0, op: 'SCMP_CMP_MASKED_EQ', ...noNamespace }] },
      { names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: errno.ENOSYS },
      // Local, IPv4 and IPv6. No netlink, vsock, packet, bluetooth or key management.
      ...[1, 2, 10].map((value) => ({ names: ['socket'], action: 'SCMP_ACT_ALLOW', args: [equals(0, value)] })),
      ...[0, 0xffff_ffff].map((value) => ({
        names: ['personality'],
        action: 'SCMP_ACT_ALLOW',
        args: [equals(0, value)],
      })),
      // No typing into a terminal.
      { names: ['ioctl'], action: 'SCMP_ACT_ALLOW', args: [{ index: 1, value: 0x5412, op: 'SCMP_CMP_NE' }] },
    ],
  }
}

const errno = { EPERM: 1, ENOSYS: 38 }

/** For a masked comparison, `value` is the mask and `valueTwo` the expected result. */
const noNamespace = { value: 0x7e02_0000, valueTwo: 0 }

function equals(index: number, value: number) {
  return { index, value, op: 'SCMP_CMP_EQ' }
}
