import { formatDuration, plural } from '../../base/format.ts'
import type { ToolRunRequest } from '../../protocol/tool-api.ts'
import { failuresOf } from '../../tools/contract/own-tests.ts'
import type { CommandHandler } from '../command.ts'
import { CommandError, exitCodes } from '../command-error.ts'
import { readToolTests } from './tool-tests.ts'
import { withToolsOnce } from './with-tools.ts'

interface TestResult {
  name: string
  ok: boolean
  failures: string[]
  duration_ms: number
}

/** `familiar tools test NAME`: whether it has all that it needs, and its own tests, each in a run of its own. */
export const testTool: CommandHandler<{ name: string }> = async (context, input) => {
  const { output, signal } = context
  const results = await withToolsOnce(context, async (tools) => {
    const { directory } = await tools.show(input.name)
    if (directory === null) throw noFolder(input.name)
    const tests = await readToolTests(directory)
    const readiness = await tools.test(input.name)
    if (!readiness.ok) throw new CommandError(`${input.name} cannot be tested yet: ${readiness.message}`)
    const done: TestResult[] = []
    for (const test of tests) {
      const telemetry = test.telemetry as ToolRunRequest['telemetry']
      const run = await tools.run(input.name, { params: test.params, telemetry }, signal)
      const failures = failuresOf(test, run)
      done.push({ name: test.name, ok: failures.length === 0, failures, duration_ms: run.duration_ms })
      if (!input.json) for (const line of describe(done.at(-1))) output.print(line)
    }
    return done
  })
  const failed = results.filter(({ ok }) => !ok).length
  if (input.json) output.printJson({ ok: failed === 0, tests: results })
  else if (failed === 0) output.print(`${plural(results.length, 'test')} passed.`)
  else output.fail(`${plural(failed, 'test')} of ${results.length} failed.`, undefined, exitCodes.failed)
  return failed === 0 ? undefined : exitCodes.failed

  function describe(result: TestResult | undefined): string[] {
    if (!result) return []
    const mark = result.ok ? output.style('green', '✓') : output.style('red', '✗')
    const took = output.style('dim', formatDuration(result.duration_ms))
    return [`${mark} ${result.name} ${took}`, ...result.failures.map((failure) => `    ${failure}`)]
  }
}

function noFolder(name: string): CommandError {
  return new CommandError(`${name} is no tool of a folder: it has no tests of its own.`, {
    code: 'bad_request',
    hint: 'familiar tools list shows those that are.',
  })
}
