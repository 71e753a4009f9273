import type { Conversations } from '../../../agent/conversations.ts'
import { createKeyedLock } from '../../../assets/keyed-lock.ts'
import type { Attachment, MessageRequest } from '../../../protocol/api.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import { chooseModelIn } from '../../../sessions/choose-model-in.ts'
import type { Session } from '../../../sessions/sessions.ts'
import { callerOf } from '../guards/token-guard.ts'
import type { HttpContext, HttpDependencies } from '../http-dependencies.ts'
import { toInboundMessage } from '../inbound-message.ts'
import { isSameSaid } from './align-list.ts'
import type { BegunTurn } from './begun-turn.ts'
import { readClientCallId } from './call-id.ts'
import { type ClientList, contentHash, type ListedExchange, textHash } from './client-list.ts'
import type { ClientToolUse } from './client-tools.ts'
import { copySession, findResponse, findSession, type Place } from './find-session.ts'
import { loadFiles } from './load-files.ts'
import { markMetadata } from './message-mark.ts'
import { type AnswerFormat, writeMessage } from './message-text.ts'
import type { OpenAiServices } from './openai-services.ts'
import { createPastTurns, type PastTurn } from './past-turns.ts'
import { isRepeatOf, type Repeat, readRepeat } from './repeat.ts'
import { openAiChannel, type SessionName, sessionNameOf } from './session-name.ts'
import { createWaitingTurns } from './waiting-turns.ts'

/** What a client asks for, whichever of the two ways it asks. */
export interface AskedTurn {
  list: ClientList
  /** As a configured id; null for the one that the config, or the session, says. */
  model: string | null
  use: ClientToolUse
  format: AnswerFormat
  user: string | null | undefined
  previousResponse?: string | null | undefined
}

export type BeginTurn = (context: HttpContext, asked: AskedTurn) => Promise<BegunTurn>

type PlaceInSession = Extract<Place, { session: Session }>

/**
 * Makes of a client's list one turn: the next one, the same one again where the client edited or repeats it, or the one
 * that waits for its client's tools. A turn that is under way for the same list is not begun a second time.
 */
