import type { ExportedConversation } from '../../agent/sessions/export.ts'
import { restorableDays } from '../../agent/sessions/folders.ts'
import type { Session } from '../../agent/sessions/sessions.ts'
import { reasonOf } from '../../base/text.ts'
import * as api from '../../protocol/organize.ts'
import { requireSession } from '../chat-replies.ts'
import type { HttpDependencies } from '../dependencies.ts'
import type { HttpPage } from '../page.ts'
import { commonHeaders } from '../replies.ts'
import { handle, type Route } from '../route.ts'

/** Folders, and what is done with several conversations at once. */
export function createOrganizeRoutes(dependencies: HttpDependencies, page: HttpPage): Route[] {
  const { conversations, media, logger } = dependencies
  const { folders, views } = page

  /** All of them, before anything is changed. */
  async function named(userId: string, names: readonly string[], options?: { includeArchived?: boolean }) {
    const found = await Promise.all(names.map((name) => requireSession(conversations, userId, name, options)))
    return [...new Map(found.map((session) => [session.id, session])).values()]
  }

  async function each(
    chosen: readonly Session[],
    work: (userId: string, id: string) => Promise<unknown>,
  ): Promise<{ sessions: string[] }> {
    for (const { userId, id } of chosen) await work(userId, id)
    return { sessions: chosen.map(({ id }) => id) }
  }

  async function readConversation({ userId, id }: Session, title: string): Promise<ExportedConversation> {
    const { createTranscript } = await import('../../agent/sessions/export.ts')
    const transcript = createTranscript(title)
    for await (const events of conversations.path(userId, id)) events.forEach(transcript.add)
    return transcript.conversation
  }

  /** Small pictures up to a sum. The others are named in the file. */
  async function readPictures(exported: readonly ExportedConversation[]): Promise<Map<string, Uint8Array>> {
    const data = new Map<string, Uint8Array>()
    let left = maxPictures
    for (const { part } of exported.flatMap(({ pictures }) => pictures)) {
      if (data.has(part.hash) || part.bytes > Math.min(maxPicture, left)) continue
      try {
        data.set(part.hash, await media.load(part.hash))
        left -= part.bytes
      } catch (cause) {
        logger.warn('a picture of an exported conversation is missing', { hash: part.hash, reason: reasonOf(cause) })
      }
    }
    return data
  }

  return [
    handle(api.folders.list, async ({ userId }) => ({ folders: await folders.list(userId) })),
    handle(api.folders.add, ({ userId, body }) => folders.add(userId, body.name)),
    handle(api.folders.rename, ({ userId, params, body }) => folders.rename(userId, params.id, body.name)),
    handle(api.folders.remove, ({ userId, params }) => folders.remove(userId, params.id)),
    handle(api.organize.move, async ({ userId, body }) => {
      const ids = (await named(userId, body.sessions)).map(({ id }) => id)
      await folders.move(userId, ids, body.folder)
      return { sessions: ids }
    }),
    handle(api.organize.archive, async ({ userId, body }) =>
      each(await named(userId, body.sessions), conversations.archive),
    ),
    handle(api.organize.unarchive, async ({ userId, body }) =>
      each(await named(userId, body.sessions, { includeArchived: true }), conversations.unarchive),
    ),
    handle(api.organize.delete, async ({ userId, body }) =>
      each(await named(userId, body.sessions), conversations.delete),
    ),
    handle(api.organize.restore, async ({ userId, body }) => {
      for (const id of body.sessions) await conversations.restore(userId, id)
      return { sessions: body.sessions }
    }),
    handle(api.organize.deleted, async ({ userId }) => {
      const deleted = await conversations.deletedSessions(userId)
      const titles = await views.titles(deleted.map(({ session }) => session.id))
      return {
        sessions: deleted.map(({ session, deletedAt }) => ({
          ...session,
          title: titles.get(session.id) ?? null,
          deletedAt,
          restorableUntil: deletedAt + restorableDays * 24 * 60 * 60_000,
        })),
      }
    }),
    handle(api.organize.export, async ({ userId, query }) => {
      // Loaded on demand, because it is seldom used.
      const { exportName, exportTypes, writeHtml, writeJson, writeMarkdown } = await import(
        '../../agent/sessions/export.ts'
      )
      const sessions = await named(userId, query.sessions, { includeArchived: true })
      const titles = await views.titles(sessions.map(({ id }) => id))
      const exported: ExportedConversation[] = []
      for (const session of sessions) {
        exported.push(await readConversation(session, titles.get(session.id) ?? session.contact))
      }
      const { format } = query
      const author = page.userName(userId)
      // The usual name of the owner says nothing.
      const names = { user: author === 'owner' ? 'You' : author, agent: page.agentName() }
      const text =
        format === 'json'
          ? writeJson(exported)
          : format === 'md'
            ? writeMarkdown(exported, names)
            : writeHtml(exported, names, await readPictures(exported))
      const name = encodeURIComponent(exportName(exported, format)).replaceAll("'", '%27')
      return new Response(text, {
        headers: {
          ...commonHeaders,
          'content-type': exportTypes[format],
          // Always a file: it must not open as a page of this origin.
          'content-disposition': `attachment; filename*=UTF-8''${name}`,
        },
      })
    }),
  ]
}

const maxPicture = 1_000_000
const maxPictures = 10_000_000
