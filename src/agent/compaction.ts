import type { Clock } from '../base/clock.ts'
import { readBundledText } from '../base/files.ts'
import type { Logger } from '../base/logger.ts'
import { estimateTokens, tokenizerName } from '../base/tokens.ts'
import type { LanguageModel, ModelResponse, Models, SystemBlock } from '../models/model.ts'
import type { MediaPart, ToolDefinition } from '../protocol/messages.ts'
import type { Database, Writer } from '../storage/database.ts'
import type { ToolView } from '../tools/registry.ts'
import { askOnce, type ModelCallResult } from './call-model.ts'
import type { ContextReport } from './conversations.ts'
import type { Learning } from './learning.ts'
import type { Ledger } from './ledger.ts'
import type { OnStep } from './next-step.ts'
import { chooseModels, offeredTools, type RoleOf } from './roles.ts'
import type { OpenSessions } from './sessions/open-sessions.ts'
import { type Entry, exchangeStarts, type Projection, textOf } from './sessions/projection.ts'
import type { SessionEvent } from './sessions/session-event.ts'
import type { SessionLog } from './sessions/session-log.ts'
import type { Session } from './sessions/sessions.ts'

const prompt = readBundledText(new URL('./prompts/compaction.md', import.meta.url))
const shareOfWindow = 0.75
/** Of the window of the model that summarizes; the rest is for its prompt, the summary so far and the new one. */
const shareOfTranscript = 0.5

interface CompactionSettings {
  thresholdTokens: number
  warnRatio: number
  /** The newest part that stays as it is. */
  keepRatio: number
}

interface CompactOptions {
  inTurn?: boolean
  /** In the unit that writes the summary. */
  guard?: (writer: Writer) => Promise<void> | undefined
}

/** Whether a request leaves the model room to answer in its window. */
export function fitsWindow({ info }: LanguageModel, inputTokens: number): boolean {
  return inputTokens <= Math.floor(info.maxContextTokens * shareOfWindow)
}

export type Compaction = ReturnType<typeof createCompaction>

/**
 * Keeps a conversation inside its model's window. The log keeps everything; only what the next request holds changes,
 * and only once a whole summary is there: a failed one changes nothing.
 */
