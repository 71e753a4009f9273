import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type OpenCapabilityCatalog, openCapabilityCatalog } from '../../test/support/capability-catalog.ts'
import { toolContext } from '../../test/support/tool-context.ts'
import { silentLogger } from '../base/logger.ts'
import { estimateTokens } from '../base/tokens.ts'
import { createWakeups } from '../base/work.ts'
import type { Json } from '../protocol/messages.ts'
import { createRedactor } from '../security/redactor.ts'
import { createVault } from '../security/vault.ts'
import { createBuilds } from './builder/create-builds.ts'
import { createAfterFailure, createCapabilityRepairs, type RepairMode } from './capabilities.ts'
import { createCapabilityTools } from './capability-tools.ts'
import type { CapabilityRuns } from './custom-tool.ts'
import { type CapabilityRun, failedRun } from './execute.ts'
import type { CapabilityManifest } from './manifest.ts'
import { createCapabilitySearch } from './search.ts'

const begun = { log: '', refusedHosts: [], durationMs: 1, driver: null }
const failure = failedRun(begun, { error: 'ValueError: no', outcome: 'failed' })

async function openTools(home: OpenCapabilityCatalog) {
  const { catalog, database, clock, ids } = home
  const vault = createVault({
    database,
    keyFile: join(home.directory, '..', `${ids.next()}.key`),
    clock,
    redactor: createRedactor(),
  })
  const started: string[] = []
  const builds = createBuilds({
    database,
    catalog,
    vault,
    clock,
    ids,
    wakeups: createWakeups(),
    logger: silentLogger,
    work: {
      begin: async (build) => void started.push(build.name),
      stop: async () => {},
      state: async () => 'alive',
    },
  })
  const search = createCapabilitySearch({ catalog, database, logger: silentLogger })
  const repairs = createCapabilityRepairs({ catalog, builds, clock })
  const given = { mode: 'ask' as RepairMode, missing: undefined as string | undefined, run: failure as CapabilityRun }
  const whyNot = async () => given.missing
  const afterFailure = createAfterFailure({ repairs, mode: () => given.mode, whyNot })
  const runs: CapabilityRuns = { run: async () => given.run }
  const tools = createCapabilityTools({ catalog, search, builds, repairs, runs, whyNot, afterFailure })
  const toolOf = (name: string) => tools.find(({ definition }) => definition.name === name)
  return {
    builds,
    given,
    started,
    tools,
    toolOf,
    async call(name: string, input: Json, context = {}) {
      const outcome = await toolOf(name)?.run(input, toolContext(context))
      if (!outcome) throw new Error(`there is no tool ${name}`)
      return outcome
    },
    async close() {
      await search.close()
      await builds.close()
    },
  }
}

