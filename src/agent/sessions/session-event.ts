import { z } from 'zod'
import { isRecord, parseAnyJson } from '../../base/json.ts'
import { type Choices, choicesSchema, type OpenChoices } from '../../protocol/choices.ts'
import {
  assistantPartSchema,
  type Card,
  cardSchema,
  labelSchema,
  type MediaPart,
  type MediaReading,
  mediaPartSchema,
  type StopReason,
  stopReasonSchema,
  type ToolCallPart,
  type ToolEffect,
  toolChoiceSchema,
  toolDefinitionSchema,
  type Usage,
  usageSchema,
} from '../../protocol/messages.ts'
import {
  type ApprovalScope,
  approvalOutcomeSchema,
  type ShownApproval,
  shownApprovalSchema,
} from '../../protocol/permissions.ts'
import type { SessionEventRow } from '../../storage/tables.ts'

export const turnOutcomeSchema = z.enum([
  'completed',
  'question',
  'stopped',
  'round_limit',
  'repeated_failure',
  'budget',
  'failed',
])

/**
 * The events of a session, in order and permanent. Everything that a model was sent or said can be rebuilt from them;
 * they are the only source of truth.
 */
export const sessionEventSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('message_received'),
    messageId: z.string(),
    text: z.string(),
    /**
     * The text that the model reads instead, with the files and blocks that the message names. It never counts as the
     * user's own.
     */
    expanded: z.string().optional(),
    media: z.array(mediaPartSchema),
    sender: z.string(),
    source: z.string(),
    tier: z.string(),
    metadata: z.record(z.string(), z.json()),
    /** Absent: the owner's own words. */
    label: labelSchema.optional(),
    /** The question whose options it chooses. The words are the model's, so they are not the user's own. */
    answers: z.string().optional(),
    /** Sent before the question was shown that is open when its turn starts: it does not answer it. */
    isEarly: z.literal(true).optional(),
  }),
  z.object({
    type: z.literal('turn_started'),
    messageIds: z.array(z.string()),
    source: z.string(),
    tier: z.string(),
    model: z.string(),
    /** The dynamic part of the prompt; it stays with its message, so that the prefix never changes. */
    context: z.string(),
    recalled: z.array(z.object({ id: z.string(), text: z.string() })),
    /** Of all that the context holds: untrusted where one memory in it is. */
    label: labelSchema.optional(),
    /** The prompt holds what the user wrote of themself. */
    isPrivate: z.literal(true).optional(),
    /** For the user: what their message names and was not put in. */
    notices: z.array(z.string()).optional(),
    clientTools: z.array(toolDefinitionSchema).optional(),
    toolChoice: toolChoiceSchema.optional(),
    /** The question that the messages answer, and the options that they choose. */
    answers: z.object({ id: z.string(), chosen: z.array(z.string()) }).optional(),
    /** The approvals that the message answered in words. */
    approvals: z.array(approvalOutcomeSchema).optional(),
  }),
  z.object({
    type: z.literal('model_responded'),
    model: z.string(),
    parts: z.array(assistantPartSchema),
    stopReason: stopReasonSchema,
    usage: usageSchema,
    costNanousd: z.number().int().nullable(),
    /** For the user, under the reply. */
    notice: z.string().optional(),
  }),
  z.object({
    type: z.literal('model_failed'),
    model: z.string(),
    attempt: z.number().int(),
    reason: z.string(),
    waitMs: z.number(),
    /** The shown text is discarded, but nothing failed. */
    isQuiet: z.literal(true).optional(),
  }),
  z.object({
    type: z.literal('tool_started'),
    callId: z.string(),
    name: z.string(),
    input: z.json(),
    effect: z.enum(['idempotent', 'at-most-once', 'at-least-once']),
    isClients: z.literal(true).optional(),
  }),
  z.object({
    type: z.literal('tool_finished'),
    callId: z.string(),
    name: z.string(),
    text: z.string(),
    isError: z.boolean(),
    question: z.string().optional(),
    choices: choicesSchema.optional(),
    foundTools: z.array(z.string()).optional(),
    label: labelSchema.optional(),
    isPrivate: z.literal(true).optional(),
    card: cardSchema.optional(),
    media: z.array(mediaPartSchema).optional(),
    removedFiles: z.array(z.string()).optional(),
    says: z.string().optional(),
    reaction: z.string().optional(),
    isEphemeral: z.literal(true).optional(),
    buildId: z.string().optional(),
    approvalId: z.string().optional(),
    /** The parts of the question for approval. Absent in logs of earlier versions. */
    approval: shownApprovalSchema.optional(),
  }),
  /** A sub-agent of the session asks for it: the user answers here. */
  z.object({
    type: z.literal('approval_asked'),
    approvalId: z.string(),
    question: z.string(),
    approval: shownApprovalSchema,
  }),
  z.object({
    type: z.literal('model_notified'),
    about: z.enum(['rounds', 'failures', 'tool_choice']),
    text: z.string(),
  }),
  z.object({ type: z.literal('stop_requested') }),
  z.object({
    type: z.literal('turn_ended'),
    outcome: turnOutcomeSchema,
    text: z.string(),
    question: z.string().nullable(),
    /** The answers that the question offers. */
    choices: choicesSchema.optional(),
    /** The same, or the answers to an approval, as a numbered list for channels without buttons. */
    answerList: z.string().optional(),
    toolCalls: z.array(z.object({ name: z.string(), input: z.json(), isError: z.boolean() })),
    deliver: z.boolean(),
    buildId: z.string().optional(),
    /** The part that Familiar added at the end of `text`: notices and open questions. */
    added: z.string().optional(),
    failure: z.enum(['provider', 'timeout', 'internal']).optional(),
    /** `untrusted`: untrusted content was in sight, so the model's text may be derived from it. */
    label: labelSchema.optional(),
  }),
  z.object({ type: z.literal('context_warned'), inputTokens: z.number(), thresholdTokens: z.number() }),
  z.object({
    type: z.literal('compacted'),
    /** The summary replaces everything up to this event. */
    throughSeq: z.number().int(),
    summary: z.string(),
    messages: z.number().int(),
    beforeTokens: z.number(),
    label: labelSchema.optional(),
  }),
  z.object({ type: z.literal('marked'), name: z.string() }),
  z.object({ type: z.literal('rewound'), toSeq: z.number().int() }),
  z.object({
    type: z.literal('branch_chosen'),
    /** The conversation continues after this event, which may be on another branch; 0 is its start. */
    toSeq: z.number().int(),
    /** The turn whose branch is no longer offered, until it is chosen again. */
    removed: z.string().optional(),
  }),
  z.object({ type: z.literal('forked'), fromSessionId: z.string(), fromSeq: z.number().int() }),
  z.object({ type: z.literal('reset') }),
  /** A message that waited for its turn; it is never answered. */
  z.object({ type: z.literal('message_canceled'), messageId: z.string() }),
])

