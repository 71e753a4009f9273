import { splitSentences } from './split-sentences.ts'

const longest = 800

/**
 * A text in passages of at most about `limit` characters, cut between paragraphs, else between sentences, else between
 * words. Nothing but white space at the cuts is lost.
 */
export function splitPassages(text: string, limit = longest): string[] {
  const passages: string[] = []
  let passage = ''
  const add = (piece: string, joint: string) => {
    if (passage !== '' && passage.length + joint.length + piece.length > limit) {
      passages.push(passage)
      passage = ''
    }
    passage = passage === '' ? piece : `${passage}${joint}${piece}`
  }
  for (const paragraph of paragraphs(text)) {
    if (paragraph.length <= limit) add(paragraph, '\n\n')
    else {
      for (const sentence of splitSentences(paragraph)) {
        for (const piece of splitLong(sentence, limit)) add(piece, ' ')
      }
    }
  }
  if (passage !== '') passages.push(passage)
  return passages
}

function paragraphs(text: string): string[] {
  return text
    .split(/\n[^\S\n]*\n/)
    .map((paragraph) => paragraph.trim())
    .filter(Boolean)
}

/** A sentence without an end: cut at its last space before the limit, or through a word as long as that. */
function splitLong(sentence: string, limit: number): string[] {
  const pieces: string[] = []
  let rest = sentence
  while (rest.length > limit) {
    const space = rest.lastIndexOf(' ', limit)
    let end = space > limit / 2 ? space : limit
    // Never between the two halves of one character.
    if (/[\ud800-\udbff]/.test(rest.charAt(end - 1))) end -= 1
    pieces.push(rest.slice(0, end).trim())
    rest = rest.slice(end).trim()
  }
  return [...pieces, rest].filter(Boolean)
}
