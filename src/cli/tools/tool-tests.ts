import { readOwnTests, type ToolTest } from '../../tools/contract/own-tests.ts'
import { CommandError } from '../command-error.ts'

/** The tests that lie beside a tool's manifest. */
export async function readToolTests(directory: string): Promise<ToolTest[]> {
  const reading = await readOwnTests(directory)
  if (reading.ok) return reading.tests
  const { code, problem, cause } = reading
  const hint = `It holds a list such as: [{"name": "greets", "params": {}, "expect": {"text_contains": "Hello"}}]`
  throw new CommandError(problem, { code, cause, ...(code === 'not_found' && { hint }) })
}
