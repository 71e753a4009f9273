import { chmodSync, chownSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ContractToolsHome, manifestOf, openContractTools } from '../../test/support/contract-tools.ts'
import { bashTool } from '../../test/support/published-tools.ts'
import { openRealSandbox } from '../../test/support/real-sandbox.ts'
import type { Json } from '../protocol/messages.ts'

const runner = 'echo \'{"text": "ok"}\''
const enable = 'familiar tools enable one'

const { sandbox, close } = openRealSandbox()
afterAll(close)

describe('the approval of a tool', () => {
  let home: ContractToolsHome
  beforeEach(async () => {
    home = await openContractTools({ sandbox, moreRoots: ['others'] })
  })
  afterEach(() => home.close())

  async function statusOf(name = 'one'): Promise<string> {
    const { status, problem } = (await home.catalog.list('max')).find((tool) => tool.name === name) ?? {}
    return problem ? `${status}: ${problem}` : `${status}`
  }

  async function change(manifest: Record<string, Json>): Promise<void> {
    home.writeTool('one', { 'manifest.json': JSON.stringify(manifestOf('one', manifest)) })
    await home.restart()
  }

  it('SEC-14 is given by putting it where only the owner can write, and lasts', async () => {
    home.writeTool('one', bashTool('one', runner))
    await home.start()
    expect(await statusOf()).toBe('system')
    await home.restart()
    expect(await statusOf()).toBe('system')
  })

  it.each<[string, Record<string, Json>]>([
    ['description', { description: 'Another one' }],
    ['description', { documentation: 'More of it' }],
    ['parameters', { parameters: { city: { type: 'string', description: 'first call exec' } } }],
    ['trigger', { trigger: { type: 'cron', schedule: '*/5', prompt: 'Look' } }],
    ['permissions', { sandbox: { network: 'bridge' } }],
    ['permissions', { sandbox: { network: 'none', writable: true } }],
    ['permissions', { output: { label: 'internal' } }],
    ['permissions', { input: 'stdin' }],
    ['permissions, settings', { config_schema: { URL: { default: 'https://evil.example.com' } } }],
    ['settings', { config_schema: { KEY: { secret: true } } }],
  ])('SEC-14 is needed again when its %s changes', async (parts, manifest) => {
    home.writeTool('one', bashTool('one', runner))
    await home.start()
    await change(manifest)
    expect(await statusOf()).toBe(`disabled: Changed since it was approved (${parts}). To approve it again: ${enable}`)
    expect(home.registry.list()).toEqual([])
    expect(await home.run('one')).toMatchObject({ ok: false, outcome: 'refused' })
    await home.catalog.setEnabled('one', true)
    expect(await statusOf()).not.toContain('disabled')
    await home.restart()
    expect(await statusOf()).not.toContain('disabled')
  })

  it('SEC-14 is needed when it changes under way, too, and not for a change that is taken back', async () => {
    home.writeTool('one', bashTool('one', runner))
    await home.start()
    home.writeTool('one', { 'manifest.json': JSON.stringify(manifestOf('one', { description: 'Another one' })) })
    await home.nextChange()
    expect(await statusOf()).toContain('disabled')
    await change({})
    expect(await statusOf()).toBe('system')
  })

  it('SEC-14 is needed again when its code changes, and the model reads that; the owner can run it by hand', async () => {
    home.writeTool('one', { ...bashTool('one', 'bash lib/part.sh'), 'lib/part.sh': runner })
    await home.start()
    expect((await home.call('one', {})).text).toContain('ok')
    await home.restart()
    home.writeTool('one', { 'lib/part.sh': 'echo \'{"text": "edited"}\'' })
    await home.nextChange()
    const why = `Changed since it was approved (code). To approve it again: ${enable}`
    expect(await statusOf()).toBe(`disabled: ${why}`)
    expect(await home.call('one', {})).toMatchObject({ isError: true, text: expect.stringContaining(why) })
    for (const caller of ['cron', 'webhook', 'turn'] as const)
      expect(await home.run('one', {}, { caller })).toMatchObject({ ok: false, outcome: 'refused' })
    expect(await home.run('one')).toMatchObject({ text: 'edited', notes: [`It ran by hand only. ${why}`] })
    await home.catalog.setEnabled('one', true)
    expect((await home.call('one', {})).text).toContain('edited')
  })

  it('SEC-14 holds for a change of the limits and of unknown keys, where only the owner can write', async () => {
    home.writeTool('one', bashTool('one', runner))
    await home.start()
    await change({ sandbox: { network: 'none', memory: '64m' }, constraints: { timeout_seconds: 3 }, tips: ['x'] })
    expect(await statusOf()).toBe('system')
    expect((await home.call('one', {})).text).toContain('ok')
  })

  it('SEC-14 covers the files that arrive right after the first ones', async () => {
    home.writeTool('one', bashTool('one', 'bash part.sh'))
    await home.start()
    home.writeTool('one', { 'part.sh': runner })
    await home.nextChange()
    expect(await statusOf()).toBe('system')
  })

  it('SEC-14 holds for approvals that an older version stored', async () => {
    home.writeTool('one', bashTool('one', runner))
    await home.start()
    const row = await home.database.read.selectFrom('tool_states').selectAll().executeTakeFirstOrThrow()
    const { files, ...older } = JSON.parse(row.fingerprint ?? '')
    expect(files).toMatch(/^[0-9a-f]{64}$/)
    await home.database.write((writer) =>
      writer
        .updateTable('tool_states')
        .set({ fingerprint: JSON.stringify(older) })
        .execute(),
    )
    await home.restart()
    expect(await statusOf()).toBe('system')
    home.writeTool('one', { 'runner.sh': 'echo \'{"text": "edited"}\'' })
    await home.restart()
    expect(await statusOf()).toContain('Changed since it was approved (code)')
  })

  it("SEC-14 is needed for a tool that wants this machine's own network", async () => {
    home.writeTool('one', bashTool('one', runner, { sandbox: { network: 'host' } }))
    await home.start()
    expect(await statusOf()).toBe(`disabled: New, and it wants this machine's own network. To approve it: ${enable}`)
    await home.catalog.setEnabled('one', true)
    expect(await statusOf()).toBe('system')
  })

  it('SEC-14 is needed where others can write, for the code as well', async () => {
    const others = join(home.home, 'others')
    home.writeTool('one', bashTool('one', runner), others)
    home.writeTool('own', bashTool('own', runner), others)
    chmodSync(join(others, 'one', 'runner.sh'), 0o777)
    await home.start()
    expect(await statusOf('own')).toBe('system')
    expect(await statusOf()).toContain(`disabled: New, and others can write to ${join(others, 'one', 'runner.sh')}`)
    await home.catalog.setEnabled('one', true)
    expect(await statusOf()).toBe('system')
    home.writeTool('one', { 'data.txt': 'new' }, others)
    await home.restart()
    expect(await statusOf()).toContain('disabled: Changed since it was approved (code)')
  })

  it.skipIf(process.geteuid?.() !== 0)(
    'SEC-14 is needed where it belongs to another user, or its place does',
    async () => {
      const others = join(home.home, 'others')
      home.writeTool('one', bashTool('one', runner), others)
      chownSync(join(others, 'one', 'runner.sh'), 65_534, 65_534)
      await home.start()
      expect(await statusOf()).toContain('belongs to another user')
      chownSync(join(others, 'one', 'runner.sh'), 0, 0)
      chmodSync(others, 0o777)
      await home.restart()
      expect(await statusOf()).toContain(`others can write to ${others}`)
    },
  )

  it('SEC-14 is taken back by switching it off, and stays so', async () => {
    home.writeTool('one', bashTool('one', runner))
    await home.start()
    await home.catalog.setEnabled('one', false)
    expect(await statusOf()).toBe(`disabled: Off. To enable it: ${enable}`)
    expect(home.registry.list()).toEqual([])
    await change({ tips: ['edited'] })
    expect(await statusOf()).toContain('disabled: Off.')
  })
})
