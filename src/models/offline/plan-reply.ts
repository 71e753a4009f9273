import type { MediaPart } from '../../protocol/message.ts'
import { type Ability, type Intent, say } from './ability.ts'
import { matchesApproval } from './approve.ts'
import { askByDate } from './ask-by-date.ts'
import { askFacts } from './ask-facts.ts'
import { askPeople } from './ask-people.ts'
import { confirm } from './confirm.ts'
import { matchesCorrection, undo } from './correct.ts'
import { forget } from './forget.ts'
import { listNotes } from './list-notes.ts'
import { hasWords } from './phrase.ts'
import { promises } from './promises.ts'
import { type Before, nothingBefore } from './read-turn.ts'
import { recall } from './recall.ts'
import { matchesWholeNote, remember } from './remember.ts'
import { reminders } from './reminders.ts'
import { readSentences, type Sentence } from './sentence.ts'
import { smallTalk } from './small-talk.ts'
import { status } from './status.ts'
import { quote, texts } from './texts.ts'
import { matchesToolRun, useWeb } from './use-tool.ts'

// The first that matches takes the sentence: narrow forms come before wide ones, and any question at all comes last.
const abilities: readonly Ability[] = [
  confirm,
  smallTalk,
  status,
  useWeb,
  undo,
  forget,
  reminders,
  listNotes,
  promises,
  remember,
  askPeople,
  askFacts,
  askByDate,
  recall,
]
const mostIntents = 8
const looksUp = ['recall_memory', 'memory_query']

/** What the user's message asks for, in its order. Never empty. */
export function planReply(message: { words: string; files: readonly MediaPart[]; before?: Before }): Intent[] {
  const { words, files, before = nothingBefore } = message
  const isEmpty = !hasWords(words)
  if (files.length === 0 && isEmpty) return [say(texts.nothingSaid)]
  const intents = isEmpty ? [] : readIntents(words, before)
  if (files.length === 0) return tidy(intents)
  // A question beside a file is most likely about the file, which nobody here can look into.
  const others = intents.filter((intent) => intent.type === 'call' && !looksUp.includes(intent.tool))
  return [say(texts.files(nameFiles(files))), ...others]
}

function readIntents(words: string, before: Before): Intent[] {
  const approval = matchesApproval(words, before)
  if (approval) return approval
  const whole = matchesWholeNote(words) ?? matchesToolRun(words) ?? matchesCorrection(words, before)
  if (whole) return [whole]
  const intents: Intent[] = []
  for (const sentence of readSentences(words)) {
    const intent = matchSentence(sentence, before)
    const last = intents.at(-1)
    if (intent) intents.push(intent)
    else if (last?.type === 'call' && last.extend) intents[intents.length - 1] = last.extend(sentence)
    else intents.push({ type: 'say', kind: 'unknown', text: sentence.text })
  }
  return intents
}

function matchSentence(sentence: Sentence, before: Before): Intent | undefined {
  for (const ability of abilities) {
    const intent = ability.matches(sentence, before)
    if (intent) return intent
  }
  return undefined
}

function tidy(intents: readonly Intent[]): Intent[] {
  const wanted = intents.filter((intent) => intent.type === 'call' || intent.kind === 'answer')
  const unknown = intents.filter((intent) => intent.type === 'say' && intent.kind === 'unknown')
  if (wanted.length === 0) return unknown.length > 0 ? [say(texts.unknown)] : intents.slice(0, 1)
  const kept = wanted.slice(0, mostIntents)
  if (wanted.length > kept.length) kept.push(say(texts.tooMuch(mostIntents)))
  const [strange] = unknown
  if (strange?.type === 'say') kept.push(say(texts.alsoUnknown(strange.text)))
  return kept
}

const mostNames = 10

function nameFiles(files: readonly MediaPart[]): string {
  const names = files.slice(0, mostNames).map((file) => quote(file.name || file.mediaType))
  const rest = files.length > mostNames ? ` and ${files.length - mostNames} more files` : ''
  return `${names.join(', ')}${rest}`
}
