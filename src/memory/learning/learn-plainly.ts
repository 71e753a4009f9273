import type { Database } from '../../storage/database.ts'
import { leaveOutForgotten } from './forgotten.ts'
import { leaveOutKnown } from './known-already.ts'
import type { Learned } from './learned.ts'
import { tellNamesakesApart } from './namesakes.ts'
import { learnedFrom, readPlainStatements } from './plain-statements.ts'
import { type LearningStores, type LearntFrom, type WrittenCount, writeLearnedIn } from './write-learned.ts'

type Dependencies = LearningStores & { database: Database; timeZone: string }

/** What a text states plainly and is not known yet, ready to be written. */
export async function readPlainly(
  dependencies: Dependencies,
  { userId, text, at }: { userId: string; text: string; at: number },
): Promise<Learned> {
  const { database, facts, timeZone } = dependencies
  const statements = readPlainStatements(text, at, timeZone)
  for (const attribute of statements.multiValued) await facts.declareMultiValued(userId, attribute)
  const learned = await tellNamesakesApart(facts, userId, learnedFrom(statements))
  const fresh = await leaveOutForgotten(database, { userId, saidAt: at }, learned)
  return leaveOutKnown(dependencies, userId, fresh)
}

/** The same, written at once: for a note that was stored on the user's word. It adds to the note and takes nothing away. */
export async function learnPlainly(
  dependencies: Dependencies,
  from: Omit<LearntFrom, 'timeZone'> & { text: string },
): Promise<WrittenCount> {
  const { database, timeZone } = dependencies
  const learned = await readPlainly(dependencies, from)
  if (learned.facts.length + learned.commitments.length + learned.aliases.length === 0) return nothingWritten
  const written = await database.write((writer) => writeLearnedIn(writer, dependencies, { ...from, timeZone }, learned))
  return written.added
}

const nothingWritten: WrittenCount = { notes: 0, facts: 0, commitments: 0, aliases: 0 }
