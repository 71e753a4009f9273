import type { Sandbox } from '../../../sandbox/sandbox.ts'
import type { CapabilityExample } from '../capability.ts'
import type { CapabilityExecutor, CapabilityRun, Runnable } from '../execute/executor.ts'
import { checkAgainstSchema, isSame } from '../manifest/json-schema.ts'
import type { ExampleResult } from './gate.ts'
import { matchText } from './match-text.ts'

const longestShown = 1_000

/**
 * A name that leads nowhere on every machine. With it, what declares no host has a way out that refuses everything and
 * knows what was asked for, instead of none, which tells nothing.
 */
const nowhere = 'nothing-is-declared.invalid'

/** Each example in a sandbox of its own, with storage that is empty and gone after it. */
export async function runExamples(
  draft: { userId: string; runnable: Runnable; examples: readonly CapabilityExample[] },
  dependencies: {
    executor: Pick<CapabilityExecutor, 'run'>
    sandbox: Sandbox
    onProgress(line: string): void
    signal: AbortSignal
  },
): Promise<{ results: ExampleResult[]; problems: string[] }> {
  const { userId, examples } = draft
  const { executor, onProgress, signal } = dependencies
  const { manifest } = draft.runnable
  const watched = manifest.hosts.length > 0 ? manifest : { ...manifest, hosts: [nowhere] }
  const runnable: Runnable = { ...draft.runnable, manifest: watched }
  const results: ExampleResult[] = []
  const problems: string[] = []
  const refused = new Set<string>()
  for (const [index, { input, expect }] of examples.entries()) {
    const run = await executor.run({ userId, runnable, input, storage: { kind: 'scratch' }, signal })
    const problem = await problemOf(run, expect)
    for (const host of run.refusedHosts) refused.add(host)
    results.push({ input, ok: problem === undefined, detail: problem ?? '' })
    if (problem !== undefined) problems.push(`Example ${index + 1}: ${problem}`)
    onProgress(`Example ${index + 1} of ${examples.length} ${problem === undefined ? 'passed' : 'failed'}.`)
  }
  for (const host of refused) {
    problems.push(
      `It tried to reach ${host}, which its manifest does not declare: add it to "hosts", or do without it.`,
    )
  }
  return { results, problems }

  async function problemOf(run: CapabilityRun, expect: CapabilityExample['expect']): Promise<string | undefined> {
    if (!run.ok) return `it failed. ${run.error ?? 'It gave no reason.'}${logOf(run)}`
    if ('equals' in expect) {
      if (isSame(run.value, expect.equals)) return undefined
      return `expected ${shown(JSON.stringify(expect.equals))}, and it returned ${shown(JSON.stringify(run.value))}`
    }
    if ('contains' in expect) {
      if (run.text.includes(expect.contains)) return undefined
      return `expected a text that contains ${JSON.stringify(expect.contains)}, and it returned ${shown(run.text)}`
    }
    if ('schema' in expect) {
      const wrong = checkAgainstSchema(run.value, expect.schema)
      return wrong.length === 0 ? undefined : `what it returned does not fit: ${wrong.join('; ')}`
    }
    const { runtime } = manifest
    const matches = await matchText({ runtime, pattern: expect.matches, text: run.text }, dependencies)
    if (matches === undefined) return `the regular expression ${JSON.stringify(expect.matches)} did not come to an end`
    if (matches) return undefined
    return `expected a text that matches ${JSON.stringify(expect.matches)}, and it returned ${shown(run.text)}`
  }
}

function logOf({ log }: CapabilityRun): string {
  return log.trim() === '' ? '' : `\nIt printed: ${log.trim().slice(-longestShown).toWellFormed()}`
}

function shown(text: string): string {
  return text.length > longestShown ? `${text.slice(0, longestShown).toWellFormed()}…` : text
}
