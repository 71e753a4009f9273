import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from './config/load-config.ts'
import { describeSettings } from './home-desk.ts'

describe('describeSettings', () => {
  let home: string
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'familiar-'))
  })
  afterEach(() => rmSync(home, { recursive: true }))

  function settingsOf(toml: string, env: Record<string, string> = {}, flags: { port?: number } = {}) {
    writeFileSync(join(home, 'familiar.toml'), toml)
    const loaded = loadConfig({ home, env, flags })
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
    const described = describeSettings({ home, env, flags, config: loaded.config })
    return (key: string) => described.find((setting) => setting.key === key)
  }

  it('PAGE-6 reports for every value where it is set', () => {
    const of = settingsOf('[budget]\nper_day_usd = 3\n[http]\nport = 1\n', { FAMILIAR_LOG: 'debug' }, { port: 8200 })
    expect(of('budget.per_day_usd')).toMatchObject({ value: '3', origin: 'file', place: 'familiar.toml:2' })
    expect(of('budget.per_message_usd')).toMatchObject({ value: '5', origin: 'default', place: null })
    expect(of('http.port')).toMatchObject({ value: '8200', origin: 'command_line', place: '--port' })
    expect(of('log.level')).toMatchObject({ value: '"debug"', origin: 'environment', place: 'FAMILIAR_LOG' })
  })

  it('PAGE-6 names the line of .env', () => {
    writeFileSync(join(home, '.env'), '\nFAMILIAR_SANDBOX=off\n', { mode: 0o600 })
    expect(settingsOf('')('sandbox.driver')).toMatchObject({ value: '"off"', place: 'FAMILIAR_SANDBOX in .env:2' })
  })

  it('SEC-13 hides arguments of programs and secret parts of addresses', () => {
    const of = settingsOf(
      [
        '[mcp.servers.one]',
        'command = "notes"',
        'args = ["--token", "a-secret"]',
        '[mcp.servers.two]',
        'url = "https://example.org/mcp?key=a-secret"',
      ].join('\n'),
    )
    expect(of('mcp.servers.one.args')?.value).toBeNull()
    expect(of('mcp.servers.two.url')?.value).toBe('"https://example.org/mcp?…"')
  })

  it('keeps a name with a colon', () => {
    expect(settingsOf('[agent]\nname = "Hal: 9000"\n')('agent.name')?.value).toBe('"Hal: 9000"')
  })
})
