/** A run of words and the mark that follows it. */
export interface Clause {
  words: string
  /** One of the marks that the model knows, or nothing. */
  mark: string
}

const marks: Record<string, string> = {
  '。': '.',
  '、': ',',
  '，': ',',
  '；': ';',
  '：': ':',
  '！': '!',
  '？': '?',
  '–': '—',
}
/** The point of these ends no sentence. */
const shortened = /(?:^|[\s(])(?:mr|mrs|ms|dr|prof|st|vs|e\.g|i\.e|approx)$/i
const longestClause = 200

/** Sentences, each in clauses. Whatever a text holds, no clause is longer than the model can say at once. */
export function splitText(text: string): Clause[][] {
  const sentences: Clause[][] = []
  let clauses: Clause[] = []
  for (const clause of clausesOf(text)) {
    clauses.push(clause)
    if (!/[.!?…]/.test(clause.mark)) continue
    sentences.push(clauses)
    clauses = []
  }
  return clauses.length > 0 ? [...sentences, clauses] : sentences
}

function clausesOf(text: string): Clause[] {
  const clauses: Clause[] = []
  let words = ''
  // Marks count where something ends: not in "3.14", "10:30" or "e.g.".
  for (const [, run = '', mark = ''] of ofOneLine(text).matchAll(/(.*?)(\.{3}|[.,;:!?…—]+(?=[\s"'”’)\]]|$)|$)/gu)) {
    words += run
    if (mark === '.' && shortened.test(words)) words += mark
    else {
      add(words, mark)
      words = ''
    }
  }
  add(words, '')
  return clauses

  function add(given: string, mark: string): void {
    const pieces = cut(given.trim())
    for (const [index, piece] of pieces.entries()) {
      clauses.push({
        words: piece,
        mark: index === pieces.length - 1 ? (mark === '...' ? '…' : mark.slice(0, 1)) : ',',
      })
    }
  }
}

/** Ends of paragraphs and of items in a list end a sentence, too. */
function ofOneLine(text: string): string {
  return text
    .replace(/[。、，；：！？–]/g, (mark) => `${marks[mark] ?? mark} `)
    .replace(/([^\s.!?…,;:—])[ \t]*\n\s*/g, '$1. ')
    .replace(/\s+/g, ' ')
}

function cut(words: string): string[] {
  if (!/[\p{L}\p{N}]/u.test(words)) return []
  const pieces: string[] = []
  let rest = words
  while (rest.length > longestClause) {
    const space = rest.lastIndexOf(' ', longestClause)
    const until = space > 0 ? space : longestClause
    pieces.push(rest.slice(0, until))
    rest = rest.slice(until).trim()
  }
  return rest === '' ? pieces : [...pieces, rest]
}
