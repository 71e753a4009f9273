import type { Redactor } from './redactor.ts'

/** Text that comes in pieces. Joined, what it gives is what `redact` makes of the whole. */
export interface StreamRedactor {
  /** What can be told by now: all but an end that could be the beginning of a secret. */
  push(text: string): string
  /** What was held back. The stream is at its end, or something else comes in between. */
  end(): string
}

export function createStreamRedactor(redactor: Redactor): StreamRedactor {
  let held = ''
  return {
    push(text) {
      const { redacted, rest } = redactor.redactBeginning(held + text)
      held = rest
      return redacted
    },
    end() {
      const last = redactor.redact(held)
      held = ''
      return last
    },
  }
}
