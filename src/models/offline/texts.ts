import type { Language } from '../../base/languages.ts'
import { cutText } from '../../base/text.ts'
import ar from './languages/ar.json' with { type: 'json' }
import de from './languages/de.json' with { type: 'json' }
import es from './languages/es.json' with { type: 'json' }
import fr from './languages/fr.json' with { type: 'json' }
import ja from './languages/ja.json' with { type: 'json' }
import zh from './languages/zh.json' with { type: 'json' }

const connect =
  'To connect a model, run `familiar setup` in a terminal on this machine, or set ANTHROPIC_API_KEY or another provider’s ' +
  'key, or start Ollama. It is used from the next message on.'

/** The texts and the forms of each language other than English: one file per language. */
export const tables = { de, es, fr, zh, ja, ar }

/** All English texts of the offline model in one place, so that they have one voice: plain, short, honest. */
export const english = {
  connect,
  calculated: (expression: string, value: string) => `${expression} = ${value}`,
  now: (now: string) => `It is ${now}.`,

  help: [
    'I work without a language model, by simple rules. I can:',
    '- Remember: “Remember that I am allergic to shellfish”, “My sister’s birthday is 5 May”',
    '- Recall, with the note it comes from: “What am I allergic to?”, “What do you know about me?”',
    '- Look up facts, people, promises and days: “When is Anna’s birthday?”, “What do I still owe my sister?”, “What did I tell you last week?”',
    '- Correct: “That is wrong: …”, “Forget my note about …”, “Undo that”',
    '- Remind you: “Remind me tomorrow at 9:00 to call the dentist”, “What are my reminders?”',
    '- Calculate and tell the time: “What is 17% of 80?”, “What time is it?”',
    '- List your notes, show my status and what I cost: “List my notes”, “Status”',
    '- Use tools: “Fetch https://example.com”, “Search the web for …”, “Run the tool NAME with city Valletta, days 3”',
    `For everything else I need a language model. ${connect}`,
  ].join('\n'),

  greeting: 'Hello! Tell me something to remember, or ask about things you have told me. “Help” shows what I can do.',
  thanks: 'You are welcome.',
  allRight: 'All right.',
  identity:
    'I am Familiar, your personal agent. No language model is set up or reachable right now, so I answer by simple ' +
    'rules: I remember, recall with the source, and tell my status. “Help” shows how.',
  nothingSaid: 'Your message contains no words. “Help” shows what I can do.',

  unknown: `I need a language model for that, and none is connected. ${connect} “Help” shows what I can do without one.`,
  alsoUnknown: (sentence: string) => `Without a language model I did not understand ${quoteEnding(sentence)}`,
  tooMuch: (done: number) => `I handled the first ${done} parts of that message. Please send the rest again.`,

  noted: (content: string, citation: string) => `Noted: ${quoteEnding(content)} ${citation}`,
  knownAlready: (content: string, date: string, citation: string) =>
    `I have had that since ${date}: ${quoteEnding(content)} ${citation}`,
  onlyKept: 'I will remember it and find it again. To talk about it in your language, I need a language model.',
  nothingToNote: 'What should I remember? For example: “Remember that I am allergic to shellfish”.',

  reminderSet: (content: string, when: string) => `I will remind you ${when}: ${quoteEnding(content)}`,
  reminderDue: (content: string) => `Reminder: ${content}`,
  reminderNoted: (content: string, citation: string) =>
    `Saved without a time: ${quoteEnding(content)} ${citation}\n` +
    'Say when, and I will remind you: “Remind me tomorrow at 9:00 to …”.',
  nothingToRemind: 'What should the reminder say? For example: “Remind me to call the dentist”.',
  reminders: 'Your reminders:',
  noReminders: 'You have no reminders. “Remind me to …” creates one.',

  toldOn: (content: string, date: string, citation: string) =>
    `You told me on ${date}: ${quoteEnding(content)} ${citation}`,
  closest: (content: string, date: string, citation: string) =>
    `Closest match, from ${date}: ${quoteEnding(content)} ${citation}`,
  closestOnes: 'I found no exact match. Closest notes:',
  also: 'Also:',
  newer: 'Told since:',
  fact: (sentence: string, date: string, citation: string) => `${sentence}. (Known since ${date}.) ${citation}`,
  history: (sentence: string, until: string, citation: string) =>
    `Until ${until}: ${quoteEnding(sentence)} ${citation}`,
  fileSays: (passage: string, place: string, citation: string) => `${place} says: ${quoteEnding(passage)} ${citation}`,
  iSaid: (passage: string, date: string, citation: string) => `I said on ${date}: ${quoteEnding(passage)} ${citation}`,
  untrusted: (passage: string, source: string, citation: string) =>
    `Not from you, untrusted (${source}): ${quoteEnding(passage)} ${citation}`,
  fromOthers: 'not your words',
  counted: (count: number, names: readonly string[]) => `${count}, as far as I know: ${names.join(', ')}`,
  fromThen: 'From that time I have:',
  nothingThen: 'I have nothing from that time.',

  promise: (sentence: string, due: string, citation: string) =>
    due === '' || due === 'open' ? `${sentence}. ${citation}` : `${sentence} (${due}). ${citation}`,
  promises: 'What is open:',
  noPromises: 'I know of nothing open.',
  noSuchPromise: 'I know of no open promise like that. “What have I promised?” lists them.',
  whichPromise: 'Which one? Please be more specific:',
  promiseClosed: (state: string, lines: readonly string[]) => [`Now ${state}:`, ...lines].join('\n'),

  listed: (content: string, date: string, citation: string) => `- ${quote(content)} (${date}) ${citation}`,
  notes: 'Your newest notes:',
  noNotes: 'You have no notes yet. Tell me something: “Remember that …”.',
  nothingFound: `I know nothing about that. Tell me (“Remember that …”), or connect a model for general questions. ${connect}`,

  forget:
    'I cannot delete a note from here; nothing was changed. If a note is wrong, tell me the correct version: of two notes that ' +
    'match, the newer comes first.',
  forgetWhat: 'What should I forget? For example: “Forget my note about the dentist”, or “Forget [memory:…]”.',
  forgetWhich: 'Several notes match. Say “forget” and the [memory:…] of one:',
  nothingJustSo: 'I found no exact match; nothing was changed. Closest notes (say “forget” and the [memory:…] of one):',
  nothingToForget: 'I have no note about that; nothing was changed.',
  forgetEverything: (about: string) =>
    'I can only forget one note at a time here; nothing was changed. To erase everything about a subject, run ' +
    `\`familiar memory forget --everything about ${quote(about)}\`, on the machine where I am installed.`,
  forgotten: (citation: string) => `Forgotten. ${citation} You can say “Undo that” for 30 days.`,
  undone: 'Restored:',
  corrected: (content: string, citation: string) =>
    `Corrected: ${quoteEnding(content)} ${citation} “Undo that” reverts it.`,
  correctHow: 'What is correct? Say “That is wrong: …”, or “Forget that”.',
  done: 'Done.',
  hereItIs: 'Here it is.',
  leftAsIs: 'All right, nothing was changed.',

  files: (names: string) => `I stored ${names}. I cannot read files without a language model. ${connect}`,

  noSuchTool: (name: string) => `There is no tool named ${quote(name)}. \`familiar tools list\` lists the tools.`,
  toolNeeds: (name: string, missing: readonly string[]) =>
    `${name} needs ${missing.join(', ')}. Say “Run the tool ${name} with ${missing.map((one) => `${one} …`).join(', ')}”.`,
  toolMissing: (purpose: string) => `I could not ${purpose}: the tool for it is not available here.`,
  toolFailed: (purpose: string, reason: string) => `I could not ${purpose}: ${reason}`,
  outcomeUnknown: (purpose: string) =>
    `I was interrupted when I tried to ${purpose}, so I do not know whether it happened. Ask me to list your notes, ` +
    'or say it again: nothing is stored twice.',
}

