import { cpSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { failuresOf, writeNewTool } from '../../src/custom-tools/new-tool.ts'
import type { ToolRunReply } from '../../src/protocol/tools.ts'
import { readToolTests } from '../../src/terminal/commands/tools.ts'
import { type ContractToolsHome, openContractTools } from '../support/contract-tools.ts'
import { openRealSandbox } from '../support/real-sandbox.ts'

const examples = join(import.meta.dirname, '../../examples/tools')
const names = readdirSync(examples, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)

describe('the example tools', () => {
  const real = openRealSandbox()
  let home: ContractToolsHome
  beforeAll(async () => {
    home = await openContractTools({ sandbox: real.sandbox })
    for (const name of names) cpSync(join(examples, name), join(home.directory, name), { recursive: true })
    await home.start()
  })
  afterAll(async () => {
    await home.close()
    await real.close()
  })

  it('TOOL-1 are one each in Python, bash and Node; each is ready at once and needs no network', async () => {
    expect(names).toEqual(['date_math', 'text_stats', 'unit_converter'])
    for (const { name, status, problem } of await home.catalog.list('max')) {
      expect(`${name} ${status} ${problem}`).toBe(`${name} system null`)
      const details = await home.catalog.show('max', name)
      expect(details).toMatchObject({ network: { mode: 'none' }, notes: [] })
    }
  })

  it.each(names)('TOOL-1 pass their own tests: %s', async (name) => {
    expect(await passedTests(name)).toBeGreaterThan(4)
  })

  it.each(['python', 'bash', 'node'] as const)(
    'TOOL-1 and so does what `familiar tools new` writes in %s',
    async (language) => {
      await writeNewTool({ root: home.directory, name: `new_${language}`, language })
      await home.catalog.reload()
      expect(await passedTests(`new_${language}`)).toBe(4)
    },
  )

  async function passedTests(name: string): Promise<number> {
    const tests = await readToolTests(join(home.directory, name))
    for (const test of tests) {
      const run = await home.run(name, test.params, { telemetry: test.telemetry })
      const { text, html, title, error } = run
      const reply = { text, html, title, error } as ToolRunReply
      expect({ test: test.name, failures: failuresOf(test, reply) }).toEqual({ test: test.name, failures: [] })
      if (run.ok) expect(run.card?.title).toBeTruthy()
    }
    return tests.length
  }
})
