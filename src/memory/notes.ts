import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import { toStorableText } from '../base/text.ts'
import { FamiliarError } from '../protocol/error.ts'
import type { Database, Reader, Writer } from '../storage/database.ts'
import type { NoteRow } from '../storage/tables.ts'
import { contentWords } from './content-words.ts'
import { type Note, noteFromRow, rowFromNote } from './note.ts'
import { type RecalledNote, rankNotes } from './rank-notes.ts'
import { wordForms } from './word-forms.ts'

interface NewNote {
  userId: string
  content: string
  tags?: readonly string[]
  source: NoteRow['source']
  sessionId?: string
  turnId?: string
  /** Derived from what caused the note, so that the same cause twice makes one note. */
  id?: string
}

/** What one user told, kept word for word. Every question is asked for one user and sees no one else's notes. */
export interface Notes {
  /** The same content noted before by that user changes nothing: `isNew` is false and the note is the known one. */
  add(note: NewNote): Promise<{ note: Note; isNew: boolean }>
  get(userId: string, id: string): Promise<Note | undefined>
  /** Newest first. `before` is the last note of the page before. */
  list(userId: string, page: { limit: number; before?: { createdAt: number; id: string } }): Promise<Note[]>
  /** False where that user has no such note. */
  remove(userId: string, id: string): Promise<boolean>
  /** Best first. Empty where the query holds no word that means anything: it never guesses. */
  recall(query: { userId: string; query: string; limit: number }): Promise<RecalledNote[]>
}

const collection = 'notes'
const longestNote = 1_000_000
const mostTags = 16
const longestTag = 64

export function createNotes({ database, clock, ids }: { database: Database; clock: Clock; ids: Ids }): Notes {
  return {
    async add(given) {
      const content = checkContent(given.content)
      const tags = cleanTags(given.tags ?? [])
      return await database.write(async (writer) => {
        const known = await selectNotes(writer, given.userId).where('content', '=', content).executeTakeFirst()
        if (known) return { note: noteFromRow(known), isNew: false }
        const note: Note = {
          id: await freeId(writer, given.id),
          userId: given.userId,
          content,
          tags,
          source: given.source,
          sessionId: given.sessionId ?? null,
          turnId: given.turnId ?? null,
          createdAt: clock.now(),
        }
        await writer.insertInto('notes').values(rowFromNote(note)).execute()
        const text = [content, ...tags].join('\n')
        await database.textSearch.index(writer, { collection, userId: note.userId, id: note.id, text })
        return { note, isNew: true }
      })
    },

    async get(userId, id) {
      const row = await selectNotes(database.read, userId).where('id', '=', id).executeTakeFirst()
      return row && noteFromRow(row)
    },

    async list(userId, { limit, before }) {
      let query = selectNotes(database.read, userId)
      if (before) {
        query = query.where((where) =>
          where.or([
            where('created_at', '<', before.createdAt),
            where.and([where('created_at', '=', before.createdAt), where('id', '<', before.id)]),
          ]),
        )
      }
      const rows = await query.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit).execute()
      return rows.map(noteFromRow)
    },

    async remove(userId, id) {
      return await database.write(async (writer) => {
        const found = await selectNotes(writer, userId).where('id', '=', id).executeTakeFirst()
        if (!found) return false
        await writer.deleteFrom('notes').where('user_id', '=', userId).where('id', '=', id).execute()
        await database.textSearch.remove(writer, { collection, id })
        return true
      })
    },

    async recall({ userId, query, limit }) {
      const words = contentWords(query).flatMap(wordForms).join(' ')
      if (words === '') return []
      // More than is asked for, so that recency can decide between equals at the edge.
      const matches = await database.textSearch.search({ collection, userId, words, limit: limit * 2 })
      if (matches.length === 0) return []
      const found = matches.map((match) => match.id)
      const rows = await selectNotes(database.read, userId).where('id', 'in', found).execute()
      return rankNotes({ matches, notes: rows.map(noteFromRow), now: clock.now() }).slice(0, limit)
    },
  }

  /** The wanted id, unless it belongs to another note already: a derived id is short enough to meet its like one day. */
  async function freeId(writer: Writer, wanted: string | undefined): Promise<string> {
    if (wanted === undefined) return ids.next()
    const taken = await writer.selectFrom('notes').select('id').where('id', '=', wanted).executeTakeFirst()
    return taken ? ids.next() : wanted
  }
}

function selectNotes(reader: Reader | Writer, userId: string) {
  return reader.selectFrom('notes').selectAll().where('user_id', '=', userId)
}

function checkContent(text: string): string {
  const content = toStorableText(text).trim()
  if (content === '') throw new FamiliarError('bad_request', 'A note needs some text')
  if (content.length > longestNote) {
    throw new FamiliarError('payload_too_large', `A note holds at most ${longestNote} characters`)
  }
  return content
}

function cleanTags(tags: readonly string[]): string[] {
  const cleaned = tags.map((tag) => toStorableText(tag).trim().slice(0, longestTag).toWellFormed())
  return [...new Set(cleaned.filter((tag) => tag !== ''))].slice(0, mostTags)
}
