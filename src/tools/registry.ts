import type { Clock } from '../base/clock.ts'
import { type Ids, sha256 } from '../base/ids.ts'
import { camelKeys } from '../base/json.ts'
import type { Logger } from '../base/logger.ts'
import { toDisplayText } from '../base/text.ts'
import type { Embedder } from '../memory/embedding/embedders.ts'
import { localEmbeddingModel } from '../memory/embedding/local-embedder.ts'
import { contentWords, topicsOf } from '../memory/words.ts'
import type { ToolCall } from '../protocol/tools.ts'
import { type Database, fromVectorBytes, toVectorBytes, type Writer } from '../storage/database.ts'
import type { Tables, ToolCallRow } from '../storage/tables.ts'
import type { Tool } from './tool.ts'

export interface ToolView {
  find(name: string): Tool | undefined
  /** Sorted by name, so that the same set always makes the same request. Does not include shelves. */
  list(): readonly Tool[]
  /** Whether the user may have a tool of this name from another source, such as their client. Default: yes. */
  mayHave?(name: string): boolean
}

/** Tools that are too many to list, per user: they are looked up by name, and searched elsewhere. */
export interface ToolShelf {
  find(userId: string, name: string): Tool | undefined
  list(userId: string): readonly Tool[]
}

export type ToolRegistry = ReturnType<typeof createToolRegistry>

export interface RegisteredTool {
  tool: Tool
  source: string
}

/** The source of tools that were added one by one: built-in ones. */
export const builtinSource = 'builtin'
export const contractSource = 'contract'

/**
 * With `isEnabled` false there are no tools at all from the next lookup on: the emergency switch. `prepare` is applied
 * to every registered tool. A tool that `allows` rejects does not exist for the user, neither by name nor by alias
 * (CLIENT-4). A tool that `isDisabled` names exists for no user.
 */
export function createToolRegistry(
  tools: readonly Tool[] = [],
  isEnabled: () => boolean = () => true,
  prepare: (tool: Tool) => Tool = (tool) => tool,
  allows: (userId: string, toolName: string) => boolean = () => true,
  isDisabled: (toolName: string) => boolean = () => false,
) {
  const byName = new Map<string, RegisteredTool>()
  const shelves: ToolShelf[] = []
  let sorted: { entries: readonly RegisteredTool[]; tools: readonly Tool[] } | undefined

  function put({ tool, source }: RegisteredTool): void {
    const entry = { tool: prepare(tool), source }
    for (const name of namesOf(tool)) byName.set(name, entry)
    sorted = undefined
  }

  function inOrder() {
    const byToolName = (a: RegisteredTool, b: RegisteredTool) =>
      a.tool.definition.name < b.tool.definition.name ? -1 : 1
    const entries = sorted?.entries ?? [...new Set(byName.values())].sort(byToolName)
    sorted ??= { entries, tools: entries.map(({ tool }) => tool) }
    return sorted
  }

  function findOnShelves(userId: string, name: string): Tool | undefined {
    if (!isEnabled()) return undefined
    for (const shelf of shelves) {
      const tool = shelf.find(userId, name)
      if (tool && !isDisabled(tool.definition.name)) return prepare(tool)
    }
    return undefined
  }

  const registry = {
    add(tool: Tool): void {
      const taken = namesOf(tool).find((name) => byName.has(name))
      if (taken !== undefined) throw new Error(`A tool named ${taken} is already registered`)
      put({ tool, source: builtinSource })
    },
    /**
     * Replaces all tools of the source (`contract`, `mcp:calendar`), effective with the next lookup. Tools whose name
     * or alias belongs to another source are skipped, and their names returned.
     */
    replace(source: string, replacing: readonly Tool[]): string[] {
      for (const [name, entry] of byName) if (entry.source === source) byName.delete(name)
      sorted = undefined
      const leftOut: string[] = []
      for (const tool of replacing) {
        if (namesOf(tool).some((name) => byName.has(name))) leftOut.push(tool.definition.name)
        else put({ tool, source })
      }
      return leftOut
    },
    /** Includes this user's shelves, without tools that they may not use. */
    viewOf(userId: string): ToolView {
      const isTheirs = (tool: Tool) => allows(userId, tool.definition.name)
      return {
        find(name) {
          const tool = registry.find(name) ?? findOnShelves(userId, name)
          return tool && isTheirs(tool) ? tool : undefined
        },
        list: () => registry.list().filter(isTheirs),
        mayHave: (name) => isEnabled() && allows(userId, name),
      }
    },
    /** Every tool on the user's shelves: for a list that a person asked for, never for a turn. */
    onShelves: (userId: string): Tool[] => shelves.flatMap((shelf) => shelf.list(userId)),
    /** A registered name hides the same name on a shelf. */
    addShelf: (shelf: ToolShelf): void => void shelves.push(shelf),
    find(name: string): Tool | undefined {
      const tool = isEnabled() ? byName.get(name)?.tool : undefined
      return tool && isDisabled(tool.definition.name) ? undefined : tool
    },
    list(): readonly Tool[] {
      if (!isEnabled()) return []
      const all = inOrder().tools
      return all.some((tool) => isDisabled(tool.definition.name))
        ? all.filter((tool) => !isDisabled(tool.definition.name))
        : all
    },
    /** All registered tools with their source, sorted by name, whether tools are switched on or not. */
    entries: (): readonly RegisteredTool[] => inOrder().entries,
  }
  for (const tool of tools) registry.add(tool)
  return registry
}

