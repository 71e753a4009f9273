import { addDays, formatDay, parseDay } from '../../base/clock.ts'
import type { Language } from '../../base/languages.ts'
import { type Foreign, type Heard, hear, hearingIn, plainly, readSubject, trimmed } from './heard.ts'
import { dueMark, noteReminder, reminderList } from './reminders.ts'
import { type Ability, type CallIntent, hasWords, type Intent, say } from './sentence.ts'
import { evaluateSum, formatNumber } from './small-talk.ts'
import { tables } from './texts.ts'

/** The intents that the languages share with English. */
interface Shared {
  note(content: string): CallIntent
  recall(question: string): Intent
  forget(named: string): Intent | undefined
  undo: Intent
  notes: Intent
}

// A longer text is a document, not one of these requests.
const maxLength = 2_000

/** The everyday requests in every language but English, whose forms are wider. */
export function everydayWith(shared: Shared): Ability {
  return ({ text }, { language, now }) => {
    if (language === 'en' || text.length > maxLength) return undefined
    const hearing = hearingIn(language)
    const said = trimmed(hear(text))
    const courtesy = courtesyIn(language, said)
    if (courtesy) return courtesy
    const { text: request, greeted } = hearing.withoutLead(said)
    if (!hasWords(request.plain)) return say((texts) => (greeted ? texts.greeting : texts.allRight), 'courtesy')
    const asked = courtesyIn(language, request)
    if (asked) return asked
    if (hearing.whole('help', request)) return say((texts) => texts.help)
    if (hearing.whole('identity', request)) return say((texts) => texts.identity)
    if (hearing.whole('clock', request)) return now === '' ? undefined : say((texts) => texts.now(nowIn(language, now)))
    if (hearing.whole('connect', request)) return say((texts) => texts.connect)
    const sum = calculateIn(language, request)
    if (sum) return sum
    if (hearing.whole('reminders', request)) return reminderList((content) => contentIn(language, content))
    if (hearing.whole('notes', request)) return shared.notes
    if (hearing.whole('undo', request)) return shared.undo
    const reminder = hearing.open('remind', request)
    if (reminder !== undefined) return remindIn(language, { asked: request.original, said: reminder }, now)
    const about = hearing.open('about', request)
    if (about !== undefined && hasWords(about)) return shared.recall(about)
    const forgotten = hearing.open('forget', request)
    if (forgotten !== undefined) return shared.forget(readSubject(forgotten, language).subject.trim())
    if (/[?？؟]["'”’)!\s]{0,3}$/.test(text.slice(-4)) || hearing.whole('questions', request))
      return shared.recall(request.original)
    const told = hearing.open('remember', request)
    if (told === undefined) return undefined
    return hasWords(told) ? shared.note(told) : say((texts) => texts.nothingToNote)
  }
}

function courtesyIn(language: Foreign, said: Heard): Intent | undefined {
  const hearing = hearingIn(language)
  if (hearing.whole('thanks', said)) return say((texts) => texts.thanks, 'courtesy')
  if (hearing.whole('greetings', said)) return say((texts) => texts.greeting, 'courtesy')
  return hearing.whole('nods', said) ? say((texts) => texts.allRight, 'courtesy') : undefined
}

/** "Sunday, 15 November 2026 at 09:05 (Europe/Malta)", as the context says it, in the language. */
export function nowIn(language: Language, now: string): string {
  const { day, time, zone } = readNow(now) ?? {}
  if (day === undefined || time === undefined) return now
  const style = { dateStyle: 'full', timeStyle: 'short', timeZone: 'UTC' } as const
  const moment = new Intl.DateTimeFormat(`${language}-u-nu-latn`, style).format(new Date(`${day}T${time}:00Z`))
  return `${moment} (${zone})`
}

const monthNames = 'january february march april may june july august september october november december'.split(' ')

function readNow(now: string): { day: string; time: string; zone: string } | undefined {
  const [, number = '', name = '', year, time, zone] =
    /(\d{1,2}) ([A-Z][a-z]+) (\d{4}) at (\d{2}:\d{2}) \(([^)]+)\)$/.exec(now) ?? []
  const month = monthNames.indexOf(name.toLowerCase()) + 1
  if (year === undefined || time === undefined || zone === undefined || month === 0) return undefined
  return { day: `${year}-${two(month)}-${two(Number(number))}`, time, zone }
}

function two(number: number): string {
  return String(number).padStart(2, '0')
}

const maxExpressionLength = 200

/** "Wie viel ist 12 mal 3?", "80的17%是多少？" */
export function calculateIn(language: Foreign, { original, plain: said }: Heard): Intent | undefined {
  if (said.length > maxExpressionLength || !/\d/.test(said)) return undefined
  const { sums, ...table } = tables[language]
  const spaces = 'isUnspaced' in table ? ' *' : ' +'
  const form = (source: string) => new RegExp(plainly(source), 'giu')
  const word = (source: string) => form(`(?<=[\\d)%])${spaces}(?:${source})${spaces}(?=[\\d(.-])`)
  const shown = said
    .replace(new RegExp(`^(?:${plainly(sums.asked)})`, 'iu'), '')
    .replace(new RegExp(`(?:${plainly(sums.askedEnd || '(?!)')})$`, 'iu'), '')
    .replace(/[=\s]+$/, '')
  const percent =
    'ofPercent' in sums ? shown.replace(form(`([\\d.,]+) ?(?:${sums.ofPercent})([\\d.,]+) ?%`), '$2% * $1') : shown
  const expression = (sums.decimalComma ? withPoints(percent) : percent.replaceAll(/(\d),(?=\d{3}(?!\d))/g, '$1'))
    .replace(form(`(?<=\\d) ?(?:${sums.percentOf}) ?(?=[\\d(])`), '% * ')
    .replace(word(sums.times), ' * ')
    .replace(word(sums.over), ' / ')
    .replace(word(sums.plus), ' + ')
    .replace(word(sums.minus), ' - ')
    .replaceAll(/[×·]/g, '*')
    .replaceAll('÷', '/')
    .replaceAll('−', '-')
    .replaceAll('٪', '%')
  if (!/[-+*/^%]/.test(expression)) return undefined
  const value = evaluateSum(expression)
  if (value === undefined) return undefined
  const start = said.indexOf(shown)
  const asked = original.slice(start, start + shown.length).trim()
  const digits = formatNumber(value)
  return say((texts) => texts.calculated(asked, sums.decimalComma ? digits.replace('.', ',') : digits))
}

/** 1.500,75 as 1500.75. A point before three digits divides thousands. */
function withPoints(text: string): string {
  return text.replaceAll(/(\d)\.(?=\d{3}(?!\d))/g, '$1').replaceAll(/(\d),(?=\d)/g, '$1.')
}

const weekdays = 'sunday monday tuesday wednesday thursday friday saturday'.split(' ')
const units = ['minutes', 'hours', 'days', 'weeks'] as const

interface Times {
  span: RegExp
  halfHour: RegExp
  clock: RegExp
  date: RegExp | undefined
  days: { plus: number; pattern: RegExp }[]
  weekdays: RegExp[]
  parts: [string, RegExp][]
  months: RegExp[]
  numbers: RegExp[]
  two: readonly (readonly [string, RegExp])[]
  lead: RegExp
  tail: RegExp
}

const compiled = new Map<Foreign, Times>()

function timesIn(language: Foreign): Times {
  const known = compiled.get(language)
  if (known) return known
  const { times, ...table } = tables[language]
  const isUnspaced = 'isUnspaced' in table
  const whole = (source: string) => new RegExp(`^(?:${plainly(source)})$`, 'iu')
  const form = (source: string) => {
    const named = source.replaceAll('NUMBER', times.numbers.join('|')).replaceAll('MONTH', times.months.join('|'))
    // A name may stand in several places: each gets a number, which `groupsOf` removes.
    const [first, ...groups] = plainly(named).split(/\(\?<(?=[a-z])/)
    const inside = `(?:${[first, ...groups.map((group, at) => `(?<_${at}_${group}`)].join('')})`
    return new RegExp(isUnspaced ? inside : `(?<![\\p{L}\\p{N}])${inside}(?![\\p{L}\\p{N}])`, 'iu')
  }
  const read = {
    span: form(times.span),
    halfHour: form(times.halfHour),
    clock: form(times.clock),
    date: form(times.date),
    // The longest first: "pasado mañana" contains "mañana".
    days: Object.entries(times.days)
      .map(([plus, source]) => ({ plus: Number(plus), pattern: form(source) }))
      .toSorted((one, other) => other.plus - one.plus),
    weekdays: times.weekdays.map(form),
    parts: Object.entries(times.parts).map(([part, source]) => [part, form(source)] as [string, RegExp]),
    months: times.months.map(whole),
    numbers: times.numbers.map(whole),
    two: Object.entries('two' in times ? times.two : {}).map(([unit, source]) => [unit, whole(source)] as const),
    lead: new RegExp(`^(?:${plainly(times.lead)})${isUnspaced ? '\\s*' : "(?:[\\s,]+|(?<='))"}`, 'iu'),
    tail: new RegExp(`${isUnspaced ? '' : '\\s'}(?:${plainly(times.tail)})$`, 'iu'),
  }
  compiled.set(language, read)
  return read
}

/** The moment in a text in the scheduler's words, and the text without it. */
export function readMomentIn(language: Foreign, said: string, now: string): { at?: string; rest: string } {
  const times = timesIn(language)
  let { original, plain } = hear(said)
  const take: Take = (form) => {
    const found = form.exec(plain)
    if (!found) return undefined
    const end = found.index + found[0].length
    original = `${original.slice(0, found.index)} ${original.slice(end)}`
    plain = `${plain.slice(0, found.index)} ${plain.slice(end)}`
    return groupsOf(found)
  }
  const at = readSpan(times, take) ?? readDay(times, take, readNow(now)?.day)
  return { ...(at !== undefined && { at }), rest: withoutJoints(times, original.replaceAll(/\s+/g, ' ').trim()) }
}

type Groups = Record<string, string | undefined>
type Take = (form: RegExp) => Groups | undefined

function groupsOf({ groups = {} }: RegExpExecArray): Groups {
  const found = Object.entries(groups).filter(([, text]) => text !== undefined)
  return Object.fromEntries(found.map(([name, text]) => [name.replace(/^_\d+_/, ''), text]))
}

function readSpan(times: Times, take: Take): string | undefined {
  if (take(times.halfHour)) return 'in 30 minutes'
  const groups = take(times.span)
  if (!groups) return undefined
  const pair = groups.two === undefined ? undefined : times.two.find(([, form]) => form.test(groups.two ?? ''))?.[0]
  if (pair !== undefined) return `in 2 ${pair}`
  const unit = units.find((name) => groups[name] !== undefined)
  return unit && `in ${groups.n === undefined ? 1 : numberIn(times, groups.n)} ${unit}`
}

function readDay(times: Times, take: Take, today: string | undefined): string | undefined {
  // The time comes first: "a las 9 de la mañana" names no day.
  const clock = take(times.clock)
  const date = times.date && take(times.date)
  const near = date ? undefined : times.days.find(({ pattern }) => take(pattern))
  const weekday = date || near ? -1 : times.weekdays.findIndex((form) => take(form))
  const part = times.parts.find(([, form]) => take(form))?.[0]
  const day = date ? dateOf(times, date) : near ? nearDay(near.plus, today) : weekdays[weekday]
  const time = clock && clockOf(times, clock, part)
  if (day === undefined && time === undefined && part === undefined) return undefined
  if (time !== undefined) return [day, `at ${time}`].filter(Boolean).join(' ')
  return part === undefined ? day : `${day ?? 'today'} ${part}`
}

function nearDay(plus: number, today: string | undefined): string | undefined {
  if (plus < 2) return plus === 0 ? 'today' : 'tomorrow'
  const day = today === undefined ? undefined : parseDay(today)
  return day && formatDay(addDays(day, plus))
}

function dateOf(times: Times, { d = '', m, name, y }: Groups): string | undefined {
  const month = m === undefined ? times.months.findIndex((form) => form.test(name ?? '')) : Number(m) - 1
  const named = monthNames[month]
  return named && [Number(d), named, y].filter((word) => word !== undefined).join(' ')
}

function clockOf(times: Times, given: Groups, part: string | undefined): string {
  if (given.noon !== undefined) return '12:00'
  if (given.midnight !== undefined) return '0:00'
  const named = numberIn(times, given.h ?? '')
  const isLater = given.pm !== undefined || (given.am === undefined && (part === 'afternoon' || part === 'evening'))
  const hour = isLater && named < 12 ? named + 12 : named
  const minute = given.half !== undefined ? 30 : given.quarter !== undefined ? 15 : Number(given.min ?? 0)
  return `${hour}:${two(minute)}`
}

function numberIn({ numbers }: Times, said: string): number {
  return /^\d/.test(said) ? Number(said) : numbers.findIndex((form) => form.test(said)) + 1
}

/** "daran, Ruth anzurufen" is "Ruth anzurufen". */
function withoutJoints({ lead, tail }: Times, text: string): string {
  let rest = text
  for (let round = 0; round < 3; round += 1) {
    const before = rest
    rest = rest.replace(/^[\s,:;،，、]+|[\s,:;.!،，、。！]+$/gu, '')
    const plain = plainly(rest)
    const start = lead.exec(plain)?.[0].length ?? 0
    const end = tail.exec(plain.slice(start))?.[0].length ?? 0
    // The rest must still contain words.
    if (hasWords(rest.slice(start, rest.length - end))) rest = rest.slice(start, rest.length - end)
    if (rest === before) break
  }
  return rest.trim()
}

/** "Erinnere mich morgen um 9 daran, Ruth anzurufen": the text without the time is the reminder. */
function remindIn(language: Foreign, { asked, said }: { asked: string; said: string }, now: string): Intent {
  if (!hasWords(said)) return say((texts) => texts.nothingToRemind)
  const { at, rest } = readMomentIn(language, said, now)
  if (!hasWords(rest)) return say((texts) => texts.nothingToRemind)
  const noted = noteReminder(asked, rest)
  if (at === undefined) return noted
  return {
    type: 'call',
    tool: 'schedule_message',
    input: { message: `${dueMark}${rest}`, at, name: rest.slice(0, 80).toWellFormed() },
    purpose: 'set that reminder',
    answer: (result, texts) => texts.reminderSet(rest, momentIn(language, result.text) ?? at),
    otherwise: noted,
    ifRefused: noted,
  }
}

/** "next 2026-11-18 09:00 Europe/Berlin" in the language. */
function momentIn(language: Language, text: string): string | undefined {
  const [, date, time, zone] = /next (\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}) ([^;)\s]+)/.exec(text) ?? []
  if (date === undefined || time === undefined) return undefined
  const style = { dateStyle: 'full', timeStyle: 'short', timeZone: 'UTC' } as const
  const moment = new Intl.DateTimeFormat(`${language}-u-nu-latn`, style).format(new Date(`${date}T${time}:00Z`))
  return zone === 'UTC' ? `${moment} UTC` : moment
}

/** A kept reminder without the words that ordered it. */
function contentIn(language: Foreign, kept: string): string {
  const said = trimmed(hear(kept.slice(0, maxLength)))
  return hearingIn(language).open('remind', said) ?? said.original
}
