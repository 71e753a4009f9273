import { isTest, type Report, type SourceFiles } from './source-files.ts'

const id = '[A-Z][A-Z0-9]*-\\d+[a-z]?'
const rule = new RegExp(`^\\s*[-*]\\s+(?:\\*\\*)?(${id})\\b`, 'gm')
// The name of a test: first argument of it(…), test.concurrent(…), describe.each(…)(…) and their like.
const testName = new RegExp(
  `(\\b(?:it|test|describe)(?:\\.\\w+)*|[)\`])\\s*\\(\\s*['"\`](${id}(?:(?:\\s*[,/+]\\s*|\\s+)${id})*)\\b`,
  'g',
)
/** Not rules, though they look like one. */
const names = new Set(['AES', 'ISO', 'RFC', 'SHA', 'UTF'])

/** Every rule of docs/spec has a test whose name starts with its id, and no test names a rule that is not there. */
export function checkSpec(files: SourceFiles): Report {
  const rules = [...files].filter(([path]) => isSpec(path)).flatMap(([path, text]) => rulesIn(path, text))
  const tests = [...files].filter(([path]) => isTest(path)).flatMap(([path, text]) => namedIn(path, text))
  const known = new Map(rules.map((entry) => [entry.id, entry.path]))
  const tested = new Set(tests.filter(({ runs }) => runs).map((entry) => entry.id))
  const twice = rules.filter((entry, index) => rules.findIndex((other) => other.id === entry.id) !== index)
  const untested = [...known].filter(([ruleId]) => !tested.has(ruleId))
  const unknown = tests.filter((entry) => !known.has(entry.id) && !names.has(entry.id.replace(/-.*/, '')))
  return {
    findings: [
      ...twice.map((entry) => `${entry.path}: ${entry.id} is stated twice`),
      ...untested.map(([ruleId, path]) => `${path}: ${ruleId} has no test`),
      ...unknown.map((entry) => `${entry.path}: a test names ${entry.id}, which docs/spec does not state`),
    ],
    note: `${known.size} rules`,
  }
}

function isSpec(path: string): boolean {
  return path.startsWith('docs/spec/') && path.endsWith('.md')
}

function rulesIn(path: string, text: string): { path: string; id: string }[] {
  return [...text.matchAll(rule)].map((match) => ({ path, id: match[1] ?? '' }))
}

function namedIn(path: string, text: string): { path: string; id: string; runs: boolean }[] {
  return [...text.matchAll(testName)].flatMap((match) => {
    const runs = !/\.(skip|todo)\b/.test(match[1] ?? '')
    return (match[2] ?? '').match(new RegExp(id, 'g'))?.map((found) => ({ path, id: found, runs })) ?? []
  })
}
