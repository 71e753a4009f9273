import { FamiliarError } from '../protocol/errors.ts'
import { type AllowedHost, portOf } from '../security/network/destinations.ts'
import type { HomePackages } from './ai-sdk-packages.ts'
import {
  type LanguageModel,
  ModelError,
  type ModelRequest,
  type ModelStreamEvent,
  type Models,
  type Purpose,
  purposes,
} from './model.ts'
import {
  type ModelSettings,
  modelInfo,
  type ProviderConnection,
  type ProviderFetch,
  type ProviderSettings,
  type ProviderType,
  type RequestExtras,
  withExtras,
} from './provider-connection.ts'
import { splitThinkingTags } from './thinking-tags.ts'

/** `provider/name`, or several: the first is used, the rest are its fallbacks. */
type RouteTarget = string | readonly string[]

/** The `[routes]` table: by purpose, and by the source of a message. */
export type Routes = { [purpose in Purpose]?: RouteTarget | undefined } & {
  /** The models that make pictures (`images.ts`). */
  image?: RouteTarget | undefined
  sources?: Record<string, RouteTarget> | undefined
}

/**
 * All configured models and their routes. A route to an unknown model is an error that names its key. A purpose without
 * a route uses the primary one; without that, the first configured model; without models, the offline one.
 */
export function createModels(options: {
  providers: readonly ProviderSettings[]
  routes?: Routes
  offline: LanguageModel
  fetch: ProviderFetch
  /** The packages of `ai-sdk` providers, in the home. */
  packages?: HomePackages
}): Models {
  const { providers, routes = {}, offline, fetch, packages } = options
  const models = new Map<string, LanguageModel>()
  const talking = new Set(talkingModelIds(routes))
  for (const { name: providerName, type, models: all, ...provider } of providers) {
    for (const [name, settings] of Object.entries(all)) {
      const id = `${providerName}/${name}`
      if (makesPicturesOnly(id, settings, routes) && !talking.has(id)) continue
      const model =
        type === 'offline'
          ? renamed(offline, id)
          : createModel({ ...provider, type, providerName, name, settings, fetch, extras: provider, packages })
      models.set(id, model)
    }
  }

  function resolve(key: string, target: RouteTarget): readonly LanguageModel[] {
    const ids = typeof target === 'string' ? [target] : target
    const found = ids.map((id) => {
      const model = id === offline.info.id ? offline : models.get(id)
      if (model) return model
      throw new FamiliarError('bad_request', `routes.${key}: there is no model "${id}" (${listOf(models)})`)
    })
    if (found.length > 0) return found
    throw new FamiliarError('bad_request', `routes.${key}: no model is named`)
  }

  const first = models.values().next().value ?? offline
  const primary = routes.primary === undefined ? [first] : resolve('primary', routes.primary)
  const byPurpose = new Map(
    purposes.map((purpose) => {
      const target = routes[purpose]
      return [purpose, target === undefined ? primary : resolve(purpose, target)]
    }),
  )
  const bySource = new Map(
    Object.entries(routes.sources ?? {}).map(([source, target]) => [source, resolve(`sources.${source}`, target)]),
  )

  return {
    // A source selects the model of the conversation, not of summaries or builds.
    route: (purpose, source) =>
      (purpose === 'primary' && source !== undefined && bySource.get(source)) || (byPurpose.get(purpose) ?? primary),
    byId: (id) => (id === offline.info.id ? offline : models.get(id)),
    list: () => (models.size > 0 ? [...models.values()] : [offline]),
  }
}

/** A model with a price per picture, or with the route for pictures, does not talk unless another route says so. */
function makesPicturesOnly(id: string, { costPerImage }: ModelSettings, { image }: Routes): boolean {
  return costPerImage !== undefined || [image ?? []].flat().includes(id)
}

function talkingModelIds({ image: _, sources, ...purposes }: Routes): string[] {
  return [...Object.values(purposes), ...Object.values(sources ?? {})].flatMap((target) => target ?? [])
}

/**
 * The hosts in the providers' addresses, for the guarded fetch: naming one there lists it. A provider's default public
 * address needs no listing and stays checked.
 */
export function providerHosts(providers: readonly ProviderSettings[]): AllowedHost[] {
  return providers.flatMap(({ type, name, baseUrl }) => {
    if (type === 'offline' || (baseUrl === undefined && type !== 'ollama')) return []
    const url = new URL(baseUrlOf({ type, providerName: name, baseUrl }))
    return [{ host: url.hostname, port: portOf(url) }]
  })
}

function renamed(model: LanguageModel, id: string): LanguageModel {
  return { info: { ...model.info, id }, stream: (request, signal) => model.stream(request, signal) }
}

function listOf(models: ReadonlyMap<string, LanguageModel>): string {
  return models.size > 0 ? `configured: ${[...models.keys()].join(', ')}` : 'none is configured'
}

const defaultBaseUrls: Partial<Record<ProviderType, string>> = {
  anthropic: 'https://api.anthropic.com/v1',
  openai: 'https://api.openai.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
  ollama: 'http://127.0.0.1:11434',
}

