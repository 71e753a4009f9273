const words: Readonly<Record<string, string>> = {
  primary: 'Conversations',
  fast: 'Small questions in between',
  builder: 'Building capabilities',
  vision: 'Looking at pictures',
  compaction: 'Summarising what is old',
  subagent: 'Sub-agents',
}

export function routeWords(name: string): string {
  const source = /^source (.+)$/.exec(name)?.[1]
  return source === undefined ? (words[name] ?? name) : `Messages from ${source}`
}