describe('the tools of capabilities', () => {
  let home: OpenCapabilityCatalog
  let opened: Awaited<ReturnType<typeof openTools>>
  beforeEach(async () => {
    home = await openCapabilityCatalog()
    opened = await openTools(home)
  })
  afterEach(async () => {
    await opened.close()
    await home.close()
  })
  const publish = (manifest: Partial<CapabilityManifest> & { name: string }) => home.publish(manifest)
  const wish = { name: 'weather_lookup', description: 'Weather of a city.' }

  it('CTX-5 the two core ones cost less than 160 tokens in a request', () => {
    const core = opened.tools.filter((tool) => tool.core).map(({ definition }) => definition)
    expect(core.map(({ name }) => name)).toEqual(['lookup_capability', 'request_capability'])
    const written = core.map(({ inputSchema, ...rest }) => ({ ...rest, input_schema: inputSchema }))
    expect(estimateTokens(JSON.stringify(written))).toBeLessThan(160)
  })

  it('CAP-1 looks up by name and by what it does, and makes it callable', async () => {
    expect(await opened.call('lookup_capability', { query: 'weather' })).toEqual({
      text: 'There is none. request_capability has one built.',
      isError: false,
    })
    const inputSchema = { type: 'object', required: ['city'] }
    await publish({ ...wish, inputSchema, hosts: ['api.example'] })
    await publish({ name: 'off', description: 'Weather of the past.' })
    await home.catalog.setEnabled('max', 'off', false)
    const found = await opened.call('lookup_capability', { query: 'the weather please' })
    expect(found.foundTools).toEqual(['cap_weather_lookup'])
    expect(JSON.parse(found.text)).toEqual({ ...wish, state: 'active', input: inputSchema, hosts: ['api.example'] })
    const named = await opened.call('lookup_capability', { query: 'cap_off' })
    expect([JSON.parse(named.text).state, named.foundTools]).toEqual(['disabled', []])
    expect((await opened.call('lookup_capability', { query: 'weather' }, { userId: 'eve' })).foundTools).toBeUndefined()
  })

  it('CAP-1 has one built once, offers it for later, and says so when it is asked again', async () => {
    const asked = await opened.call('request_capability', wish, { sessionId: 's', callId: 'c' })
    const { build_id: id, ...told } = JSON.parse(asked.text.split('\n')[0] ?? '')
    expect(told).toEqual({ name: 'weather_lookup', state: 'building' })
    expect(asked.foundTools).toEqual(['cap_weather_lookup'])
    expect(await opened.builds.find('max', id)).toMatchObject({ state: 'running', name: 'weather_lookup' })
    const again = await opened.call('request_capability', wish, { sessionId: 's', callId: 'c' })
    expect(again).toEqual(asked)
    expect(opened.started).toEqual(['weather_lookup'])
    await opened.builds.ended(id, { isStopped: false, reason: 'No idea.' })
    expect((await opened.call('lookup_capability', { query: 'weather_lookup' })).text).toContain('No idea.')
    expect((await opened.call('request_capability', wish, { callId: 'd' })).text).toContain('"building"')
    await publish(wish)
    const there = await opened.call('request_capability', wish, { callId: 'e' })
    expect([there.text.split('\n')[0], there.foundTools]).toEqual([
      'There is one of that name already: call cap_weather_lookup.',
      ['cap_weather_lookup'],
    ])
    expect(opened.started).toHaveLength(2)
  })

  it('CAP-1 tells of one that does the same, unless another one is wanted', async () => {
    await publish(wish)
    const wanted = { name: 'lookup_weather', description: 'Weather.' }
    const same = await opened.call('request_capability', wanted)
    expect(same).toMatchObject({ isError: false, foundTools: ['cap_weather_lookup'] })
    expect(same.text).toContain('"distinct": true')
    expect(opened.started).toEqual([])
    await opened.call('request_capability', { ...wanted, distinct: true })
    expect(opened.started).toEqual(['lookup_weather'])
  })

  it('CAP-1 takes slugs for names, and says why nothing can be built', async () => {
    for (const name of ['Weather', 'a', 'weather lookup', '../x', 'x'.repeat(60)]) {
      const { isError, text } = await opened.call('request_capability', { name, description: 'x' })
      expect([isError, text]).toEqual([true, expect.stringContaining('cannot be its name')])
    }
    opened.given.missing = 'there is no language model.'
    expect(await opened.call('request_capability', wish)).toEqual({
      text: 'Nothing can be built now: there is no language model.',
      isError: true,
    })
    expect(opened.toolOf('request_capability')?.reach(wish)).toEqual({
      kind: 'later',
      destination: 'build:weather_lookup',
    })
    expect(opened.started).toEqual([])
  })

  it('SEC-17 a build inherits what the conversation had in sight', async () => {
    const seen = { untrusted: true, private: true }
    await opened.call('request_capability', wish, { seen })
    const [build] = await opened.builds.list('max')
    expect(build?.request.seen).toEqual(seen)
  })

  it('CAP-6 reads RUN.md on demand', async () => {
    await home.publish(wish, { notes: '# Weather\n\nGive it a city.' })
    expect((await opened.call('read_run_md', { name: 'weather_lookup' })).text).toBe('# Weather\n\nGive it a city.')
    await home.publish({ name: 'foreign' }, { origin: 'imported' })
    expect(await opened.call('read_run_md', { name: 'cap_foreign' })).toMatchObject({ label: 'untrusted' })
    expect(await opened.call('read_run_md', { name: 'none' })).toMatchObject({ isError: true })
    expect(await opened.call('read_run_md', { name: 'weather_lookup' }, { userId: 'eve' })).toMatchObject({
      isError: true,
    })
  })

  it('CAP-8 a failure offers a repair, or begins it, with the input that failed', async () => {
    const { capability } = await publish(wish)
    await home.catalog.recordRun(capability.id, { city: 'Rome' }, failure)
    const execute = () =>
      opened.call('execute_capability', { name: wish.name, input: { city: 'Rome' } }, { callId: 'x' })
    expect(await execute()).toMatchObject({ isError: true, foundTools: ['repair_capability'] })
    opened.given.mode = 'off'
    expect((await execute()).text).toBe('[TOOL:cap_weather_lookup]\nError: ValueError: no\n[/TOOL]')
    opened.given.mode = 'auto'
    opened.given.run = { ...failure, outcome: 'service_failed' }
    expect((await execute()).text).not.toContain('repair')
    opened.given.run = failure
    expect((await execute()).text).toContain('A repair has started')
    const [build] = await opened.builds.list('max')
    expect(build).toMatchObject({ kind: 'repair', name: wish.name })
    expect(build?.request.failure).toEqual({ input: { city: 'Rome' }, error: 'ValueError: no' })
    expect(home.catalog.find('max', wish.name)).toMatchObject({ state: 'building', version: 1 })
    await opened.builds.ended(build?.id ?? '', { isStopped: false, reason: 'It is hard.' })
    expect(await execute()).toMatchObject({ foundTools: ['repair_capability'] })
    expect(opened.started).toHaveLength(1)
  })

  it('CAP-8 repairs on request, where something is wrong', async () => {
    await publish(wish)
    const { name } = wish
    expect(await opened.call('repair_capability', { name })).toMatchObject({ isError: true })
    expect(await opened.call('repair_capability', { name: 'none' })).toMatchObject({ isError: true })
    const repaired = await opened.call('repair_capability', { name, problem: 'It says Fahrenheit.' })
    expect(repaired.text).toContain('"building"')
    const [build] = await opened.builds.list('max')
    expect(build?.request.description).toBe('Weather of a city.\n\nWhat is wrong: It says Fahrenheit.')
    expect(await opened.call('repair_capability', { name, problem: 'x' }, { callId: 'other' })).toMatchObject({
      isError: true,
    })
  })

  it('SEC-6 running by a name in the arguments acts, wherever it may go', () => {
    const reach = opened.toolOf('execute_capability')?.reach({ name: 'cap_weather_lookup', input: {} })
    expect(reach).toEqual({ kind: 'reach', destination: 'tool:cap_weather_lookup' })
    expect(opened.toolOf('execute_capability')?.effect).toBe('at-most-once')
  })
})
