import type { Conversations } from '../../agent/conversations.ts'
import { chooseModelIn, type Session } from '../../agent/sessions/sessions.ts'
import { sha256 } from '../../base/ids.ts'
import { canonicalJson } from '../../base/json.ts'
import { setNewest } from '../../base/work.ts'
import type { MessageRequest } from '../../protocol/api.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import { EgressError } from '../../security/network/destinations.ts'
import type { GuardedFetch } from '../../security/network/guarded-fetch.ts'
import { createKeyedLock } from '../../tools/files/assets.ts'
import { imageTypeOf } from '../../tools/files/references.ts'
import type { HttpContext, HttpDependencies } from '../dependencies.ts'
import { callerOf } from '../guards.ts'
import { isSessionId, toInboundMessage } from '../inbound-message.ts'
import { orNotFound } from '../replies.ts'
import {
  type AnswerFormat,
  type ClientList,
  type ClientToolUse,
  type ListedExchange,
  type ListedFile,
  listedContentHash,
  type MessageMark,
  type OpenAiServices,
  textHash,
  withoutSpaces,
  writeMessage,
} from './client-list.ts'
import {
  branchName,
  createPastTurns,
  isBranchOf,
  openAiChannel,
  type PastTurn,
  type SessionName,
  sessionNameOf,
} from './past-turns.ts'
import { type BegunTurn, readClientCallId, readResponseId } from './watch-reply.ts'

/** The request of a client, in either of the two APIs. */
export interface AskedTurn {
  list: ClientList
  /** A configured id; null for the model of the session or the config. */
  model: string | null
  use: ClientToolUse
  format: AnswerFormat
  user: string | null | undefined
  previousResponse?: string | null | undefined
}

export type BeginTurn = (context: HttpContext, asked: AskedTurn) => Promise<BegunTurn>

/** The place where a list continues: a position in a session, or a new session. */
interface Place {
  contact: string
  /** Undefined: a new one. */
  session?: Session
  turns: PastTurn[]
  alignment: Alignment
  /** The entries after that place are kept: the list continues in a copy of the session. */
  inCopy?: true
}

const maxWaiting = 256

const nowhere = { turns: [], alignment: { agreed: 0, through: 0 } }

/**
 * Turns a client's list into one turn: the next one, a repeated one if the client edited or resent it, or the one that
 * waits for the client's tools. A turn that is already running for the same list is not started twice.
 */