function namesOf({ definition, aliases }: Tool): string[] {
  return [definition.name, ...aliases]
}

const nameWeight = 3
const shortestStem = 4
/** The maximum share that experience adds to or subtracts from words and meaning. */
const experienceShare = 0.25
/** The weight of a word of the documentation, relative to the description. */
const documentationWeight = 0.5
const maxDocumentation = 4_000
/** The weight of identical meaning, in words of the description. */
const meaningWeight = 10

/** How close tools are in meaning to a question, by name: 0 is unrelated, 1 identical. */
type Closeness = ReadonlyMap<string, number>

export interface RankedCapability {
  tool: Tool
  /** The search score, 0 to 1. */
  score: number
  closeness: number
}

/**
 * The matches by words or meaning, best first; experience decides between equals. Capabilities are merged with the
 * tools by the same measure, and keep the order of their own search, which knows word frequencies among ten thousand of
 * them.
 */
export function rankTools(
  tools: readonly Tool[],
  query: string,
  given: {
    experience: ReadonlyMap<string, number>
    closeness: Closeness
    capabilities?: readonly RankedCapability[]
  },
): Tool[] {
  const { experience, closeness, capabilities = [] } = given
  // Underscores join the words of a name, and are not part of a word in a question.
  const wanted = contentWords(query.replaceAll('_', ' '))
  const factor = ({ definition }: Tool) => 1 + experienceShare * (experience.get(definition.name) ?? 0)
  const rank = (tool: Tool, close: number) => ({
    tool,
    score: factor(tool) * (scoreWords(tool, wanted, query.trim()) + meaningWeight * close),
  })
  const place = ({ tool, score }: RankedCapability) =>
    namesOf(tool).includes(query.trim()) ? Number.POSITIVE_INFINITY : factor(tool) * score
  const found = capabilities.toSorted((a, b) => place(b) - place(a) || 0)
  const scores = found.map(({ tool, closeness: close }) => rank(tool, close).score).sort((a, b) => b - a)
  return [
    ...tools.map((tool) => rank(tool, closeness.get(tool.definition.name) ?? 0)),
    ...found.map(({ tool }, at) => ({ tool, score: scores[at] ?? 0 })),
  ]
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ tool }) => tool)
}

function scoreWords(tool: Tool, wanted: readonly string[], query: string): number {
  if (namesOf(tool).includes(query)) return Number.POSITIVE_INFINITY
  const weights = [
    { known: contentWords(namesOf(tool).join(' ').replaceAll('_', ' ')), weight: nameWeight },
    { known: contentWords(tool.definition.description), weight: 1 },
    { known: contentWords((tool.documentation ?? '').slice(0, maxDocumentation)), weight: documentationWeight },
  ]
  return wanted.reduce((sum, word) => {
    const found = weights.find(({ known }) => known.some((other) => alike(other, word)))
    return sum + (found?.weight ?? 0)
  }, 0)
}

/** "messages" matches "message": one word begins with the other. Shorter ones must be equal. */
function alike(a: string, b: string): boolean {
  if (a === b) return true
  return Math.min(a.length, b.length) >= shortestStem && (a.startsWith(b) || b.startsWith(a))
}

