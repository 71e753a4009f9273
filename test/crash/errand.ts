/**
 * A message that says itself what the model is to do with it, so that the fake model needs no memory of its own: what
 * it answers follows from the conversation it is sent, before a crash as after one.
 */
export interface Errand {
  /** Occurs in no other errand. */
  token: string
  /** Tools to call, side by side within a round, one round after another. */
  rounds: string[][]
  /** Ends with a question to the user instead of a reply. */
  asks: boolean
  /** Ends with a reply that fills the window, so that the session is compacted. */
  fills: boolean
  /** Characters that say nothing and need room on the disk. */
  padding: number
}

type Plan = { rounds?: string } & Partial<Pick<Errand, 'asks' | 'fills' | 'padding'>>

export function errand(number: number, plan: Plan = {}): Errand {
  const { rounds = '', asks = false, fills = false, padding = 0 } = plan
  return { token: `errand-${String(number).padStart(4, '0')}`, rounds: roundsFrom(rounds), asks, fills, padding }
}

export function textOfErrand({ token, rounds, asks, fills, padding }: Errand): string {
  const ending = [asks && ' ask', fills && ' fill'].filter(Boolean).join('')
  return `${token} [${rounds.map((tools) => tools.join(',')).join('|')}]${ending}.${'x'.repeat(padding)}`
}

const written = /(errand-\d{4}) \[([a-z_,|]*)\]( ask)?( fill)?\./g

/** All but their padding, which says nothing. */
export function errandsIn(text: string): Omit<Errand, 'padding'>[] {
  return [...text.matchAll(written)].map(([, token = '', rounds = '', asks, fills]) => ({
    token,
    rounds: roundsFrom(rounds),
    asks: asks !== undefined,
    fills: fills !== undefined,
  }))
}

export function tokensIn(text: string): string[] {
  return [...new Set(text.match(/errand-\d{4}/g))]
}

function roundsFrom(text: string): string[][] {
  return text === '' ? [] : text.split('|').map((tools) => tools.split(','))
}
