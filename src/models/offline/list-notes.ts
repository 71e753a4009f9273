import type { Ability, Intent } from './ability.ts'
import { readNoteLines } from './note-lines.ts'
import { isPhrase } from './phrase.ts'
import { texts } from './texts.ts'

const things = ['my notes', 'my memories', 'notes', 'memories', 'all my notes', 'all notes', 'everything you know']
const forms = [
  ...things,
  ...['list', 'show', 'show me', 'what are', 'give me'].flatMap((verb) => things.map((thing) => `${verb} ${thing}`)),
  ...['what do you know', 'what do you remember', 'what have i told you', 'what did i tell you'].flatMap((question) => [
    question,
    `${question} about me`,
    `${question} so far`,
  ]),
  'tell me about me',
  'tell me what you know about me',
  'what do you have noted',
  '/notes',
  '/memory',
]
const mostListed = 20

export const listNotes: Ability = {
  name: 'list notes',
  matches: ({ request }) => (isPhrase(request, forms) ? listIntent : undefined),
}

const listIntent: Intent = {
  type: 'call',
  tool: 'recall_memory',
  // An empty query lists the newest.
  input: { query: '', limit: mostListed },
  purpose: 'look up your notes',
  answer(result) {
    const notes = readNoteLines(result)
    if (notes.length === 0) return texts.noNotes
    return [texts.notes, ...notes.map((note) => texts.listed(note.text, note.date, note.citation))].join('\n')
  },
}
