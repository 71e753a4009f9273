/** What has been in sight of a session, for good (SEC-6). */
export interface Seen {
  untrusted: boolean
  private: boolean
}

/** What a call would do and where it goes, as its tool tells it from the arguments. */
export interface Reach {
  kind: 'reads' | 'acts' | 'asks'
  destination: string | null
}

export type Verdict = { allowed: true } | { allowed: false; reason: string }

const allowed: Verdict = { allowed: true }

/**
 * Whether a call may be made without the owner's word for exactly it. Whoever steers the model by what it has read must
 * not make it carry off what it knows: with both in sight, only destinations that the owner declared are open.
 */
export function judgeCall(call: { seen: Seen; reach: Reach; destinations: readonly string[] }): Verdict {
  const { seen, reach, destinations } = call
  switch (reach.kind) {
    case 'reads':
      return allowed
    case 'asks':
      return { allowed: false, reason: 'It is never done without your word.' }
    case 'acts':
      if (!seen.untrusted || !seen.private || isDeclared(reach.destination, destinations)) return allowed
      return { allowed: false, reason: 'I have read text of others here, and know what is private to you.' }
  }
}

function isDeclared(destination: string | null, declared: readonly string[]): boolean {
  if (destination === null) return false
  return declared.some((one) => one === destination || (isOrigin(one) && one === originOf(destination)))
}

/** Of encrypted ways alone: on a plain one anybody on the way can be at that address. */
function originOf(text: string): string | undefined {
  const url = URL.parse(text)
  return url?.protocol === 'https:' ? url.origin : undefined
}

function isOrigin(text: string): boolean {
  return originOf(text) === text
}
