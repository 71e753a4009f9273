import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type OpenCapabilityCatalog, openCapabilityCatalog } from '../../test/support/capability-catalog.ts'
import type { Writer } from '../storage/database.ts'
import { createToolAudit } from '../tools/registry.ts'
import { type CapabilityRun, failedRun } from './execute.ts'

const begun = { log: '', refusedHosts: [], durationMs: 5, driver: null }
const failure = (error: string) => failedRun(begun, { error, outcome: 'failed' })
const success: CapabilityRun = {
  ...begun,
  ok: true,
  value: 'x',
  text: 'x',
  card: null,
  error: null,
  outcome: 'succeeded',
}
const dayMs = 24 * 60 * 60_000

describe('createCapabilityCatalog', () => {
  let home: OpenCapabilityCatalog
  beforeEach(async () => {
    home = await openCapabilityCatalog()
  })
  afterEach(() => home.close())

  const wanted = (name: string) => ({ userId: 'max', name, description: 'wanted', inputSchema: { type: 'object' } })
  const beginBuild = async (name: string) => {
    const begun = await home.database.write((writer) => home.catalog.beginBuildIn(writer, wanted(name)))
    await home.catalog.refresh(begun.id)
    return begun
  }
  const endBuild = async (capabilityId: string, problem: string) => {
    await home.database.write((writer) => home.catalog.endBuildIn(writer, { capabilityId, problem }))
    await home.catalog.refresh(capabilityId)
  }
  const stateOf = (name: string) => {
    const found = home.catalog.find('max', name)
    return found && [found.state, found.version, found.problem]
  }

  it('CAP-2 goes from building to failed and on to active, and a version serves while the next is built', async () => {
    const { catalog, publish } = home
    const { id } = await beginBuild('weather')
    expect(stateOf('weather')).toEqual(['building', null, null])
    await endBuild(id, 'It did not work.')
    expect(stateOf('weather')).toEqual(['failed', null, 'It did not work.'])
    expect((await beginBuild('weather')).id).toBe(id)
    await publish({ name: 'weather', description: 'Rain and sun.', hosts: ['api.example'] })
    expect(stateOf('weather')).toEqual(['active', 1, null])
    await beginBuild('weather')
    expect(stateOf('weather')).toEqual(['building', 1, null])
    expect(catalog.find('max', 'weather')).toMatchObject({
      description: 'Rain and sun.',
      permissions: { hosts: ['api.example'], secrets: [], storage: false },
    })
    await endBuild(id, 'It did not work again.')
    expect(stateOf('weather')).toEqual(['active', 1, null])
  })

  it('CAP-2 a disabled capability stays off, and is not built', async () => {
    const { catalog, publish } = home
    await publish({ name: 'weather' })
    await beginBuild('weather')
    await catalog.setEnabled('max', 'weather', false, 'Too slow.')
    expect(stateOf('weather')).toEqual(['disabled', 1, 'Too slow.'])
    await publish({ name: 'weather' }, { buildId: 'build' })
    expect(stateOf('weather')).toEqual(['disabled', 2, 'Too slow.'])
    await expect(beginBuild('weather')).rejects.toMatchObject({ code: 'conflict' })
    await catalog.setEnabled('max', 'weather', true)
    expect(stateOf('weather')).toEqual(['active', 2, null])
    await beginBuild('first')
    await expect(catalog.setEnabled('max', 'first', false)).rejects.toThrow('being built for the first time')
    await expect(catalog.setEnabled('max', 'none', false)).rejects.toMatchObject({ code: 'not_found' })
  })

  it('CAP-4 a build registers once, however often it asks, and everything is there after a restart', async () => {
    const { publish, open } = home
    const also = async (writer: Writer, { version }: { version: number }) => {
      const row = { user_id: 'max', name: `version ${version}`, value: '', updated_at: 0 }
      await writer.insertInto('memory_marks').values(row).execute()
    }
    const once = () => publish({ name: 'weather' }, { buildId: 'one', also })
    const [first, second] = await Promise.all([once(), once()])
    expect([first.version, second.version]).toEqual([1, 1])
    const written = await home.database.read.selectFrom('memory_marks').select('name').execute()
    expect(written).toEqual([{ name: 'version 1' }])
    await publish({ name: 'weather', description: 'Second.', inputSchema: { type: 'object', required: ['city'] } })
    const again = await open()
    expect(again.find('max', 'weather')).toMatchObject({ version: 2, description: 'Second.', state: 'active' })
    expect(again.find('max', 'weather')?.inputSchema).toEqual({ type: 'object', required: ['city'] })
    const versions = await again.versions('max', 'weather')
    expect(versions.map(({ version, buildId }) => [version, buildId])).toEqual([
      [1, 'one'],
      [2, null],
    ])
    expect(versions.every(({ directory }) => existsSync(join(directory, 'main.py')))).toBe(true)
  })

  it('CAP-4 a unit that fails leaves neither rows nor a directory', async () => {
    const { catalog, publish, directory } = home
    const also = () => Promise.reject(new Error('no'))
    await expect(publish({ name: 'weather' }, { also })).rejects.toThrow('no')
    expect([catalog.find('max', 'weather'), readdirSync(directory, { recursive: true })]).toMatchObject([
      undefined,
      [expect.any(String)],
    ])
    const { version } = await publish({ name: 'weather' })
    expect(version).toBe(1)
  })

  it('CAP-4 removes a directory without a row at the next start', async () => {
    const { capability } = await home.publish({ name: 'weather' })
    const orphans = [join(home.directory, capability.id, 'v2'), join(home.directory, 'other', 'v1')]
    for (const orphan of orphans) {
      mkdirSync(orphan, { recursive: true })
      writeFileSync(join(orphan, 'main.py'), '')
    }
    const again = await home.open()
    expect(orphans.map((orphan) => existsSync(orphan))).toEqual([false, false])
    expect(existsSync((await again.version('max', 'weather'))?.directory ?? '')).toBe(true)
  })

  it('CAP-8 an older version serves again, with what it says and takes, but none that was changed', async () => {
    const { catalog, publish } = home
    await publish({ name: 'weather', description: 'One.', tags: ['rain'] })
    await publish({ name: 'weather', description: 'Two.', hosts: ['api.example'] })
    await publish({ name: 'weather', description: 'Three.' })
    expect(await catalog.rollback('max', 'weather')).toMatchObject({ version: 2, description: 'Two.' })
    expect(await catalog.rollback('max', 'weather')).toMatchObject({
      version: 1,
      description: 'One.',
      tags: ['rain'],
      permissions: { hosts: [] },
    })
    await expect(catalog.rollback('max', 'weather')).rejects.toThrow('no version before')
    await expect(catalog.rollback('max', 'weather', 7)).rejects.toMatchObject({ code: 'not_found' })
    expect((await publish({ name: 'weather' })).version).toBe(4)
    const second = await catalog.version('max', 'weather', 2)
    writeFileSync(join(second?.directory ?? '', 'main.py'), 'changed')
    await expect(catalog.rollback('max', 'weather', 2)).rejects.toThrow('main.py was changed')
    expect(catalog.find('max', 'weather')?.version).toBe(4)
  })

  it('CAP-8 counts calls, keeps the newest failure with its input, and forgets it with a new version', async () => {
    const { catalog, publish, database, clock, ids } = home
    const { capability } = await publish({ name: 'weather' })
    const { id } = capability
    await catalog.recordRun(id, { city: 'Kiel' }, success)
    await catalog.recordRun(id, { city: 'Rome' }, failure('No such city.'))
    await catalog.recordRun(id, {}, { ...failure('The input does not fit.'), outcome: 'refused' })
    const audit = createToolAudit({ database, clock, ids, redact: (text) => text })
    for (const durationMs of [30, 10, 20]) {
      const call = { userId: 'max', caller: 'turn', userText: '', outcome: 'succeeded' } as const
      await audit.record({ ...call, tool: 'cap_weather', durationMs })
    }
    expect(await catalog.statistics('max', 'weather')).toEqual({
      calls: 2,
      failures: 1,
      medianMs: 20,
      lastCalledAt: clock.now(),
      lastError: 'No such city.',
    })
    expect(await catalog.lastFailure('max', 'weather')).toEqual({ input: { city: 'Rome' }, error: 'No such city.' })
    await catalog.recordRun(id, 'x'.repeat(17_000), failure('Too much.'))
    expect(await catalog.lastFailure('max', 'weather')).toBeUndefined()
    expect(catalog.find('max', 'weather')).toMatchObject({ calls: 3, failures: 2, lastError: 'Too much.' })
    await publish({ name: 'weather' })
    expect(catalog.find('max', 'weather')).toMatchObject({ calls: 3, lastError: null })
  })

  it('CAP-8 calls at the same time all count', async () => {
    const { catalog, publish } = home
    const { id } = (await publish({ name: 'weather' })).capability
    await Promise.all(Array.from({ length: 20 }, () => catalog.recordRun(id, {}, success)))
    expect(catalog.find('max', 'weather')?.calls).toBe(20)
  })

  it('CAP-8 proposes to archive capabilities that were unused for 60 days, and deletes nothing', async () => {
    const { catalog, publish, clock } = home
    const { id } = (await publish({ name: 'used' })).capability
    await publish({ name: 'unused' })
    await publish({ name: 'off' })
    await catalog.setEnabled('max', 'off', false)
    await clock.advance(30 * dayMs)
    await catalog.recordRun(id, {}, success)
    expect(await catalog.proposals('max')).toEqual([])
    await clock.advance(31 * dayMs)
    expect(await catalog.proposals('max')).toEqual([
      { name: 'unused', reason: 'It was never called, and is 61 days old.' },
    ])
    await clock.advance(60 * dayMs)
    expect((await catalog.proposals('max')).map(({ name }) => name)).toEqual(['unused', 'used'])
    expect(catalog.list('max').map(({ name }) => name)).toEqual(['off', 'unused', 'used'])
  })

  it('SEC-22 hides the capabilities of other users', async () => {
    const { catalog, publish } = home
    await publish({ name: 'weather', description: 'Mine.' })
    await publish({ name: 'weather', description: 'Hers.' }, { userId: 'eve' })
    await publish({ name: 'diary' })
    expect(catalog.find('eve', 'weather')?.description).toBe('Hers.')
    expect([catalog.find('eve', 'diary'), await catalog.version('eve', 'diary')]).toEqual([undefined, undefined])
    expect(catalog.list('eve').map(({ name }) => name)).toEqual(['weather'])
    expect([await catalog.versions('eve', 'diary'), await catalog.statistics('eve', 'diary')]).toEqual([[], undefined])
    await expect(catalog.rollback('eve', 'diary')).rejects.toMatchObject({ code: 'not_found' })
  })

  it('CAP-6 tells of changes, not of calls', async () => {
    const { catalog, publish } = home
    const told: string[] = []
    const stop = catalog.onChange((userId) => told.push(userId))
    const { id } = (await publish({ name: 'weather' })).capability
    await catalog.recordRun(id, {}, success)
    await publish({ name: 'weather' }, { userId: 'eve' })
    stop()
    await catalog.setEnabled('max', 'weather', false)
    expect(told).toEqual(['max', 'eve'])
  })
})
