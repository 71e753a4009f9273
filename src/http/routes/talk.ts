import type { LoggedEvent } from '../../agent/sessions/session-event.ts'
import { beginSessionIn } from '../../agent/sessions/sessions.ts'
import * as sessionApi from '../../protocol/api.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import * as api from '../../protocol/page.ts'
import { isOwnWords } from '../../security/approvals.ts'
import { frameDocument } from '../../tools/cards/frame-document.ts'
import type { AssetVersion } from '../../tools/files/assets.ts'
import { namedBlockUri } from '../../tools/files/pins.ts'
import { findReferences } from '../../tools/files/references.ts'
import { createSessionHandler, sessionReply } from '../chat-replies.ts'
import type { HttpDependencies } from '../dependencies.ts'
import { clientToolsOf, toInboundMessage } from '../inbound-message.ts'
import type { HttpPage } from '../page.ts'
import { commonHeaders } from '../replies.ts'
import { handle, type Route } from '../route.ts'
import { actorOf, orRefuse } from './files.ts'

/** The chat of the page: the list of sessions, the newest events, files and cards, and branches at a message. */
export function createTalkRoutes(dependencies: HttpDependencies, page: HttpPage): Route[] {
  const { conversations, media, readDocument, assets } = dependencies
  const inSession = createSessionHandler(dependencies)

  /** Files and cards are found only in the user's own sessions. */
  async function findEvent(
    { id, userId }: { id: string; userId: string },
    wanted: (event: LoggedEvent) => boolean,
  ): Promise<LoggedEvent> {
    let before: number | undefined
    do {
      const events = await conversations.historyBack(userId, id, { before, limit: 500 })
      const found = events.findLast(wanted)
      if (found) return found
      before = events[0]?.seq
    } while (before !== undefined && before > 1)
    throw new FamiliarError('not_found', 'The session has no such message, card or file')
  }

  return [
    handle(sessionApi.chat.post, async ({ userId, body, context }) => {
      const { model, private: isPrivate, ...request } = body
      const inbound = await toInboundMessage(dependencies, context, request, { immediate: true })
      if (model === undefined && !isPrivate) return conversations.submit(inbound)
      if (model !== undefined && !dependencies.openai?.modelsOf(userId).byId(model)) {
        throw new FamiliarError('bad_request', `model: there is no model ${JSON.stringify(model)}`)
      }
      return conversations.submit(inbound, (writer) => beginSessionIn(writer, inbound, { model, isPrivate }))
    }),
    handle(api.page.sessions, async ({ userId }) => {
      const newest = await conversations.sessions(userId, { includeArchived: true })
      const listed = new Set(newest.map(({ id }) => id))
      const kept = (await conversations.keptSessions(userId)).filter(({ id }) => !listed.has(id))
      const sessions = [...newest, ...kept]
      const running = page.runningSessions()
      const views = await page.views.show(sessions)
      return {
        sessions: views.map(({ session, title, preview, isUnread, isPinned, folderId }) => ({
          ...session,
          title,
          preview,
          isUnread: isUnread && session.state === 'active',
          isRunning: running.has(session.id),
          isPinned,
          folder: folderId,
          isPrivate: session.remembered === 0,
        })),
      }
    }),
    inSession(api.page.turnEvents, ({ userId, session, query }) => conversations.pastEvents(userId, session.id, query)),
    inSession(api.page.markRead, async ({ session, body }) => {
      await page.views.markRead(session.id, Math.min(body.seq, session.lastSeq))
      return sessionReply(session)
    }),
    inSession(api.page.rename, async ({ session, body }) => {
      await page.views.setTitle(session.id, body.title)
      return sessionReply(session)
    }),
    inSession(api.page.pin, async ({ session, body }) => {
      await page.views.setPinned(session.id, body.pinned)
      return sessionReply(session)
    }),
    inSession(api.page.resend, async ({ session, body }) => {
      const { messageId } = await conversations.resend(session.userId, session.id, body.messageId, {
        text: body.message,
        ...clientToolsOf(body),
      })
      return { sessionId: session.id, messageId }
    }),
    inSession(api.page.branches, async ({ session }) => ({
      branches: await conversations.branches(session.userId, session.id),
    })),
    inSession(api.page.chooseBranch, async ({ session, body }) => {
      await conversations.chooseBranch(session.userId, session.id, body.messageId)
      return sessionReply(session)
    }),
    inSession(api.page.removeBranch, async ({ session, params }) => {
      await conversations.removeBranch(session.userId, session.id, params.message)
      return sessionReply(session)
    }),
    inSession(api.page.card, async ({ session, params }) => {
      const found = await findEvent(session, (event) => event.type === 'tool_finished' && event.callId === params.call)
      if (found.type !== 'tool_finished' || !found.card) throw new FamiliarError('not_found', 'This call has no card')
      return { document: frameDocument(found.card) }
    }),
    // The request names no path: the message does, which the user wrote and whose files were read when its turn started.
    inSession(api.page.mention, async ({ session, params, query, context }) => {
      const event = await findEvent(
        session,
        (one) => one.type === 'message_received' && one.messageId === params.message && isOwnWords(one),
      )
      const text = event.type === 'message_received' ? event.text : ''
      const named = findReferences(text).find(({ start, end }) => text.slice(start, end) === query.name)
      if (!named || !assets) throw new FamiliarError('not_found', 'The message names no such file')
      const path = named.kind === 'block' ? namedBlockUri(named.path) : named.path
      const current = orRefuse(await assets.assets.load(actorOf(context), { path }))
      const { versions } = orRefuse(await assets.assets.history(actorOf(context), { path }))
      return { path: current.path, versions: shownVersions(current, versions) }
    }),
    inSession(api.page.media, async ({ session, params: { hash } }) => {
      await findEvent(session, (event) => mediaOf(event).some((part) => part.hash === hash))
      // Not its own media type: an HTML file of a tool would run as a page of this origin.
      return new Response(new Uint8Array(await media.load(hash)), {
        headers: { ...commonHeaders, 'content-type': 'application/octet-stream' },
      })
    }),
    inSession(api.page.mediaText, async ({ session, params: { hash }, context }) => {
      const event = await findEvent(session, (one) => mediaOf(one).some((part) => part.hash === hash))
      const part = mediaOf(event).find((one) => one.hash === hash)
      if (!part || !readDocument) throw new FamiliarError('not_found', 'There is no such file')
      const { name, mediaType } = part
      const read = await readDocument({ name, mediaType, bytes: await media.load(hash) }, context.req.raw.signal)
      if (!read.ok) throw new FamiliarError('unsupported_media_type', `${name} ${read.reason}.`)
      const text = read.text.slice(0, maxPreviewCharacters).toWellFormed()
      return { text, isCut: read.isCut || text.length < read.text.length }
    }),
  ]
}

const maxPreviewCharacters = 100_000
const maxCharactersOfVersions = 2_000_000

/** The newest versions that fit, oldest first. The last one is the content as it is now, which may have no version. */
function shownVersions(current: { content: string; version: number }, recorded: readonly AssetVersion[]) {
  const now = recorded.find(({ content }) => content === current.content)
  const shown = [{ version: now?.version ?? current.version, at: now?.at ?? null, content: current.content }]
  let room = maxCharactersOfVersions - current.content.length
  for (const { version, at, content } of recorded.toSorted((one, other) => other.version - one.version)) {
    if (content === null || content === shown[0]?.content) continue
    room -= content.length
    if (room < 0) break
    shown.unshift({ version, at, content })
  }
  return shown
}

function mediaOf(event: LoggedEvent) {
  return event.type === 'message_received' || event.type === 'tool_finished' ? (event.media ?? []) : []
}
