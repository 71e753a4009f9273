import { z } from 'zod'
import { parseAnyJson } from '../../../base/json.ts'
import { isDeeperThan } from '../../contract/json-depth.ts'
import { describeIssues } from '../../contract/manifest/describe-issue.ts'
import type { CapabilityExample } from '../capability.ts'

export type ExamplesReading = { ok: true; examples: CapabilityExample[] } | { ok: false; problems: string[] }

const deepest = 20
const mostExamples = 20

const jsonObject = z.record(z.string(), z.json())
const expectation = z.union(
  [
    z.strictObject({ equals: z.json() }),
    z.strictObject({ contains: z.string().min(1).max(20_000) }),
    z.strictObject({ matches: z.string().min(1).max(500) }),
    z.strictObject({ schema: jsonObject }),
  ],
  { error: 'expected an object with one of "equals", "contains" (a text), "matches" (a regular expression), "schema"' },
)
const examplesSchema = z
  .array(z.strictObject({ input: jsonObject, expect: expectation }))
  .min(1)
  .max(mostExamples)

/**
 * The text of an `examples.json`, or where it is wrong. Never throws. A regular expression in it is not looked at, and
 * neither are hidden characters: an input that failed in use may hold them, and must be able to become an example.
 */
export function readExamples(text: string): ExamplesReading {
  const parsed = parseAnyJson(text)
  if (!parsed.ok) return wrong(`it is no JSON: ${parsed.message}`)
  if (isDeeperThan(parsed.value, deepest)) return wrong('expected a value that is not nested this deeply')
  const checked = examplesSchema.safeParse(parsed.value, { reportInput: true })
  return checked.success ? { ok: true, examples: checked.data } : wrong(describeIssues(checked.error.issues))
}

function wrong(problem: string): ExamplesReading {
  return { ok: false, problems: [`examples.json: ${problem.replace('the manifest: ', 'the whole: ')}.`] }
}
