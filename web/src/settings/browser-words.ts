const browsers: [pattern: RegExp, name: string][] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:HeadlessChrome|Chromium|Chrome|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]
const systems: [pattern: RegExp, name: string][] = [
  [/iPhone/, 'iPhone'],
  [/iPad/, 'iPad'],
  [/Android/, 'Android'],
  [/Mac OS X|Macintosh/, 'macOS'],
  [/Windows/, 'Windows'],
  [/Linux|X11/, 'Linux'],
]

/** What a browser calls itself, in two words; as it is where that is nothing known. */
export function browserWords(agent: string): string {
  const find = (known: typeof browsers) => known.find(([pattern]) => pattern.test(agent))?.[1]
  const [browser, system] = [find(browsers), find(systems)]
  if (browser === undefined && system === undefined) return agent || 'A browser'
  return [browser ?? 'A browser', system].filter(Boolean).join(' on ')
}
