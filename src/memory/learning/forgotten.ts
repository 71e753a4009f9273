import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import type { Database, Reader, Writer } from '../../storage/database.ts'
import type { MemoryLabel } from '../memory.ts'
import { repetitionOf } from '../repetitions.ts'
import { evidenceOf, isGrounded } from './grounding.ts'
import type { Learned } from './learned.ts'

const changeSchema = z.object({ memories: z.array(z.object({ memory: z.object({ content: z.string() }) })) })

/** What a user has had forgotten since a time. */
interface Forgotten {
  /**
   * Whether a text that was said before that merely repeats it: had it been a memory by then, it would have gone too.
   * What the user said themself goes on their own word only.
   */
  isRepeated(said: { text: string; label: MemoryLabel; at: number }): boolean
}

export async function readForgotten(
  reader: Reader | Writer,
  { userId, since }: { userId: string; since: number },
): Promise<Forgotten> {
  const changes = (await readChanges(reader, userId, since)).map(({ contents: [content = ''], ...change }) => {
    return { ...change, repeats: repetitionOf(content) }
  })
  return {
    isRepeated: ({ text, label, at }) =>
      changes.some(({ at: forgottenAt, madeBy, repeats }) => {
        const mayGo = madeBy === 'user' || label !== 'owner'
        return mayGo && at <= forgottenAt && repeats(text)
      }),
  }
}

/**
 * The same without what the user has had forgotten since it was said at `saidAt`: the log still holds it, and learning it
 * again from there would undo the forgetting. What is told anew afterwards is learnt anew.
 */
export async function leaveOutForgotten(
  database: Database,
  { userId, saidAt }: { userId: string; saidAt: number },
  learned: Learned,
): Promise<Learned> {
  const changes = await readChanges(database.read, userId, saidAt)
  const forgotten = changes.flatMap(({ contents }) => contents.map((content) => evidenceOf([content])))
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

async function readChanges(reader: Reader | Writer, userId: string, since: number) {
  const rows = await reader
    .selectFrom('memory_changes')
    .select(['data', 'at', 'made_by'])
    .where('user_id', '=', userId)
    .where('at', '>=', since)
    .where('action', '=', 'forgotten')
    .execute()
  return rows.map(({ data, at, made_by }) => {
    const change = parseJson(data, changeSchema)
    // The one that was to be forgotten, then what went with it.
    const contents = change.ok ? change.value.memories.map(({ memory }) => memory.content) : []
    return { contents, at, madeBy: made_by }
  })
}
