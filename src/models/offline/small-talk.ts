import phrases from './phrases.json' with { type: 'json' }
import { type Ability, afterPhrase, isPhrase, say } from './sentence.ts'

/** "How do I give you a model?", "connect a model", "How can I set up Claude?" */
const connecting =
  /^(?:how (?:do|can|could|should) i |how to |i (?:want|would like) to |please )?(?:give you|get|connect|add|set ?up|configure|choose|change|use|install|switch)(?: you)?(?: to)? (?:an?(?:other)? |the |my |your )?(?:(?:language |ai |real )?model|llm|api key|key|claude|gpt|chatgpt|openai|anthropic|gemini|ollama|openrouter)\b/i

const { greetings, thanks } = phrases

export const smallTalk: Ability = ({ text, request }) => {
  if (isPhrase(request, phrases.help)) return say((texts) => texts.help)
  if (isPhrase(request, phrases.identity)) return say((texts) => texts.identity)
  if (connecting.test(request.slice(0, 200))) return say((texts) => texts.connect)
  if (isPhrase(text, thanks)) return say((texts) => texts.thanks, 'courtesy')
  const greets = isPhrase(request, greetings) || (request === '' && afterPhrase(text, greetings) !== undefined)
  if (greets || isPhrase(text, greetings)) return say((texts) => texts.greeting, 'courtesy')
  // A message of nothing but courtesy has no request: "ok, thanks".
  if (request === '' || isPhrase(request, phrases.nods)) return say((texts) => texts.allRight, 'courtesy')
  return undefined
}

const maxExpressionLength = 200
const asked = /^(?:what(?:'s| is| are)|how much(?: is| are)?|calculate|compute|work out|solve)\s+/i
const clockQuestions =
  /^(?:what(?:'s| is) (?:the )?(?:current )?(?:time|date|day)(?: is it)?(?: now| today)?|what (?:time|day|date)(?: is it| is today)?(?: now| today)?|what(?:'s| is) today(?:'s date)?|which day is (?:it|today))$/i

/** "What is 12 * 3?", "17 % of 80", "What time is it?": by arithmetic and the clock, never from notes. */
export const calculate: Ability = ({ request }, { now }) => {
  if (request.length > maxExpressionLength) return undefined
  const text = request
    .replaceAll('’', "'")
    .replace(/[?!.=\s]+$/, '')
    .trim()
  // The context contains the user's local time.
  if (clockQuestions.test(text)) return now === '' ? undefined : say((texts) => texts.now(now))
  const expression = asWritten(text.replace(asked, ''))
  if (!/\d/.test(expression) || !/[-+*/^%]/.test(expression)) return undefined
  const value = evaluateSum(expression)
  return value === undefined
    ? undefined
    : say((texts) => texts.calculated(text.replace(asked, ''), formatNumber(value)))
}

/** Normalizes typed signs and words: `×`, "times", "17 % of 80", thousands with commas. */
function asWritten(text: string): string {
  return text
    .replace(/(\d),(?=\d{3}(?!\d))/g, '$1')
    .replace(/%\s*of\b/gi, '% *')
    .replace(/\s(?:times|multiplied by|x)\s/gi, ' * ')
    .replace(/\s(?:divided by|over)\s/gi, ' / ')
    .replace(/\splus\s/gi, ' + ')
    .replace(/\sminus\s/gi, ' - ')
    .replace(/\s(?:to the power of)\s/gi, ' ^ ')
    .replaceAll(/[×·]/g, '*')
    .replaceAll('÷', '/')
    .replaceAll('−', '-')
    .replaceAll('**', '^')
}

/**
 * Numbers, + - * / ^ %, and brackets. Undefined for anything else, for a division by zero and for overflow. A percent
 * sign after a number divides it by a hundred.
 */
export function evaluateSum(expression: string): number | undefined {
  const tokens = expression.match(/\d+(?:\.\d+)?|\.\d+|[-+*/^%()]|\S/g) ?? []
  let at = 0
  function take(token: string): boolean {
    if (tokens[at] !== token) return false
    at += 1
    return true
  }

  function sum(): number {
    let value = product()
    for (;;) {
      if (take('+')) value += product()
      else if (take('-')) value -= product()
      else return value
    }
  }
  function product(): number {
    let value = sign()
    for (;;) {
      if (take('*')) value *= sign()
      else if (take('/')) value /= sign()
      else return value
    }
  }
  function sign(): number {
    if (take('-')) return -sign()
    if (take('+')) return sign()
    return power()
  }
  function power(): number {
    const base = percent()
    return take('^') ? base ** sign() : base
  }
  function percent(): number {
    let value = atom()
    while (take('%')) value /= 100
    return value
  }
  function atom(): number {
    if (take('(')) {
      const value = sum()
      return take(')') ? value : Number.NaN
    }
    const token = tokens[at] ?? ''
    at += 1
    return /^[\d.]/.test(token) ? Number(token) : Number.NaN
  }

  const value = sum()
  return at === tokens.length && Number.isFinite(value) ? value : undefined
}

/** Without the noise of binary fractions: 0.1 + 0.2 is 0.3. */
export function formatNumber(value: number): string {
  return String(Number(value.toPrecision(12)))
}
