import type { Clock } from '../../base/clock.ts'
import type { AllowedHost } from '../../egress/destination.ts'
import { createGuardedFetch } from '../../egress/guarded-fetch.ts'
import type { Embedder } from './embedder.ts'
import type { EmbeddingSettings } from './embedding-settings.ts'
import { createLocalEmbedder, localModel } from './local/local-embedder.ts'
import { ollamaWire } from './remote/ollama-wire.ts'
import { openaiWire } from './remote/openai-wire.ts'
import { createRemoteEmbedder } from './remote/remote-embedder.ts'

export interface EmbedderDependencies {
  /** Where set-up put the files of the local model. */
  modelFolder: string
  clock: Clock
  random: () => number
  /** Takes secrets out of what a server is sent. */
  redact?: (text: string) => string
}

/** The model that the settings name, and the way back to those that they named before. */
export interface Embedders {
  /** Undefined where embedding is switched off. */
  readonly current: Embedder | undefined
  /** The same object for the same id. Undefined where these settings do not tell how to reach such a model. */
  byModel(model: string): Embedder | undefined
  close(): Promise<void>
}

export function createEmbedders(settings: EmbeddingSettings, dependencies: EmbedderDependencies): Embedders {
  const opened = new Map<string, Embedder>()
  function open(wanted: EmbeddingSettings): Embedder | undefined {
    const embedder = createEmbedder(wanted, dependencies)
    if (embedder) opened.set(embedder.model, embedder)
    return embedder
  }
  const current = open(settings)
  return {
    current,
    byModel(model) {
      const known = opened.get(model)
      if (known || !current) return known
      const wanted = settingsOf(model, settings)
      return wanted && open(wanted)
    },
    async close() {
      await Promise.all([...opened.values()].map((embedder) => embedder.close()))
    },
  }
}

/** Nothing is started or fetched before the first text. Undefined where it is switched off. */
export function createEmbedder(settings: EmbeddingSettings, dependencies: EmbedderDependencies): Embedder | undefined {
  const { provider, model = '', apiKey, baseUrl = 'http://127.0.0.1:11434' } = settings
  const { modelFolder, clock, random, redact } = dependencies
  if (provider === 'off') return undefined
  if (provider === 'local') return createLocalEmbedder({ folder: modelFolder, clock })
  const wire = provider === 'ollama' ? ollamaWire : openaiWire
  // 64 vectors of 4,096 numbers, written out.
  const fetch = createGuardedFetch({ allowedHosts: [hostOf(baseUrl)], maxBytes: 8_000_000, timeoutMs: 60_000, clock })
  return createRemoteEmbedder({ wire, model, baseUrl, apiKey, fetch, clock, random, redact })
}

/** An id of vectors back to settings: the local model is always at hand, a server's other model where it is the same server. */
function settingsOf(id: string, settings: EmbeddingSettings): EmbeddingSettings | undefined {
  if (id === localModel) return { provider: 'local' }
  const prefix = `${settings.provider}/`
  return id.startsWith(prefix) ? { ...settings, model: id.slice(prefix.length) } : undefined
}

/** Naming it in the config is listing it. */
function hostOf(baseUrl: string): AllowedHost {
  const { hostname, port, protocol } = new URL(baseUrl)
  return { host: hostname, port: Number(port) || (protocol === 'https:' ? 443 : 80) }
}
