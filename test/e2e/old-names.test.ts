import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { UserTokenReply } from '../../src/protocol/users.ts'
import { type FakeModel, startFakeModel } from '../support/fake-model/start-fake-model.ts'
import { type RunningFamiliar, startFamiliar } from '../support/running-familiar.ts'
import { cleanUp, familiar as command, newHome, serveFamiliar } from './cli-process.ts'

const minute = 60_000

/** A file of an earlier version, with comments. */
const oldFile = `# Mine.
[agent.context.tiers]
full = ["SOUL.md"] # only this one
[tiers.free] # for guests
max_sessions = 1
[tiers.free.routes]
primary = "fake/small"
`
const quiet = '[memory]\nconversations = false\nextraction = false\n'
const provider = (url: string) =>
  `type = "openai-compatible"\nbase_url = "${url}/v1"\napi_key_env = "FAKE_KEY"\n[models.small]\nmodel = "small-model"\n`

describe('a configuration with the names of earlier versions', () => {
  afterEach(cleanUp)

  function homeWith(toml: string): string {
    const home = newHome()
    mkdirSync(join(home, 'providers.d'), { recursive: true, mode: 0o700 })
    writeFileSync(join(home, 'providers.d', 'fake.toml'), provider('http://127.0.0.1:9'), { mode: 0o600 })
    writeFileSync(join(home, 'familiar.toml'), toml, { mode: 0o600 })
    return home
  }
  const fileOf = (home: string) => readFileSync(join(home, 'familiar.toml'), 'utf8')

  it(
    'CONF-5 is read, and familiar doctor and the start name the new key of each once',
    async () => {
      const home = homeWith(oldFile)
      const env = { FAKE_KEY: 'key', FAMILIAR_PORT: '0', FAMILIAR_LOG: 'info', FAMILIAR_MODEL: 'fake/small' }
      const { stdout } = await command(['doctor', '--json'], { home, env })
      const warnings = (JSON.parse(stdout) as { findings: { message: string }[] }).findings
        .filter(({ message }) => message.includes('deprecated'))
        .map(({ message }) => message.slice(message.lastIndexOf('/') + 1))
      expect(warnings).toEqual([
        'familiar.toml:4: tiers is deprecated; its name is plans now',
        'familiar.toml:2: agent.context.tiers is deprecated; its name is agent.context.profiles now',
      ])
      const running = await serveFamiliar({ home, env })
      running.child.kill('SIGTERM')
      const { stderr: said } = await running.ended
      for (const key of ['tiers is deprecated; its name is plans', 'agent.context.tiers is deprecated']) {
        expect(said.split(`: ${key}`).length - 1, said).toBe(1)
      }
      expect(fileOf(home)).toBe(oldFile)
    },
    2 * minute,
  )

  it(
    'CONF-5 is read and changed by either name, and its comments stay',
    async () => {
      const home = homeWith(oldFile)
      const run = async (...line: string[]) => (await command(['config', ...line], { home })).stdout.trim()
      expect(await run('get', 'tiers.free.max_sessions')).toBe('1')
      expect(await run('get', 'plans.free.max_sessions')).toBe('1')
      expect(await run('get', 'agent.context.tiers.full')).toBe('["SOUL.md"]')
      expect(await run('get', 'tiers')).toContain('plans.free.max_sessions')
      await run('set', 'plans.free.max_sessions', '2')
      await run('set', 'tiers.free.budget.per_day_usd', '0.5')
      await run('set', 'agent.context.profiles.full', '["SOUL.md", "USER.md"]')
      const changed = fileOf(home)
      expect(changed).toContain('# Mine.\n[agent.context.tiers]\nfull = [ "SOUL.md", "USER.md" ] # only this one\n')
      expect(changed).toContain('[tiers.free] # for guests\nmax_sessions = 2\n')
      expect(changed).not.toContain('plans')
      expect(await run('get', 'plans.free.budget.per_day_usd')).toBe('0.5')

      // A file without plans gets the new name, whatever was typed.
      const other = homeWith('# Empty.\n')
      await command(['config', 'set', 'tiers.free.max_sessions', '3'], { home: other })
      expect(fileOf(other)).toBe('# Empty.\n\n[plans.free]\nmax_sessions = 3\n')
    },
    2 * minute,
  )

  it(
    'CONF-5 both names at once are an error with both lines, and so is a mistake under the old one',
    async () => {
      const both = await command(['config', 'list'], { home: homeWith(`${oldFile}[plans.member]\nmax_sessions = 3\n`) })
      expect(both.code).not.toBe(0)
      expect(both.stderr).toContain(
        'familiar.toml:4: tiers: is the old name of plans, which is in line 8 too; move everything there',
      )
      const wrong = oldFile.replace('max_sessions = 1', 'max_session = 1').replace('fake/small', 'fake/large')
      const { stderr } = await command(['config', 'list'], { home: homeWith(wrong) })
      expect(stderr).toContain(
        'familiar.toml:5: tiers.free.max_session: is not a known key; did you mean max_sessions?',
      )
      expect(stderr).toContain('familiar.toml:7: tiers.free.routes.primary: "fake/large" is not a configured model')
    },
    2 * minute,
  )

  it(
    'CLI-4 the old flags of the command line work',
    async () => {
      const home = homeWith(oldFile)
      const env = { FAKE_KEY: 'key', FAMILIAR_PORT: '0', FAMILIAR_MODEL: 'offline/offline', FAMILIAR_EMBEDDING: 'off' }
      await serveFamiliar({ home, env })
      const options = { home, env }
      expect((await command(['users', 'add', 'Ada', '--tier', 'free'], options)).code).toBe(0)
      expect((await command(['users', 'list', '--json'], options)).stdout).toContain('"tier":"free"')
      expect((await command(['users', 'tier', 'Ada', 'guest'], options)).code).toBe(0)
      expect((await command(['users', 'list', '--json'], options)).stdout).toContain('"tier":"guest"')
      expect((await command(['send', 'Hello', '--tier', 'operational'], options)).code).toBe(0)
      expect((await command(['memory', 'add', 'The gate is green.', '--tier', 'long_term'], options)).code).toBe(0)
    },
    2 * minute,
  )
})

