import { writeFileAtomically } from '../base/files.ts'
import { toDisplayText } from '../base/text.ts'
import type { HttpSetup } from '../http/dependencies.ts'
import type { ModelSet } from '../models/model-set.ts'
import type { ModelSettings, ProviderSettings } from '../models/provider-connection.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { TryProvider } from '../protocol/setup.ts'
import type { Vault } from '../security/vault.ts'
import { type ConfigProblem, diskFiles, formatProblems } from './config/config.ts'
import { draftSetting } from './config/edit-config.ts'
import type { ConfigFlags, StoredKeys } from './config/environment.ts'
import { isLoopback, loadConfig } from './config/load-config.ts'
import { checkToml, type TomlValue } from './config/toml.ts'
import { providerSchema } from './config/tools-schema.ts'
import {
  checkAddress,
  checkKey,
  configSecrets,
  discoverHere,
  draftConnection,
  freeVariable,
  type ModelConnection,
  type Offer,
  offers,
  type ProviderTrial,
  providerPath,
  trialHere,
  usualVariable,
  withDrafts,
  writeDrafts,
} from './connect-model.ts'
import type { Essentials } from './daemon.ts'

/**
 * The settings that the page may change. None of them names a program, a path or a host (SEC-4a), and none removes a
 * limit of the sandbox or of the network.
 */
const editable: ReadonlySet<string> = new Set([
  'agent.name',
  ...['primary', 'fast', 'builder', 'vision', 'compaction', 'subagent'].map((purpose) => `routes.${purpose}`),
  ...['message', 'build', 'day', 'month'].map((period) => `budget.per_${period}_usd`),
  'policy.mode',
  'policy.approval_minutes',
  'memory.conversations',
  'memory.extraction',
  'memory.embedding.provider',
  'voice.transcription.provider',
  'tools.tts.provider',
  'tools.enabled',
  'capabilities.repair',
  'telegram.enabled',
  'telegram.allowed_ids',
])

const telegramVariable = 'TELEGRAM_BOT_TOKEN'

interface KnownKey {
  key: string
  variable: string
}

/** A provider as the owner described it in the page. */
interface Described {
  offer: Offer
  settings: Omit<ProviderSettings, 'models'>
  /** Null: none is known or needed. */
  keyVariable: string | null
  newKey: string | undefined
  /** With the settings that its server reported. */
  models: Record<string, ModelSettings>
}

