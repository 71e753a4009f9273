import type { Capabilities } from '../../custom-tools/capabilities.ts'
import type { Skills } from '../../custom-tools/skills.ts'
import type { FamiliarMemory } from '../../memory/familiar-memory.ts'
import type { AskModel } from '../../memory/learning/ask-model.ts'
import type { Models } from '../../models/model.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import { isWorkChannel, type Label } from '../../protocol/messages.ts'
import type { Schedules } from '../../tools/builtin/schedule-tools.ts'
import type { Assets, OpenAssets } from '../../tools/files/open-assets.ts'
import type { PinnedBlocks, Pins } from '../../tools/files/pins.ts'
import type { ToolRegistry } from '../../tools/registry.ts'
import type { Conversations } from '../conversations.ts'
import type { CostPeriod, CostReport } from '../costs.ts'
import type { Permissions } from '../permissions.ts'
import { visibleEvents } from '../sessions/projection.ts'
import type { LoggedEvent } from '../sessions/session-event.ts'
import type { Session } from '../sessions/sessions.ts'

/** One call of a command, read and attributed. Every look-up that a command makes carries the user (SEC-22). */
export interface CommandCall {
  userId: string
  /** Null before the first message: there is no session. */
  sessionId: string | null
  argument: string
  by: 'user' | 'agent'
  trust: Label
  /** The question that the user has confirmed, if any: see `confirmationOf`. */
  confirm: string | undefined
  signal: AbortSignal
}

export interface CommandAnswer {
  ok: boolean
  /** Plain text for a person: the result or the problem. */
  text: string
  /** The id or name of the session in which the conversation continues, if that changes. */
  goesOnIn?: string
  label?: 'untrusted'
  isPrivate?: true
  /** It would have made the pinned blocks too large (ASSET-3). */
  isOverBudget?: true
}

/**
 * A permanent change that needs a confirmation. The question describes the change completely, so a confirmation is only
 * valid for this state. `carryOut` is called only after the user confirmed exactly this question; it returns a new
 * proposal if the state has changed in between.
 */
export interface CommandProposal {
  question: string
  label?: 'untrusted' | undefined
  carryOut(): Promise<CommandAnswer | CommandProposal>
}

/**
 * A command that a person types, `/name argument`, on any channel. An expected failure is an answer that is not ok, or
 * a FamiliarError with a status below 500, which becomes one.
 */
export interface Command {
  name: string
  /** `/rewind [N | MARK]`: brackets around what may be left out. */
  usage: string
  summary: string
  /** Some of what it does asks first. */
  changesForGood: boolean
  agentMay: boolean
  /** With this argument it changes something without asking first. Decides by the argument alone. */
  acts(argument: string): boolean
  /** Complete arguments for this position; the caller drops those that do not start with the typed text. */
  complete?(call: CompletionCall): Promise<readonly string[]>
  run(call: CommandCall): Promise<CommandAnswer | CommandProposal>
}

/** The argument is as typed so far. */
type CompletionCall = Pick<CommandCall, 'userId' | 'sessionId' | 'argument'>

const always = () => true
const never = () => false

/** The kinds of commands: those that only look, change something at once, or ask before a permanent change. */
export const looks = { changesForGood: false, agentMay: true, acts: never }
export const changes = { changesForGood: false, agentMay: true, acts: always }
export const asks = { changesForGood: true, agentMay: true, acts: never }
/** Those that the agent may not use. */
export const changesForUser = { changesForGood: false, agentMay: false, acts: always }
export const asksUser = { changesForGood: true, agentMay: false, acts: never }

export function done(text: string, more: Omit<CommandAnswer, 'ok' | 'text'> = {}): CommandAnswer {
  return { ok: true, text, ...more }
}

/** An answer with data of the user. */
export function tell(text: string, isUntrusted = false): CommandAnswer {
  return done(text, { isPrivate: true, ...(isUntrusted && { label: 'untrusted' }) })
}

export function refused(text: string): CommandAnswer {
  return { ok: false, text }
}

export function misused(problem: string, { usage }: Pick<Command, 'usage'>): CommandAnswer {
  return refused(`${problem}\nUsage: ${usage}`)
}

/** The services that commands use. Each takes the user and returns only that user's data (SEC-22). */
export interface CommandServices {
  conversations: Pick<
    Conversations,
    'sessions' | 'findSession' | 'history' | 'contextReport' | 'stop' | 'reset' | 'mark' | 'rewind' | 'fork' | 'compact'
  >
  memory: Pick<FamiliarMemory, 'memories' | 'recall' | 'corrections' | 'files'>
  assets: Pick<Assets, 'list' | 'load' | 'write'>
  pins: Pick<Pins, 'list' | 'pin' | 'unpin'>
  pinned: Pick<PinnedBlocks, 'refresh'>
  agentOf: OpenAssets['agentOf']
  skills: Pick<Skills, 'list' | 'reload'>
  tools: Pick<ToolRegistry, 'viewOf'>
  capabilities: { catalog: Pick<Capabilities['catalog'], 'list'>; search: Capabilities['search'] }
  schedules: Pick<Schedules, 'add' | 'list' | 'cancel'>
  costReport(userId: string, period: CostPeriod): Promise<CostReport>
  /** Those that the user has (CLIENT-4). */
  modelsOf(userId: string): Pick<Models, 'route' | 'byId' | 'list'>
  /** From the next turn of the session on; null gives the choice back to the routes. */
  chooseModel(userId: string, sessionId: string, model: string | null): Promise<unknown>
  permissions: Permissions
  /** The fast model; what it cannot do is done without it, or said. */
  askModel: AskModel
  /** Removes secrets from the typed text before it is stored (SEC-13). */
  redact(text: string): string
  timeZone: string
}

