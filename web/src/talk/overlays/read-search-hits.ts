export interface SearchHit {
  title: string
  url: string
  host: string
  snippet: string
}

const head = /^\d{1,3}\. (.*)$/

/** What `web_search` answers, hit by hit; empty where it is not that. */
export function readSearchHits(text: string): SearchHit[] {
  const hits: SearchHit[] = []
  const lines = text.split('\n')
  for (const [index, line] of lines.entries()) {
    const title = head.exec(line)?.[1]
    const url = lines[index + 1]?.trim() ?? ''
    if (title === undefined || !URL.canParse(url)) continue
    const next = lines[index + 2] ?? ''
    hits.push({ title, url, host: new URL(url).host, snippet: next.startsWith('   ') ? next.trim() : '' })
  }
  return hits
}