export function createCompaction(dependencies: {
  database: Database
  log: SessionLog
  openSessions: OpenSessions
  ledger: Ledger
  /** As the user has them (CLIENT-4). */
  modelsOf: (userId: string) => Models
  roleOf: RoleOf
  clock: Clock
  random: () => number
  logger: Logger
  settings: () => CompactionSettings
  /** Called in the unit of the swap, to learn from the part before it is replaced (MEM-9). */
  beforeSwap?: Learning['beforeSwap']
  onStep: OnStep
}) {
  const { database, log, openSessions, ledger, logger, settings, onStep } = dependencies

  /** Of the model that the next turn asks, and of its fallback where that is the one that answered last. */
  async function threshold(session: Session): Promise<number> {
    const { counted } = await openSessions.projection(session.id)
    const role = dependencies.roleOf(session)
    const source = { source: session.channel, messages: [] }
    const models = chooseModels(dependencies.modelsOf(session.userId), role, source)
    const answering = models.filter(({ info }, at) => at === 0 || info.id === counted.model)
    const window = Math.min(...answering.map(({ info }) => info.maxContextTokens))
    return Math.min(settings().thresholdTokens, Math.floor(window * shareOfWindow))
  }

  /** True where a summary took the place of the oldest part; with `inTurn`, of everything before the turn under way. */
  async function compact(session: Session, signal: AbortSignal, options: CompactOptions = {}): Promise<boolean> {
    const { inTurn = false } = options
    const route = dependencies.modelsOf(session.userId).route('compaction')
    const window = route[0]?.info.maxContextTokens
    if (route[0]?.info.offline || window === undefined) return false
    const projection = await openSessions.projection(session.id)
    const part = planCompaction(projection, inTurn ? 1 : 1 - settings().keepRatio, { inTurn })
    if (!part) return false
    const beforeTokens = projection.counted.tokens
    const pieces = piecesOf(transcriptOf(part, projection), Math.floor(window * shareOfTranscript))
    const writeLearnt = await dependencies.beforeSwap?.(session, part.throughSeq, signal)
    await ledger.closeInterrupted({ sessionId: session.id, turnId: null })
    const { id: sessionId, userId } = session
    const question = { models: route, userId, sessionId, purpose: 'compaction', system: prompt, signal }
    let result: ModelCallResult | undefined
    for (const piece of pieces) {
      let text = piece
      if (result?.ok) {
        const { response, model, reserved } = result
        await database.write((writer) => ledger.settle(writer, reserved, response.usage, model.info.costPerMtok))
        text = `[Summary of everything before this]\n${textOf(response.parts).trim()}\n\n[The following messages]\n${piece}`
      }
      result = await askOnce(dependencies, { ...question, text })
      // Without a whole summary so far the next one would leave out what came before.
      if (!result.ok || !isWholeSummary(result.response)) break
    }
    if (!result?.ok) {
      const reason = result?.message ?? 'there was nothing to summarize'
      logger.warn('compaction failed; the conversation is unchanged', { session: session.id, reason })
      return false
    }
    onStep('summary_received')
    const { response, model, reserved } = result
    const summary = textOf(response.parts).trim()
    const isWhole = isWholeSummary(response)
    const compacted: SessionEvent = {
      type: 'compacted',
      throughSeq: part.throughSeq,
      summary,
      messages: part.entries.length,
      beforeTokens,
      ...(projection.seen.untrusted && { label: 'untrusted' }),
    }
    const target = { sessionId: session.id, turnId: null }
    const logged = await log.record(target, isWhole ? [compacted] : [], async (writer) => {
      await options.guard?.(writer)
      await ledger.settle(writer, reserved, response.usage, model.info.costPerMtok)
      if (isWhole) await writeLearnt?.(writer)
    })
    openSessions.follow(session.id, logged)
    onStep('compaction_recorded')
    if (!isWhole) {
      const reason = summary === '' ? 'empty summary' : `summary ended with ${response.stopReason}`
      logger.warn('compaction failed; the conversation is unchanged', { session: session.id, reason })
    }
    return isWhole
  }

  return {
    threshold,
    compact,
    /** After a turn: warns once, compacts past the threshold. */
    async afterTurn(session: Session, signal: AbortSignal) {
      const projection = await openSessions.projection(session.id)
      const limit = await threshold(session)
      const { tokens } = projection.counted
      if (tokens > limit) await compact(session, signal)
      else if (tokens > limit * settings().warnRatio && !projection.warned) {
        const warned = { type: 'context_warned' as const, inputTokens: tokens, thresholdTokens: limit }
        openSessions.follow(session.id, await log.record({ sessionId: session.id, turnId: null }, [warned]))
      }
    },
  }
}

function isWholeSummary({ parts, stopReason }: ModelResponse): boolean {
  return textOf(parts).trim() !== '' && stopReason === 'end'
}

/** The transcript in pieces that fit into the window of the model that summarizes it, in order. */
function piecesOf(lines: readonly string[], maxTokens: number): string[] {
  const pieces: string[] = []
  let piece = ''
  let tokens = 0
  for (const line of lines.flatMap((text) => splitLong(text, maxTokens))) {
    const size = estimateTokens(line)
    if (piece !== '' && tokens + size > maxTokens) {
      pieces.push(piece)
      piece = ''
      tokens = 0
    }
    piece = piece === '' ? line : `${piece}\n\n${line}`
    tokens += size
  }
  return piece === '' ? pieces : [...pieces, piece]
}

function splitLong(text: string, maxTokens: number): string[] {
  const tokens = estimateTokens(text)
  if (tokens <= maxTokens) return [text]
  const length = Math.max(1, Math.floor((text.length * maxTokens) / tokens))
  const count = Math.ceil(text.length / length)
  return Array.from({ length: count }, (_, at) => text.slice(at * length, (at + 1) * length).toWellFormed())
}

const tokensOfImage = 1_600

/** The size of the next request: the last count of the provider plus an estimate of the newer entries. */
export function estimateRequestTokens(
  projection: Projection,
  system: readonly SystemBlock[],
  tools: readonly ToolDefinition[],
): number {
  const { counted, entries } = projection
  const known = counted.entries > 0 && counted.entries <= entries.length
  const lastCounted = known ? entries[counted.entries - 1] : undefined
  let tokens = known ? counted.tokens : estimateFixed(system, tools)
  for (const entry of known ? entries.slice(counted.entries) : entries) tokens += estimateEntry(entry, projection)
  if (lastCounted) tokens += estimateResults(lastCounted, projection)
  return tokens
}

