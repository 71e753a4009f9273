import { dateIn, readCitation, readNoteLines, withoutWrapping } from './notes.ts'
import phrases from './phrases.json' with { type: 'json' }
import { type Ability, afterPhrase, hasWords, type Intent, isPhrase, say } from './sentence.ts'
import type { Texts } from './texts.ts'

const orders = ['remind me', "don't forget to", 'do not forget to', 'remember to', 'set a reminder', 'set reminder']
const joints = ['to', 'that', 'about', 'for']
/** "Remind me what my number is" is a question. */
const questions = ['what', "what's", 'when', 'who', "who's", 'where', 'which', 'how', 'why', 'whether', 'if', 'of']
const tag = 'reminder'
const maxListed = 20
const maxReminderLength = 500

export const reminders: Ability = ({ request, asks }) => {
  if (isPhrase(request, phrases.reminderLists)) return reminderList(withoutOrder)
  const rest = afterPhrase(request, orders)
  if (rest === undefined || afterPhrase(rest, questions) !== undefined) return undefined
  const content = withDigits(asks ? request.replace(/\?+$/, '') : request)
  if (!hasWords(withoutOrder(content))) return say((texts) => texts.nothingToRemind)
  return scheduleIntent(content) ?? noteReminder(content)
}

const clock = String.raw`(?:at )?(?:\d{1,2}(?::\d{2})? ?(?:am|pm)|\d{1,2}:\d{2}|noon|midnight)|at \d{1,2}(?: o['’]clock)?`
const day = String.raw`today|tonight|tomorrow|(?:on |next |this )?(?:mon|tues|wednes|thurs|fri|satur|sun)day|on \d{4}-\d{2}-\d{2}|on \d{1,2} [a-z]{3,9}(?: \d{4})?|on [a-z]{3,9} \d{1,2}(?:, \d{4})?`
const span = String.raw`in (?:an?|\d{1,4}|half an) (?:min(?:ute)?s?|hours?|days?|weeks?)`
const moment = new RegExp(
  String.raw`(?<![\p{L}\d])(?:${span}|(?:${day})(?:,? (?:${clock}))?|(?:${clock})(?:,? (?:${day}))?)(?![\p{L}\d])`,
  'iu',
)

/** "Remind me tomorrow at 9:00 to call Ruth": the text without the time is the reminder. */
function scheduleIntent(content: string): Intent | undefined {
  const when = content.length > maxReminderLength ? undefined : moment.exec(content)?.[0]
  if (when === undefined) return undefined
  const rest = withoutOrder(content.replace(when, ' ').replaceAll(/\s+/g, ' ').trim()).replace(/[\s,.!]+$/, '')
  if (!hasWords(rest)) return say((texts) => texts.nothingToRemind)
  return {
    type: 'call',
    tool: 'schedule_message',
    input: { message: `${dueMark}${rest}`, at: asMoment(when), name: rest.slice(0, 80).toWellFormed() },
    purpose: 'set that reminder',
    answer: (result, texts) =>
      texts.reminderSet(rest, readableMoment(/next ([^;)]+)/.exec(result.text)?.[1], texts) ?? when),
    otherwise: noteReminder(content),
    ifRefused: noteReminder(content),
  }
}

const hours = 'one two three four five six seven eight nine ten eleven twelve'.split(' ')
const spelledHour = new RegExp(
  String.raw`(?<=\bat )(?:${hours.join('|')})(?= o['’]clock| [ap]m\b|,? (?:to|that|about|for|on|today|tomorrow|tonight)\b|[.!]?$)`,
  'gi',
)

/** "At nine to call": the hour in digits. */
function withDigits(text: string): string {
  return text.replace(spelledHour, (hour) => String(hours.indexOf(hour.toLowerCase()) + 1))
}

/** In the scheduler's format. */
function asMoment(when: string): string {
  return when
    .toLowerCase()
    .replace(/\bhalf an hour\b/, '30 minutes')
    .replace(/\bin an? /, 'in 1 ')
    .replace(/ o['’]clock$/, '')
    .replace('noon', '12:00')
    .replace('midnight', '0:00')
    .replace('tonight', 'today at 20:00')
    .replace(/^on /, '')
}

/** "2026-11-18 09:00 Europe/Berlin" in readable form. */
function readableMoment(moment: string | undefined, { language }: Texts): string | undefined {
  const [, date, time, zone] = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}) (\S+)$/.exec(moment ?? '') ?? []
  if (date === undefined) return moment
  const named = zone === 'UTC' ? ' UTC' : ''
  if (language !== 'en') {
    const style = { dateStyle: 'full', timeStyle: 'short', timeZone: 'UTC' } as const
    return `${new Intl.DateTimeFormat(`${language}-u-nu-latn`, style).format(new Date(`${date}T${time}Z`))}${named}`
  }
  const day = new Intl.DateTimeFormat('en-US', { dateStyle: 'full', timeZone: 'UTC' }).format(
    new Date(`${date}T00:00:00Z`),
  )
  return `on ${day} at ${time}${named}`
}

/** The prefix of a due reminder that arrives as a message. */
export const dueMark = 'Remind the user: '

export function dueReminder(words: string): string | undefined {
  return /(?:^|\n)Remind the user: ([^\n]+)/.exec(words)?.[1]
}

/** Stored with "remind me" in front, so that the same words as a fact stay a separate note. */
export function noteReminder(content: string, shown = withoutOrder(content)): Intent {
  return {
    type: 'call',
    tool: 'store_memory',
    input: { content, tags: [tag] },
    purpose: 'save that reminder',
    answer: (result, texts) => texts.reminderNoted(shown, readCitation(result)),
  }
}

/** `shown` cuts the order off: it is stored with it. */
export const reminderList = (shown: (content: string) => string): Intent => ({
  type: 'call',
  tool: 'recall_memory',
  input: { query: tag, limit: maxListed },
  purpose: 'look up your reminders',
  answer(result, texts) {
    const kept = readNoteLines(result).filter((note) => note.tags.includes(tag))
    return scheduledIntent(kept.map((note) => texts.listed(shown(note.text), dateIn(note, texts), note.citation)))
  },
})

/** Those with a time come from the scheduler, the others from the notes. */
function scheduledIntent(noted: readonly string[]): Intent {
  const listed = (lines: readonly string[], texts: Texts) =>
    lines.length === 0 ? texts.noReminders : [texts.reminders, ...lines].join('\n')
  return {
    type: 'call',
    tool: 'list_scheduled',
    input: {},
    purpose: 'look up your reminders',
    answer(result, texts) {
      const due = withoutWrapping(result)
        .split('\n')
        .flatMap((line) => {
          const [, next, message] = /\(next ([^;)]+).*"Remind the user: (.*)"$/.exec(line) ?? []
          return message === undefined
            ? []
            : [`- ${texts.quoted(message)} (${texts.language === 'en' ? next : (readableMoment(next, texts) ?? next)})`]
        })
      return listed([...due, ...noted], texts)
    },
    otherwise: say((texts) => listed(noted, texts)),
    ifRefused: say((texts) => listed(noted, texts)),
  }
}

function withoutOrder(text: string): string {
  const rest = afterPhrase(text, orders) ?? text
  return afterPhrase(rest, joints) ?? rest
}
