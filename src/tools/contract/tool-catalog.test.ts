import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ContractToolsHome, openContractTools } from '../../../test/support/contract-tools.ts'
import { placesHolding } from '../../../test/support/places-holding.ts'
import { bashTool, pythonTool } from '../../../test/support/published-tools.ts'
import { openRealSandbox } from '../../../test/support/real-sandbox.ts'
import { toolOf } from '../../../test/support/scripted-familiar.ts'

const secret = 'sk-canary-3f7a91c2'
const settings = {
  API_KEY: { description: 'Your key', secret: true, required: true },
  endpoint: { description: 'Where', default: 'https://api.example.com/v1' },
  days: { required: true },
}
const builtin = [toolOf('recall_memory', async () => ({ text: '', isError: false }))]

const { sandbox, close } = openRealSandbox()
afterAll(close)

describe('the catalog of tools', () => {
  let home: ContractToolsHome
  beforeEach(async () => {
    home = await openContractTools({ sandbox, builtin })
    const body = 'print(json.dumps({"text": json.dumps(settings, sort_keys=True)}))'
    home.writeTool(
      'weather',
      pythonTool('weather', body, { config_schema: settings, category: 'context', version: '1.2' }),
    )
    home.writeTool('plain', bashTool('plain', 'echo \'{"text": "ok"}\''))
    await home.start()
  })
  afterEach(() => home.close())

  const refused = (work: Promise<unknown>) =>
    work.then(
      () => 'done',
      (cause) => `${cause.code}: ${cause.message}`,
    )

  it('TOOL-6 tells the status of each tool and what is missing', async () => {
    const list = await home.catalog.list('max')
    expect(list.map(({ name, kind, status, problem }) => [name, kind, status, problem])).toEqual([
      ['plain', 'contract', 'system', null],
      ['recall_memory', 'builtin', 'system', null],
      ['weather', 'contract', 'available', 'needs API_KEY, days: familiar tools config weather'],
    ])
    expect(await home.catalog.test('max', 'weather')).toEqual({
      ok: false,
      message: 'needs API_KEY, days: familiar tools config weather',
    })
    await home.catalog.setConfig('max', 'weather', { API_KEY: secret, days: 3 })
    expect((await home.catalog.show('max', 'weather'))?.status).toBe('connected')
    expect(await home.catalog.test('max', 'weather')).toEqual({ ok: true, message: 'Configuration looks complete' })
    // Another user has settings of their own.
    expect((await home.catalog.show('eve', 'weather'))?.status).toBe('available')
    expect((await home.run('weather', {}, { userId: 'eve' })).error).toContain('weather needs API_KEY, days')
  })

  it('TOOL-6 shows secrets as ***, keeps them when that is written back, and gives them to the tool', async () => {
    await home.catalog.setConfig('max', 'weather', { API_KEY: secret, days: 3 })
    const shown = await home.catalog.config('max', 'weather')
    expect(shown).toEqual({ API_KEY: '***', endpoint: 'https://api.example.com/v1', days: 3 })
    await home.catalog.setConfig('max', 'weather', { ...shown, days: 5 })
    expect(await home.vault.get({ userId: 'max', owner: 'tool:weather', name: 'API_KEY' })).toBe(secret)
    expect((await home.run('weather')).text).toBe(
      '{"API_KEY": "[redacted]", "days": 5, "endpoint": "https://api.example.com/v1"}',
    )
    expect(JSON.stringify([shown, await home.catalog.show('max', 'weather')])).not.toContain(secret)
    expect(await placesHolding(home.database, join(home.home, 'familiar.db'), secret)).toEqual([])
  })

  it('TOOL-6 takes settings away, and refuses keys that there are not, writing nothing', async () => {
    await home.catalog.setConfig('max', 'weather', { API_KEY: secret, days: 3 })
    expect(await refused(home.catalog.setConfig('max', 'weather', { days: 9, typo: 1 }))).toBe(
      'bad_request: weather has no setting "typo". It has: API_KEY, endpoint, days.',
    )
    expect((await home.catalog.config('max', 'weather')).days).toBe(3)
    await home.catalog.deleteConfig('max', 'weather', 'API_KEY')
    await home.catalog.setConfig('max', 'weather', { days: null })
    expect(await home.catalog.config('max', 'weather')).toEqual({ endpoint: 'https://api.example.com/v1' })
    expect(await refused(home.catalog.deleteConfig('max', 'weather', 'typo'))).toContain('not_found')
    expect(await refused(home.catalog.setConfig('max', 'plain', { a: 1 }))).toBe(
      'bad_request: plain has no setting "a". It has none.',
    )
    expect(await refused(home.catalog.setConfig('max', 'weather', { API_KEY: { a: 1 } }))).toContain('expected a text')
    expect(await refused(home.catalog.setConfig('max', 'weather', { days: 'x'.repeat(20_000) }))).toContain(
      'bad_request',
    )
  })

  it('TOOL-6 shows all that the owner decides by', async () => {
    await home.catalog.allowHosts('weather', ['Files.Example.com', 'files.example.com', '*.example.org:8443'])
    expect(await home.catalog.show('max', 'weather')).toEqual({
      name: 'weather',
      description: 'The tool weather',
      version: '1.2',
      category: 'context',
      icon: null,
      kind: 'contract',
      trigger: 'on_demand',
      status: 'available',
      problem: 'needs API_KEY, days: familiar tools config weather',
      directory: join(home.directory, 'weather'),
      parameters: { type: 'object', properties: {} },
      configuration: [
        { key: 'API_KEY', description: 'Your key', isSecret: true, isRequired: true, default: null },
        {
          key: 'endpoint',
          description: 'Where',
          isSecret: false,
          isRequired: false,
          default: 'https://api.example.com/v1',
        },
        { key: 'days', description: '', isSecret: false, isRequired: true, default: null },
      ],
      network: { mode: 'none', declared: ['api.example.com'], allowed: ['files.example.com', '*.example.org:8443'] },
      limits: { memoryBytes: 256 * 1024 ** 2, timeoutMs: 9_000, isWritable: false, processes: 64 },
      refusedHosts: [],
      readsArgument: true,
      notes: [],
    })
    expect(await refused(home.catalog.allowHosts('weather', ['http://x/']))).toBe(
      'bad_request: "http://x/" is no host.',
    )
  })

  it('TOOL-6 knows no tool that there is not, and runs none that is no folder', async () => {
    expect(await home.catalog.show('max', 'nothing')).toBeUndefined()
    for (const work of [
      home.run('nothing'),
      home.catalog.config('max', 'nothing'),
      home.catalog.test('max', 'nothing'),
      home.catalog.setEnabled('nothing', true),
      home.catalog.allowHosts('nothing', []),
    ]) {
      expect(await refused(work)).toContain('not_found')
    }
    expect(await home.run('recall_memory')).toMatchObject({ ok: false, outcome: 'refused' })
    expect(await home.catalog.config('max', 'recall_memory')).toEqual({})
  })

  it('TOOL-12 lists what servers bring', async () => {
    home.registry.replace('mcp:calendar', [toolOf('mcp_calendar_today', async () => ({ text: '', isError: false }))])
    expect(await home.catalog.show('max', 'mcp_calendar_today')).toMatchObject({ kind: 'mcp', status: 'connected' })
    expect(await refused(home.catalog.setEnabled('mcp_calendar_today', false))).toContain('bad_request')
  })

  it('TOOL-1 looks again when it is asked to, at the folders and at what was decided elsewhere', async () => {
    await home.database.write((writer) =>
      writer.updateTable('tool_states').set({ is_enabled: 0 }).where('name', '=', 'plain').execute(),
    )
    await home.catalog.reload()
    expect(await home.catalog.show('max', 'plain')).toMatchObject({ status: 'disabled' })
    expect(home.registry.find('plain')).toBeUndefined()
  })
})
