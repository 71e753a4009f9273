import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import type { Json } from '../../protocol/json.ts'
import type { ToolRunReply } from '../../protocol/tool-api.ts'
import { CommandError } from '../command-error.ts'

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

/** The tests that lie beside a tool's manifest. */
export async function readToolTests(directory: string): Promise<ToolTest[]> {
  const path = join(directory, testsFile)
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    const hint = `It holds a list such as: [{"name": "greets", "params": {}, "expect": {"text_contains": "Hello"}}]`
    throw new CommandError(`${path} cannot be read.`, { code: 'not_found', hint, cause })
  })
  const parsed = parseJson(text, z.array(testSchema))
  if (parsed.ok) return parsed.value
  throw new CommandError(`${path} is not a list of tests: ${parsed.message}.`, { code: 'bad_request' })
}

const parts = ['text', 'title', 'html', 'error'] as const

/** What is not as expected, in words; empty where the test passes. An error that nobody expects is always one. */
export function failuresOf({ expect }: ToolTest, run: ToolRunReply): string[] {
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