/** The headers of the owner's page. */
async function signIn({ daemon }: RunningFamiliar): Promise<Record<string, string>> {
  const code = (await daemon.signInLink())?.replace(/^.*#sign-in=/, '')
  const response = await fetch(`${daemon.url}/api/v1/sign-in`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code }),
  })
  const { page_key } = (await response.json()) as { page_key: string }
  return { authorization: `Page ${page_key}`, cookie: response.headers.get('set-cookie')?.split(';')[0] ?? '' }
}

describe('a daemon with the names of earlier versions', () => {
  let fake: FakeModel
  let familiar: RunningFamiliar | undefined
  beforeEach(async () => {
    fake = await startFakeModel()
  })
  afterEach(async () => {
    await familiar?.close()
    familiar = undefined
    await fake.close()
  })

  const start = (toml: string, home?: string) =>
    startFamiliar({ ...(home !== undefined && { home }), toml, providers: { fake: provider(fake.url) } })

  it(
    'CONF-5 HTTP-3 takes the old fields, keeps the plans of an old home, and changes settings beside the old keys',
    async () => {
      const routes = '[routes]\nprimary = "fake/small"\n'
      familiar = await start(routes + quiet + oldFile)
      const added = await familiar.request('POST', '/api/v1/local/users', { name: 'Ada', tier: 'free' })
      expect(added.status).toBe(201)
      const { token } = (await added.json()) as UserTokenReply
      const asAda = { authorization: `Bearer ${token}` }
      const talk = (session: string) =>
        familiar?.request('POST', '/api/v1/chat', { message: 'Hi', session, tier: 'full' }, asAda)
      expect((await talk('one'))?.status).toBe(200)
      expect((await talk('two'))?.status).not.toBe(200)
      const usual = await familiar.request('POST', '/api/v1/chat', { message: 'Hi', tier: 'operational' })
      expect(usual.status).toBe(200)
      const noted = await familiar.request('POST', '/api/v1/memories', {
        content: 'The gate is green.',
        tier: 'long_term',
      })
      expect(noted.ok).toBe(true)

      // The page changes a setting: comments and old keys stay.
      const page = await signIn(familiar)
      const changed = await familiar.request('PUT', '/api/v1/settings/policy.mode', { value: 'strict' }, page)
      const file = join(familiar.home, 'familiar.toml')
      expect(changed.ok, await changed.text()).toBe(true)
      expect(readFileSync(file, 'utf8')).toContain('[tiers.free] # for guests\nmax_sessions = 1\n')
      const described = await familiar.request('GET', '/api/v1/settings')
      const { settings } = (await described.json()) as { settings: { key: string; place: string | null }[] }
      expect(settings.find(({ key }) => key === 'plans.free.max_sessions')?.place).toMatch(/^familiar\.toml:\d+$/)

      // The same home, after its owner renamed the keys.
      const { home } = familiar
      await familiar.close({ keep: true })
      const renamed = oldFile.replaceAll('[tiers.', '[plans.').replace('context.tiers', 'context.profiles')
      familiar = await start(routes + quiet + renamed.replace('max_sessions = 1', 'max_sessions = 2'), home)
      expect((await talk('one'))?.status).toBe(200)
      expect((await talk('two'))?.status).toBe(200)
    },
    2 * minute,
  )
})