export function createBeginTurn(dependencies: HttpDependencies, services: OpenAiServices): BeginTurn {
  const { conversations } = dependencies
  const pastTurns = createPastTurns(conversations)
  const waiting = createWaitingTurns()
  const inOrder = createKeyedLock()

  return async function beginTurn(context: HttpContext, asked: AskedTurn): Promise<BegunTurn> {
    const { userId } = callerOf(context)
    const given = await giveResults(userId, asked.list.newest)
    if (given) return given
    const { previousResponse: responseId } = asked
    const name = sessionNameOf(context, asked.user, asked.list)
    const conversation = `${userId} ${responseId ?? name.name}`
    // Two requests with the same list must not both find that nobody has begun.
    return inOrder(conversation, async () => {
      const waits = waiting.find(conversation, asked.list)
      if (waits && !(await hasBegun(waits))) return waits
      const begun = await beginAt(context, asked, { userId, responseId, name })
      waiting.put(conversation, asked.list, begun)
      return begun
    })
  }

  async function beginAt(
    context: HttpContext,
    asked: AskedTurn,
    { userId, responseId, name }: { userId: string; responseId: string | null | undefined; name: SessionName },
  ): Promise<BegunTurn> {
    const repeat = readRepeat(context)
    const place = responseId
      ? await findResponse({ conversations, pastTurns }, { userId, responseId })
      : await findSession({ conversations, pastTurns }, { userId, name, list: asked.list, repeat })
    if (!place.session) return submit(context, asked, place)
    if (isRepeated(repeat, place, asked.list)) return joined(place)
    await letGo(place)
    return submit(context, asked, place.inCopy ? await copySession({ conversations, pastTurns }, place) : place)
  }

  async function hasBegun({ userId, sessionId, messageId }: BegunTurn): Promise<boolean> {
    const session = await conversations.findSession(userId, sessionId)
    const turns = session?.state === 'active' ? await pastTurns(session) : undefined
    return !turns || turns.some(({ messageIds }) => messageIds.includes(messageId))
  }

  /** Results for calls that wait, and nothing else: undefined where none of them waits, or they are not all of one turn. */
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
      // Too late, or told before: the list then holds results of a turn that goes on, or has gone on, without them.
      if (cause instanceof FamiliarError && ['conflict', 'not_found'].includes(cause.code)) return undefined
      throw cause
    }
  }

  /** A turn that waits for tools of a client that has moved on waits in vain. */
  async function letGo({ session, turns }: PlaceInSession): Promise<void> {
    const last = turns.at(-1)
    if (!last || last.openCalls.size === 0 || session.channel !== openAiChannel) return
    await conversations.stop(session.userId, session.id)
    await conversations.waitForTurn(last.messageIds[0] ?? '')
    last.outcome = 'stopped'
  }

  async function submit(context: HttpContext, asked: AskedTurn, place: Place): Promise<BegunTurn> {
    const { list, format, use } = asked
    const attachments = await loadFiles(services.fetch, list.newest.said.files, context.req.raw.signal)
    const undone = place.session ? undoneTurns(place) : 0
    const kept = place.session ? place.turns.slice(0, place.turns.length - undone) : []
    const instructions = toldAnew(kept, list.instructions)
    const unseen = place.session ? list.past.slice(place.alignment.agreed) : list.past
    const key = context.req.header('idempotency-key')
    const { text, quotes } = writeMessage({ instructions, unseen, newest: list.newest, format, toCall: use.toCall })
    const request: MessageRequest = {
      message: text,
      session: place.session ? place.session.id : place.contact,
      channel: openAiChannel,
      source: openAiChannel,
      // Whose words a client quotes nobody knows: as a file they count as those of others (SEC-6).
      attachments: quotes === '' ? attachments : [...attachments, textFile('earlier-messages.txt', quotes)],
      client_tools: use.tools,
      metadata: markMetadata({
        said: contentHash(list.newest.said),
        ...(list.instructions !== '' && { instructions: textHash(list.instructions) }),
        ...(instructions && { tells: true }),
        ...(key !== undefined && { key }),
      }),
    }
    const inbound = await toInboundMessage(dependencies, context, request, { immediate: true })
    const alsoChoose = await choosingModel(asked.model, place, inbound)
    if (place.session && undone > 0) {
      await conversations.rewind(inbound.userId, place.session.id, { turns: undone })
    }
    const { sessionId, messageId, duplicate } = await conversations.submit(inbound, alsoChoose)
    const isKnown = !duplicate && place.session?.id === sessionId
    return { userId: inbound.userId, sessionId, messageId, cursor: isKnown ? String(place.session?.lastSeq) : '0' }
  }

  async function choosingModel(
    model: string | null,
    { session }: Place,
    key: { userId: string; channel: string; contact: string },
  ): Promise<Parameters<Conversations['submit']>[1]> {
    if (!session) return model === null ? undefined : (writer) => chooseModelIn(writer, key, model)
    // What the user chose for a conversation elsewhere holds until a client names another.
    const isKept = session.model === model || (model === null && session.channel !== openAiChannel)
    if (!isKept) await services.chooseModel(session.userId, session.id, model)
    return undefined
  }
}

function textFile(name: string, text: string): Attachment {
  return { name, media_type: 'text/plain', data: Buffer.from(text).toString('base64') }
}

/** How many turns at the end the list does not tell of. None where one of them runs, or is only told by a summary. */
function undoneTurns({ turns, alignment }: PlaceInSession): number {
  const undone = turns.slice(alignment.through)
  const isFixed = undone.some(({ outcome, isSummarised }) => outcome === null || isSummarised)
  return isFixed ? 0 : undone.length
}

/** The same list again: while its turn runs, under the same key, or by a client that says that it tries again. */
function isRepeated(repeat: Repeat, { session, turns, alignment }: PlaceInSession, list: ClientList): boolean {
  const last = turns.at(-1)
  if (!last || session.channel !== openAiChannel || alignment.agreed < list.past.length) return false
  if (!isSameSaid(last, list.newest)) return false
  const isNext = alignment.through === turns.length - 1
  if (repeat.key !== undefined) return isRepeatOf(repeat, last)
  return last.outcome === null ? isNext || repeat.isRetry : isNext && isRepeatOf(repeat, last)
}

function joined({ session, turns }: PlaceInSession): BegunTurn {
  const { messageIds, firstSeq } = turns.at(-1) as PastTurn
  const messageId = messageIds[0] ?? ''
  return { userId: session.userId, sessionId: session.id, messageId, cursor: String(firstSeq - 1) }
}

/** Instructions are told once, and again when they change or no more than a summary is left of them. */
function toldAnew(turns: readonly PastTurn[], instructions: string): string | undefined {
  const before = turns.at(-1)?.instructions
  if (instructions === '') return before === undefined ? undefined : ''
  const hash = textHash(instructions)
  const isTold = turns.some((turn) => turn.tells && !turn.isSummarised && turn.instructions === hash)
  return before === hash && isTold ? undefined : instructions
}
