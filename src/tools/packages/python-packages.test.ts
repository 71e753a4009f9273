import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ContractToolsHome, openContractTools } from '../../../test/support/contract-tools.ts'
import { hasPip, makeGreetingIndex } from '../../../test/support/greeting-wheel.ts'
import { pythonTool } from '../../../test/support/published-tools.ts'
import { openRealSandbox } from '../../../test/support/real-sandbox.ts'

describe.skipIf(!hasPip)(hasPip ? 'packages of Python' : 'pip is not installed', () => {
  const real = openRealSandbox()
  const { index: packageIndex, remove } = makeGreetingIndex()
  let home: ContractToolsHome
  beforeEach(async () => {
    home = await openContractTools({ sandbox: real.sandbox, packageIndex })
  })
  afterEach(() => home.close())
  afterAll(async () => {
    remove()
    await real.close()
  })

  const body = 'import greeting\nprint(json.dumps({"text": greeting.word + " " + greeting.__cached__}))'
  const statusOf = async () => {
    const [tool] = await home.catalog.list('max')
    return `${tool?.status} ${tool?.problem ?? ''}`.trim()
  }

  it('TOOL-5 are built once for a tool that needs them, and found by the next one and after a restart', async () => {
    home.writeTool('greeter', { ...pythonTool('greeter', body), 'requirements.txt': 'greeting>=1.0 # a comment\n' })
    await home.tools.start()
    expect(await statusOf()).toBe('building')
    expect(home.registry.list()).toEqual([])
    expect(await home.run('greeter', {}, { caller: 'cron' })).toMatchObject({
      outcome: 'refused',
      error: 'greeter is still being built. Try again in a moment.',
    })
    await home.tools.settled()
    expect(await statusOf()).toBe('system')
    expect((await home.run('greeter')).text).toMatch(/^Hello from a wheel \/familiar\/python\/greeting\/__pycache__/)
    const built = () => readdirSync(join(home.home, 'cache', 'python'))
    expect(built()).toHaveLength(1)
    home.writeTool('second', { ...pythonTool('second', body), 'requirements.txt': 'greeting>=1.0' })
    await home.restart()
    expect((await home.run('second')).ok).toBe(true)
    expect(built()).toHaveLength(1)
  })

  it('TOOL-5 that the Dockerfile installs are the same', async () => {
    const lines = [
      'FROM python:3',
      'WORKDIR /app',
      'COPY . .',
      'RUN pip install greeting',
      'ENTRYPOINT ["python", "runner.py"]',
    ]
    home.writeTool('greeter', { ...pythonTool('greeter', body), Dockerfile: lines.join('\n') })
    await home.start()
    expect((await home.run('greeter')).text).toContain('Hello from a wheel')
  })

  it('TOOL-5 that cannot be had are named in the status', async () => {
    home.writeTool('greeter', { ...pythonTool('greeter', body), 'requirements.txt': 'no-such-package==9' })
    await home.start()
    expect(await statusOf()).toMatch(
      /^error needs no-such-package==9 for Python, and pip says: .*No matching distribution/s,
    )
  })

  it.each([
    '--index-url https://evil.example.com',
    '-r other.txt',
    'git+https://example.com/x',
    'x @ https://example.com/x.whl',
    './local',
    '-e .',
  ])('SEC-14 are names and versions only: %s', async (line) => {
    home.writeTool('greeter', { ...pythonTool('greeter', body), 'requirements.txt': `greeting\n${line}` })
    await home.start()
    expect(await statusOf()).toContain('only names with versions are installed, no options or addresses')
  })
})
