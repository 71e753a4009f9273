import type { Logger } from '../base/logger.ts'
import type { Embedder } from '../memory/embedding/embedders.ts'
import { topicsOf } from '../memory/words.ts'
import { builtinSource, closenessOf, type ToolMeaning, type ToolRegistry } from '../tools/registry.ts'
import type { Tool } from '../tools/tool.ts'
import { toolNameOf } from './built-catalog.ts'
import everyday from './everyday-messages.json' with { type: 'json' }
import type { ToolWeights } from './find-tools.ts'
import { type CapabilitySearch, createWordIndex, type WordIndex, wordsOf } from './search.ts'

/** The lines about the tools that obviously fit a message; none for most messages. */
export type FittingTools = (query: {
  userId: string
  text: string
  /** Tools whose schema the request carries already. */
  offered: readonly string[]
  signal: AbortSignal
}) => Promise<string[]>

const heading = 'Tools that fit this message; call one by its name:'
const maxNamed = 3
const maxLineLength = 110
const maxParameters = 6
const maxCharacters = 1_000
const maxCandidates = 20
/** By words alone: something matches in every long text. */
const maxWords = 12
/** The model may have to start first. A message does not wait longer for the name of a tool. */
const maxMs = 1_500
const experienceShare = 0.25

/**
 * A tool is named if `closeness + wordShare * words + requestShare * (likeness to everyday requests) - talkShare *
 * (likeness to small talk)` reaches `leastFit`. The messages of everyday-messages.json are both the yardstick and the set
 * that chose the numbers, each message measured against the others: of its 60 requests 55 name their tool, of its 60
 * messages of small talk 5 name one. By words alone (`leastStrength`) it is 27 and 2.
 */
const wordShare = 0.21
const requestShare = 0.3
const talkShare = 0.7
const leastFit = 0.16
const leastStrength = 1.4
/** How many of the everyday messages that are most alike count. */
const neighbors = 10

/**
 * Names the tools that fit a message, so that the model needs no round with `find_tools` for the obvious. By words alone
 * where only built-in tools exist: the embedding model is not started for them.
 */
export function createFittingTools(needs: {
  registry: ToolRegistry
  weights: ToolWeights
  meaning: ToolMeaning | undefined
  embedder: Embedder | undefined
  capabilities: Pick<CapabilitySearch, 'search'>
  logger: Logger
  waitMs?: number
}): FittingTools {
  const { registry, weights, meaning, embedder, capabilities, logger, waitMs = maxMs } = needs
  const words = createToolWords(registry)
  const likeness = embedder && createLikeness(embedder)

  async function meaningOf(tools: readonly Tool[], text: string, signal: AbortSignal) {
    if (!meaning || !likeness) return undefined
    const limited = AbortSignal.any([signal, AbortSignal.timeout(waitMs)])
    try {
      const [bonus, closeness] = await Promise.all([likeness(text, limited), meaning(tools, text, limited)])
      return closeness.size === 0 && tools.length > 0 ? undefined : { bonus, closeness }
    } catch (error) {
      signal.throwIfAborted()
      logger.debug('tools are named by words only', { error })
      return undefined
    }
  }

  return async ({ userId, text: whole, offered, signal }) => {
    const text = whole.slice(0, maxCharacters).toWellFormed().trim()
    if (text === '') return []
    const view = registry.viewOf(userId)
    const others = view.list().filter((tool) => !tool.core)
    const built = await capabilities.search({ userId, text, limit: maxCandidates, signal })
    const isFresh = built.length === 0 && registry.entries().every(({ source }) => source === builtinSource)
    const index = await words.current()
    const known = isFresh ? undefined : await meaningOf(others, text, signal)
    // A number says nothing of the kind of tool.
    const matches = index.compare(text.replaceAll(/\p{N}+/gu, ' '))
    if (!known && wordsOf(text).length > maxWords) return []
    const candidates = [
      ...others.map((tool) => ({ tool, words: matches.matchOf(tool.definition.name), closeness: 0 })),
      ...built.flatMap(({ capability, words, closeness }) => {
        const tool = view.find(toolNameOf(capability.name))
        return tool ? [{ tool, words, closeness }] : []
      }),
    ]
    const fitting = candidates
      .map(({ tool, words, closeness }) => {
        const { name } = tool.definition
        if (!known) return { tool, fit: words.strength - leastStrength }
        const close = known.closeness.get(name) ?? closeness
        return { tool, fit: close + wordShare * words.share + known.bonus - leastFit }
      })
      .filter(({ tool, fit }) => fit >= 0 && !offered.includes(tool.definition.name))
    if (fitting.length === 0) return []
    const experience = fitting.length === 1 ? new Map<string, number>() : await weights(userId, topicsOf(text))
    const place = ({ tool, fit }: (typeof fitting)[number]) =>
      fit + leastFit * experienceShare * (experience.get(tool.definition.name) ?? 0)
    const best = fitting.toSorted((a, b) => place(b) - place(a)).slice(0, maxNamed)
    return [heading, ...best.map(({ tool }) => lineOf(tool))]
  }
}

