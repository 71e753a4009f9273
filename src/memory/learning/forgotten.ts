import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import type { Database } from '../../storage/database.ts'
import { evidenceOf, isGrounded } from './grounding.ts'
import type { Learned } from './learned.ts'

const changeSchema = z.object({ memories: z.array(z.object({ memory: z.object({ content: z.string() }) })) })

/**
 * The same without what the user has had forgotten since it was said at `saidAt`: the log still holds it, and learning it
 * again from there would undo the forgetting. What is told anew afterwards is learnt anew.
 */
export async function leaveOutForgotten(
  database: Database,
  { userId, saidAt }: { userId: string; saidAt: number },
  learned: Learned,
): Promise<Learned> {
  const changes = await database.read
    .selectFrom('memory_changes')
    .select('data')
    .where('user_id', '=', userId)
    .where('at', '>=', saidAt)
    .where('action', '=', 'forgotten')
    .execute()
  const forgotten = changes.flatMap(({ data }) => {
    const change = parseJson(data, changeSchema)
    return change.ok ? change.value.memories.map(({ memory }) => evidenceOf([memory.content])) : []
  })
  if (forgotten.length === 0) return learned
  const isForgotten = (text: string) => forgotten.some((evidence) => isGrounded(text, evidence, 1))
  return {
    ...learned,
    notes: learned.notes.filter((note) => !isForgotten(note.content)),
    facts: learned.facts.filter(({ entity, value }) => !isForgotten(`${entity} ${value}`)),
    commitments: learned.commitments.filter(({ what }) => !isForgotten(what)),
    episode: learned.episode && {
      ...learned.episode,
      decisions: learned.episode.decisions.filter((decision) => !isForgotten(decision)),
    },
  }
}
