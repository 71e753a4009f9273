import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../../base/clock.ts'
import { reasonOf } from '../../base/text.ts'
import { tokenizerName } from '../../base/tokens.ts'
import { loadTool } from '../../custom-tools/command.ts'
import { findToolFolders, readToolFolder } from '../../custom-tools/tool-folder.ts'
import { createVersionStore } from '../../custom-tools/versions.ts'
import { type LanguageModel, type Models, purposes } from '../../models/model.ts'
import { baseUrlOf, providerHosts } from '../../models/models-from-config.ts'
import type { ProviderSettings } from '../../models/provider-connection.ts'
import type { Speaker } from '../../models/speech/speaker.ts'
import type { Transcriber } from '../../models/speech/transcriber.ts'
import { createInstalledParts } from '../../models/speech/voice-parts.ts'
import type { Sandbox } from '../../sandbox/sandbox.ts'
import { createGuardedFetch } from '../../security/network/guarded-fetch.ts'
import type { Config } from '../config/config.ts'
import { isLoopback } from '../config/load-config.ts'
import { homePaths } from '../home-paths.ts'

/** Speech output and transcription. Models that are not configured are no problem. */
export async function checkVoice(
  config: Config,
  homePath: string,
  voice: { speaker: Pick<Speaker, 'status'>; transcriber: Pick<Transcriber, 'status'> },
): Promise<Finding[]> {
  const isInstalled = createInstalledParts(homePaths(homePath).voice, systemClock())
  const [speech, transcription] = [await voice.speaker.status(), voice.transcriber.status()]
  const isWanted = config.voice.transcription.provider === 'local'
  return [
    speech.by === null && config.tools.tts.provider !== 'off'
      ? warn('speech', speech.hint)
      : ok('speech', speech.by ?? 'off'),
    transcription.by === null && isWanted
      ? warn('transcription', transcription.hint, 'familiar voice install --transcription')
      : ok('transcription', transcription.by ?? transcription.hint),
    ...(isInstalled('whisper-tiny') && !isInstalled('opus-decoder')
      ? [warn('transcription', 'Voice notes (OGG) cannot be read.', 'familiar voice install --transcription')]
      : []),
  ]
}

export interface Finding {
  check: string
  state: 'ok' | 'warn' | 'fail'
  message: string
  /** The command that would fix it. */
  mend?: string
}

function findingOf(state: Finding['state']) {
  return (check: string, message: string, mend?: string): Finding => {
    return { check, state, message, ...(mend !== undefined && { mend }) }
  }
}

export const ok = findingOf('ok')
export const warn = findingOf('warn')
export const fail = findingOf('fail')

