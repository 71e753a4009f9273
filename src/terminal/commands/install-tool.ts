import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { findProgram } from '../../base/processes.ts'
import { openZip } from '../../base/zip.ts'
import { type LoadedTool, loadTool } from '../../custom-tools/command.ts'
import { isReservedName, slugPattern } from '../../custom-tools/manifest.ts'
import type { ToolState } from '../../custom-tools/tool-approval.ts'
import { type FolderFile, readToolFolder } from '../../custom-tools/tool-folder.ts'
import { loadConfig } from '../../daemon/config/load-config.ts'
import { type ToolReply, tools } from '../../protocol/tools.ts'
import { createGuardedFetch, type GuardedFetch } from '../../security/network/guarded-fetch.ts'
import { type CommandContext, CommandError, type CommandHandler, confirm, messageOf, usageError } from '../command.ts'
import { type Api, withApi } from '../connect.ts'
import { requireHome } from '../local-home.ts'
import { withToolStates } from './tools.ts'

interface InstallInput {
  source: string
  as?: string
  yes?: boolean
}

const maxArchiveBytes = 32 * 1024 ** 2
/** A tool may have 32 MB; archives of repositories contain more, such as hidden folders. */
const maxUnpackedBytes = 64 * 1024 ** 2
const maxEntries = 5_000
const unpackMs = 120_000

/**
 * Copies a tool into the home. It stays off until the owner has seen its hosts and its settings. For the local command
 * line only: no route takes a path or brings code (SEC-4).
 */