export function createBeginTurn(dependencies: HttpDependencies, services: OpenAiServices): BeginTurn {
  const { conversations } = dependencies
  const pastTurns = createPastTurns(conversations)
  /** The newest message of each conversation, while it waits and is not in the log yet. */
  const waiting = new Map<string, { list: string; begun: BegunTurn }>()
  const inOrder = createKeyedLock()

  return async function beginTurn(context: HttpContext, asked: AskedTurn): Promise<BegunTurn> {
    const { userId } = callerOf(context)
    const given = await giveResults(userId, asked.list.newest)
    if (given) return given
    const { previousResponse } = asked
    const name = sessionNameOf(context, asked.user, asked.list)
    const conversation = `${userId} ${previousResponse ?? name.name}`
    // Two requests with the same list must not both start a turn.
    return inOrder(conversation, async () => {
      const list = sha256(canonicalJson(asked.list))
      const waits = waiting.get(conversation)
      if (waits?.list === list && !(await hasBegun(waits.begun))) return waits.begun
      const repeat = readRepeat(context)
      const place = previousResponse
        ? await findResponse(userId, previousResponse)
        : await findSession(userId, { name, list: asked.list, repeat })
      const begun = joined(place, asked.list, repeat) ?? (await submit(context, asked, await opened(place)))
      setNewest(waiting, conversation, { list, begun }, maxWaiting)
      return begun
    })
  }

  async function hasBegun({ userId, sessionId, messageId }: BegunTurn): Promise<boolean> {
    const session = await conversations.findSession(userId, sessionId)
    const turns = session?.state === 'active' ? await pastTurns(session) : undefined
    return !turns || turns.some(({ messageIds }) => messageIds.includes(messageId))
  }

  /** Passes results to the calls that wait for them. Undefined if no call waits. */
  async function giveResults(userId: string, { calls }: ListedExchange): Promise<BegunTurn | undefined> {
    const results = calls.flatMap(({ id, result }) => {
      const named = readClientCallId(id)
      return named && result !== null ? [{ ...named, result, isError: false, isUntrusted: false }] : []
    })
    const sessionId = results[0]?.sessionId
    const session = sessionId && (await conversations.findSession(userId, sessionId))
    if (!session || session.id !== sessionId) return undefined
    const turn = (await pastTurns(session)).findLast(({ outcome }) => outcome === null)
    const open = results.filter(({ sessionId: of, callId }) => of === session.id && turn?.openCalls.has(callId))
    if (!turn || open.length === 0) return undefined
    try {
      const { messageId } = await conversations.giveToolResults({ userId, sessionId: session.id, results: open })
      return { userId, sessionId: session.id, messageId, cursor: String(session.lastSeq), turnId: turn.turnId }
    } catch (cause) {
      // Too late or repeated: the turn continues, or has continued, without these results.
      if (cause instanceof FamiliarError && ['conflict', 'not_found'].includes(cause.code)) return undefined
      throw cause
    }
  }

  /** The place for a new message: no turn waits for a client that has moved on, and entries to keep are in a copy. */
  async function opened(place: Place): Promise<Place> {
    const { session, turns, alignment } = place
    if (!session) return place
    const { id, userId } = session
    const last = turns.at(-1)
    if (last && last.openCalls.size > 0 && session.channel === openAiChannel) {
      await conversations.stop(userId, id)
      await conversations.waitForTurn(last.messageIds[0] ?? '')
      last.outcome = 'stopped'
    }
    if (!place.inCopy) return place
    const contact = branchName(session.contact)
    const copy = await conversations.fork(userId, id, contact)
    const { length } = await pastTurns(copy)
    if (length > alignment.through) await conversations.rewind(userId, copy.id, { turns: length - alignment.through })
    return { contact, session: copy, turns: await pastTurns(copy), alignment }
  }

  async function submit(context: HttpContext, asked: AskedTurn, place: Place): Promise<BegunTurn> {
    const { list, format, use } = asked
    const { session, turns, alignment } = place
    const attachments = await loadFiles(services.fetch, list.newest.said.files, context.req.raw.signal)
    const undone = undoneTurns(place)
    const instructions = newInstructions(turns.slice(0, turns.length - undone), list.instructions)
    const unseen = list.past.slice(alignment.agreed)
    const key = context.req.header('idempotency-key')
    const { text, quotes } = writeMessage({ instructions, unseen, newest: list.newest, format, toCall: use.toCall })
    const request: MessageRequest = {
      message: text,
      session: session?.id ?? place.contact,
      channel: openAiChannel,
      source: openAiChannel,
      attachments: [...attachments, ...quotes],
      clientTools: use.tools,
      metadata: {
        openai: {
          said: listedContentHash(list.newest.said),
          ...(list.instructions !== '' && { instructions: textHash(list.instructions) }),
          ...(instructions && { tells: true }),
          ...(key !== undefined && { key }),
        } satisfies MessageMark,
      },
    }
    const inbound = {
      ...(await toInboundMessage(dependencies, context, request, { immediate: true })),
      ...(use.toCall && { toolChoice: use.toCall }),
    }
    const alsoChoose = await choosingModel(asked.model, session, inbound)
    if (session && undone > 0) await conversations.rewind(inbound.userId, session.id, { turns: undone })
    const { sessionId, messageId, duplicate } = await conversations.submit(inbound, alsoChoose)
    const isKnown = !duplicate && session?.id === sessionId
    return { userId: inbound.userId, sessionId, messageId, cursor: isKnown ? String(session.lastSeq) : '0' }
  }

  async function choosingModel(
    model: string | null,
    session: Session | undefined,
    key: { userId: string; channel: string; contact: string },
  ): Promise<Parameters<Conversations['submit']>[1]> {
    if (!session) return model === null ? undefined : (writer) => chooseModelIn(writer, key, model)
    // A model chosen for a conversation elsewhere applies until a client names another.
    const isKept = session.model === model || (model === null && session.channel !== openAiChannel)
    if (!isKept) await services.chooseModel(session.userId, session.id, model)
    return undefined
  }

  /**
   * Finds the session of the list. The client's list is authoritative: edited, shortened or resent, it continues where it
   * agrees, and a list that agrees with none starts a new session. Only if the client names one session and sends no
   * earlier messages, the message is simply the next one there.
   */
  async function findSession(
    userId: string,
    { name, list, repeat }: { name: SessionName; list: ClientList; repeat: Repeat },
  ): Promise<Place> {
    const toPlace = async (session: Session) => {
      const turns = await pastTurns(session)
      const alignment = placeIn(turns, { name, list, isOurs: session.channel === openAiChannel })
      return { contact: session.contact, session, turns, alignment }
    }
    if (name.from === 'header' && isSessionId(name.name)) {
      const found = await conversations.findSession(userId, name.name)
      const session = orNotFound(found, `There is no session ${name.name}`)
      if (session.state === 'archived') throw new FamiliarError('conflict', `Session ${session.id} is archived`)
      return toPlace(session)
    }
    const ours = (await conversations.sessions(userId)).filter(({ channel }) => channel === openAiChannel)
    const own = ours.find(({ contact }) => contact === name.name)
    if (name.from === 'header' || (name.from === 'user' && list.past.length === 0)) {
      return own ? toPlace(own) : { ...nowhere, contact: name.name }
    }
    const places = await Promise.all(ours.filter(({ contact }) => isBranchOf(contact, name.name)).map(toPlace))
    const undone = ({ turns, alignment }: Place) => turns.length - alignment.through
    const [best] = places
      .filter(({ turns, alignment }) => isContinued(turns, alignment, { list, repeat }))
      .sort((one, other) => other.alignment.agreed - one.alignment.agreed || undone(one) - undone(other))
    return best ?? { ...nowhere, contact: own ? branchName(name.name) : name.name }
  }

  /** The session of an earlier answer, behind that answer. */
  async function findResponse(userId: string, responseId: string): Promise<Place> {
    const named = readResponseId(responseId)
    const session = named && (await conversations.findSession(userId, named.sessionId))
    const turns = session?.state === 'active' ? await pastTurns(session) : []
    const through = turns.findIndex(({ messageIds }) => messageIds.includes(named?.messageId ?? '')) + 1
    if (!session || through === 0 || turns[through - 1]?.isSummarised) {
      throw new FamiliarError('not_found', 'previous_response_id: there is no such response')
    }
    const place = { contact: session.contact, session, turns, alignment: { agreed: 0, through } }
    return through === turns.length ? place : { ...place, inCopy: true }
  }
}

