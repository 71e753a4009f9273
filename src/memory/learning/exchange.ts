import { dayOf, formatDay, weekdayOf } from '../../base/clock.ts'
import { truncateText } from '../../base/text.ts'
import { foldLetters, isUnspaced } from '../../storage/words.ts'
import type { MemoryLabel } from '../memory.ts'
import { allContentWords, contentWords, termOf, wordLists, wordSet } from '../words.ts'

export interface ExchangeLine {
  speaker: 'user' | 'assistant'
  text: string
  at: number
  seq: number
  /** A program sent it on the user's behalf: it is not their own word. */
  isProgram?: true
}

/**
 * The messages of one turn, in order. The reader of the log omits automated messages and replies of the offline model.
 * It may be empty.
 */
export interface Exchange {
  sessionId: string
  turnId: string
  at: number
  /** The last sequence number that belongs to it: the watermark once it is done. */
  throughSeq: number
  lines: readonly ExchangeLine[]
  /** The speaker is untrusted: everything learned from it is labeled so. */
  untrusted: boolean
  /** Untrusted content was in view: the assistant's words, or a model's reading of them, may be untrusted. */
  sawUntrusted?: true
}

/** Only the user's own words are evidence. */
export function userTexts(exchanges: readonly Exchange[]): string[] {
  return exchanges.flatMap(({ lines }) => lines.filter((line) => line.speaker === 'user').map((line) => line.text))
}

export function exchangeLabel(exchanges: readonly Exchange[]): MemoryLabel {
  return exchanges.some((exchange) => exchange.untrusted || exchange.sawUntrusted) ? 'untrusted' : 'internal'
}

/** The user's own words, which stay trusted whatever else was in view. */
export function ownWords(exchanges: readonly Exchange[]): string[] {
  return userTexts(exchanges.filter((exchange) => !exchange.untrusted))
}

const longest = { user: 12_000, assistant: 1_500 }
const speakers = { user: 'USER', assistant: 'ASSISTANT (context only)' }
const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

/**
 * Turns for a model to read. Each line names its speaker; further lines of the same text are indented, so that no
 * speaker can pose as another.
 */
export function describeExchanges(exchanges: readonly Exchange[], timeZone: string): string {
  return exchanges.map((exchange) => describeExchange(exchange, timeZone)).join('\n\n')
}

export function describeExchange({ at, lines }: Exchange, timeZone: string): string {
  const day = dayOf(at, timeZone)
  const spoken = lines.map(({ speaker, text }) => {
    const told = truncateText(text, longest[speaker]).replaceAll(/\r\n|[\r\n\u2028\u2029]/g, '\n  ')
    return `${speakers[speaker]}: ${told}`
  })
  return [`[${weekdays[weekdayOf(day)]}, ${formatDay(day)}]`, ...spoken].join('\n')
}

const smallTalk = new Set(allContentWords(wordLists.smallTalk))
// The same for scripts without spaces; longer ones first.
const unspacedSmallTalk =
  /どうもありがとうございます|ありがとうございま(?:す|した)|おはようございます|よろしくお願いします|おやすみなさい|お願いします|わかりました|分かりました|ありがとう|こんにちは|こんばんは|おはよう|すみません|ごめんなさい|さようなら|おやすみ|了解です|承知しました|そうですね|なるほど|はい|いいえ|大丈夫(?:です)?|了解|没关系|沒關係|没问题|沒問題|不客气|不客氣|知道了|明白了|早上好|晚上好|下午好|对不起|對不起|不好意思|非常感谢|谢谢[你您]?|謝謝[你您]?|多谢|你好|您好|再见|再見|晚安|好的|好吧|是的|可以了?|嗯+|哈+|ขอบคุณ(?:ครับ|ค่ะ)?|สวัสดี(?:ครับ|ค่ะ)?|감사합니다|고맙습니다|안녕하세요|알겠습니다/gu
const leastWords = 2
const plainQuestion = 60
const asking = wordSet('askingWords')

/** Nothing worth keeping: a greeting, thanks, a one-word answer, a command. */
export function isTrivial(text: string): boolean {
  const trimmed = text.trim()
  if (/^\/[a-z]/i.test(trimmed)) return true
  const telling = isUnspaced(trimmed) ? trimmed.replaceAll(unspacedSmallTalk, ' ') : trimmed
  return contentWords(telling, 64).filter((word) => !smallTalk.has(word)).length < leastWords
}

