import { contentWords } from '../content-words.ts'

// What people say to each other without telling anything.
const smallTalk = new Set(
  `absolutely agreed ahead alright amazing anyway awesome back bye cheers continue cool correct day done enough evening
  exactly excellent familiar fine go good goodbye goodnight got great ha haha hello help hey hi hmm lol love lovely maybe
  moment morning nah neat never nevermind next nice night nope oh ok okay one perfect please problem really right see
  sorry sounds stop super sure thank thanks thing think thx understood wait welcome well whatever wonderful works wow yay
  yeah yep yes yo`.split(/\s+/),
)
const leastWords = 2
const plainQuestion = 60
const asking = new Set(
  `am are can could did do does had has have how is may might shall should was were what when where which who whom whose
  why will would`.split(/\s+/),
)

/** Nothing in it could be worth keeping: a greeting, thanks, an answer of a word, a command. */
export function isTrivial(text: string): boolean {
  const trimmed = text.trim()
  if (/^\/[a-z]/i.test(trimmed)) return true
  return contentWords(trimmed, 64).filter((word) => !smallTalk.has(word)).length < leastWords
}

/** A short question: it asks for knowledge and holds none. A longer one may well tell something on the way. */
export function isPlainQuestion(text: string): boolean {
  const trimmed = text.trim()
  if (trimmed.length > plainQuestion) return false
  if (/[?？؟]["'”’)!\s]{0,3}$/.test(trimmed)) return !/[.!:;\n]\s/.test(trimmed)
  const first = /^[\p{L}]+/u.exec(trimmed)?.[0].toLowerCase() ?? ''
  return asking.has(first) && !/[.!:;,\n]\s/.test(trimmed)
}
