import { sql } from 'kysely'
import type { z } from 'zod'
import type { MessageIndex } from '../agent/sessions/message-index.ts'
import type { SessionViews } from '../agent/sessions/open-sessions.ts'
import type { Capabilities } from '../custom-tools/capabilities.ts'
import type { ToolCatalog } from '../custom-tools/catalog.ts'
import type { HttpSearch } from '../http/dependencies.ts'
import { citePlace, type FileIndex } from '../memory/files/index-files.ts'
import { type Memories, memoryCollection } from '../memory/memories.ts'
import { workChannels } from '../protocol/messages.ts'
import { type SearchKind, type search, searchKinds } from '../protocol/search.ts'
import type { Database } from '../storage/database.ts'
import { createMatcher, type FindMarks, formsIn, hasEveryWord, snippetOf } from '../storage/snippets.ts'
import type { Schedules } from '../tools/builtin/schedule-tools.ts'
import type { FileTexts } from '../tools/files/file-texts.ts'

type Found = z.output<typeof search.everything.reply>['found'][number]

type SearchQuery = Parameters<HttpSearch['everything']>[0]

interface Asked extends SearchQuery {
  find: FindMarks
  hasEvery(text: string): boolean
}

/** The titles and notes that are read for one search, newest first: they are matched here, without an index. */
const maxTitles = 5_000
const maxNotes = 1_000
/** Passages of conversations are among the memories, and are found as messages. */
const memoriesPerFound = 5

/**
 * One search over everything of a user. Messages and memories come from the full-text index, the rest is small enough
 * to be looked through. The number of queries does not depend on the number of results.
 */