/** One line of at most `limit` characters, in quotes that it cannot end. */
export function quoted(text: string, limit = 120): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length > limit ? `“${line.slice(0, limit).toWellFormed()} …”` : `“${line}”`
}

/** A whole number from 1 on; undefined for anything else. */
export function readCount(text: string): number | undefined {
  const count = Number(text)
  return /^\d{1,6}$/.test(text) && count > 0 ? count : undefined
}

/** The channel has checked that the session belongs to the user. */
export interface CommandRequest extends Pick<CommandCall, 'userId' | 'sessionId' | 'by' | 'signal'> {
  /** As it was typed, with its slash. */
  line: string
  /** Whose words the line is. Absent: the owner's, and of an agent its own. */
  trust?: Label
  /** From the question that the user has said yes to. */
  confirm?: string | undefined
}

export interface CommandOutcome extends CommandAnswer {
  /** Nothing was done: the user must confirm this; then the same line is sent again with `confirm`. */
  question?: { text: string; confirm: string }
}

export interface Completion {
  start: number
  /** The possible completions from there, best first. */
  candidates: readonly { text: string; summary?: string }[]
}

const pattern = /^(\s*\/([^\s/]*))(\s*)([\s\S]*)$/

/**
 * `/name argument`; undefined for other text: `//` starts a message with a slash. The name is in lower case; `start` is
 * the position of the argument.
 */
export function parseLine(line: string): { name: string; argument: string; start: number } | undefined {
  const [, head, name, gap, rest] = pattern.exec(line) ?? []
  if (head === undefined || name === undefined || gap === undefined || rest === undefined) return undefined
  // "/etc/passwd" is a path in a sentence, not a command.
  if (rest !== '' && gap === '') return undefined
  return { name: name.toLowerCase(), argument: rest.trim(), start: head.length + gap.length }
}

const firstWindow = 200
const maxEvents = 20_000

/**
 * The newest part of a session's log, oldest first, without rewound events: as much as `isEnough` asks for, if there is
 * that much.
 */
export async function readSessionLog(
  conversations: Pick<CommandServices['conversations'], 'history'>,
  { userId, id, lastSeq }: Session,
  isEnough: (visible: readonly LoggedEvent[]) => boolean,
): Promise<LoggedEvent[]> {
  for (let window = firstWindow; ; window = Math.min(window * 4, maxEvents)) {
    const after = Math.max(0, lastSeq - window)
    const visible = visibleEvents(await conversations.history(userId, id, { after }))
    if (after === 0 || window === maxEvents || isEnough(visible)) return visible
  }
}

export interface SaidLine {
  who: 'user' | 'agent'
  text: string
  at: number
  turnId: string | null
  /** True if the text contains untrusted content, or was written after the session had read some. */
  isUntrusted: boolean
}

export function saidOf(events: readonly LoggedEvent[]): SaidLine[] {
  return events.flatMap((event): SaidLine[] => {
    if (event.type !== 'message_received' && event.type !== 'turn_ended') return []
    if (event.text.trim() === '') return []
    const { text, at, turnId, label } = event
    const who = event.type === 'turn_ended' ? 'agent' : 'user'
    return [{ who, text, at, turnId, isUntrusted: label === 'untrusted' }]
  })
}

/** The marks that can still be gone back to, newest first. */
export function marksOf(events: readonly LoggedEvent[]): string[] {
  return [...new Set(events.flatMap((event) => (event.type === 'marked' ? [event.name] : [])))].reverse()
}

type Looks = Pick<CommandServices['conversations'], 'findSession'>

export async function sessionHere(
  conversations: Looks,
  { userId, sessionId }: Pick<CommandCall, 'userId' | 'sessionId'>,
): Promise<Session> {
  const session = sessionId === null ? undefined : await conversations.findSession(userId, sessionId)
  if (!session) throw new FamiliarError('not_found', 'There are no messages here yet.')
  return session
}

/** The named one, or this one. Another user's is as unknown as one that never was; work in the background is no session. */
export async function sessionNamed(
  conversations: Looks,
  call: Pick<CommandCall, 'userId' | 'sessionId'>,
  name: string,
): Promise<Session> {
  if (name === '') return sessionHere(conversations, call)
  const session = await conversations.findSession(call.userId, name)
  if (session && !isWorkChannel(session.channel)) return session
  throw new FamiliarError('not_found', `There is no session ${JSON.stringify(name.slice(0, 80).toWellFormed())}.`)
}