type Attachment = MessageRequest['attachments'][number]

/**
 * The number of turns at the end that the list does not contain. Zero if one of them is running or is only left as a
 * summary.
 */
function undoneTurns({ turns, alignment }: Place): number {
  const undone = turns.slice(alignment.through)
  const isFixed = undone.some(({ outcome, isSummarised }) => outcome === null || isSummarised)
  return isFixed ? 0 : undone.length
}

/** The newest turn, if the same list was sent again: while it runs, with the same key, or as a retry. */
function joined({ session, turns, alignment }: Place, list: ClientList, repeat: Repeat): BegunTurn | undefined {
  const last = turns.at(-1)
  if (!last || session?.channel !== openAiChannel || alignment.agreed < list.past.length) return undefined
  const isNext = alignment.through === turns.length - 1
  let isRepeated = isRepeatOf(repeat, last)
  // Without a key, a retry joins any running turn, and an ended one only where the list continues.
  if (repeat.key === undefined) isRepeated = last.outcome === null ? isNext || repeat.isRetry : isNext && isRepeated
  if (!isRepeated || !isSameSaid(last, list.newest)) return undefined
  const messageId = last.messageIds[0] ?? ''
  return { userId: session.userId, sessionId: session.id, messageId, cursor: String(last.firstSeq - 1) }
}

/** Instructions are sent once, and again when they change or only a summary of them is left. */
function newInstructions(turns: readonly PastTurn[], instructions: string): string | undefined {
  const before = turns.at(-1)?.mark.instructions
  if (instructions === '') return before === undefined ? undefined : ''
  const hash = textHash(instructions)
  const isTold = turns.some(({ mark, isSummarised }) => mark.tells && !isSummarised && mark.instructions === hash)
  return before === hash && isTold ? undefined : instructions
}

interface Alignment {
  /** So many exchanges at the front of the client's list are turns of the session. */
  agreed: number
  /** The number of turns of the session before the list continues. */
  through: number
}

/**
 * Finds where a client's list and a session agree. A list may start in the middle of the session, because clients drop
 * messages that exceed their window; most do not, so the earliest of equally long matches counts.
 */
export function alignList(turns: readonly PastTurn[], past: readonly ListedExchange[]): Alignment {
  let best: Alignment = { agreed: 0, through: 0 }
  for (let start = 0; start < turns.length && turns.length - start > best.agreed; start += 1) {
    let agreed = 0
    while (agreed < past.length && isSame(turns[start + agreed], past[agreed])) agreed += 1
    if (agreed > best.agreed) best = { agreed, through: start + agreed }
  }
  return best
}