/** The words of all registered tools that are not core, indexed again after a change. */
function createToolWords(registry: Pick<ToolRegistry, 'entries'>) {
  let indexed: { entries: unknown; index: Promise<WordIndex> } | undefined

  async function indexAll(): Promise<WordIndex> {
    const index = createWordIndex()
    for (const [at, { tool }] of registry.entries().entries()) {
      // Ten thousand tools take a second: others must get their turn.
      if (at % perSlice === perSlice - 1) await new Promise(setImmediate)
      if (tool.core) continue
      index.put(tool.definition.name, [
        { text: [tool.definition.name, ...tool.aliases].join(' '), weight: 2 },
        { text: tool.definition.description, weight: 1 },
        { text: (tool.documentation ?? '').slice(0, maxDocumentation), weight: 0.5 },
      ])
    }
    return index
  }

  return {
    async current(): Promise<WordIndex> {
      const entries = registry.entries()
      if (indexed?.entries !== entries) indexed = { entries, index: indexAll() }
      return await indexed.index
    },
  }
}

const perSlice = 100
const maxDocumentation = 2_000

/** How much more a message is like an everyday request than like small talk. */
function createLikeness(embedder: Embedder) {
  let everydayVectors: Promise<{ requests: Float32Array[]; talk: Float32Array[] }> | undefined

  /** Not bound to the message that asks first: the next one needs them too. */
  function embedEveryday() {
    const { requests, talk } = everyday
    everydayVectors ??= embedder.embed([...requests, ...talk], 'question').then((vectors) => ({
      requests: vectors.slice(0, requests.length),
      talk: vectors.slice(requests.length),
    }))
    everydayVectors.catch(() => {
      everydayVectors = undefined
    })
    return everydayVectors
  }

  return async (text: string, signal: AbortSignal): Promise<number> => {
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
    const [[question], vectors] = await Promise.race([
      Promise.all([embedder.embed([text], 'question', signal), embedEveryday()]),
      aborted,
    ])
    if (!question) throw new Error('the model gave no vector')
    const like = (texts: readonly Float32Array[]) => {
      const nearest = texts.map((vector) => cosineOf(question, vector)).sort((a, b) => b - a)
      const counted = nearest.slice(0, neighbors)
      return closenessOf(counted.reduce((sum, one) => sum + one, 0) / counted.length, embedder.model)
    }
    return requestShare * like(vectors.requests) - talkShare * like(vectors.talk)
  }
}

/** The vectors have length one. */
function cosineOf(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0)
}

/** `- weather_forecast(city, days?): Forecast of temperature and rain.` */
function lineOf({ definition }: Tool): string {
  const { properties, required } = definition.inputSchema as { properties?: object; required?: readonly string[] }
  const names = Object.keys(properties ?? {}).map((name) => (required?.includes(name) ? name : `${name}?`))
  const parameters = [...names.slice(0, maxParameters), ...(names.length > maxParameters ? ['…'] : [])].join(', ')
  const line = `- ${definition.name}(${parameters}): ${definition.description.replaceAll(/\s+/g, ' ')}`
  return line.length > maxLineLength ? `${line.slice(0, maxLineLength - 1).toWellFormed()}…` : line
}
