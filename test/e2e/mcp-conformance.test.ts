import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { runChild } from '../../scripts/launcher/run-child.cjs'

const root = join(import.meta.dirname, '../..')
const suite = join(root, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
const client = join(root, 'test/support/mcp/conformance-client.ts')
const results = mkdtempSync(join(tmpdir(), 'familiar-conformance-'))
afterAll(() => rmSync(results, { recursive: true, force: true }))

/** It fails if the client is a second late, which a busy machine can cause. */
const measuresTime = 'sse-retry'
const maxTries = 4
const atOnce = 2

async function run(words: readonly string[]): Promise<{ code: number; output: string }> {
  const stdio = ['ignore', 'pipe', 'pipe'] as const
  const { code, output } = await runChild(process.execPath, [suite, ...words], { cwd: root, stdio: [...stdio] })
  return { code: code ?? 1, output }
}

async function passes(scenario: string): Promise<boolean> {
  const command = `${process.execPath} --disable-warning=ExperimentalWarning ${client}`
  const words = ['client', '--command', command, '--scenario', scenario, '--output-dir', results, '--timeout', '60000']
  for (let tries = scenario === measuresTime ? maxTries : 1; tries > 0; tries -= 1) {
    const { code } = await run(words)
    if (code === 0) return true
  }
  return false
}

/** The table of docs/mcp.md: scenario and result. */
function documented(): Record<string, boolean> {
  const rows = readFileSync(join(root, 'docs/mcp.md'), 'utf8').matchAll(/^\| `([^`]+)` \| (passes|not supported) \|/gm)
  return Object.fromEntries([...rows].map(([, scenario, result]) => [scenario, result === 'passes']))
}

it('TOOL-12d the client passes the scenarios of the conformance suite that docs/mcp.md lists', {
  timeout: 300_000,
}, async () => {
  const { output } = await run(['list', '--client'])
  const scenarios = [...output.matchAll(/^ {2}- (\S+)/gm)].map(([, scenario]) => scenario ?? '')
  expect(scenarios.length).toBeGreaterThan(20)
  const found: Record<string, boolean> = {}
  const left = [...scenarios]
  const worker = async () => {
    for (let scenario = left.shift(); scenario !== undefined; scenario = left.shift()) {
      found[scenario] = await passes(scenario)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  expect(found).toEqual(documented())
})