/** As a word of a shell command. */
export function shellQuoted(path: string): string {
  return /^[\w./@%+=:-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`
}

export function checkRoutes({ routes }: Config, models: Pick<Models, 'route'>): Finding[] {
  const byPurpose = purposes.map((purpose) => [purpose, models.route(purpose)] as const)
  const bySource = Object.keys(routes.sources).map(
    (source) => [`source ${source}`, models.route('primary', source)] as const,
  )
  return [...byPurpose, ...bySource].map(([name, route]) => describeRoute(name, route))
}

/** Changed settings of a running daemon that need a restart. */
export function checkRestart(restartNeeded: readonly string[]): Finding[] {
  if (restartNeeded.length === 0) return []
  return [warn('restart', `Settings that need a restart: ${restartNeeded.join(', ')}.`, 'familiar restart')]
}

export function checkTokenizer(): Finding {
  return ok('tokenizer', `${tokenizerName}; replaced by the provider's count`)
}

/** Asks each provider for its list of models, which is free; without `network` only those on this machine. */
export async function checkProviders(config: Config, { network }: { network: boolean }): Promise<Finding[]> {
  const asked = config.providers.filter((provider) => network || isHere(provider))
  const fetch = createGuardedFetch({ allowedHosts: providerHosts(asked), timeoutMs: 10_000 })
  try {
    if (config.providers.length === 0 && network) return [ok('providers', 'None is configured.')]
    return await Promise.all(asked.map((provider) => checkProvider(provider, fetch)))
  } finally {
    await fetch.close()
  }
}

function isHere({ type, name, baseUrl }: ProviderSettings): boolean {
  if (type === 'offline' || (baseUrl === undefined && type !== 'ollama')) return false
  return isLoopback(new URL(baseUrlOf({ type, providerName: name, baseUrl })).hostname)
}

async function checkProvider(provider: ProviderSettings, fetch: typeof globalThis.fetch): Promise<Finding> {
  const { name, type, baseUrl } = provider
  const check = `provider ${name}`
  if (type === 'offline') return ok(check, 'needs no network')
  const base = baseUrlOf({ type, providerName: name, baseUrl })
  try {
    const response = await fetch(`${base.replace(/\/$/, '')}${type === 'ollama' ? '/api/tags' : '/models'}`, {
      headers: headersOf(provider),
    })
    await response.body?.cancel()
    if (response.status === 401 || response.status === 403) {
      return fail(check, `${base} rejects the key (${response.status}).`, 'familiar setup')
    }
    if (response.status >= 500) return warn(check, `${base} answers, but with ${response.status}.`)
    return ok(check, `${base} answers`)
  } catch (error) {
    return fail(check, `${base} cannot be reached: ${reasonOf(error)}`, `curl -sS -o /dev/null ${base}`)
  }
}

function headersOf({ type, apiKey }: ProviderSettings): Record<string, string> {
  if (!apiKey) return {}
  if (type === 'anthropic') return { 'x-api-key': apiKey, 'anthropic-version': '2023-06-01' }
  return type === 'google' ? { 'x-goog-api-key': apiKey } : { authorization: `Bearer ${apiKey}` }
}

function describeRoute(name: string, route: readonly LanguageModel[]): Finding {
  const check = `route ${name}`
  const ids = route.map((model) => model.info.id)
  const message = ids.length > 1 ? `${ids[0]}, then ${ids.slice(1).join(', ')}` : (ids[0] ?? 'none')
  if (name === 'primary' && ids[0]?.startsWith('offline')) {
    return warn(check, `${message}: no language model is set up; remembering and recalling work.`, 'familiar setup')
  }
  return ok(check, message)
}

/** The sandbox in use, its test results on this machine, and possible improvements. */
export async function checkSandbox(config: Config, sandbox: Pick<Sandbox, 'status'>): Promise<Finding[]> {
  if (config.sandbox.driver === 'off') {
    return [warn('sandbox', 'Disabled, so no code can run (sandbox.driver, or FAMILIAR_SANDBOX).')]
  }
  const { driver, tried } = await sandbox.status()
  if (driver === null) {
    const failed = tried.flatMap(({ driver: name, test }) => (test.ok ? [] : [{ name, ...test }]))
    const reasons = failed.map(({ name, reason }) => `${name}: ${reason}`).join('; ')
    return [fail('sandbox', `${reasons}. No code can run.`, failed.find(({ fix }) => fix)?.fix ?? undefined)]
  }
  const used = tried.find((each) => each.driver === driver)
  if (!used?.test.ok) return []
  const proofs = used.test.proofs.map(({ name }) => name).join(', ')
  return [
    ok('sandbox', `${driver}${used.test.program ? ` (${used.test.program})` : ''}; tested here: ${proofs}`),
    ...used.test.lacks.map(({ what, fix }) => warn('sandbox', what, fix ?? undefined)),
  ]
}

/** More of them have one cause, such as a deleted folder, and need no line each. */
const maxNamed = 20

/**
 * Enabled tools whose files are missing or changed: built ones and those of a folder. Warnings only, because an update
 * tests the new version on a copy of the home without tools.
 */
export async function checkTools(
  homePath: string,
  { tools, shared }: Pick<Config, 'tools' | 'shared'>,
): Promise<Finding[]> {
  const paths = homePaths(homePath)
  if (!existsSync(paths.database)) return []
  const { built, installed } = readTools(paths.database)
  const findings: Finding[] = []
  // A version that is missing here is fetched from the shared place.
  if (!shared) for (const tool of built) findings.push(...(await checkBuilt(paths.capabilities, tool)))
  const there = await namesOfFolders([paths.tools, ...tools.directories])
  for (const name of installed.filter((one) => !there.has(one))) {
    const message = `${name} is installed and enabled, but its folder is missing. Restore it from a backup, or remove it.`
    findings.push(warn('tools', message, `familiar tools remove ${name}`))
  }
  const left = findings.length - maxNamed
  return left > 0 ? [...findings.slice(0, maxNamed), warn('tools', `The files of ${left} more are missing.`)] : findings
}

interface BuiltTool {
  name: string
  isOwners: boolean
  serving: number
  versions: { capabilityId: string; version: number; hash: string }[]
}

async function checkBuilt(directory: string, { name, isOwners, serving, versions }: BuiltTool): Promise<Finding[]> {
  const store = createVersionStore({ directory })
  const isWhole = async (one: BuiltTool['versions'][number]) => (await store.read(one)).ok
  const current = versions.find(({ version }) => version === serving)
  if (!current || (await isWhole(current))) return []
  const what = existsSync(store.directoryOf(current)) ? 'was changed' : 'is gone'
  const place = `${name} was built by Familiar, but ${store.directoryOf(current)} ${what}.`
  for (const older of versions.filter(({ version }) => version < serving).sort((a, b) => b.version - a.version)) {
    if (!(await isWhole(older))) continue
    const message = `${place} Restore it from a backup, or use version ${older.version}, which is complete.`
    return [warn('tools', message, ...(isOwners ? [`familiar caps rollback ${name} ${older.version}`] : []))]
  }
  const message = `${place} Restore it from a backup, or disable it.`
  return [warn('tools', message, ...(isOwners ? [`familiar caps disable ${name}`] : []))]
}

async function namesOfFolders(roots: readonly string[]): Promise<Set<string>> {
  const { folders } = await findToolFolders(roots.map((path) => ({ path, isPrivate: false })))
  const names = folders.map(async ({ directory }) => {
    const reading = await readToolFolder(directory, { isPrivate: false })
    const loading = reading.ok ? loadTool(reading.folder) : undefined
    // An unreadable one exists, and the list of tools shows its problem.
    return loading?.ok ? loading.tool.manifest.name : basename(directory)
  })
  return new Set(await Promise.all(names))
}

export function tablesOf(raw: DatabaseSync): Set<unknown> {
  const rows = raw.prepare('select name from sqlite_master').all()
  return new Set(rows.map(({ name }) => name))
}

function readTools(path: string): { built: BuiltTool[]; installed: string[] } {
  using raw = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
  const tables = tablesOf(raw)
  if (!tables.has('capability_versions') || !tables.has('tool_states')) return { built: [], installed: [] }
  const rows = raw
    .prepare(
      `select capabilities.id, capabilities.name, capabilities.version as serving, users.role, kept.version, kept.hash
       from capabilities
       join users on users.id = capabilities.user_id
       join capability_versions as kept on kept.capability_id = capabilities.id
       where capabilities.state = 'active' order by capabilities.name`,
    )
    .all()
  const built = new Map<string, BuiltTool>()
  for (const row of rows) {
    const id = String(row.id)
    const tool = built.get(id) ?? {
      name: String(row.name),
      isOwners: row.role === 'owner',
      serving: Number(row.serving),
      versions: [],
    }
    tool.versions.push({ capabilityId: id, version: Number(row.version), hash: String(row.hash) })
    built.set(id, tool)
  }
  const states = raw.prepare('select name from tool_states where is_enabled = 1 and fingerprint is not null').all()
  // Skills and MCP servers have a prefix.
  const installed = states.map(({ name }) => String(name)).filter((name) => !name.includes(':'))
  return { built: [...built.values()], installed: installed.sort() }
}
