import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../daemon/config/load-config.ts'
import type { ProviderTrial } from '../daemon/connect-model.ts'
import type { ProviderSettings } from '../models/provider-connection.ts'
import { createOutput } from './output.ts'
import { runSetup } from './setup.ts'
import type { SetupPrompts } from './setup-prompts.ts'

let parent: string
let home: string
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'familiar-setup-'))
  home = join(parent, 'home')
})
afterEach(() => rmSync(parent, { recursive: true, force: true }))

type Answer = string | boolean | undefined

/** Answers each question by the first words of its message; `first` accepts the default. */
function scripted(answers: Record<string, Answer>) {
  const shown: string[] = []
  const asked: string[] = []
  function answer(message: string, initial?: string): Answer {
    asked.push(message)
    const key = Object.keys(answers).find((start) => message.startsWith(start))
    if (key === undefined) throw new Error(`not expected: ${message}`)
    return answers[key] === 'first' ? initial : answers[key]
  }
  const validated = (message: string, initial?: string, validate?: (text: string) => string | undefined) => {
    const text = answer(message, initial) as string | undefined
    const problem = text === undefined ? undefined : validate?.(text)
    if (problem !== undefined) throw new Error(`${message}: ${problem}`)
    return text
  }
  const prompts: SetupPrompts = {
    begin: (title) => shown.push(title),
    end: (text) => shown.push(text),
    show: (title, text) => shown.push(`--- ${title}\n${text}`),
    async choose({ message, options }) {
      const wanted = answer(message)
      return options.find((option) => option.label === wanted)?.value
    },
    ask: async ({ message, initial, validate }) => validated(message, initial, validate),
    askSecret: async ({ message, validate }) => validated(message, undefined, validate),
    confirm: async (message) => answer(message) as boolean | undefined,
    during: (_message, work) => work,
  }
  return { prompts, shown, asked }
}

async function run(
  answers: Record<string, Answer>,
  more: {
    env?: Record<string, string>
    found?: ProviderSettings[]
    isInteractive?: boolean
    trial?: ProviderTrial
  } = {},
) {
  const script = scripted(answers)
  const printed: string[] = []
  const stream = { write: (text: string) => printed.push(text) }
  const exitCode = await runSetup({
    home,
    env: more.env ?? {},
    output: createOutput({ stdout: stream, stderr: stream, env: {} }),
    isInteractive: more.isInteractive ?? true,
    now: () => Date.parse('2026-11-15T10:00:00Z'),
    prompts: script.prompts,
    discover: async () => more.found ?? [],
    trial: more.trial ?? { list: async () => ({ ok: true, models: [] }), send: async () => undefined },
  })
  return { exitCode, printed: printed.join(''), shown: script.shown.join('\n'), asked: script.asked }
}

const read = (name: string) => readFileSync(join(home, name), 'utf8')
const anthropic = {
  'Which model': 'Anthropic',
  'API key': 'sk-very-secret-key',
  'Model of this provider': 'first',
  'Spending limit': '7.5',
  'Write this': true,
}

