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

/**
 * Reads a message as the answer to a yes-or-no question. The whole message must consist of matching phrases of one
 * language. "yes, but first …", "no idea what that is" and "ok what does it do?" contain other words, so they are
 * ordinary messages.
 */
export function readSpokenAnswer(text: string): Answer | undefined {
  const said = text.trim()
  // A question, a second line or an invisible character is never part of a plain answer.
  if (said === '' || said.length > maxCharacters || /[?？؟¿\p{C}\p{Zl}\p{Zp}]/u.test(said)) return undefined
  const words = simplify(said)
  if (words === 'y') return 'approve'
  if (words === 'n') return 'deny'
  const answers = new Set(matchers.map((read) => read(words)).filter((answer) => answer !== undefined))
  return answers.size === 1 ? [...answers][0] : undefined
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

function matcherOf(vocabulary: Vocabulary): (words: string) => Answer | undefined {
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
  const { yes, go, doing, no, refuse, halt, please, thanks } = vocabulary
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
  return (words) => {
    // Every phrase ends with a gap, so the text must too.
    const whole = isUnspaced ? words : `${words} `
    if (approving.test(whole)) return 'approve'
    return denying.test(whole) ? 'deny' : undefined
  }
}
