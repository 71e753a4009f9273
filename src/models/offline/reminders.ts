import type { Ability, Intent } from './ability.ts'
import { readCitation, readNoteLines } from './note-lines.ts'
import { afterPhrase, hasWords, isPhrase } from './phrase.ts'
import { texts } from './texts.ts'

const orders = ['remind me', "don't forget to", 'do not forget to', 'remember to', 'set a reminder', 'set reminder']
const joints = ['to', 'that', 'about', 'for']
/** "Remind me what my number is" wants to know. */
const questions = ['what', "what's", 'when', 'who', "who's", 'where', 'which', 'how', 'why', 'whether', 'if', 'of']
const lists = [
  'what are my reminders',
  'what reminders do i have',
  'what do i have to do',
  'what should i not forget',
  'list my reminders',
  'list reminders',
  'show my reminders',
  'show me my reminders',
  'my reminders',
  'reminders',
  'do i have reminders',
  'do i have any reminders',
  'any reminders',
]
const tag = 'reminder'
const mostListed = 20

export const reminders: Ability = {
  name: 'reminders',
  matches({ request, asks }) {
    if (isPhrase(request, lists)) return listIntent
    const rest = afterPhrase(request, orders)
    if (rest === undefined || afterPhrase(rest, questions) !== undefined) return undefined
    const content = asks ? request.replace(/\?+$/, '') : request
    return hasWords(withoutOrder(content)) ? noteIntent(content) : askWhat
  },
}

/** Stored as told, with "remind me" in front, so that the same words told as a fact stay a note of their own. */
function noteIntent(content: string): Intent {
  return {
    type: 'call',
    tool: 'store_memory',
    input: { content, tags: [tag] },
    purpose: 'save that reminder',
    answer: (result) => texts.reminderNoted(withoutOrder(content), readCitation(result)),
  }
}

const listIntent: Intent = {
  type: 'call',
  tool: 'recall_memory',
  input: { query: tag, limit: mostListed },
  purpose: 'look up your reminders',
  answer(result) {
    const kept = readNoteLines(result).filter((note) => note.tags.includes(tag))
    if (kept.length === 0) return texts.noReminders
    const lines = kept.map((note) => texts.listed(withoutOrder(note.text), note.date, note.citation))
    return [texts.reminders, ...lines].join('\n')
  },
}

const askWhat: Intent = { type: 'say', kind: 'answer', text: texts.nothingToRemind }

function withoutOrder(text: string): string {
  const rest = afterPhrase(text, orders) ?? text
  return afterPhrase(rest, joints) ?? rest
}
