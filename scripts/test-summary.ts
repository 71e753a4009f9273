import type { Reporter, TestModule } from 'vitest/node'
import { z } from 'zod'

const reportSchema = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      assertionResults: z.array(z.object({ status: z.string() })),
    }),
  ),
})

/** The last line of `npm test`, from the text of vitest's JSON report. */
export function summarise(report: string): string {
  const files = reportSchema.parse(JSON.parse(report)).testResults
  const tests = files.flatMap((file) => file.assertionResults)
  const count = (...statuses: string[]): number => tests.filter(({ status }) => statuses.includes(status)).length
  // A file that cannot be loaded has no tests to count, but must not count as passed.
  const broken = files.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some(({ status }) => status === 'failed'),
  ).length
  const skipped = tests.length - count('passed', 'failed')
  return `${count('passed')} passed, ${count('failed') + broken} failed, ${skipped} skipped`
}

/** A reporter: names the tests that failed once and passed when they were run again. */
// biome-ignore lint/style/noDefaultExport: vitest loads a reporter by its default export
export default class UnstableTests implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const unstable = tests.filter((test) => test.diagnostic()?.flaky)
    if (unstable.length === 0) return
    const names = unstable.map((test) => `  ${test.module.relativeModuleId}: ${test.fullName}`)
    console.log(`Failed once, then passed (each is a fault of the test or the code):\n${names.join('\n')}`)
  }
}
