import type { Database } from '../../storage/database.ts'
import type { Commitments } from '../commitments.ts'
import { entityKey } from '../fold-text.ts'
import { type Memories, memoryCollection } from '../memories.ts'
import type { Learned, LearnedCommitment, LearnedNote } from './learned.ts'
import { saysTheSame, tellingWords } from './word-overlap.ts'

const looked = 12
const mostOpen = 200

/** The same without what is known: told before in nearly the same words, or told twice in this answer. */
export async function leaveOutKnown(
  { database, memories, commitments }: { database: Database; memories: Memories; commitments: Commitments },
  userId: string,
  learned: Learned,
): Promise<Learned> {
  const facts = learned.facts.map(({ entity, attribute, value }) => `${entity}: ${attribute} is ${value}`)
  const notes: LearnedNote[] = []
  for (const note of learned.notes) {
    const beside = [...facts, ...notes.map((other) => other.content)]
    const known = [...beside, ...(await similar(note.content))]
    if (!known.some((text) => saysTheSame(text, note.content))) notes.push(note)
  }
  return { ...learned, notes, commitments: await newCommitments() }

  async function similar(content: string): Promise<string[]> {
    const words = tellingWords(content).join(' ')
    if (words === '') return []
    const matches = await database.textSearch.search({ collection: memoryCollection, userId, words, limit: looked })
    const found = await memories.getMany(
      userId,
      matches.map((match) => match.id),
    )
    // A passage is where it was said, not knowledge of it: nothing could ever be learnt beside it.
    return found
      .filter(({ kind, supersededAt }) => kind !== 'chunk' && supersededAt === null)
      .map((memory) => memory.content)
  }

  async function newCommitments(): Promise<LearnedCommitment[]> {
    if (learned.commitments.length === 0) return []
    const open = await commitments.list({ userId, states: ['open'], limit: mostOpen })
    return learned.commitments.filter(
      (commitment, index) =>
        ![...open, ...learned.commitments.slice(0, index)].some((other) => isSamePromise(other, commitment)),
    )
  }
}

function isSamePromise(a: Promised, b: Promised): boolean {
  const sameDebtor = entityKey(a.who) === entityKey(b.who)
  const sameCreditor = a.toWhom === null || b.toWhom === null || entityKey(a.toWhom) === entityKey(b.toWhom)
  return sameDebtor && sameCreditor && saysTheSame(a.what, b.what)
}

interface Promised {
  who: string
  toWhom: string | null
  what: string
}
