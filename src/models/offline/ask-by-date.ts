import { contentWords } from '../../memory/content-words.ts'
import { readDates } from '../../memory/recall/read-dates.ts'
import type { ToolResult } from '../../protocol/message.ts'
import type { Ability, Intent } from './ability.ts'
import { bestNotes } from './best-notes.ts'
import { readNoteLines } from './note-lines.ts'
import { readQueryAnswer } from './query-answer.ts'
import { answerFrom, asQuery, readQuery, recallIntent } from './recall.ts'
import { listNote } from './tell-note.ts'
import { texts } from './texts.ts'

// Words of asking and of time: what is left says what was talked about.
const setAside = new Set(
  `anything ago april august date day days december decide decided decision discuss discussed evening everything february
  friday happen happened happening january july june last march may me mention mentioned monday month months morning new
  next night november october past plan planned said saturday say september since something speak spoke sunday talk talked
  tell thursday today tonight tuesday wednesday week weekend weeks write wrote year years yesterday this`.split(/\s+/),
)

/** "What did I tell you last week?", "What did we decide about the kitchen in May?" */
export const askByDate: Ability = {
  name: 'ask by date',
  matches(sentence) {
    const question = readQuery(sentence)
    if (question === undefined || question.length > 400 || !readDates(sentence.request, 0, 'UTC')) return undefined
    const words = contentWords(question).filter((word) => !setAside.has(word) && !/^\d+(?:st|nd|rd|th)?$/.test(word))
    return {
      type: 'call',
      tool: 'memory_query',
      input: { when: asQuery(sentence.request), ...(words.length > 0 && { words: words.join(' ') }) },
      purpose: 'look into what was said then',
      answer: (result) => answerThen(result, sentence.request),
      otherwise: recallIntent(question),
      ifRefused: recallIntent(question),
    }
  },
}

function answerThen(result: ToolResult, question: string): string | Intent {
  const { exact } = readQueryAnswer(result)
  if (exact.length === 0) return elsewhere(question)
  const passages = new Map(bestNotes(exact, question).map(({ note, passage }) => [note.id, passage]))
  return [texts.fromThen, ...exact.map((note) => listNote(note, passages.get(note.id)))].join('\n')
}

/** Nothing of that time: what is known of it at all. */
function elsewhere(question: string): Intent {
  const intent = recallIntent(question)
  return {
    ...intent,
    answer(result) {
      const notes = readNoteLines(result)
      return notes.length === 0 ? texts.nothingThen : `${texts.nothingThen} ${answerFrom(notes, question)}`
    },
  }
}