/**
 * A short question that asks for knowledge and contains none. A request with a name, a number, a day or something of
 * the user's contains information, and so may a longer question.
 */
export function isPlainQuestion(text: string): boolean {
  const trimmed = text.trim()
  if (trimmed.length > plainQuestion || tellsSomething(trimmed)) return false
  if (/[?？؟]["'”’)!\s]{0,3}$/.test(trimmed)) return !/[.!:;\n]\s/.test(trimmed)
  const first = /^[\p{L}]+/u.exec(trimmed)?.[0].toLowerCase() ?? ''
  return asking.has(first) && !/[.!:;,\n]\s/.test(trimmed)
}

const numberOrDay =
  /\p{N}|\b(?:tomorrow|yesterday|(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:last|next) (?:week|weekend|month|year|spring|summer|autumn|fall|winter)|january|february|april|june|july|august|september|october|november|december|morgen|gestern)\b|明天|昨天|后天|下周|明日|昨日|来週/iu
// A capital letter that does not begin the text, other than "I". Foreign names in Japanese are written in katakana.
const name = /(?<=[\p{L}\p{N},;:'’"()-]\s["'“(]?)(?!I\b)\p{Lu}[\p{L}\p{M}]+|\p{sc=Katakana}{3,}/u
const own =
  /\b(?:my|our|mein\p{L}{0,2}|unser\p{L}{0,2}) \p{L}{2,}|(?:我的|我们的|我們的|我[爸妈媽哥姐弟妹]|私の|僕の|俺の|うちの)\p{L}/iu
// A question for what, when or where; also one about what the user did.
const lookup =
  /^(?:(?:so|and|but|und) )?(?:(?:what|when|where|who|whom|whose|which|how|why|was|wann|wo|wer|wem|wen|wie|warum|welche[mnrs]?|quand|où|qui|que|quel(?:le)?s?|comment|pourquoi|cuándo|dónde|quién|qué|cuál|cómo|что|когда|где|кто|как|почему|ما|ماذا|متى|أين|اين|كيف|لماذا)(?![\p{L}\p{M}])|(?:am|do|did|have|had|was|should|must|can|could) (?:i|we)\b)|什么|什麼|哪|谁|誰|几|幾|多少|怎么|怎麼|何|どこ|いつ|どう|なぜ|どれ|どの/iu

function tellsSomething(question: string): boolean {
  if (numberOrDay.test(question)) return true
  return !lookup.test(question) && (name.test(question) || own.test(question))
}

const maxWords = 64
const sameShare = 0.85
// The subject is implied.
const neutral = new Set(['user', 'users'])
const negation =
  /\b(?:not|no|never|nor|neither|cannot|without)\b|n['’]t\b|[不没沒無未別别]|ない|ません|\b(?:nicht|kein\p{L}*|nie|ne|не|нет|لا|ليس|לא)\b/iu

/** The significant words of a statement, without the one for the user. */
export function tellingWords(text: string): string[] {
  return contentWords(text, maxWords).filter((word) => !neutral.has(word))
}

/**
 * Two statements that say the same in nearly the same words. A negation, a number or a name in only one of them makes
 * them different.
 */
export function saysTheSame(a: string, b: string): boolean {
  const [first, second] = [stemsOf(a), stemsOf(b)]
  if (first.size === 0 || second.size === 0) return a.trim() === b.trim()
  if (negation.test(a) !== negation.test(b)) return false
  const onlyFirst = [...first.keys()].filter((stem) => !second.has(stem))
  const onlySecond = [...second.keys()].filter((stem) => !first.has(stem))
  const most = Math.max(first.size, second.size)
  if (first.size - onlyFirst.length < sameShare * most) return false
  return ![...onlyFirst.map((stem) => first.get(stem)), ...onlySecond.map((stem) => second.get(stem))].some(
    (word) => word !== undefined && (/\p{N}/u.test(word) || isName(word, a) || isName(word, b)),
  )
}

/** Each stem with its original word. */
function stemsOf(text: string): Map<string, string> {
  return new Map(tellingWords(text).map((word) => [termOf(word), word]))
}

function isName(word: string, text: string): boolean {
  const capitalised = word.charAt(0).toUpperCase() + word.slice(1)
  if (capitalised === word) return false
  // The form in which a word of `contentWords` occurs, with its capitals.
  const plain = foldLetters(text).normalize('NFD')
  return plain.replaceAll(/\p{Mn}+/gu, '').includes(capitalised)
}