export type SessionEvent = z.infer<typeof sessionEventSchema>

export type LoggedEvent = SessionEvent & { seq: number; turnId: string | null; at: number }

export type EventOf<Type extends SessionEvent['type']> = Extract<LoggedEvent, { type: Type }>

type EventRow = Omit<SessionEventRow, 'session_id'>

/** A row back to its event; undefined for one that is damaged or of a kind this version does not know. */
export function eventFromRow(row: EventRow): LoggedEvent | undefined {
  const data = parseAnyJson(row.data)
  if (!data.ok || !isRecord(data.value)) return undefined
  const event = sessionEventSchema.safeParse({ ...data.value, type: row.type })
  if (!event.success) return undefined
  return { ...event.data, seq: Number(row.seq), turnId: row.turn_id, at: Number(row.at) }
}

const silentTokens = ['HEARTBEAT_OK', 'NO_REPLY']

/** A reply that starts or ends with a silent token, on a word boundary, is stored and not delivered. */
export function isSilentReply(reply: string): boolean {
  const text = reply.trim()
  const words = /[\p{L}\p{N}_]/u
  return silentTokens.some((token) => {
    if (text.startsWith(token) && !words.test(text.charAt(token.length))) return true
    let end = text.length
    while (end > 0 && !words.test(text.charAt(end - 1))) end -= 1
    return text.slice(0, end).endsWith(token) && !words.test(text.charAt(end - token.length - 1))
  })
}

/** A question to the user without an answer so far. */
export interface OpenQuestion {
  question: string | null
  choices: OpenChoices | null
  /** Approvals that a plain yes or no answers. */
  approvals: readonly PendingApproval[]
  /** The user said something else in between: they are reminded once. */
  isAside: boolean
}

export interface PendingApproval {
  id: string
  question: string
  /** The answers that it offers. Absent in logs of earlier versions: one call. */
  scopes?: readonly ApprovalScope[]
  isReminded?: true
}

type TurnStarted = EventOf<'turn_started'>

/** The progress of a turn, derived only from its events. */
export interface TurnState
  extends Pick<TurnStarted, 'source' | 'tier' | 'model' | 'messageIds' | 'recalled' | 'clientTools' | 'toolChoice'> {
  id: string
  /** The event before the turn's first message. */
  beforeSeq: number
  /** The question that this turn's messages answer: the user's own words after a turn that ended with one. */
  answers: string | null
  /** The open question that the messages of this turn do not answer; null if there is none. */
  leavesOpen: OpenQuestion | null
  /** Notices for the user with the reply: names in their message that could not be resolved. */
  notices: readonly string[]
  rounds: number
  calls: ToolCallPart[]
  started: Record<string, ToolEffect>
  stopReason: StopReason | null
  /** For the user, under the reply. */
  notice?: string
  text: string
  question: string | null
  choices?: Choices
  approvals: { id: string; question: string; shown?: ShownApproval }[]
  /** How often a call failed with the same arguments and the same words. */
  failures: Record<string, number>
  notified: string[]
  stopRequested: boolean
  toolCalls: { name: string; input: ToolCallPart['input']; isError: boolean }[]
  cards: Card[]
  usage: Usage
  /** Null as soon as one call of the turn had no price. */
  costNanousd: number | null
  buildId?: string
  /** The results of reading the files of its messages, where there is something to report. */
  attachments?: { name: string; reading: MediaReading }[]
  /** The files that its tools made, the newest of each path. */
  files?: MediaPart[]
}

export function startTurn(event: TurnStarted, open: Pick<TurnState, 'answers' | 'leavesOpen'>): TurnState {
  const { source, tier, model, messageIds, recalled, notices = [], clientTools, toolChoice } = event
  return {
    id: event.turnId ?? '',
    beforeSeq: event.seq - messageIds.length - 1,
    source,
    tier,
    model,
    messageIds,
    recalled,
    notices,
    ...(clientTools && { clientTools }),
    ...(toolChoice && { toolChoice }),
    ...open,
    rounds: 0,
    calls: [],
    started: {},
    stopReason: null,
    text: '',
    question: null,
    approvals: [],
    failures: {},
    notified: [],
    stopRequested: false,
    toolCalls: [],
    cards: [],
    usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
    costNanousd: 0,
  }
}