function estimateFixed(system: readonly SystemBlock[], tools: readonly ToolDefinition[]): number {
  const blocks = system.reduce((sum, block) => sum + estimateTokens(block.text), 0)
  return blocks + tools.reduce((sum, tool) => sum + estimateTokens(JSON.stringify(tool)), 0)
}

function estimateEntry(entry: Entry, projection: Projection): number {
  if (entry.role === 'user') {
    const said = estimateTokens((entry.shown ?? entry.texts).join('\n'))
    return estimateTokens(entry.context) + said + estimateMedia(entry.media)
  }
  const spoken = entry.parts.reduce(
    (sum, part) => sum + estimateTokens(part.type === 'tool_call' ? JSON.stringify(part.input) : part.text),
    0,
  )
  return spoken + estimateResults(entry, projection)
}

/** Attachments that were read count by their text, all others as an image. */
export function estimateMedia(media: readonly MediaPart[]): number {
  return media.reduce((sum, { reading }) => sum + (reading?.text ? estimateTokens(reading.text) : tokensOfImage), 0)
}

function estimateResults(entry: Entry, projection: Projection): number {
  if (entry.role !== 'assistant') return 0
  return entry.parts.reduce((sum, part) => {
    const result = part.type === 'tool_call' ? projection.results[part.id] : undefined
    return sum + (result ? estimateTokens(result.text) : 0)
  }, 0)
}

/** The use of the context window, block by block. Cached means that the previous request already contained it. */
export function reportContext(facts: {
  projection: Projection
  system: readonly SystemBlock[]
  tools: ToolView
  thresholdTokens: number
}): ContextReport {
  const { projection, system, tools, thresholdTokens } = facts
  const { entries, counted } = projection
  const begun = counted.entries > 0
  const sum = (from: number, to: number) =>
    entries.slice(from, to).reduce((total, entry) => total + estimateEntry(entry, projection), 0)
  const offered = offeredTools(tools, projection.foundTools)
  return {
    tokenizer: tokenizerName,
    lastRequestTokens: begun ? counted.tokens : null,
    thresholdTokens,
    blocks: [
      { name: 'tools', tier: 'stable', tokens: estimateTokens(JSON.stringify(offered)), cached: begun },
      ...system.map(({ name, layer, text }) => ({ name, tier: layer, tokens: estimateTokens(text), cached: begun })),
      { name: 'conversation', tier: 'history', tokens: sum(0, counted.entries), cached: true },
      { name: 'new messages', tier: 'dynamic', tokens: sum(counted.entries, entries.length), cached: false },
    ].filter((block) => block.tokens > 0),
  }
}

interface CompactionPlan {
  throughSeq: number
  entries: Entry[]
}

const leastEntries = 4

/**
 * The part of the conversation that a summary may replace: about the oldest `share` of it, cut only at the start of an
 * exchange, so that no call is separated from its result and the newest exchange always stays. Undefined if that leaves
 * nothing to replace, or a turn is running; with `inTurn` that turn is the exchange that stays.
 */
export function planCompaction(
  projection: Projection,
  share: number,
  { inTurn = false } = {},
): CompactionPlan | undefined {
  const { entries } = projection
  if (!inTurn && (entries.length < leastEntries || projection.turn)) return undefined
  const starts = exchangeStarts(entries).filter((index) => index > 0)
  const target = Math.floor(entries.length * share)
  const cut = starts.findLast((index) => index <= target) ?? starts[0]
  const first = cut === undefined ? undefined : entries[cut]
  if (cut === undefined || !first) return undefined
  return { throughSeq: first.seq - 1, entries: entries.slice(0, cut) }
}

const maxResultShown = 2_000

/** The part as plain text, message by message, for the model that summarizes it. */
export function transcriptOf(plan: CompactionPlan, projection: Projection): string[] {
  return plan.entries.map((entry) => describeEntry(entry, projection))
}

function describeEntry(entry: Entry, projection: Projection): string {
  if (entry.role === 'user') {
    const files = entry.media.map((media) => `[attached: ${media.name}]`)
    return ['User:', ...(entry.shown ?? entry.texts), ...files].join('\n')
  }
  const lines = entry.parts.flatMap((part) => {
    if (part.type === 'thinking') return []
    if (part.type === 'text') return [part.text]
    const result = projection.results[part.id]
    const told = result ? `${result.isError ? 'error: ' : ''}${result.text.slice(0, maxResultShown)}` : 'unknown'
    return [`[called ${part.name} with ${JSON.stringify(part.input)}; result: ${told}]`]
  })
  return ['Agent:', ...lines].join('\n')
}