const maxQuoteLength = 300

/** The user's own words, never rewritten; a long text is shortened and says so. */
function quote(text: string): string {
  return `“${oneLine(text)}”`
}

function oneLine(text: string): string {
  const line = text
    .slice(0, maxQuoteLength * 4)
    .trim()
    .replaceAll(/\s+/g, ' ')
  return line.length > maxQuoteLength ? `${cutText(line, maxQuoteLength)} …` : line
}

function quoteEnding(text: string): string {
  return /[.!?…。！？]$/.test(text.trim()) ? quote(text) : `${quote(text)}.`
}

export type Texts = typeof english & {
  language: Language
  /** `2026-11-15` as a date of the language. */
  dateOf(day: string): string | undefined
  quoted(text: string): string
}

const monthNames = 'January February March April May June July August September October November December'.split(' ')

/** `15 November 2026` */
function englishDate(day: string): string | undefined {
  const [year, month, number] = day.split('-')
  const name = monthNames[Number(month) - 1]
  return name === undefined ? undefined : `${Number(number)} ${name} ${year}`
}

const made = new Map<Language, Texts>()

/** The texts in a language. One that a table lacks is English. */
export function textsOf(language: Language): Texts {
  const known = made.get(language)
  if (known) return known
  const texts = language === 'en' ? { ...english, language, dateOf: englishDate, quoted: quote } : translated(language)
  made.set(language, texts)
  return texts
}

export const inEnglish = textsOf('en')

function translated(language: Exclude<Language, 'en'>): Texts {
  const { texts: told, quotes, stop } = tables[language]
  const [opening = '“', closing = '”'] = quotes
  const quoted = (text: string) => `${opening}${oneLine(text)}${closing}`
  const ended = (text: string) => `${quoted(text)}${/[.!?…。！？؟]$/.test(text.trim()) ? '' : stop}`
  const format = new Intl.DateTimeFormat(`${language}-u-nu-latn`, { dateStyle: 'long', timeZone: 'UTC' })
  /** `{1}` is the first argument, `{q1}` the same in quotes. */
  const fill = (template: string, given: readonly unknown[]) =>
    template.replaceAll(/\{(q?)(\d)\}/g, (_, isQuoted: string, place: string) => {
      const text = String(given[Number(place) - 1] ?? '')
      return isQuoted ? ended(text) : text
    })
  const templates = new Map(
    Object.entries(told).map(([name, text]) => {
      return [
        name,
        (Array.isArray(text) ? text.join('\n') : String(text)).replaceAll('{connect}', told.connect),
      ] as const
    }),
  )
  const own = Object.entries(english).flatMap(([name, original]) => {
    const template = templates.get(name)
    if (template === undefined) return []
    const text = typeof original === 'string' ? template : (...given: unknown[]) => fill(template, given)
    return [[name, text] as const]
  })
  return {
    ...english,
    ...(Object.fromEntries(own) as Partial<typeof english>),
    calculated: (expression, value) => `${expression} = ${value}`,
    listed: (content, date, citation) => `- ${quoted(content)} (${date}) ${citation}`,
    language,
    dateOf: (day) => (/^\d{4}-\d{2}-\d{2}$/.test(day) ? format.format(new Date(`${day}T00:00:00Z`)) : undefined),
    quoted,
  }
}
