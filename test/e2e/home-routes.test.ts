import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { DoctorReply, ModelsReply, SettingsReply } from '../../src/protocol/status.ts'
import { type RunningFamiliar, startFamiliar } from '../support/running-familiar.ts'

const key = 'a-key-that-nobody-sees'
const provider = `type = "openai-compatible"
base_url = "http://127.0.0.1:9/v1"
api_key_env = "FAKE_KEY"
[models.main]
model = "main"
cost_per_mtok = [3, 15]
[models.cheap]
model = "cheap"
`
const toml = '[routes]\nprimary = ["fake/main", "fake/cheap"]\n[routes.sources]\ntelegram = "fake/cheap"\n'

describe('the home over HTTP', () => {
  let familiar: RunningFamiliar | undefined
  afterEach(() => familiar?.close())

  async function open(): Promise<RunningFamiliar> {
    familiar = await startFamiliar({ toml, providers: { fake: provider }, env: { FAKE_KEY: key } })
    return familiar
  }

  async function answerOf<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await familiar?.request(method, `/api/v1${path}`, body)
    const text = (await response?.text()) ?? ''
    expect({ path, status: response?.status, text }).toMatchObject({ path, status: 200 })
    expect(text).not.toContain(key)
    return JSON.parse(text) as T
  }

  it('CLI-1 the doctor finds the same as on the command line, and two requests share one run', async () => {
    await open()
    const [one, two] = await Promise.all([
      answerOf<DoctorReply>('GET', '/doctor'),
      answerOf<DoctorReply>('GET', '/doctor'),
    ])
    expect(two).toEqual(one)
    const checks = new Set(one.findings.map(({ check }) => check))
    for (const check of ['node', 'home', 'disk', 'clock', 'config', 'database', 'daemon', 'route primary', 'sandbox'])
      expect(checks).toContain(check)
    // A model server on this machine is asked at every look; one outside only where the owner wants it.
    expect(one.findings).toContainEqual(expect.objectContaining({ check: 'provider fake', state: 'fail' }))
  })

  it('CLI-1 the providers are checked if the owner wants it', async () => {
    await open()
    const { ok, findings } = await answerOf<DoctorReply>('POST', '/doctor', { network: true })
    expect(findings).toContainEqual(expect.objectContaining({ check: 'provider fake', state: 'fail' }))
    expect(ok).toBe(false)
  })

  it('PAGE-6 the task, price and key of each model', async () => {
    await open()
    const { current, models, routes } = await answerOf<ModelsReply>('GET', '/models')
    expect(current).toBe('fake/main')
    expect(models).toMatchObject([
      { id: 'fake/main', provider_type: 'openai-compatible', has_key: true, cost_per_mtok: { input: 3, output: 15 } },
      { id: 'fake/cheap', cost_per_mtok: null },
    ])
    expect(routes).toContainEqual({ name: 'builder', models: ['fake/main', 'fake/cheap'] })
    expect(routes).toContainEqual({ name: 'source telegram', models: ['fake/cheap'] })
  })

  it('PAGE-6 the configuration, and whether the files have changed since', async () => {
    const { home, daemon } = await open()
    expect(await answerOf<SettingsReply>('GET', '/settings')).toMatchObject({ home, is_current: true, problems: [] })
    writeFileSync(join(home, 'familiar.toml'), `${toml}[budget]\nper_day_usd = 1\n`)
    expect(await daemon.reload()).toEqual([])
    expect(await answerOf<SettingsReply>('GET', '/settings')).toMatchObject({ is_current: true })
    writeFileSync(join(home, 'familiar.toml'), 'budgets = 1\n')
    const { problems, is_current } = await answerOf<SettingsReply>('GET', '/settings')
    expect(is_current).toBe(false)
    expect(problems.join()).toContain('budgets')
  })
})
