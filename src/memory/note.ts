import { z } from 'zod'
import { parseJson } from '../base/json.ts'
import type { NoteRow } from '../storage/tables.ts'

export interface Note {
  id: string
  userId: string
  content: string
  tags: readonly string[]
  source: NoteRow['source']
  sessionId: string | null
  turnId: string | null
  createdAt: number
}

export function noteFromRow(row: NoteRow): Note {
  const tags = parseJson(row.tags, z.array(z.string()))
  return {
    id: row.id,
    userId: row.user_id,
    content: row.content,
    // A damaged list of tags must not make the note itself unreadable.
    tags: tags.ok ? tags.value : [],
    source: row.source,
    sessionId: row.session_id,
    turnId: row.turn_id,
    createdAt: row.created_at,
  }
}

export function rowFromNote(note: Note): NoteRow {
  return {
    id: note.id,
    user_id: note.userId,
    content: note.content,
    tags: JSON.stringify(note.tags),
    source: note.source,
    session_id: note.sessionId,
    turn_id: note.turnId,
    created_at: note.createdAt,
  }
}