function isSameSaid(turn: PastTurn | undefined, exchange: ListedExchange): boolean {
  return turn?.mark.said === listedContentHash(exchange.said)
}

function isSame(turn: PastTurn | undefined, exchange: ListedExchange | undefined): boolean {
  if (!turn || !exchange || turn.outcome === null || !isSameSaid(turn, exchange)) return false
  const told = withoutSpaces(exchange.answers.join(' '))
  const last = withoutSpaces(exchange.answers.at(-1) ?? '')
  const answer = withoutSpaces(turn.answer)
  // A stream also contains the text between tool calls; a client that waits for the whole reply gets only the end.
  return told === answer || last === answer || (answer !== '' && told.endsWith(answer) && startsSame(turn, told))
}

function startsSame(turn: PastTurn, told: string): boolean {
  return told.startsWith(withoutSpaces(turn.spoken.find((text) => text.trim() !== '') ?? ''))
}

/** The marks of a request that was sent before. */
interface Repeat {
  key: string | undefined
  /** OpenAI's clients count how often they have tried. */
  isRetry: boolean
}

function readRepeat(context: HttpContext): Repeat {
  const tries = Number(context.req.header('x-stainless-retry-count') ?? 0)
  return { key: context.req.header('idempotency-key'), isRetry: tries > 0 }
}

/** Whether the request repeats this turn. A failed turn is run again. */
function isRepeatOf({ key, isRetry }: Repeat, turn: PastTurn): boolean {
  return key === undefined ? isRetry && turn.outcome !== 'failed' : turn.mark.key === key
}

function placeIn(
  turns: readonly PastTurn[],
  { name, list, isOurs }: { name: SessionName; list: ClientList; isOurs: boolean },
): Alignment {
  const { past, newest } = list
  const atEnd = { agreed: past.length, through: turns.length }
  // A conversation of another channel is not the client's to undo: only its newest message is news there.
  if (!isOurs) return atEnd
  if (past.length > 0 || name.from === 'list') return alignList(turns, past)
  const isAskedAgain = turns.length === 1 && isSameSaid(turns[0], newest)
  return isAskedAgain ? { agreed: 0, through: 0 } : atEnd
}

/**
 * Whether the list belongs to the session at all. A first message does not: the same text may have started another
 * conversation. It counts only if it has no answer yet or is a retry.
 */
function isContinued(
  turns: readonly PastTurn[],
  { agreed }: Alignment,
  { list, repeat }: { list: ClientList; repeat: Repeat },
): boolean {
  if (list.past.length > 0) return agreed > 0
  const [first, second] = turns
  if (!first) return true
  if (second || !isSameSaid(first, list.newest)) return false
  return first.outcome === null || first.outcome === 'failed' || isRepeatOf(repeat, first)
}

const maxFiles = 10

/** Files as attachments. An address is fetched by the rules of every fetch (SEC-8) and must be an image. */
async function loadFiles(
  fetch: GuardedFetch,
  files: readonly ListedFile[],
  signal: AbortSignal,
): Promise<Attachment[]> {
  if (files.length > maxFiles) {
    throw new FamiliarError('bad_request', `A message may have at most ${maxFiles} files`)
  }
  return Promise.all(
    files.map(async (file): Promise<Attachment> => {
      if (file.kind === 'data') return { name: file.name, mediaType: file.mediaType, data: file.data }
      const data = await load(fetch, file.url, signal)
      const mediaType = imageTypeOf(data)
      if (!mediaType) throw new FamiliarError('bad_request', `${shown(file.url)} is not an image that models accept`)
      return { name: file.name, mediaType, data: Buffer.from(data).toString('base64') }
    }),
  )
}

async function load(fetch: GuardedFetch, url: string, signal: AbortSignal): Promise<Uint8Array> {
  try {
    const response = await fetch(url, { signal })
    if (response.ok) return new Uint8Array(await response.arrayBuffer())
    throw new FamiliarError('bad_request', `${shown(url)} could not be fetched: status ${response.status}`)
  } catch (cause) {
    if (cause instanceof FamiliarError || signal.aborted) throw cause
    // Network errors of unreachable hosts are hidden from the caller: they would map our network.
    const why = cause instanceof EgressError ? `: ${cause.message}` : ''
    throw new FamiliarError('bad_request', `${shown(url)} could not be fetched${why}`, { cause })
  }
}

function shown(url: string): string {
  return JSON.stringify(url.length > 100 ? `${url.slice(0, 100)}…` : url)
}