export function createSearch(dependencies: {
  database: Database
  messages: MessageIndex
  views: Pick<SessionViews, 'titles'>
  memories: Pick<Memories, 'getMany'>
  files: Pick<FileIndex, 'fileOf'>
  texts: FileTexts
  tools: Pick<ToolCatalog, 'list'>
  capabilities: Pick<Capabilities, 'catalog'>
  schedules: Pick<Schedules, 'list'>
  /** Keys of the configuration, for its owner. */
  settings(): readonly { key: string }[]
}): HttpSearch {
  const { database, messages, views, memories, files, texts, tools, capabilities, schedules, settings } = dependencies

  const finders: Record<SearchKind, (asked: Asked) => Promise<Found[]> | Found[]> = {
    async conversation(asked) {
      const rows = await database.read
        .selectFrom('session_views')
        .innerJoin('sessions', 'sessions.id', 'session_views.session_id')
        .select(['sessions.id', 'sessions.updated_at', 'session_views.title', 'session_views.generated_title'])
        .where('sessions.user_id', '=', asked.userId)
        .where('sessions.deleted_at', 'is', null)
        .where('sessions.channel', 'not in', workChannels)
        .where(sql<boolean>`coalesce(session_views.title, session_views.generated_title) is not null`)
        .orderBy('sessions.updated_at', 'desc')
        .limit(maxTitles)
        .execute()
      return rows
        .map((row) => ({ id: row.id, at: Number(row.updated_at), title: row.title ?? row.generated_title ?? '' }))
        .filter(({ title }) => asked.hasEvery(title))
        .map(({ id, at, title }) => titled(asked, { kind: 'conversation', id, title, at }))
    },
    async message(asked) {
      const found = await messages.search(asked)
      const titles = await views.titles([...new Set(found.map(({ sessionId }) => sessionId))])
      return found.map(({ sessionId, messageId, turnId, role, at, snippet, forms }) => ({
        ...empty,
        kind: 'message',
        id: sessionId,
        title: titles.get(sessionId) ?? '',
        snippet,
        words: forms,
        at,
        message: { id: messageId, turn: turnId, role },
      }))
    },
    async memory(asked) {
      const { userId, words, limit, isTyping } = asked
      const query = { collection: memoryCollection, userId, words, limit: limit * memoriesPerFound, isTyping }
      const matches = await database.textSearch.search({ ...query, isEveryWord: true })
      const all = await memories.getMany(
        userId,
        matches.map(({ id }) => id),
      )
      const shown = all.filter(({ kind, sessionId }) => kind !== 'chunk' || sessionId === null).slice(0, limit)
      const places = await files.fileOf(
        userId,
        shown.flatMap(({ kind, id }) => (kind === 'chunk' ? [id] : [])),
      )
      return shown.map(({ id, title, content, updatedAt }) => {
        const place = places.get(id)
        const name = place ? citePlace(place) : (title ?? '')
        return texted(asked, { kind: 'memory', id, title: name, text: content, at: updatedAt })
      })
    },
    async note(asked) {
      const rows = await database.read
        .selectFrom('blocks')
        .select(['label', 'content', 'updated_at'])
        .where('user_id', '=', asked.userId)
        .where('is_deleted', '=', 0)
        .orderBy('updated_at', 'desc')
        .limit(maxNotes)
        .execute()
      return rows
        .filter(({ label, content }) => asked.hasEvery(`${label}\n${content}`))
        .map(({ label, content, updated_at: at }) =>
          texted(asked, { kind: 'note', id: label, title: label, text: content, at: Number(at) }),
        )
    },
    async file(asked) {
      const found = await texts.search(asked)
      return found.map(({ id, name, reference, snippet, words }) => ({
        ...empty,
        kind: 'file',
        id,
        title: name,
        snippet,
        words,
        reference,
      }))
    },
    async tool(asked) {
      const others = (await tools.list(asked.userId)).map((tool) => ({ ...tool, from: 'other' as const }))
      const built = capabilities.catalog.list(asked.userId).map((tool) => ({ ...tool, from: 'built' as const }))
      return [...built, ...others]
        .filter(({ name, description }) => asked.hasEvery(`${name.replaceAll('_', ' ')}\n${name}\n${description}`))
        .map(({ name, description, from }) => ({
          ...texted(asked, { kind: 'tool', id: name, title: name, text: description, at: null }),
          tool: from,
        }))
    },
    async schedule(asked) {
      const listed = await schedules.list(asked.userId, { all: false })
      return listed
        .filter(({ schedule: { name, message } }) => asked.hasEvery(`${name ?? ''}\n${message}`))
        .map(({ schedule: { id, name, message, nextAt } }) =>
          texted(asked, { kind: 'schedule', id, title: name ?? '', text: message, at: nextAt }),
        )
    },
    setting(asked) {
      if (!asked.isOwner) return []
      return settings()
        .filter(({ key }) => asked.hasEvery(`${key} ${key.replaceAll(/[._]/g, ' ')}`))
        .map(({ key }) => titled(asked, { kind: 'setting', id: key, title: key, at: null }))
    },
  }

  return {
    async everything(query: SearchQuery): Promise<Found[]> {
      const { words, limit, isTyping, kinds = searchKinds } = query
      const asked = {
        ...query,
        find: createMatcher(words, { isTyping }),
        hasEvery: hasEveryWord(words, { isTyping }),
      }
      const found = await Promise.all(searchKinds.map((kind) => (kinds.includes(kind) ? finders[kind](asked) : [])))
      return found.flatMap((ofKind) => ofKind.slice(0, limit))
    },
    file: texts.text,
  }
}

const empty = { words: [], at: null, message: null, reference: null, tool: null }

interface Place {
  kind: SearchKind
  id: string
  title: string
  at: number | null
}

/** The title says it. */
function titled({ find }: Asked, { title, ...place }: Place): Found {
  return { ...empty, ...place, title, snippet: { text: '', marks: [] }, words: formsIn(title, find) }
}

function texted({ find }: Asked, { text, ...place }: Place & { text: string }): Found {
  const snippet = snippetOf(text, find)
  return { ...empty, ...place, snippet, words: formsIn(text, find) }
}