/** One call of a tool, whatever the caller. */
export interface AuditedCall
  extends Pick<ToolCall, 'tool' | 'caller' | 'outcome' | 'durationMs'>,
    Partial<Pick<ToolCall, 'sessionId' | 'turnId' | 'driver' | 'budgetRemaining' | 'error'>> {
  userId: string
  callId?: string | null
  /** The user's request. Its strongest words are the topic. */
  userText: string
}

/** The audit trail of all tool calls. Only the newest calls of each user are kept. */
export type ToolAudit = ReturnType<typeof createToolAudit>

const maxCalls = 10_000
/** How many more there may be before the oldest are deleted: checking at every call would cost too much. */
const slack = 200
const maxErrorLength = 500
const maxTopicLength = 120

export function createToolAudit(dependencies: {
  database: Database
  clock: Clock
  ids: Ids
  redact(text: string): string
  maxCallsPerUser?: number
}) {
  const { database, clock, ids, redact, maxCallsPerUser = maxCalls } = dependencies
  /** Only decides when to check: a retried unit may count a call twice. */
  const sinceLook = new Map<string, number>()

  async function dropOldest(writer: Writer, userId: string): Promise<number> {
    const oldestKept = await writer
      .selectFrom('tool_calls')
      .select(['at', 'id'])
      .where('user_id', '=', userId)
      .orderBy('at', 'desc')
      .orderBy('id', 'desc')
      .offset(maxCallsPerUser - 1)
      .limit(1)
      .executeTakeFirst()
    if (!oldestKept) return 0
    const { numDeletedRows } = await writer
      .deleteFrom('tool_calls')
      .where('user_id', '=', userId)
      .where((where) =>
        where.or([
          where('at', '<', oldestKept.at),
          where.and([where('at', '=', oldestKept.at), where('id', '<', oldestKept.id)]),
        ]),
      )
      .executeTakeFirst()
    return Number(numDeletedRows)
  }

  const audit = {
    record: (call: AuditedCall): Promise<void> => database.write((writer) => audit.recordIn(writer, call)),
    /** In the unit that writes the call's result. */
    async recordIn(writer: Writer, call: AuditedCall): Promise<void> {
      const row: ToolCallRow = {
        id: ids.next(),
        user_id: call.userId,
        tool: call.tool.slice(0, 200).toWellFormed(),
        caller: call.caller,
        session_id: call.sessionId ?? null,
        turn_id: call.turnId ?? null,
        call_id: call.callId ?? null,
        topic: topicsOf(redact(call.userText)).join(' ').slice(0, maxTopicLength).toWellFormed(),
        outcome: call.outcome,
        at: clock.now(),
        duration_ms: Math.max(0, Math.round(call.durationMs)),
        budget_remaining: call.budgetRemaining ?? null,
        driver: call.driver ?? null,
        // Redacts before and after: a secret may be spelled with characters that the display drops.
        error: call.error == null ? null : shorten(redact(toDisplayText(redact(call.error)))),
      }
      await writer.insertInto('tool_calls').values(row).execute()
      const calls = (sinceLook.get(call.userId) ?? slack) + 1
      // A failed unit may restore deleted rows: so it checks again until there are hardly any.
      const isOver = calls > slack && (await dropOldest(writer, call.userId)) <= 1
      sinceLook.set(call.userId, isOver ? 0 : calls)
    },
    async list(userId: string, { tool, limit }: { tool?: string | undefined; limit: number }): Promise<ToolCall[]> {
      let selected = database.read.selectFrom('tool_calls').selectAll().where('user_id', '=', userId)
      if (tool !== undefined) selected = selected.where('tool', '=', tool)
      const rows = await selected.orderBy('at', 'desc').orderBy('id', 'desc').limit(limit).execute()
      return rows.map((row) => ({ ...camelKeys(row), at: Number(row.at) }))
    },
  }
  return audit
}

function shorten(text: string): string {
  return text.length > maxErrorLength ? `${text.slice(0, maxErrorLength).toWellFormed()}…` : text
}

/** How close tools are in meaning to a question. Empty if that is unknown: then words decide alone. */
export type ToolMeaning = (tools: readonly Tool[], query: string, signal: AbortSignal) => Promise<Closeness>

/**
 * Cosines below which two texts are unrelated. The contract says 0.35, which fits models that put such texts near zero.
 * The local model puts them near 0.5, so that 0.35 would accept everything. Measured there with 28 questions that one
 * of 18 tools answers: words alone rank it among the first five 7 times, with meaning from 0.53 on 27 times, from 0.57
 * on 23 times; questions without an answer find half as many tools with 0.53 as with 0.35.
 */
