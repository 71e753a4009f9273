import { type Prose, proseOf } from './prose-of.ts'
import { isTest, type Report, type SourceFiles } from './source-files.ts'

/**
 * Folders and files that are not yet in plain English (docs/glossary.md). The list only shrinks: remove an entry when
 * its files are clean; the check names such entries.
 */
const unconverted: readonly string[] = []

/** Text that users type, or in other languages: its words are data. */
const dataFiles: readonly string[] = [
  'src/models/offline/',
  'src/security/spoken-answer.ts',
  'src/memory/learning/plain-statements.ts',
  'src/memory/words.ts',
  ...['de', 'es', 'fr', 'zh', 'ja', 'ar'].flatMap((code) => [`web/src/strings/${code}.ts`, `web/src/strings/${code}/`]),
  'bench/capability-search/distractor-samples.ts',
  'bench/measure-voice.ts',
]

interface Discouraged {
  pattern: RegExp
  instead: string
}

const discouraged: readonly Discouraged[] = [
  { pattern: /\bwhoever\b/i, instead: 'the caller, the owner, "anyone who"' },
  { pattern: /\banew\b/i, instead: 'again' },
  { pattern: /\bin vain\b/i, instead: 'without success, failed' },
  { pattern: /\bfor ever\b/i, instead: 'forever, without end, permanently' },
  { pattern: /\bnobody\b/i, instead: 'no user, no one, none' },
  { pattern: /\bmend(?:s|ed|ing)?\b/i, instead: 'repair, fix' },
  {
    pattern: /\b(?:is|are|was|were|be|been|being|and|or|not) told\b|\btold (?:apart|as|by)\b/i,
    instead: 'reported, named',
  },
  { pattern: /\b(?:thereof|hereby|thereby)\b/i, instead: 'a plain sentence' },
  { pattern: /\bas it comes\b/i, instead: 'as it arrives' },
  { pattern: /\bdearest\b|\bdearer\b/i, instead: 'most expensive, more expensive' },
  { pattern: /\b(?:the|a|their) (?:user|owner)['’]s word\b(?! for word)/i, instead: 'approval' },
  { pattern: /\b(?:words?|texts?) of others\b|\bothers['’] words\b/i, instead: 'untrusted text' },
  { pattern: /\bforeign (?:text|words|html|skill|content|data)\b/i, instead: 'untrusted' },
  { pattern: /\btiers?\b/i, instead: 'plan, prompt profile or retention' },
  { pattern: /\b(?:the|a|every|under) caps?\b/i, instead: 'budget or limit' },
  { pattern: /\btaken up\b|\btakes up\b/i, instead: 'resumed, resumes' },
  {
    pattern: /\b\w*(?:colour|favour|behaviour|neighbour|honour)\w*\b/i,
    instead: 'American spelling (color, neighbor)',
  },
  {
    pattern:
      /\b(?:summar|recogn|normal|serial|organ|sanit|synthes|initial|util|minim|maxim)is(?:e|es|ed|ing|ation|er)\b/i,
    instead: 'American spelling (-ize)',
  },
  { pattern: /\blicences?\b/i, instead: 'license' },
  { pattern: /\blearnt\b|\blabelled\b/i, instead: 'American spelling (learned, labeled)' },
  { pattern: /\bbegun\b/i, instead: 'started' },
  { pattern: /\bgoes on\b/i, instead: 'continues' },
  { pattern: /\blets? go of\b/i, instead: 'releases, closes' },
  { pattern: /\b(?:some|every|any)body\b/i, instead: 'a user, all users, anyone' },
  { pattern: /\b(?:is|are) to be\b/i, instead: 'a verb: must, should, will' },
  { pattern: /\b(?:of late|afar|that which|so much as|at the most)\b/i, instead: 'a plain word' },
]

/** A statement that starts like a question. */
const inverted = /^(?:What|Who|Whoever|Where|Nobody) (?!['’])/
const invertedName = /^(?:[A-Z]+-\d+[a-z]? )*(?:what|who|whoever|where|nobody) /i
const oldLimit = /\b(?:const|let|function) ((?:most|longest)[A-Z]\w*)/g

/** Comments, errors, test names and documents are plain American English (docs/glossary.md). */
export function checkWords(files: SourceFiles, pending: readonly string[] = unconverted): Report {
  const dirty = new Set<string>()
  const findings: string[] = []
  for (const [path, text] of files) {
    const found = path.endsWith('.md') ? checkMarkdown(path, text) : checkSource(path, text)
    const entry = pending.find((prefix) => path === prefix || (prefix.endsWith('/') && path.startsWith(prefix)))
    if (entry === undefined) findings.push(...found)
    else if (found.length > 0) dirty.add(entry)
  }
  const clean = pending.filter((entry) => !dirty.has(entry) && [...files.keys()].some((path) => path.startsWith(entry)))
  const note = pending.length === 0 ? undefined : `${pending.length - clean.length} places to convert`
  return {
    findings,
    ...(note && { note: clean.length === 0 ? note : `${note}; clean, so remove from the list: ${clean.join(', ')}` }),
  }
}

function checkSource(path: string, text: string): string[] {
  const isData = dataFiles.some((prefix) => path.startsWith(prefix))
  const isTestCode = isTest(path) || path.startsWith('test/')
  const found = proseOf(text).flatMap((prose) => {
    if (prose.kind === 'string' && (isData || isTestCode || !isSentence(prose.text))) return []
    if (prose.kind === 'comment' && /^(?:biome-ignore|@)/.test(prose.text)) return []
    return problemsOf(prose).map((problem) => `${path}:${lineOf(text, prose.start)}: ${problem}`)
  })
  const limits = (isTestCode ? [] : [...text.matchAll(oldLimit)]).map(
    (match) => `${path}:${lineOf(text, match.index)}: ${match[1]}: name a limit max…`,
  )
  return [...found, ...limits]
}

/** Strings that people read: they start like a sentence. Keys, SQL and lists of words do not. */
function isSentence(text: string): boolean {
  return /^["'“(]?[A-Z][a-z]*['’]?[a-z]* [a-z$]/.test(text) && text.split(/\s+/).length >= 3
}

function problemsOf({ kind, text }: Prose): string[] {
  const plain = withoutQuotes(text)
  if (kind !== 'test name') return wordsOf(plain).concat(sentencesOf(plain).flatMap(invertedSentence))
  const isInverted = invertedName.test(plain) && !plain.endsWith('?')
  return isInverted ? [...wordsOf(plain), `rewrite "${shortened(plain)}": it starts like a question`] : wordsOf(plain)
}

function checkMarkdown(path: string, text: string): string[] {
  const prose = text.replace(/^(```|~~~)[\s\S]*?^\1/gm, (block) => block.replace(/[^\n]/g, ''))
  return prose.split(/\n(?=\s*\n|\s*[-*|#>]|\s*\d+\.)/).flatMap((paragraph, index, all) => {
    const blank = paragraph.search(/\S/) < 0 ? '' : paragraph.slice(0, paragraph.search(/\S/))
    const before = all.slice(0, index).concat(blank).join('\n')
    const line = before.split('\n').length
    // A heading of one lower-case word is a key of the configuration.
    if (/^\s*#+ [a-z_.]+\s*$/.test(paragraph)) return []
    const plain = withoutQuotes(paragraph).replace(/\]\([^)]*\)|\*\*/g, (mark) => (mark[0] === ']' ? ']' : ''))
    const problems = [...wordsOf(plain), ...sentencesOf(plain.replace(/^[\s\-*#>|\d.]+/, '')).flatMap(invertedSentence)]
    return problems.map((problem) => `${path}:${line}: ${problem}`)
  })
}

function wordsOf(text: string): string[] {
  return discouraged.flatMap(({ pattern, instead }) => {
    const match = pattern.exec(text)
    return match ? [`"${match[0]}": write ${instead}`] : []
  })
}

function invertedSentence(sentence: string): string[] {
  return inverted.test(sentence) && !sentence.endsWith('?')
    ? [`rewrite "${shortened(sentence)}": it starts like a question`]
    : []
}

function sentencesOf(text: string): string[] {
  return text
    .replace(/\s+/g, ' ')
    .split(/(?<=[.!?:]) (?=["“(]?[A-Z])/)
    .map((sentence) => sentence.trim())
}

/** Code, quoted text, holes of templates and addresses are not prose. */
function withoutQuotes(text: string): string {
  return text
    .replace(/`[^`\n]*`/g, '`')
    .replace(/\$\{(?:[^{}]|\{[^}]*\})*\}/g, '…')
    .replace(/"[^"\n]*"|“[^”\n]*”/g, '"')
    .replace(/\bhttps?:\/\/\S+/g, '…')
    .replace(/\\[nrt]/g, ' ')
}

function lineOf(text: string, at: number): number {
  return text.slice(0, at).split('\n').length
}

function shortened(text: string): string {
  return text.length > 70 ? `${text.slice(0, 70)}…` : text
}
