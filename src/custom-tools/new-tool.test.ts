import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ContractToolsHome, openContractTools } from '../../test/support/contract-tools.ts'
import { writeNewTool } from './new-tool.ts'

describe('writeNewTool', () => {
  let home: ContractToolsHome
  beforeEach(async () => {
    home = await openContractTools()
  })
  afterEach(() => home.close())

  for (const language of ['python', 'bash', 'node'] as const) {
    it(`TOOL-1 writes a tool in ${language} that runs as it is`, async () => {
      const written = await writeNewTool({ root: home.directory, name: 'greeter', language })
      expect(written).toMatchObject({ ok: true, directory: join(home.directory, 'greeter') })
      await home.start()
      const [listed] = await home.catalog.list('max')
      expect(listed).toMatchObject({ name: 'greeter', status: 'system', problem: null })
      const run = await home.run('greeter', { name: '<Ada>' }, { telemetry: { city: 'Valletta' } })
      expect(run).toMatchObject({ text: "Hello, <Ada>! You're in Valletta.", error: null, title: 'Hello, <Ada>' })
      expect(run.html).toMatch(/^<p style="font-size:1\.4rem;margin:0">Hello, &lt;Ada&gt;! You're in Valletta\.<\/p>$/)
      expect((await home.run('greeter', {})).error).toMatch(/name/)
      expect((await home.catalog.show('max', 'greeter'))?.readsArgument).toBe(false)
      expect((await home.call('greeter', { name: 'Ada' })).label).toBe('internal')
    })
  }

  it('TOOL-1 takes a description of your own', async () => {
    await writeNewTool({ root: home.directory, name: 'mine', language: 'bash', description: 'Does "this"' })
    const manifest = JSON.parse(readFileSync(join(home.directory, 'mine', 'manifest.json'), 'utf8'))
    expect(manifest).toMatchObject({ name: 'mine', description: 'Does "this"' })
  })

  it('SEC-14 refuses names that are none, and those of Familiar', async () => {
    for (const name of ['', '..', '../x', 'a/b', 'Upper', 'x'.repeat(65), 'exec', 'mcp_x', 'cap-x']) {
      expect(await writeNewTool({ root: home.directory, name, language: 'bash' })).toMatchObject({ ok: false })
    }
  })

  it('SEC-11 overwrites nothing, and only the owner can read it', async () => {
    await writeNewTool({ root: home.directory, name: 'mine', language: 'bash' })
    const manifest = join(home.directory, 'mine', 'manifest.json')
    expect(statSync(join(home.directory, 'mine')).mode & 0o777).toBe(0o700)
    expect(statSync(manifest).mode & 0o777).toBe(0o600)
    chmodSync(manifest, 0o600)
    writeFileSync(manifest, 'changed')
    const again = await writeNewTool({ root: home.directory, name: 'mine', language: 'python' })
    expect(again).toEqual({ ok: false, problem: `There is something at ${join(home.directory, 'mine')} already` })
    expect(readFileSync(manifest, 'utf8')).toBe('changed')
  })
})