export const installTool: CommandHandler<InstallInput> = async (context, input) => {
  const { output } = context
  const { tools: root } = await requireHome(context)
  const draft = await mkdtemp(join(tmpdir(), 'familiar-install-'))
  try {
    const tool = await readTool(await fetchSource(context, input.source, draft))
    const name = input.as ?? tool.manifest.name
    checkName(name)
    const shown = await withApi(context, tools, async (api) => {
      await requireFree(api, name, join(root, name))
      await forgetState(context, name)
      await writeTool(join(root, name), tool.folder.files, name)
      return await api.reload({ name })
    })
    if (!input.json) for (const line of describe(shown, tool)) output.print(line)
    const isOn = input.yes === true || (output.isTerminal && (await confirm(context, `Enable ${name}?`)))
    const done = isOn ? await withApi(context, tools, (api) => api.enable({ name })) : shown
    if (input.json) output.printJson(done)
    else if (!isOn)
      output.print(`${name} is installed and off. To enable it: ${output.commandLine(`tools enable ${name}`)}`)
    else output.print(done.problem === null ? `${name} is on.` : `${name} is on, but ${done.problem}`)
    return undefined
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** Removes the folder in the home, its settings and the owner's decisions about it. */
export const removeTool: CommandHandler<{ name: string; yes?: boolean }> = async (context, { name, yes, json }) => {
  const { tools: root } = await requireHome(context)
  const directory = await withApi(context, tools, async (api) => {
    const shown = await api.show({ name }).catch(async (cause) => {
      // Its folder was deleted by hand: only the decisions about it are left.
      if (!(await isDecided(context, name))) throw cause
      return undefined
    })
    if (!shown) {
      await forgetState(context, name)
      return name
    }
    if (shown.kind !== 'contract' || shown.directory === null) {
      throw new CommandError(`${name} is not a custom tool and cannot be removed.`, { code: 'bad_request' })
    }
    if (dirname(shown.directory) !== root) {
      const hint = `Remove the folder yourself: ${shown.directory}`
      throw new CommandError(`${name} is not in the tools folder of this home.`, { code: 'bad_request', hint })
    }
    if (!yes && !(await confirm(context, `Remove ${name} with its settings? (${shown.directory})`))) return undefined
    for (const { key } of shown.configuration) await api.deleteConfig({ name, key })
    // Under a hidden name first, so that a running Familiar never sees half of it.
    const gone = join(root, `.removed-${randomUUID()}`)
    await rename(shown.directory, gone)
    await rm(gone, { recursive: true, force: true })
    await forgetState(context, name)
    // Familiar notices at once; the reply is that there is no such tool.
    await api.reload({ name }).catch(() => undefined)
    return shown.directory
  })
  return context.output.report(
    json,
    { name, removed: directory !== undefined },
    directory === undefined ? 'Nothing was removed.' : `${name} is removed.`,
  )
}

/** A folder on this machine that holds the files, wherever they came from. */
export async function fetchSource(context: CommandContext, source: string, draft: string): Promise<string> {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(source)) return await download(context, source, draft)
  const path = resolve(source)
  const found = await stat(path).catch(() => undefined)
  if (found?.isDirectory()) return path
  if (!found?.isFile()) throw usageError(`There is no folder or archive at ${path}.`)
  return await unpack(context, path, source, draft)
}

async function download(context: CommandContext, source: string, draft: string): Promise<string> {
  const url = URL.parse(source)
  if (url?.protocol !== 'https:') throw usageError('Only https addresses are supported.')
  const loaded = loadConfig({ home: context.homePath, env: context.env })
  const allowedHosts = loaded.ok ? loaded.config.egress.allowedHosts : []
  const fetch = createGuardedFetch({ allowedHosts, maxBytes: maxArchiveBytes, timeoutMs: unpackMs })
  try {
    if (!/\.(?:tar\.gz|tgz|zip)$/i.test(url.pathname)) return await clone(context, url, fetch, draft)
    const answer = await fetch(url, { signal: context.signal })
    if (!answer.ok) throw new Error(`it answered with HTTP ${answer.status}`)
    const archive = join(draft, 'archive')
    await writeFile(archive, new Uint8Array(await answer.arrayBuffer()))
    return await unpack(context, archive, url.pathname, draft)
  } catch (cause) {
    if (cause instanceof CommandError) throw cause
    throw new CommandError(`${source} could not be downloaded: ${messageOf(cause)}.`, { code: 'unavailable' })
  } finally {
    await fetch.close()
  }
}

/** Git connects by itself, so the address is tried through the guard first and redirects are refused. */
async function clone(context: CommandContext, url: URL, fetch: GuardedFetch, draft: string): Promise<string> {
  const refs = new URL(url)
  refs.pathname = `${refs.pathname.replace(/\/$/, '')}/info/refs`
  refs.search = '?service=git-upload-pack'
  const answer = await fetch(refs, { redirect: 'manual', signal: context.signal })
  await answer.body?.cancel()
  if (!answer.ok)
    throw new Error(`it is neither an archive (.tar.gz, .zip) nor a git repository (HTTP ${answer.status})`)
  const settings = ['protocol.allow=never', 'protocol.https.allow=always', 'http.followRedirects=false']
  const words = [...settings.flatMap((setting) => ['-c', setting]), 'clone', '--quiet', '--depth=1', '--', url.href]
  const target = join(draft, 'clone')
  await runProgram(context, 'git', [...words, target], draft)
  return target
}

/** Never more than a tool may hold, whatever the archive claims, and nothing outside of the target. */
async function unpack(context: CommandContext, archive: string, name: string, draft: string): Promise<string> {
  const isZip = /\.zip$/i.test(name)
  if (!isZip && !/\.(?:tar\.gz|tgz)$/i.test(name)) throw usageError(`${name} is not a folder, a .tar.gz or a .zip.`)
  const target = join(draft, 'unpacked')
  await mkdir(target)
  try {
    if ((await stat(archive)).size > maxArchiveBytes) throw new Error('it is too large')
    const bytes = await readFile(archive)
    if (isZip) await unpackZip(bytes, target)
    else {
      const plain = join(draft, 'archive.tar')
      await writeFile(plain, gunzip(bytes))
      const words = ['-xf', plain, '-C', target, '--no-same-owner', '--no-same-permissions']
      await runProgram(context, 'tar', words, draft)
    }
  } catch (cause) {
    if (cause instanceof CommandError) throw cause
    throw new CommandError(`${name} was not unpacked: ${messageOf(cause)}.`, { code: 'bad_request' })
  }
  return target
}

async function unpackZip(bytes: Uint8Array, target: string): Promise<void> {
  const zip = openZip(bytes, { entries: maxEntries, entryBytes: maxUnpackedBytes, bytes: maxUnpackedBytes })
  for (const name of zip.names()) {
    const parts = name.split('/')
    if (/[\\\0]/.test(name) || name.startsWith('/') || parts.includes('..')) {
      throw new Error(`it contains a file outside of its folder (${JSON.stringify(name.slice(0, 200))})`)
    }
    if (zip.isLink(name)) throw new Error(`it contains a link (${JSON.stringify(name.slice(0, 200))})`)
    const path = join(target, ...parts)
    await mkdir(name.endsWith('/') ? path : dirname(path), { recursive: true, mode: 0o700 })
    if (name.endsWith('/')) continue
    await writeFile(path, zip.read(name) ?? '', { flag: 'wx', mode: zip.isExecutable(name) ? 0o700 : 0o600 })
  }
}

function gunzip(bytes: Uint8Array): Uint8Array {
  try {
    return gunzipSync(bytes, { maxOutputLength: maxUnpackedBytes })
  } catch (cause) {
    const isTooLarge = cause instanceof Error && 'code' in cause && cause.code === 'ERR_BUFFER_TOO_LARGE'
    throw new Error(isTooLarge ? 'it is too large when unpacked' : 'it is damaged', { cause })
  }
}

async function runProgram(
  { env, signal }: CommandContext,
  program: string,
  words: string[],
  home: string,
): Promise<void> {
  const path = await findProgram([program], env.PATH ?? '')
  if (path === undefined) {
    throw new CommandError(`This needs the program ${program}, which is not installed.`, { code: 'unavailable' })
  }
  // No settings of git but these: a file in a folder that others can write to would run their programs.
  const authority = env.GIT_SSL_CAINFO ?? env.SSL_CERT_FILE
  const environment = {
    PATH: env.PATH,
    HOME: home,
    LANG: 'C',
    GIT_TERMINAL_PROMPT: '0',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    ...(authority !== undefined && { GIT_SSL_CAINFO: authority }),
  }
  await promisify(execFile)(path, words, { env: environment, signal, timeout: unpackMs }).catch((cause: Error) => {
    const said = 'stderr' in cause ? String(cause.stderr).trim().slice(-500) : ''
    throw new CommandError(`${program} failed: ${said || cause.message}`, { code: 'unavailable' })
  })
}

/** Archives of repositories contain one folder with everything in it. */
async function readTool(directory: string): Promise<LoadedTool> {
  const entries = (await readdir(directory, { withFileTypes: true })).filter(({ name }) => !name.startsWith('.'))
  const [only] = entries
  if (entries.length === 1 && only?.isDirectory()) return await readTool(join(directory, only.name))
  const reading = await readToolFolder(directory, { isPrivate: true })
  const loading = reading.ok ? loadTool(reading.folder) : reading
  if (!loading.ok) throw new CommandError(`This is not a tool: ${loading.problem}`, { code: 'bad_request' })
  return loading.tool
}

function checkName(name: string): void {
  if (!slugPattern.test(name))
    throw usageError(`${JSON.stringify(name)} is not a valid name: use lowercase letters, digits, "_" and "-".`)
  if (isReservedName(name))
    throw usageError(`${name} is the name of a built-in tool.`, 'Choose another name: --as NAME')
}

async function requireFree(api: Api<typeof tools>, name: string, directory: string): Promise<void> {
  const isListed = (await api.list()).tools.some((tool) => tool.name === name)
  if (!isListed && !existsSync(directory)) return
  throw new CommandError(`A tool named ${name} already exists.`, {
    code: 'conflict',
    hint: `Choose another name with --as NAME, or remove it: familiar tools remove ${name}`,
  })
}

/** Whole or not at all: a running Familiar looks at the folder while it is written. */
async function writeTool(target: string, files: readonly FolderFile[], name: string): Promise<void> {
  const draft = join(dirname(target), `.draft-${randomUUID()}`)
  await mkdir(draft, { recursive: true, mode: 0o700 })
  try {
    for (const { path, bytes, isExecutable } of files) {
      await mkdir(dirname(join(draft, path)), { recursive: true, mode: 0o700 })
      const content = path === 'manifest.json' ? renamed(bytes, name) : bytes
      await writeFile(join(draft, path), content, { flag: 'wx', mode: isExecutable ? 0o700 : 0o600 })
    }
    await rename(draft, target)
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

function renamed(bytes: Uint8Array, name: string): Uint8Array | string {
  const manifest = JSON.parse(new TextDecoder().decode(bytes))
  return manifest.name === name ? bytes : `${JSON.stringify({ ...manifest, name }, null, 2)}\n`
}

async function isDecided(context: CommandContext, name: string): Promise<boolean> {
  const state = (await withToolStates(context, (states) => states.all())).get(name)
  return state !== undefined && state.fingerprint !== null
}

function forgetState(context: CommandContext, name: string): Promise<void> {
  const unknown: ToolState = { isEnabled: false, fingerprint: null, hosts: [] }
  return withToolStates(context, (states) => states.write(name, unknown))
}

function describe({ name, description, network, configuration, trigger }: ToolReply, tool: LoadedTool): string[] {
  const hosts = network.declared.join(', ')
  const reach = network.mode === 'host' ? `the network of this machine${hosts && `, ${hosts}`}` : hosts || 'nothing'
  const secrets = configuration.filter(({ is_secret }) => is_secret).map(({ key }) => key)
  const others = configuration.filter(({ is_secret }) => !is_secret).map(({ key }) => key)
  return [
    `${name}: ${description}`,
    `  reaches:  ${network.mode === 'none' ? 'nothing (no network)' : reach}`,
    `  secrets:  ${secrets.join(', ') || 'none'}`,
    ...(others.length > 0 ? [`  settings: ${others.join(', ')}`] : []),
    `  runs:     ${trigger === 'on_demand' ? 'when it is called' : trigger}`,
    `  files:    ${tool.folder.files.length}`,
  ]
}
