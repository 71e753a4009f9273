import type { ApprovalScope } from '../protocol/permissions.ts'
import vocabularies from './spoken-answers.json' with { type: 'json' }

type Answer = 'approve' | 'deny'

/**
 * The phrases of one language, in lower case, separated by `|`. Accents and apostrophes do not matter. The order of an
 * answer is fixed: `please`, then yes or no, then the action.
 */
interface Vocabulary {
  yes: string
  /** Approves alone or after a yes: "go ahead". */
  go: string
  /** Approves only after a yes, because alone it could be another request: "build it". */
  doing?: string | undefined
  no: string
  /** Denies alone or after a no: "don't", "not now". */
  refuse: string
  /** Denies alone, and after a no only with a comma in between: "no cancel" is not "no, cancel". */
  halt?: string | undefined
  /** Approve alone or after a yes, for a time: for good, in the conversation, for one call. */
  always?: string | undefined
  here?: string | undefined
  once?: string | undefined
  /** Courtesy without effect. */
  please?: string
  /** Courtesy beside a denial. Beside a mere "ok" it may be the whole meaning, so it does not approve. */
  thanks?: string
  /** Written without spaces between words. */
  isUnspaced?: boolean | undefined
  /** Particles that may follow each phrase. */
  particles?: string | undefined
}

const maxCharacters = 60
const matchers = vocabularies.map(matcherOf)

/** The effect of the user's words on a question for approval. */
export type SpokenApproval = { answer: 'deny' } | { answer: 'approve'; scope: ApprovalScope }

/** Channels with buttons list no numbers: there a number answers something else. */
const withoutNumbers: ReadonlySet<string> = new Set(['web', 'telegram'])

/**
 * Reads a message as the answer to a question that offers these scopes: a plain yes or no, the number of a choice, or
 * words for a scope. A scope that is not offered is no answer, and the question stays open.
 */
export function readApprovalAnswer(
  { text, source }: { text: string; source: string },
  scopes: readonly ApprovalScope[],
): SpokenApproval | undefined {
  const [, number] =
    /^\(?([1-9])[.)]?$/.exec(
      text
        .normalize('NFKC')
        .trim()
        .replace(/[\u0661-\u0669\u06f1-\u06f9]/, asciiDigit),
    ) ?? []
  if (number !== undefined) {
    if (withoutNumbers.has(source)) return undefined
    const scope = scopes[Number(number) - 1]
    if (scope !== undefined) return { answer: 'approve', scope }
    return Number(number) === scopes.length + 1 ? { answer: 'deny' } : undefined
  }
  const plain = readSpokenAnswer(text)
  if (plain === 'deny') return { answer: plain }
  const scope = plain === 'approve' ? 'once' : readScope(text)
  return scope !== undefined && scopes.includes(scope) ? { answer: 'approve', scope } : undefined
}

function asciiDigit(digit: string): string {
  return String(digit.charCodeAt(0) & 0xf)
}

function readScope(text: string): ApprovalScope | undefined {
  const words = wordsOf(text)
  const found = new Set(matchers.map(({ scope }) => scope(words)).filter((scope) => scope !== undefined))
  return found.size === 1 ? [...found][0] : undefined
}

/**
 * Reads a message as the answer to a yes-or-no question. The whole message must consist of matching phrases of one
 * language. "yes, but first …", "no idea what that is" and "ok what does it do?" contain other words, so they are
 * ordinary messages.
 */
export function readSpokenAnswer(text: string): Answer | undefined {
  const words = wordsOf(text)
  if (words === 'y') return 'approve'
  if (words === 'n') return 'deny'
  const answers = new Set(matchers.map(({ answer }) => answer(words)).filter((answer) => answer !== undefined))
  return answers.size === 1 ? [...answers][0] : undefined
}

/** Empty for a text that cannot be a plain answer: a question, a second line or an invisible character is never part of one. */
function wordsOf(text: string): string {
  const said = text.trim()
  return said.length > maxCharacters || /[?？؟¿\p{C}\p{Zl}\p{Zp}]/u.test(said) ? '' : simplify(said)
}

/** Lower case, without accents and apostrophes; clause separators become commas. */
function simplify(text: string): string {
  return text
    .toLowerCase()
    .normalize('NFD')
    .replaceAll(/[\u0300-\u036f]|[\u064b-\u0655]|\u0640|\ufe0f|\p{Emoji_Modifier}|['’‘`´]/gu, '')
    .replaceAll(/[.!…。！]+$|^¡/g, '')
    .replaceAll(/ *[,.;!:–—。！，、；،؛…~～]+ */g, ', ')
    .replaceAll(/[-‐‑]/g, ' ')
    .replaceAll(/ +/g, ' ')
    .trim()
}

interface Matcher {
  answer(words: string): Answer | undefined
  scope(words: string): ApprovalScope | undefined
}

function matcherOf(vocabulary: Vocabulary): Matcher {
  const { isUnspaced = false, particles } = vocabulary
  const gap = isUnspaced ? ',? ?' : ',? '
  const end = `${particles ? `[${particles}]?` : ''}${gap}`
  const one = (...lists: (string | undefined)[]) => {
    const phrases = lists.flatMap((list) => list?.split('|') ?? []).map((phrase) => simplify(phrase))
    return `(?:${phrases.join('|')})`
  }
  const courtesy = (...lists: (string | undefined)[]) => {
    return lists.some((list) => list !== undefined) ? `(?:${one(...lists)}${end})?` : ''
  }
  const { yes, go, doing, always, here, once: single, no, refuse, halt, please, thanks } = vocabulary
  const asked = courtesy(please)
  const step = (...lists: (string | undefined)[]) => `(?:${one(...lists)}${end}${asked})`
  const approves = `^${asked}(?:${step(yes)}{1,2}${step(go, doing)}{0,2}|${step(go)}{1,2})$`
  const beside = courtesy(please, thanks)
  const denial = (list: string) => `(?:${one(list)}${end}${beside})`
  const noes = `${denial(no)}{1,2}`
  const apart = `(?:${one(no)}${particles ? `[${particles}]?` : ''}, ?)`
  const halts = halt === undefined ? '' : `|${apart}?${denial(halt)}`
  const denies = `^${beside}(?:${noes}${denial(refuse)}?|${denial(refuse)}${halts})$`
  const approving = new RegExp(approves, 'u')
  const denying = new RegExp(denies, 'u')
  const lasting = (Object.entries({ always, conversation: here, once: single }) as [ApprovalScope, string?][]).flatMap(
    ([scope, phrases]) => {
      if (phrases === undefined) return []
      return { scope, pattern: new RegExp(`^${asked}${step(yes)}{0,2}${step(go)}?${step(phrases)}$`, 'u') }
    },
  )
  // Every phrase ends with a gap, so the text must too.
  const ended = (words: string) => (words === '' || isUnspaced ? words : `${words} `)
  return {
    answer(words) {
      if (approving.test(ended(words))) return 'approve'
      return denying.test(ended(words)) ? 'deny' : undefined
    },
    scope: (words) => lasting.find(({ pattern }) => pattern.test(ended(words)))?.scope,
  }
}
