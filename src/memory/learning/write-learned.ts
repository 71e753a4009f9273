import { endOfDay, parseDay } from '../../base/calendar.ts'
import type { Writer } from '../../storage/database.ts'
import type { Aliases } from '../aliases.ts'
import type { Commitments } from '../commitments.ts'
import type { Facts } from '../facts.ts'
import type { MemoryGraph } from '../graph.ts'
import type { Memories } from '../memories.ts'
import type { MemoryLabel } from '../memory.ts'
import { evidenceOf, isGrounded } from './grounding.ts'
import type { Learned } from './learned.ts'
import { linkFactIn } from './link-facts.ts'

export interface LearningStores {
  memories: Memories
  facts: Facts
  commitments: Commitments
  aliases: Aliases
  graph: MemoryGraph
}

/** Where it was learnt. */
export interface LearntFrom {
  userId: string
  sessionId?: string | undefined
  turnId?: string | undefined
  at: number
  label: MemoryLabel
  /** With the label `untrusted`: what says no more than this is the user's all the same. */
  ownWords?: readonly string[]
  timeZone: string
}

export interface WrittenCount {
  notes: number
  facts: number
  commitments: number
  aliases: number
}

export interface Written {
  /** Only what was new. */
  added: WrittenCount
  /** All memories that say it, the known ones too: what an episode mentions. */
  ids: string[]
  /** Facts that a surer one stands against. */
  refused: number
}

/** Writes what was sifted, in the caller's unit. Names come first, so that facts and promises resolve through them. */
export async function writeLearnedIn(
  writer: Writer,
  stores: LearningStores,
  from: LearntFrom,
  learned: Learned,
): Promise<Written> {
  const { userId, sessionId, turnId, at, label } = from
  const origin = { userId, sessionId, turnId, at, source: 'extracted' as const }
  const labelFor = labelling(label, from.ownWords ?? [])
  const written: Written = { added: { notes: 0, facts: 0, commitments: 0, aliases: 0 }, ids: [], refused: 0 }

  for (const { alias, entity } of learned.aliases) {
    // A name carries no label, and would stand for another in everything that is asked later.
    if (labelFor(`${alias} ${entity}`) === 'untrusted') continue
    if (await stores.aliases.addIn(writer, userId, alias, entity)) written.added.aliases += 1
  }
  for (const fact of learned.facts) {
    const result = await stores.facts.writeIn(writer, {
      ...origin,
      ...fact,
      label: labelFor(`${fact.entity} ${fact.value}`),
    })
    if (result.outcome === 'refused') {
      written.refused += 1
      continue
    }
    written.ids.push(result.fact.id)
    if (result.outcome === 'confirmed') continue
    written.added.facts += 1
    await linkFactIn(writer, stores.graph, userId, result.fact.id)
  }
  for (const { who, toWhom, what, deadline } of learned.commitments) {
    const { commitment, isNew } = await stores.commitments.addIn(writer, {
      ...origin,
      label: labelFor(`${who} ${toWhom ?? ''} ${what}`),
      who,
      what,
      toWhom: toWhom ?? undefined,
      deadline: deadlineOf(deadline, from.timeZone),
    })
    written.ids.push(commitment.id)
    if (isNew) written.added.commitments += 1
  }
  for (const note of learned.notes) {
    const { memory, isNew } = await stores.memories.addIn(writer, {
      ...origin,
      ...note,
      label: labelFor(note.content),
      kind: 'note',
    })
    written.ids.push(memory.id)
    if (isNew) written.added.notes += 1
  }
  return written
}

function labelling(label: MemoryLabel, ownWords: readonly string[]): (claim: string) => MemoryLabel {
  if (label !== 'untrusted' || ownWords.length === 0) return () => label
  const evidence = evidenceOf(ownWords)
  return (claim) => (isGrounded(claim, evidence, 1) ? 'internal' : label)
}

function deadlineOf(text: string | null, timeZone: string): number | undefined {
  const day = text === null ? undefined : parseDay(text)
  return day && endOfDay(day, timeZone)
}
