import { toStorableText } from '../base/text.ts'
import { FamiliarError } from '../protocol/error.ts'

/** Any text as one line that every store takes: white space joined, cut at `longest` characters. Null for nothing. */
export function cleanLine(text: string | null | undefined, longest: number): string | null {
  const line = toStorableText(text ?? '')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, longest)
    .toWellFormed()
  return line === '' ? null : line
}

/** The same for what has to say something and may not be cut. `what` begins the message: "A name". */
export function requireLine(text: string, { what, longest }: { what: string; longest: number }): string {
  const line = cleanLine(text, longest + 1)
  if (line === null) throw new FamiliarError('bad_request', `${what} needs some text`)
  if (line.length > longest) throw new FamiliarError('payload_too_large', `${what} holds at most ${longest} characters`)
  return line
}
