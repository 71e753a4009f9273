import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import type { Json } from '../../protocol/json.ts'
import type { ToolRun } from './tool-catalog.ts'

const testsFile = 'tests.json'

const expectationSchema = z.strictObject({
  text: z.string().nullable().optional(),
  title: z.string().nullable().optional(),
  html: z.string().nullable().optional(),
  error: z.string().nullable().optional(),
  text_contains: z.string().optional(),
  title_contains: z.string().optional(),
  html_contains: z.string().optional(),
  error_contains: z.string().optional(),
})
const testSchema = z.strictObject({
  name: z.string().min(1),
  params: z.record(z.string(), z.custom<Json>()).default({}),
  telemetry: z.record(z.string(), z.custom<Json>()).default({}),
  expect: expectationSchema,
})

/** A run of a tool, and what must come out of it: the very words, or with `_contains` a part of them. */
export type ToolTest = z.infer<typeof testSchema>

export type OwnTests =
  | { ok: true; tests: ToolTest[] }
  /** `not_found`: there are none. */
  | { ok: false; code: 'not_found' | 'bad_request'; problem: string; cause?: unknown }

/** The tests that lie beside a tool's manifest. */
export async function readOwnTests(directory: string): Promise<OwnTests> {
  const path = join(directory, testsFile)
  try {
    const parsed = parseJson(await readFile(path, 'utf8'), z.array(testSchema))
    if (parsed.ok) return { ok: true, tests: parsed.value }
    return { ok: false, code: 'bad_request', problem: `${path} is not a list of tests: ${parsed.message}.` }
  } catch (cause) {
    return { ok: false, code: 'not_found', problem: `${path} cannot be read.`, cause }
  }
}

const parts = ['text', 'title', 'html', 'error'] as const

/** What is not as expected, in words; empty where the test passes. An error that nobody expects is always one. */
export function failuresOf({ expect }: ToolTest, run: Pick<ToolRun, (typeof parts)[number]>): string[] {
  const expectsError = expect.error !== undefined || expect.error_contains !== undefined
  if (run.error !== null && !expectsError) return [`it failed: ${run.error}`]
  return parts.flatMap((part) => {
    const whole = expect[part]
    const piece = expect[`${part}_contains`]
    const actual = run[part]
    const shown = JSON.stringify(actual)
    return [
      ...(whole !== undefined && whole !== actual ? [`${part} is ${shown}, not ${JSON.stringify(whole)}`] : []),
      ...(piece !== undefined && !actual?.includes(piece)
        ? [`${part} is ${shown}, without ${JSON.stringify(piece)}`]
        : []),
    ]
  })
}
