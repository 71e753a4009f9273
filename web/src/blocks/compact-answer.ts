/** What `/compact` proposes: `familiar:///blocks/x.md, how.` and both texts, each under a line with its size. */
export interface CompactProposal {
  /** How it came about. */
  means: string
  beforeTokens: string
  after: string
  afterTokens: string
}

/** Undefined where the words are others: then they are shown as they are. */
export function readProposal(question: string, before: string): CompactProposal | undefined {
  const first = /^([^\n]+)\nBefore \(([^\n]*?) tokens by [^\n]*\):\n/.exec(question)
  const last = question.lastIndexOf('\nReplace it? [')
  if (!first || last < 0) return undefined
  // The text before may hold the same words as the frame around it: what begins it says where it ends.
  const rest = question.slice(first[0].length, last)
  const shared = rest.startsWith(before) ? before.length : 0
  const heading = /\nAfter \(([^\n]*?) tokens\):\n/g
  heading.lastIndex = shared
  const found = heading.exec(rest)
  if (!found) return undefined
  return {
    means: (first[1] ?? '').replace(/^familiar:\/\/\/blocks\/[^,]*, /, '').replace(/\.$/, ''),
    beforeTokens: first[2] ?? '',
    after: rest.slice(found.index + found[0].length),
    afterTokens: found[1] ?? '',
  }
}
