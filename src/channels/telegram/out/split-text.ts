import type { FormattedText, TextEntity } from './formatted-text.ts'

/** CHAN-1. Telegram takes 4,096; a line may yet be put before it. */
const longestText = 4_000

/**
 * The same in pieces of at most `limit` units: cut between paragraphs, lines or words where that leaves no short piece, and
 * never inside a character. What is cut through goes on in the next piece. One after another they are the text.
 */
export function splitFormatted({ text, entities }: FormattedText, limit = longestText): FormattedText[] {
  const pieces: FormattedText[] = []
  let from = 0
  while (text.length - from > limit) {
    const to = from + cutBefore(text.slice(from, from + limit), text[from + limit] ?? '')
    pieces.push(slice({ text, entities }, from, to))
    from = to
  }
  return [...pieces, slice({ text, entities }, from, text.length)]
}

/** How much of the window belongs to the piece. */
function cutBefore(window: string, next: string): number {
  const shortest = window.length / 2
  for (const boundary of ['\n\n', '\n', ' ']) {
    const at = window.lastIndexOf(boundary)
    if (at >= shortest) return at + boundary.length
  }
  const isPair = /[\ud800-\udbff]$/.test(window) && /^[\udc00-\udfff]/.test(next)
  return isPair && window.length > 1 ? window.length - 1 : window.length
}

function slice({ text, entities }: FormattedText, from: number, to: number): FormattedText {
  const kept = entities.flatMap((entity): TextEntity[] => {
    const start = Math.max(from, entity.offset)
    const end = Math.min(to, entity.offset + entity.length)
    if (end <= start || text.slice(start, end).trim() === '') return []
    return [{ ...entity, offset: start - from, length: end - start }]
  })
  return { text: text.slice(from, to), entities: kept }
}