/** Connects models and changes settings while the daemon runs. The callers are checked before (SEC-4a). */
export function createSetupDesk(
  dependencies: Pick<Essentials, 'paths' | 'clock'> & {
    home: string
    env: Readonly<Record<string, string | undefined>>
    flags: ConfigFlags
    ownerId: string
    vault: Pick<Vault, 'set'>
    models: Pick<ModelSet, 'route'>
    /** The environment with `.env` and the vault under it. */
    environment(): Readonly<Record<string, string>>
    stored(): StoredKeys
    reload(): Promise<ConfigProblem[]>
    restartNeeded(): string[]
    trial?: ProviderTrial
  },
): HttpSetup {
  const { home, env, flags, paths, clock, ownerId, vault, models, environment, stored, reload, restartNeeded } =
    dependencies
  const { trial = trialHere } = dependencies
  // Two saves at once would each write a file without the other's change.
  let turn: Promise<unknown> = Promise.resolve()
  function inTurn<T>(task: () => Promise<T>): Promise<T> {
    const result = turn.then(task)
    turn = result.catch(() => undefined)
    return result
  }

  async function describeAll(): Promise<{ offer: Offer; found: ProviderSettings | undefined }[]> {
    const found = await discoverHere(environment())
    const known = offers.map((offer) => ({ offer, found: found.find(({ name }) => name === offer.name) }))
    const more = found
      .filter(({ name }) => !offers.some((offer) => offer.name === name))
      .map((provider) => ({ offer: offerOf(provider), found: provider }))
    return [...known.slice(0, -1), ...more, ...known.slice(-1)]
  }

  async function describe({ provider, baseUrl, apiKey = '', confirmedHost }: TryProvider): Promise<Described> {
    const one = (await describeAll()).find(({ offer }) => offer.name === provider)
    if (!one) throw new FamiliarError('bad_request', `There is no provider ${JSON.stringify(provider)}.`)
    const { offer, found } = one
    const own = offer.baseUrl ?? ''
    const address = takesAddress(offer) ? baseUrl || own : own
    if (takesAddress(offer)) {
      const problem = checkAddress(address)
      if (problem !== undefined) throw new FamiliarError('bad_request', problem)
      // Everything that is said goes there, and so does the key.
      if (address !== own && confirmedHost !== new URL(address).host) {
        throw new FamiliarError('bad_request', `Confirm that ${new URL(address).host} may receive your messages.`)
      }
    }
    const isOther = address !== own
    const name = offer.baseUrl === '' ? freeName(address) : offer.name
    const usual = offer.baseUrl === '' ? usualVariable(name) : offer.keyVariable
    const known = keyOf(name, address) ?? (isOther ? undefined : keyIn(found, usual))
    const badKey = checkKey(apiKey, offer.needsKey === true && known === undefined)
    if (badKey !== undefined)
      throw new FamiliarError('bad_request', badKey === 'It needs one' ? 'Enter a key.' : `${badKey}.`)
    const key = apiKey || known?.key
    const variable = apiKey ? usual && freeVariable(usual, name, isTaken(usual)) : known?.variable
    return {
      offer,
      settings: { name, type: offer.type, baseUrl: address || undefined, ...(key && { apiKey: key }) },
      keyVariable: key && variable ? variable : null,
      newKey: apiKey || undefined,
      models: { ...offer.models, ...(isOther ? {} : found?.models) },
    }
  }

  function fileOf(provider: string) {
    const file = providerPath(provider, paths)
    const text = diskFiles.read(file)
    return text === undefined ? undefined : checkToml({ file, text, schema: providerSchema }).value
  }

  /** The name of the file of a server: the one that has this address already, or a new one. */
  function freeName(address: string): string {
    const wanted = nameOf(address)
    const names = [wanted, ...Array.from({ length: 98 }, (_, index) => `${wanted}-${index + 2}`)]
    const isFree = (name: string) => {
      if (offers.some((offer) => offer.name === name && offer.baseUrl !== '')) return false
      const file = fileOf(name)
      return diskFiles.read(providerPath(name, paths)) === undefined || file?.base_url === address
    }
    return names.find(isFree) ?? wanted
  }

  /** A variable of the environment or of `.env` is read before the vault. */
  function isTaken(variable: string): boolean {
    const value = environment()[variable]
    return Boolean(value) && value !== stored()[variable]
  }

  /** The key in the environment that was found for a provider. */
  function keyIn(found: ProviderSettings | undefined, usual = ''): KnownKey | undefined {
    const key = found?.apiKey
    if (key === undefined) return undefined
    return { key, variable: Object.entries(environment()).find(([, value]) => value.trim() === key)?.[0] ?? usual }
  }

  /** The key of the provider's file, if the file has the same address. */
  function keyOf(provider: string, address: string): KnownKey | undefined {
    const file = fileOf(provider)
    const variable = file?.api_key_env
    const key = variable && (file?.base_url ?? '') === address ? environment()[variable] : undefined
    return variable && key ? { key, variable } : undefined
  }

  /** The name of the model's table: that of the same model, or a free one made of its name, as people know it. */
  function modelNameIn(provider: string, model: string): string {
    const existing = fileOf(provider)?.models ?? {}
    const same = Object.entries(existing).find(([, one]) => one.model === model)?.[0]
    if (same !== undefined) return same
    const wanted = model.replaceAll(/[^A-Za-z0-9._:-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '') || 'model'
    let name = wanted
    for (let number = 2; existing[name]; number += 1) name = `${wanted}-${number}`
    return name
  }

  const current = () => models.route('primary')[0]?.info.id ?? 'none'
  const problemsIn = (problems: readonly ConfigProblem[]) => formatProblems(problems, home).join('\n')

  async function apply(): Promise<string | null> {
    const problems = await reload()
    return problems.length > 0 ? problemsIn(problems) : null
  }

  async function writeSetting(path: readonly string[], value: TomlValue | null): Promise<string | null> {
    const draft = draftSetting({ home, env, flags, stored: stored() }, path, [value])
    if (draft.ok) {
      await writeFileAtomically(paths.config, draft.text)
      return apply()
    }
    return draft.reason === 'not_editable'
      ? `familiar.toml cannot be changed at ${path.join('.')} without touching other keys. Edit the file yourself.`
      : draft.problems.join('\n')
  }

  return {
    async offers() {
      return (await describeAll()).map(({ offer, found }) => ({
        id: offer.name,
        label: offer.label,
        baseUrl: offer.baseUrl ?? null,
        takesAddress: takesAddress(offer),
        key: offer.needsKey ? 'needed' : offer.baseUrl === '' ? 'optional' : 'none',
        hasKey: found?.apiKey !== undefined || keyOf(offer.name, offer.baseUrl ?? '') !== undefined,
        keyPage: offer.keyPage ?? null,
        isFound: found !== undefined,
      }))
    },

    async tryProvider(request) {
      const { settings, models: known } = await describe(request)
      const listed = await trial.list(settings)
      if (!listed.ok) return { ok: false, problem: toDisplayText(listed.message), models: [], suggested: null }
      const usual = known.main?.model
      const names = listed.models.map(toDisplayText).filter(isChatModel)
      const all = [...new Set([...(usual !== undefined && names.includes(usual) ? [usual] : []), ...names])]
      return { ok: true, problem: null, models: all.slice(0, 1_000), suggested: all[0] ?? usual ?? null }
    },

    connect: (request) =>
      inTurn(async () => {
        const { settings, keyVariable, newKey, models: known } = await describe(request)
        const model = modelSettings(request.model, known, settings.baseUrl, request.prices)
        const problem = request.isUntested ? undefined : await trial.send({ ...settings, models: { main: model } })
        if (problem !== undefined) {
          return { ok: false, problem: toDisplayText(problem), model: null, current: current() }
        }
        const { name, type, baseUrl } = settings
        const modelName = modelNameIn(name, request.model)
        const id = `${name}/${modelName}`
        const connection: ModelConnection = {
          name,
          type,
          baseUrl,
          keyVariable: keyVariable ?? undefined,
          model,
          modelName,
        }
        const draft = draftConnection(connection, [[['routes', 'primary'], id]], paths)
        if (!draft.ok) throw new FamiliarError('conflict', draft.message)
        const keys = { ...stored(), ...(newKey && keyVariable && { [keyVariable]: newKey }) }
        const checked = loadConfig({ home, env, flags, stored: keys, files: withDrafts(draft.files) })
        if (!checked.ok) throw new FamiliarError('conflict', problemsIn(checked.problems))
        if (newKey && keyVariable) await vault.set({ userId: ownerId, owner: configSecrets, name: keyVariable }, newKey)
        await writeDrafts(draft.files, paths, clock.now())
        const failed = await apply()
        return { ok: failed === null, problem: failed, model: id, current: current() }
      }),

    change: (key, value) =>
      inTurn(async () => {
        if (!editable.has(key)) {
          const message = `${key} cannot be changed here. Change it in a terminal: familiar config set ${key} VALUE`
          throw new FamiliarError('forbidden', message)
        }
        const problem = await writeSetting(key.split('.'), value as TomlValue | null)
        return { ok: problem === null, problem, restartNeeded: restartNeeded() }
      }),

    setTelegram: ({ token, allowedIds }) =>
      inTurn(async () => {
        if (token) {
          if (!/^\d{3,20}:[\w-]{20,100}$/.test(token)) {
            throw new FamiliarError('bad_request', 'A bot token looks like 123456:ABC-DEF. @BotFather shows it.')
          }
          if (isTaken(telegramVariable)) {
            const message = `${telegramVariable} is set in the environment, which overrides this. Change it there.`
            throw new FamiliarError('conflict', message)
          }
          await vault.set({ userId: ownerId, owner: configSecrets, name: telegramVariable }, token)
        }
        const problem = await writeSetting(['telegram', 'allowed_ids'], allowedIds)
        return { ok: problem === null, problem, restartNeeded: restartNeeded() }
      }),
  }
}

/** Only servers of the user: an address in place of a provider's own would get the key that is meant for it. */
function takesAddress({ needsKey, baseUrl }: Offer): boolean {
  return !needsKey && baseUrl !== undefined
}

function offerOf({ name, type, baseUrl, apiKey, models }: ProviderSettings): Offer {
  const labels: Record<string, string> = { lmstudio: 'LM Studio', llamacpp: 'llama.cpp' }
  const label = labels[name] ?? `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`
  const key = apiKey === undefined ? {} : { needsKey: true, keyVariable: usualVariable(name) }
  return { label, hint: '', name, type, baseUrl, models, ...key }
}

/** `http://llm.example.org:8443/v1` → `llm-example-org`. */
function nameOf(address: string): string {
  const { hostname } = new URL(address)
  if (isLoopback(hostname)) return 'local'
  return (
    hostname
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-+|-+$/g, '')
      .slice(0, 40) || 'server'
  )
}

function modelSettings(
  model: string,
  known: Record<string, ModelSettings>,
  baseUrl: string | undefined,
  prices: { input: number; output: number } | undefined,
): ModelSettings {
  const settings = Object.values(known).find((one) => one.model === model) ?? { model }
  if (prices) return { ...settings, costPerMtok: [prices.input, prices.output] }
  const isFree = !settings.costPerMtok && baseUrl !== undefined && isLoopback(new URL(baseUrl).hostname)
  return isFree ? { ...settings, costPerMtok: [0, 0] } : settings
}

/** Models for other purposes, by the usual parts of their names. */
function isChatModel(name: string): boolean {
  return !/embed|rerank|whisper|\bbge\b|minilm|\btts\b|dall-e|moderation|transcri|-image\b|imagen|\bveo\b/i.test(name)
}
