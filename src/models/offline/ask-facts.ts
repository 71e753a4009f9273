import { readDates } from '../../memory/recall/read-dates.ts'
import type { ToolResult } from '../../protocol/message.ts'
import type { Ability } from './ability.ts'
import { bestNotes } from './best-notes.ts'
import type { NoteLine } from './note-lines.ts'
import { readQueryAnswer } from './query-answer.ts'
import { type FactQuestion, readFactQuestion } from './read-fact-question.ts'
import { answerFrom, asQuery, recallIntent } from './recall.ts'
import { listNote, tellNote } from './tell-note.ts'
import { texts } from './texts.ts'

/** "When is Anna's birthday?", "Where do I live?", "What was my address before?": answered from facts, else from notes. */
export const askFacts: Ability = {
  name: 'ask facts',
  matches({ request, asks, bids }) {
    if (bids || (!asks && !/^(?:what|when|where|who|which|how)\b/i.test(request))) return undefined
    const question = readFactQuestion(request)
    if (!question) return undefined
    const { about, attributes, history } = question
    const words = asQuery(request)
    const hasDate = readDates(request, 0, 'UTC') !== undefined
    return {
      type: 'call',
      tool: 'memory_query',
      input: {
        about,
        attributes: [...attributes],
        words,
        ...(history && { history }),
        ...(hasDate && { when: words }),
      },
      purpose: 'look into your notes',
      answer: (result) => answerFact(result, question, words),
      otherwise: recallIntent(request),
      ifRefused: recallIntent(request),
    }
  },
}

function answerFact(result: ToolResult, { history }: FactQuestion, words: string): string {
  const { exact, byWords } = readQueryAnswer(result)
  const facts = history ? exact.filter((fact) => fact.until !== undefined) : exact
  if (facts.length === 0) return answerFrom(byWords, words)
  return [...facts.map((fact) => tellNote(fact)), ...(history ? [] : toldSince(facts, byWords, words))].join('\n')
}

/** Told since, and not yet read as a fact: the user should see both. */
function toldSince(facts: readonly NoteLine[], notes: readonly NoteLine[], words: string): string[] {
  const newest =
    facts
      .map((fact) => fact.day)
      .toSorted()
      .at(-1) ?? ''
  const newer = bestNotes(notes, words).filter(
    ({ note, isFull }) => isFull && note.kind === 'note' && note.day > newest,
  )
  return newer.length === 0 ? [] : [texts.newer, ...newer.map(({ note, passage }) => listNote(note, passage))]
}
