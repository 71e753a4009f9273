import { z } from 'zod'
import { parseJson } from '../../../base/json.ts'
import type { BuildQuestionRow, BuildRow } from '../../../storage/capability-tables.ts'
import type { Reader, Writer } from '../../../storage/database.ts'
import { seenSchema } from './build-row.ts'
import type { BuildQuestion } from './builds.ts'

/** A question with what it belongs to. */
export interface NamedQuestionRow extends BuildQuestionRow {
  name: string
  build_state: BuildRow['state']
}

const askedSchema = z.object({ question_id: z.string(), seen: seenSchema })

export function findQuestion(
  reader: Reader | Writer,
  userId: string,
  id: string,
): Promise<NamedQuestionRow | undefined> {
  return selectQuestions(reader, userId).where('build_questions.id', '=', id).executeTakeFirst()
}

/** Those that can be answered, oldest first. */
export function findOpenQuestions(reader: Reader | Writer, userId: string, now: number): Promise<NamedQuestionRow[]> {
  return selectQuestions(reader, userId)
    .where('builds.state', '=', 'running')
    .where('build_questions.state', '=', 'asked')
    .where('build_questions.expires_at', '>', now)
    .orderBy('build_questions.asked_at')
    .orderBy('build_questions.id')
    .execute()
}

/** With what its Builder had in sight, which the event knows that told of it. */
export async function toQuestion(reader: Reader, row: NamedQuestionRow): Promise<BuildQuestion> {
  const events = await reader
    .selectFrom('build_events')
    .select('data')
    .where('build_id', '=', row.build_id)
    .where('type', 'in', ['question', 'secret_request'])
    .execute()
  const asked = events.map(({ data }) => parseJson(data, askedSchema))
  const own = asked.find((event) => event.ok && event.value.question_id === row.id)
  return {
    id: row.id,
    buildId: row.build_id,
    name: row.name,
    kind: row.kind,
    question: row.question,
    secret: row.secret,
    isUntrusted: !own?.ok || own.value.seen.untrusted,
    askedAt: Number(row.asked_at),
    expiresAt: Number(row.expires_at),
  }
}

function selectQuestions(reader: Reader | Writer, userId: string) {
  return reader
    .selectFrom('build_questions')
    .innerJoin('builds', 'builds.id', 'build_questions.build_id')
    .innerJoin('capabilities', 'capabilities.id', 'builds.capability_id')
    .selectAll('build_questions')
    .select(['capabilities.name as name', 'builds.state as build_state'])
    .where('builds.user_id', '=', userId)
}