interface CreateModelOptions {
  type: Exclude<ProviderType, 'offline'>
  providerName: string
  /** The model's name in the configuration, the second half of its id. */
  name: string
  baseUrl?: string | undefined
  apiKey?: string | undefined
  settings: ModelSettings
  fetch: ProviderFetch
  /** Additions of the provider's file to each request. */
  extras?: RequestExtras | undefined
  /** For an `ai-sdk` provider: its package, from those in the home. */
  package?: string | undefined
  packages?: HomePackages | undefined
  options?: Record<string, string | number | boolean> | undefined
}

/** A model of a provider. Nothing is loaded or sent before its first use, so the daemon starts without it. */
export function createModel(options: CreateModelOptions): LanguageModel {
  const { type, providerName, name, apiKey, settings } = options
  const { headers, query, body } = options.extras ?? {}
  const fetch = withExtras(options.fetch, { headers, query, body: { ...body, ...settings.body } })
  const info = modelInfo(`${providerName}/${name}`, settings)
  const connection: ProviderConnection = {
    baseUrl: baseUrlOf(options),
    apiKey,
    settings,
    fetch,
    ...(options.options && { options: options.options }),
  }
  const sdkPackage = { name: options.package ?? '', home: options.packages }
  let opened: LanguageModel | undefined

  async function* openThenStream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelStreamEvent> {
    const { openModel } = await import('./providers.ts')
    const model = openModel({ type, providerName, info, connection, sdkPackage })
    opened ??= goOnWithoutTools(goOnWithoutChoice(splitThinkingTags(model, providerName)))
    yield* opened.stream(request, signal)
  }

  return {
    info,
    stream: (request, signal) => (opened ? opened.stream(request, signal) : openThenStream(request, signal)),
  }
}

/** The same model, which retries without a required tool if its server rejects that. The caller checks the response. */
function goOnWithoutChoice(model: LanguageModel): LanguageModel {
  return {
    info: model.info,
    async *stream({ toolChoice, ...request }, signal): AsyncGenerator<ModelStreamEvent> {
      if (toolChoice) {
        try {
          return yield* model.stream({ ...request, toolChoice }, signal)
        } catch (error) {
          const isRefused =
            error instanceof ModelError && error.code === 'rejected' && /tool.?choice/i.test(error.message)
          if (!isRefused) throw error
        }
      }
      yield* model.stream(request, signal)
    },
  }
}

/**
 * The same model, which retries without tools if it does not support them. That is remembered until the daemon stops.
 */
function goOnWithoutTools(model: LanguageModel): LanguageModel {
  let takesTools = true
  return {
    info: model.info,
    async *stream(request, signal): AsyncGenerator<ModelStreamEvent> {
      let isNew = !request.messages.some(({ role }) => role === 'assistant')
      if (takesTools || request.tools.length === 0) {
        try {
          return yield* model.stream(request, signal)
        } catch (error) {
          if (!(error instanceof ModelError) || error.code !== 'no_tools' || request.tools.length === 0) throw error
          takesTools = false
          isNew = true
        }
      }
      for await (const event of model.stream(withoutTools(request), signal)) {
        if (event.type !== 'finished' || !isNew) yield event
        else {
          const notice = `${model.info.id} cannot use tools, so this reply was written without tools.`
          yield { ...event, response: { ...event.response, notice } }
        }
      }
    },
  }
}

/** Earlier calls and their results become text: such a server rejects them as messages. */
function withoutTools(request: ModelRequest): ModelRequest {
  const system: ModelRequest['system'] = [
    ...request.system,
    { name: 'no-tools', layer: 'semi_stable', text: 'This model cannot use tools. Answer with text only.' },
  ]
  const messages = request.messages.map((message): ModelRequest['messages'][number] => {
    if (message.role === 'user') return message
    if (message.role === 'tool') {
      const text = message.results.map((result) => `[result of ${result.name}: ${result.text}]`).join('\n')
      return { role: 'user', parts: [{ type: 'text', text }] }
    }
    const parts = message.parts.map((part) =>
      part.type === 'tool_call'
        ? { type: 'text' as const, text: `[called ${part.name} with ${JSON.stringify(part.input)}]` }
        : part,
    )
    return { role: 'assistant', parts }
  })
  const { toolChoice: _, ...rest } = request
  return { ...rest, system, messages, tools: [] }
}

/** A provider's address: from its file, otherwise its default public address. */
export function baseUrlOf({
  type,
  providerName,
  baseUrl,
}: Pick<CreateModelOptions, 'type' | 'providerName' | 'baseUrl'>): string {
  // A package knows its provider's address.
  if (type === 'ai-sdk' && baseUrl === undefined) return ''
  const url = baseUrl ?? defaultBaseUrls[type]
  if (url !== undefined && URL.canParse(url)) return url.replace(/\/+$/, '')
  const problem = url === undefined ? `type "${type}" requires one` : `"${url}" is not a URL`
  throw new FamiliarError('bad_request', `providers.d/${providerName}.toml: base_url: ${problem}`)
}
