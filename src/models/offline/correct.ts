import { hasPlainStatements } from '../../memory/learning/plain-statements.ts'
import { type Ability, type CallIntent, type Intent, say } from './ability.ts'
import { wrongs } from './correction-phrases.ts'
import { readNoteLines } from './note-lines.ts'
import { afterPhrase, hasWords, isPhrase } from './phrase.ts'
import type { Before } from './read-turn.ts'
import { noteIntent } from './remember.ts'
import { listNote } from './tell-note.ts'
import { texts } from './texts.ts'

const denials = ['no', 'nope', 'actually no', 'no actually']
const undoings = [
  ...['undo', 'undo that', 'undo it', 'undo this', '/undo', 'undo the last change', 'bring it back', 'bring that back'],
  ...['put it back', 'take that back', 'restore it', 'restore that'],
]
const longestCorrection = 500

/** "That is wrong: my shoe size is 43." All of the message is the correction. */
export function matchesCorrection(message: string, { cited }: Before): Intent | undefined {
  if (message.length > longestCorrection) return undefined
  const told = afterPhrase(message, wrongs) ?? deniedWith(message, cited)
  if (told === undefined) return undefined
  const content = told.replace(/^[\s.,:;!–—-]+/, '')
  if (!hasWords(content)) return say(texts.correctHow)
  const [id] = cited
  return id === undefined || content.endsWith('?') ? undefined : editCall(id, content)
}

export const undo: Ability = {
  name: 'undo',
  matches({ request }) {
    if (!isPhrase(request, undoings)) return undefined
    return {
      type: 'call',
      tool: 'memory_undo',
      input: {},
      purpose: 'undo that',
      answer: (result) => [texts.undone, ...readNoteLines(result).map((note) => listNote(note))].join('\n'),
      otherwise: say(texts.forget),
    }
  },
}

export function editCall(id: string, content: string): CallIntent {
  return {
    type: 'call',
    tool: 'memory_edit',
    input: { id, content },
    purpose: 'correct that',
    answer: () => texts.corrected(content, `[memory:${id}]`),
    // What cannot be changed in place is told anew: of two that fit, the newer comes first.
    otherwise: noteIntent(content),
    ifRefused: noteIntent(content),
  }
}

/** A plain "no" corrects only what was just answered, and only where it states something. */
function deniedWith(message: string, cited: readonly string[]): string | undefined {
  const told = cited.length > 0 ? afterPhrase(message, denials) : undefined
  return told !== undefined && hasPlainStatements(told) ? told : undefined
}
