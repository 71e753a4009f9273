import { describe, expect, it } from 'vitest'
import { createScriptedModel } from '../../test/support/scripted-model.ts'
import { purposes } from './model.ts'
import { createModels, providerHosts, type Routes } from './models-from-config.ts'
import type { ProviderSettings } from './provider-connection.ts'

const offline = createScriptedModel({ script: [], info: { id: 'offline' } })
const providers: ProviderSettings[] = [
  {
    name: 'local',
    type: 'openai-compatible',
    baseUrl: 'http://127.0.0.1:9/v1',
    apiKey: 'key',
    models: { main: { model: 'some-model', costPerMtok: [3, 15] }, small: { model: 'small-model' } },
  },
  { name: 'claude', type: 'anthropic', models: { main: { model: 'claude-sonnet-5-5' } } },
]

function make(routes: Routes = {}, from: ProviderSettings[] = providers) {
  return createModels({ providers: from, routes, offline, fetch: () => Promise.reject(new Error('not in this test')) })
}

const ids = (models: readonly { info: { id: string } }[]) => models.map(({ info }) => info.id)

describe('createModels', () => {
  it('MODEL-4 serves everything offline without configuration', () => {
    const models = make({}, [])
    for (const purpose of purposes) expect(models.route(purpose)).toEqual([offline])
    expect(models.list()).toEqual([offline])
    expect(models.byId('offline')).toBe(offline)
  })

  it('MODEL-4 uses the primary route for every purpose without its own', () => {
    const models = make({ primary: ['local/main', 'claude/main'], fast: 'local/small' })
    expect(ids(models.route('primary'))).toEqual(['local/main', 'claude/main'])
    expect(ids(models.route('fast'))).toEqual(['local/small'])
    for (const purpose of ['compaction', 'subagent', 'builder', 'vision'] as const) {
      expect(ids(models.route(purpose))).toEqual(['local/main', 'claude/main'])
    }
  })

  it('MODEL-4 uses the first model if no route is configured', () => {
    expect(ids(make().route('primary'))).toEqual(['local/main'])
  })

  it('MODEL-4 routes by source, for the conversation only', () => {
    const models = make({ primary: 'local/main', sources: { telegram: ['claude/main'] } })
    expect(ids(models.route('primary', 'telegram'))).toEqual(['claude/main'])
    expect(ids(models.route('primary', 'http'))).toEqual(['local/main'])
    expect(ids(models.route('compaction', 'telegram'))).toEqual(['local/main'])
  })

  it.each<[Routes, string]>([
    [{ primary: 'local/mian' }, 'routes.primary: there is no model "local/mian"'],
    [{ fast: ['local/main', 'nobody/x'] }, 'routes.fast: there is no model "nobody/x"'],
    [{ sources: { telegram: 'x/y' } }, 'routes.sources.telegram: there is no model "x/y"'],
    [{ vision: [] }, 'routes.vision: no model is named'],
  ])('MODEL-4 names the key of a route to an unknown model: %j', (routes, message) => {
    expect(() => make(routes)).toThrow(message)
    expect(() => make({ primary: 'a/b' })).toThrow('configured: local/main, local/small, claude/main')
  })

  it('MODEL-4 finds its models by id, with their prices', () => {
    const models = make()
    expect(ids(models.list())).toEqual(['local/main', 'local/small', 'claude/main'])
    expect(models.byId('local/main')?.info.costPerMtok).toEqual([3, 15, 3, 3])
    expect(models.byId('local/small')?.info.costPerMtok).toBeNull()
    expect(models.byId('local/none')).toBeUndefined()
  })

  it('MODEL-4 routes to the offline model under its configured name', () => {
    const models = make({ fast: 'none/it' }, [
      ...providers,
      { name: 'none', type: 'offline', models: { it: { model: '' } } },
    ])
    expect(ids(models.route('fast'))).toEqual(['none/it'])
    expect(ids(make({ fast: 'offline' }).route('fast'))).toEqual(['offline'])
  })

  it('MODEL-4 names the file with a missing or invalid base_url', () => {
    const broken = (baseUrl?: string) =>
      make({}, [{ name: 'x', type: 'openai-compatible', baseUrl, models: { a: { model: 'a' } } }])
    expect(() => broken()).toThrow('providers.d/x.toml: base_url: type "openai-compatible" requires one')
    expect(() => broken('not a url')).toThrow('providers.d/x.toml: base_url: "not a url" is not a URL')
  })

  it('SEC-8 lists for the guard only the hosts that the owner named', () => {
    expect(providerHosts([...providers, { name: 'o', type: 'ollama', models: {} }])).toEqual([
      { host: '127.0.0.1', port: 9 },
      { host: '127.0.0.1', port: 11434 },
    ])
  })
})
