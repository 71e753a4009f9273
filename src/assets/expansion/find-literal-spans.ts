interface Span {
  start: number
  end: number
}

const fenceStart = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}(?=[^`]*$)|~{3,})/
const fenceEnd = /^[ \t>]*(`{3,}|~{3,})[ \t\r]*$/
const address = /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s<>"]+/gi

/** What is quoted letter by letter: fenced code, inline code, URLs. In their order, none inside another. */
export function findLiteralSpans(text: string): Span[] {
  const spans = text.includes('`') || text.includes('~~~') ? codeSpans(text) : []
  for (const { 0: found, index } of text.matchAll(address)) {
    // `@familiar:///blocks/x` is a reference, and its `@` lies before this span.
    spans.push({ start: index, end: index + found.length })
  }
  return merged(spans)
}

function codeSpans(text: string): Span[] {
  const spans: Span[] = []
  let fence: { start: number; marks: string } | undefined
  let paragraph = 0
  for (let start = 0; start < text.length; ) {
    const lineEnd = text.indexOf('\n', start)
    const end = lineEnd < 0 ? text.length : lineEnd
    const line = text.slice(start, end)
    if (fence) {
      const marks = fenceEnd.exec(line)?.[1]
      if (marks?.startsWith(fence.marks)) {
        spans.push({ start: fence.start, end })
        fence = undefined
        paragraph = end
      }
    } else {
      const marks = fenceStart.exec(line)?.[1]
      if (marks !== undefined || line.trim() === '') {
        addInline(text, { start: paragraph, end: start }, spans)
        paragraph = end
      }
      if (marks !== undefined) fence = { start, marks }
    }
    start = end + 1
  }
  if (fence) spans.push({ start: fence.start, end: text.length })
  else addInline(text, { start: paragraph, end: text.length }, spans)
  return spans
}

/** A run of backticks is closed by the next one of the same length in the same paragraph. */
function addInline(text: string, { start, end }: Span, spans: Span[]): void {
  const runs = [...text.slice(start, end).matchAll(/`+/g)].map(({ 0: marks, index }) => ({
    start: start + index,
    end: start + index + marks.length,
    length: marks.length,
  }))
  // From the back, so that the last one seen of a length is the next one from wherever one stands.
  const nextOf = new Map<number, number>()
  const closedBy = runs.map(() => -1)
  for (let at = runs.length - 1; at >= 0; at -= 1) {
    const length = runs[at]?.length ?? 0
    closedBy[at] = nextOf.get(length) ?? -1
    nextOf.set(length, at)
  }
  for (let at = 0; at < runs.length; at += 1) {
    const opening = runs[at]
    const closing = runs[closedBy[at] ?? -1]
    if (!opening || !closing || text[opening.start - 1] === '\\') continue
    spans.push({ start: opening.start, end: closing.end })
    at = closedBy[at] ?? at
  }
}

function merged(spans: Span[]): Span[] {
  const result: Span[] = []
  for (const span of spans.sort((a, b) => a.start - b.start)) {
    const last = result.at(-1)
    if (last && span.start < last.end) last.end = Math.max(last.end, span.end)
    else result.push({ ...span })
  }
  return result
}