const usualThreshold = 0.35
const thresholds: Readonly<Record<string, number>> = { [localEmbeddingModel]: 0.53 }

const maxTextLength = 1_500
const maxTools = 500
const perBatch = 32
/** The model may have to be started first. A tool search does not wait longer. */
const maxMs = 5_000

/** Vectors of tools are stored in the database, and computed again only when a tool's description changes. */
export function createToolMeaning(dependencies: {
  database: Database
  embedder: Embedder
  logger: Logger
}): ToolMeaning {
  const { database, embedder, logger } = dependencies
  const known = new Map<string, { hash: string; vector: Float32Array }>()

  async function vectorsOf(tools: readonly Tool[], signal: AbortSignal): Promise<ReadonlyMap<string, Float32Array>> {
    const wanted = tools.slice(0, maxTools).map((tool) => {
      const text = textOf(tool)
      return { name: tool.definition.name, text, hash: sha256(text) }
    })
    const isKnown = ({ name, hash }: { name: string; hash: string }) => known.get(name)?.hash === hash
    if (!wanted.every(isKnown)) await readStored()
    const fresh = wanted.filter((one) => !isKnown(one))
    const names = wanted.map(({ name }) => name)
    if (fresh.length > 0) await embedFresh(fresh, names, signal)
    const vectors = names.map((name) => [name, known.get(name)?.vector] as const)
    return new Map(vectors.filter((one): one is [string, Float32Array] => one[1] !== undefined))
  }

  async function readStored(): Promise<void> {
    const rows = await database.read
      .selectFrom('tool_vectors')
      .selectAll()
      .where('model', '=', embedder.model)
      .limit(maxTools)
      .execute()
    for (const row of rows) known.set(row.tool, { hash: row.text_hash, vector: fromVectorBytes(row.vector) })
  }

  async function embedFresh(
    fresh: readonly { name: string; text: string; hash: string }[],
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    // In parts that are stored: what is done before the time is over is not done again by the next search.
    for (let from = 0; from < fresh.length; from += perBatch) {
      const batch = fresh.slice(from, from + perBatch)
      const texts = batch.map(({ text }) => text)
      const vectors = await embedder.embed(texts, 'memory', signal)
      const rows = batch.flatMap(({ name, hash }, index) => {
        const vector = vectors[index]
        if (!vector) return []
        known.set(name, { hash, vector })
        return [{ tool: name, model: embedder.model, text_hash: hash, vector: toVectorBytes(vector) }]
      })
      await store(rows, names)
    }
  }

  async function store(rows: readonly Tables['tool_vectors'][], names: readonly string[]): Promise<void> {
    await database.write(async (writer) => {
      // Vectors of other models and removed tools are deleted.
      await writer
        .deleteFrom('tool_vectors')
        .where((where) => where.or([where('model', '!=', embedder.model), where('tool', 'not in', names)]))
        .execute()
      for (const row of rows) {
        const { tool: _tool, model: _model, ...change } = row
        await writer
          .insertInto('tool_vectors')
          .values(row)
          .onConflict((conflict) => conflict.columns(['tool', 'model']).doUpdateSet(change))
          .execute()
      }
    })
  }

  return async (tools, query, signal) => {
    if (tools.length === 0) return new Map()
    const limited = AbortSignal.any([signal, AbortSignal.timeout(maxMs)])
    try {
      const [vectors, [question]] = await Promise.all([
        vectorsOf(tools, limited),
        embedder.embed([query], 'question', limited),
      ])
      if (!question) return new Map()
      return new Map(
        Array.from(vectors, ([name, vector]) => [name, closenessOf(cosine(question, vector), embedder.model)]),
      )
    } catch (error) {
      signal.throwIfAborted()
      logger.debug('tools are ranked by words only', { error })
      return new Map()
    }
  }
}

function textOf({ definition, documentation = '' }: Tool): string {
  const name = definition.name.replaceAll(/[_-]+/g, ' ')
  return `${name}: ${definition.description} ${documentation}`.slice(0, maxTextLength).toWellFormed().trim()
}

/** 0 if the model considers two texts unrelated, 1 if identical. */
export function closenessOf(cosine: number, model: string): number {
  const threshold = thresholds[model] ?? usualThreshold
  return Math.max(0, (cosine - threshold) / (1 - threshold))
}

function cosine(a: Float32Array, b: Float32Array): number {
  if (a.length !== b.length) return 0
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0)
}
