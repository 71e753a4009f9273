/** The marks and rules of a model, as its `generation_config.json` has them. */
export interface DecodingRules {
  begin: number
  end: number
  transcribe: number
  withoutTimes: number
  noSpeech: number
  languages: ReadonlyMap<number, string>
  /** Never said: marks, brackets, music. */
  suppressed: readonly number[]
  /** Not said first: nothing, and the end. */
  notFirst: readonly number[]
}

/** Gives the model the next tokens; answers how likely each token is to follow the last of them, one number a token. */
export type NextTokens = (tokens: readonly number[]) => Promise<Float32Array>

export interface Decoded {
  tokens: number[]
  language: string
}

const mostTokens = 220
/** As the makers have it: nobody speaks where the model says so and is not sure of what it hears. */
const silenceShare = 0.6
const unsure = -1

/**
 * Takes the likeliest token each time, in the language that the model hears. Empty where nobody speaks. A model that
 * begins to say the same over and over is cut off there.
 */
export async function decodeGreedily(rules: DecodingRules, next: NextTokens, signal?: AbortSignal): Promise<Decoded> {
  const opening = await next([rules.begin])
  const silence = Math.exp(logShare(opening, rules.noSpeech))
  const spoken = likeliest(opening, (token) => rules.languages.has(token))
  const language = rules.languages.get(spoken) ?? 'en'
  const suppressed = new Set(rules.suppressed)
  const notFirst = new Set([...rules.suppressed, ...rules.notFirst])
  const isText = (token: number) => token <= rules.end && !suppressed.has(token)
  const tokens: number[] = []
  let likelihood = 0
  let scores = await next([spoken, rules.transcribe, rules.withoutTimes])
  while (tokens.length < mostTokens) {
    signal?.throwIfAborted()
    const token = likeliest(scores, tokens.length === 0 ? (each) => isText(each) && !notFirst.has(each) : isText)
    likelihood += logShare(scores, token)
    if (token === rules.end) break
    tokens.push(token)
    const repeated = repetition(tokens)
    if (repeated > 0) return { tokens: tokens.slice(0, -repeated), language }
    scores = await next([token])
  }
  const isSilent = silence > silenceShare && likelihood / (tokens.length + 1) < unsure
  return { tokens: isSilent ? [] : tokens, language }
}

function likeliest(scores: Float32Array, isAllowed: (token: number) => boolean): number {
  let best = -1
  for (let token = 0; token < scores.length; token += 1) {
    if ((best === -1 || (scores[token] ?? 0) > (scores[best] ?? 0)) && isAllowed(token)) best = token
  }
  return best
}

function logShare(scores: Float32Array, token: number): number {
  let highest = Number.NEGATIVE_INFINITY
  for (const score of scores) if (score > highest) highest = score
  let sum = 0
  for (const score of scores) sum += Math.exp(score - highest)
  return (scores[token] ?? Number.NEGATIVE_INFINITY) - highest - Math.log(sum)
}

/** How many tokens at the end only repeat what stands before them, where that is so often that nobody speaks like it. */
function repetition(tokens: readonly number[]): number {
  for (let length = 1; length <= 16; length += 1) {
    const times = length === 1 ? 6 : 4
    const span = length * times
    if (tokens.length < span) break
    const from = tokens.length - span
    const isSame = tokens.slice(from + length).every((token, index) => token === tokens[from + index])
    if (isSame) return span - length
  }
  return 0
}