describe('setup', () => {
  it('CLI-1 asks, shows the changes, and writes a config that loads', async () => {
    const { exitCode, shown } = await run(anthropic)
    expect(exitCode).toBe(0)
    expect(read('familiar.toml')).toMatchInlineSnapshot(`
      "[routes]
      primary = "anthropic/main"

      [budget]
      per_day_usd = 7.5
      "
    `)
    expect(read('providers.d/anthropic.toml')).toMatchInlineSnapshot(`
      "type = "anthropic"
      api_key_env = "ANTHROPIC_API_KEY"

      [models.main]
      model = "claude-sonnet-5-5"
      max_tokens = 16384
      max_context_tokens = 200000
      cost_per_mtok = [ 2, 10, 0.2, 2.5 ]
      supports_vision = true
      "
    `)
    expect(read('.env')).toBe('ANTHROPIC_API_KEY=sk-very-secret-key\n')
    expect(shown).toContain('ANTHROPIC_API_KEY=••••••••')
    for (const name of ['.env', 'familiar.toml', 'providers.d/anthropic.toml'])
      expect(lstatSync(join(home, name)).mode & 0o777).toBe(0o600)
    const loaded = loadConfig({ home, env: {} })
    expect(loaded).toMatchObject({
      ok: true,
      warnings: [],
      config: { routes: { primary: ['anthropic/main'] }, budget: { perDayUsd: 7.5 } },
    })
  })

  it('SEC-13 puts the key into .env and nowhere else, neither on the screen', async () => {
    const { shown, printed, asked } = await run(anthropic)
    const others = readdirSync(home, { recursive: true, withFileTypes: true }).filter(
      (entry) => entry.isFile() && entry.name !== '.env',
    )
    for (const entry of others)
      expect(readFileSync(join(entry.parentPath, entry.name), 'utf8')).not.toContain('very-secret')
    expect(shown + printed + asked.join()).not.toContain('very-secret')
  })

  for (const stop of ['Which model', 'API key', 'Model of this provider', 'Spending limit', 'Write this'])
    it(`CLI-1 writes nothing when left at "${stop}"`, async () => {
      const { exitCode, shown } = await run({ ...anthropic, [stop]: undefined })
      expect(exitCode).toBe(130)
      expect(shown).toContain('Nothing was written.')
      expect(existsSync(home)).toBe(false)
    })

  it('CLI-1 offers detected models first, and asks for no key that is set', async () => {
    const found: ProviderSettings[] = [
      {
        name: 'openai',
        type: 'openai',
        apiKey: 'from-environment',
        models: { main: { model: 'gpt-x', costPerMtok: [1, 2] } },
      },
      {
        name: 'ollama',
        type: 'ollama',
        baseUrl: 'http://127.0.0.1:11434',
        models: { main: { model: 'llama\u001b[2J', costPerMtok: [0, 0] } },
      },
    ]
    const env = { OPENAI_API_KEY: 'from-environment' }
    const answers = {
      'Which model': 'openai: gpt-x',
      'Model of this provider': 'first',
      'Spending limit': 'first',
      'Write this': true,
    }
    expect(await run(answers, { found, env })).toMatchObject({ exitCode: 0 })
    expect(existsSync(join(home, '.env'))).toBe(false)
    expect(read('providers.d/openai.toml')).toContain('api_key_env = "OPENAI_API_KEY"')
    expect(await run({ ...answers, 'Which model': 'ollama: llama' }, { found, env })).toMatchObject({ exitCode: 0 })
    expect(read('familiar.toml')).toContain('primary = "ollama/main"')
  })

  it('CLI-1 offers the models that the provider lists', async () => {
    const trial: ProviderTrial = {
      list: async () => ({ ok: true, models: ['claude-haiku-9', 'claude-sonnet-5-5'] }),
      send: async () => undefined,
    }
    await run({ ...anthropic, 'Model of this provider': 'claude-haiku-9', 'Price per million': '1, 5' }, { trial })
    expect(read('providers.d/anthropic.toml')).toContain('model = "claude-haiku-9"')
  })

  it('CLI-1 sends a test message, and saves nothing if it fails and the user declines', async () => {
    const sent: (string | undefined)[] = []
    const trial: ProviderTrial = {
      list: async () => ({ ok: false, message: 'It refused the key.' }),
      async send({ apiKey }) {
        sent.push(apiKey)
        return 'It refused the key.'
      },
    }
    const refused = await run({ ...anthropic, 'Save it': false }, { trial })
    expect(refused).toMatchObject({ exitCode: 130, shown: expect.stringContaining('It refused the key.') })
    expect(existsSync(home)).toBe(false)
    expect(sent).toEqual(['sk-very-secret-key'])
    expect(await run({ ...anthropic, 'Save it': true }, { trial })).toMatchObject({ exitCode: 0 })
  })

  it('CLI-1 refuses an address with another one pasted behind it', async () => {
    const answers = { 'Which model': 'Another server', 'Server URL': 'http://127.0.0.1:8080/v1http://10.0.0.2/v1' }
    await expect(run(answers)).rejects.toThrow('Enter an address')
  })

  it('CLI-1 keeps the existing config, and a copy beside it', async () => {
    mkdirSync(join(home, 'providers.d'), { recursive: true, mode: 0o700 })
    const before = '# mine\n[providers]\nload = ["old"] # only this\n\n[agent]\nname = "Ada" # hers\n'
    writeFileSync(join(home, 'familiar.toml'), before)
    writeFileSync(join(home, 'providers.d/old.toml'), 'type = "ollama"\n[models.main]\nmodel = "x"\n')
    const answers = {
      'Which model': 'Another server',
      'Server URL': 'https://models.example/v1',
      'Name for this provider': 'far-away',
      'API key': '',
      'Model of this provider': 'big',
      'Price per million': '3, 15',
      'Spending limit': '1',
      'Write this': true,
    }
    expect(await run(answers)).toMatchObject({ exitCode: 0 })
    expect(read('familiar.toml')).toBe(
      '# mine\n[providers]\nload = [ "old", "far-away" ] # only this\n\n[agent]\nname = "Ada" # hers\n\n[routes]\nprimary = "far-away/main"\n\n[budget]\nper_day_usd = 1\n',
    )
    expect(read('familiar.toml.2026-11-15T10-00-00.bak')).toBe(before)
    expect(read('providers.d/far-away.toml')).toContain('cost_per_mtok = [ 3, 15 ]')
    expect(loadConfig({ home, env: {} })).toMatchObject({ ok: true })
  })

  it('CLI-1 gives a second key its own name if the environment has the usual one', async () => {
    await run(anthropic, { env: { ANTHROPIC_API_KEY: 'other' } })
    expect(read('.env')).toBe('FAMILIAR_ANTHROPIC_KEY=sk-very-secret-key\n')
    const loaded = loadConfig({ home, env: { ANTHROPIC_API_KEY: 'other' } })
    expect(loaded.ok && loaded.config.providers[0]?.apiKey).toBe('sk-very-secret-key')
  })

  it('CLI-1 can choose no model at all', async () => {
    expect(await run({ 'Which model': 'None for now', 'Spending limit': 'first', 'Write this': true })).toMatchObject({
      exitCode: 0,
    })
    expect(loadConfig({ home, env: {} })).toMatchObject({
      ok: true,
      config: { routes: { primary: ['offline/offline'] } },
    })
  })

  it('CLI-1 touches no config that has mistakes, and says which', async () => {
    mkdirSync(home, { mode: 0o700 })
    writeFileSync(join(home, 'familiar.toml'), '[budget]\nper_day_usd = "lots"\n')
    const { exitCode, printed } = await run({})
    expect(exitCode).toBe(1)
    expect(printed).toContain('familiar.toml:2: budget.per_day_usd: must be a number')
    expect(readdirSync(home)).toEqual(['familiar.toml'])
  })

  it('CLI-1 says so and exits without a terminal', async () => {
    const { exitCode, printed } = await run({}, { isInteractive: false })
    expect(exitCode).toBe(2)
    expect(printed).toContain('needs a terminal')
    expect(existsSync(home)).toBe(false)
  })
})
