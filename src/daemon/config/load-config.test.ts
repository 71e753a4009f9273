import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { formatProblems } from './config.ts'
import { loadConfig } from './load-config.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'familiar-config-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

const local = `type = "openai-compatible"
base_url = "http://127.0.0.1:9/v1"
api_key_env = "LOCAL_KEY"
[models.main]
model = "some-model"
max_tokens = 4096
max_context_tokens = 200000
cost_per_mtok = [3.0, 15.0, 0.3, 3.75]
supports_vision = true
`

function write(name: string, text: string) {
  const path = join(home, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text, { mode: 0o600 })
}

function load(env: Record<string, string> = {}) {
  const loaded = loadConfig({ home, env })
  if (!loaded.ok) throw new Error(formatProblems(loaded.problems, home).join('\n'))
  return loaded
}

function problems(env: Record<string, string> = {}): string[] {
  const loaded = loadConfig({ home, env })
  return loaded.ok ? [] : formatProblems(loaded.problems, home)
}

describe('sources and their order', () => {
  it('CONF-1 needs nothing: an empty home has every default', () => {
    expect(load().config).toMatchInlineSnapshot(`
      {
        "agent": {
          "context": {
            "profiles": {
              "full": [
                "SOUL.md",
                "AGENTS.md",
                "USER.md",
                "IDENTITY.md",
                "TOOLS.md",
                "MEMORY.md",
              ],
              "operational": [
                "SOUL.md",
                "AGENTS.md",
                "HEARTBEAT.md",
              ],
            },
            "sources": {
              "system": "operational",
            },
          },
          "maxRounds": 50,
          "name": "Familiar",
        },
        "assets": {
          "attachmentTokens": 20000,
          "blockBudgetTokens": 100000,
          "roots": [],
        },
        "budget": {
          "perBuildUsd": 2,
          "perDayUsd": 20,
          "perMessageUsd": 5,
          "perMonthUsd": null,
        },
        "callback": null,
        "capabilities": {
          "buildMinutes": 10,
          "maxConcurrentBuilds": 3,
          "maxRounds": 25,
          "repair": "ask",
        },
        "clientTools": {
          "timeoutSeconds": 60,
        },
        "compaction": {
          "keepRatio": 0.3333333333333333,
          "thresholdTokens": 150000,
          "warnRatio": 0.8,
        },
        "database": {
          "poolSize": 20,
          "url": null,
        },
        "egress": {
          "allowedHosts": [],
        },
        "http": {
          "allowRemote": false,
          "allowedHosts": [],
          "allowedOrigins": [],
          "failedLoginsPerMinute": 10,
          "host": "127.0.0.1",
          "maxAttachmentBytes": 20000000,
          "maxBodyBytes": 2097152,
          "maxBytesInFlight": 268435456,
          "maxStreams": 256,
          "maxStreamsPerUser": 64,
          "port": 8100,
          "publicUrl": null,
          "rateLimitPerMinute": 600,
        },
        "keyFile": null,
        "log": {
          "level": "info",
        },
        "mcp": {
          "servers": {},
        },
        "memory": {
          "conversations": true,
          "decay": "time",
          "embedding": {
            "provider": "local",
          },
          "extraction": true,
        },
        "plans": {
          "guest": {
            "budget": {},
            "maxSessions": null,
            "mode": null,
            "name": "guest",
            "routes": {},
            "tools": {
              "allow": [],
              "deny": [],
            },
          },
          "owner": {
            "budget": {},
            "maxSessions": null,
            "mode": null,
            "name": "owner",
            "routes": {},
            "tools": {
              "allow": [
                "*",
              ],
              "deny": [],
            },
          },
        },
        "policy": {
          "approvalMinutes": 15,
          "destinations": [],
          "mode": "balanced",
        },
        "providers": [],
        "routes": {
          "sources": {},
        },
        "sandbox": {
          "containerSocket": null,
          "driver": "auto",
          "npmRegistryUrl": null,
          "pythonIndexUrl": null,
        },
        "sessions": {
          "debounceMs": 500,
          "maxConcurrentTurns": 8,
          "maxQueued": 10000,
          "maxQueuedPerSession": 100,
        },
        "shared": null,
        "skills": {
          "directories": [],
        },
        "subagents": {
          "maxAtOnce": 5,
          "maxRounds": 50,
        },
        "telegram": null,
        "telemetry": {
          "headers": {},
          "metrics": null,
          "metricsIntervalMs": 60000,
          "resource": {
            "service.name": "familiar",
          },
          "timeoutMs": 10000,
          "traces": null,
        },
        "token": null,
        "tools": {
          "browser": {
            "executable": null,
          },
          "directories": [],
          "disabled": [],
          "enabled": true,
          "exec": {
            "host": "ask",
          },
          "tts": {
            "apiKey": null,
            "provider": "system",
            "voice": null,
          },
          "webSearch": null,
        },
        "voice": {
          "transcription": {
            "apiKey": null,
            "baseUrl": null,
            "model": null,
            "provider": "auto",
          },
        },
      }
    `)
  })

  it('CONF-1 reads the files of the documentation', () => {
    write('providers.d/local.toml', local)
    write(
      'familiar.toml',
      '[providers]\nload = ["local"]\n[routes]\nprimary = "local/main"\n[budget]\nper_day_usd = 2.5\n',
    )
    const { config, warnings } = load({ LOCAL_KEY: 'from-environment' })
    expect(warnings).toEqual([])
    expect(config.routes).toEqual({ primary: ['local/main'], sources: {} })
    expect(config.budget).toEqual({ perMessageUsd: 5, perBuildUsd: 2, perDayUsd: 2.5, perMonthUsd: null })
    expect(config.providers).toEqual([
      {
        name: 'local',
        type: 'openai-compatible',
        baseUrl: 'http://127.0.0.1:9/v1',
        apiKey: 'from-environment',
        models: {
          main: {
            model: 'some-model',
            maxTokens: 4096,
            maxContextTokens: 200000,
            costPerMtok: [3, 15, 0.3, 3.75],
            supportsVision: true,
          },
        },
      },
    ])
  })

  it('CONF-1 .env overrides the files, and the environment overrides both', () => {
    write('familiar.toml', '[http]\nport = 1111\n')
    expect(load().config.http.port).toBe(1111)
    write('.env', 'FAMILIAR_PORT=2222\nFAMILIAR_LOG=debug\nLOCAL_KEY=from-file\n')
    expect(load().config.http.port).toBe(2222)
    const { config, environment } = load({ FAMILIAR_PORT: '3333', FAMILIAR_LOG: '', FAMILIAR_TOKEN: 'mine' })
    expect(config.http.port).toBe(3333)
    expect(config.log.level).toBe('debug')
    expect(config.token).toBe('mine')
    expect(environment.LOCAL_KEY).toBe('from-file')
  })

  it("CONF-1 reads the path of the secrets' key from the environment, as an absolute path", () => {
    expect(load({ FAMILIAR_KEY_FILE: '/mnt/familiar/key' }).config.keyFile).toBe('/mnt/familiar/key')
    expect(problems({ FAMILIAR_KEY_FILE: 'key' })[0]).toMatch(
      /^environment: FAMILIAR_KEY_FILE: must be an absolute path/,
    )
  })

  it('CONF-1 loads every provider file unless some are named, and reads no others', () => {
    write('providers.d/local.toml', local)
    write('providers.d/other.toml', 'type = "ollama"\n[models.small]\nmodel = "tiny"\n')
    write('providers.d/notes.txt', 'not a provider')
    expect(load().config.providers.map((provider) => provider.name)).toEqual(['local', 'other'])
    write('providers.d/other.toml', 'broken')
    write('familiar.toml', '[providers]\nload = ["local"]\n')
    expect(load().config.providers.map((provider) => provider.name)).toEqual(['local'])
    write('familiar.toml', '[providers]\nload = []\n')
    expect(load().config.providers).toEqual([])
  })

  it('CONF-1 lets a route name fallbacks, and a source its own route', () => {
    write('providers.d/local.toml', `${local}[models.small]\nmodel = "s"\n`)
    write(
      'familiar.toml',
      '[routes]\nprimary = ["local/main", "local/small"]\nfast = "local/small"\n[routes.sources]\ntelegram = "local/small"\n',
    )
    expect(load().config.routes).toEqual({
      primary: ['local/main', 'local/small'],
      fast: ['local/small'],
      sources: { telegram: ['local/small'] },
    })
  })

  it('CONF-1 takes the model from FAMILIAR_MODEL, without a file for a provider that is known by its name', () => {
    write('providers.d/local.toml', local)
    expect(load({ FAMILIAR_MODEL: 'local/main' }).config.routes.primary).toEqual(['local/main'])
    const { config } = load({ FAMILIAR_MODEL: 'anthropic/some-claude', ANTHROPIC_API_KEY: 'key' })
    expect(config.routes.primary).toEqual(['anthropic/some-claude'])
    expect(config.providers.at(-1)).toEqual({
      name: 'anthropic',
      type: 'anthropic',
      apiKey: 'key',
      models: { 'some-claude': { model: 'some-claude' }, main: expect.anything(), fast: expect.anything() },
    })
    expect(load({ FAMILIAR_MODEL: 'openai/main' }).config.providers.at(-1)?.models.main).toHaveProperty('costPerMtok')
    expect(problems({ FAMILIAR_MODEL: 'local/man' })).toEqual([
      'environment: FAMILIAR_MODEL: "local/man" is not a configured model; did you mean local/main? (known: local/main, offline/offline)',
    ])
  })

  it('CONF-1 reads hosts of the owner’s network with and without a port', () => {
    write('familiar.toml', '[egress]\nallowed_hosts = ["nas.local", "192.168.1.5:8080", "[fd00::1]", "[fd00::1]:81"]\n')
    expect(load().config.egress.allowedHosts).toEqual([
      { host: 'nas.local' },
      { host: '192.168.1.5', port: 8080 },
      { host: '[fd00::1]' },
      { host: '[fd00::1]', port: 81 },
    ])
    write('familiar.toml', '[egress]\nallowed_hosts = ["http://nas.local"]\n')
    expect(problems()[0]).toContain('familiar.toml:2: egress.allowed_hosts[0]: must be a host')
  })

  it('CONF-1 reads the embedding settings, with the key from the environment', () => {
    write(
      'familiar.toml',
      '[memory]\ndecay = "cycles"\nconversations = false\nextraction = false\n[memory.embedding]\nprovider = "off"\n',
    )
    expect(load().config.memory).toEqual({
      decay: 'cycles',
      conversations: false,
      extraction: false,
      embedding: { provider: 'off' },
    })
    write('familiar.toml', '[memory.embedding]\nprovider = "ollama"\nmodel = "bge-m3"\n')
    expect(load().config.memory.embedding).toEqual({ provider: 'ollama', model: 'bge-m3' })
    write(
      'familiar.toml',
      `[memory.embedding]
provider = "openai-compatible"
model = "text-embedding-3-small"
base_url = "https://api.example.org/v1"
api_key_env = "EMBEDDING_KEY"
`,
    )
    const embedding = {
      provider: 'openai-compatible',
      model: 'text-embedding-3-small',
      baseUrl: 'https://api.example.org/v1',
    }
    const withKey = load({ EMBEDDING_KEY: 'secret' })
    expect(withKey.config.memory.embedding).toEqual({ ...embedding, apiKey: 'secret' })
    expect(withKey.warnings).toEqual([])
    const withoutKey = load()
    expect(withoutKey.config.memory.embedding).toEqual(embedding)
    expect(withoutKey.warnings).toEqual([expect.stringContaining('EMBEDDING_KEY is not set')])
  })

  it('CONF-1 warns about a key that is not set, a readable .env and an unused variable', () => {
    write('providers.d/local.toml', local)
    write('.env', 'OTHER=1\n')
    chmodSync(join(home, '.env'), 0o644)
    const { warnings } = load({ FAMILIAR_TOKN: 'x', FAMILIAR_UNRELATED_THING: 'y' })
    expect(warnings).toEqual([
      expect.stringContaining('.env, which contains keys'),
      'FAMILIAR_TOKN is not known; did you mean FAMILIAR_TOKEN?',
      expect.stringContaining('LOCAL_KEY is not set'),
    ])
  })
})

describe('problems', () => {
  it('CONF-2 reports all of them at once, each with file, line and key', () => {
    write(
      'familiar.toml',
      `# comment
[budget]
per_day_usd = "lots"
per_mesage_usd = 1

[agent]
max_rounds = 0
[agent.context.sources]
system = "operatonal"
[http]
port = 70000
allowed_origins = ["https://fine.example", "nonsense"]
[routes]
primary = ["local/main",
  "local/man"]
fast = "nowhere/x"
vision = 3
`,
    )
    write(
      'providers.d/local.toml',
      `${local.replace('cost_per_mtok = [3.0, 15.0, 0.3, 3.75]', 'cost_per_mtok = [3.0, -1]')}temprature = 1\n`,
    )
    write('providers.d/second.toml', 'type = "mistral"\napi_key = "sk-very-secret"\n[models.x]\nmax_tokens = 1.5\n')
    write('.env', 'fine=1\nwhat is this\n')
    const found = problems({ FAMILIAR_PORT: 'eighty' })
    expect(found).toMatchInlineSnapshot(`
      [
        ".env:2: must be NAME=VALUE",
        "familiar.toml:3: budget.per_day_usd: must be a number (found "lots")",
        "familiar.toml:4: budget.per_mesage_usd: is not a known key; did you mean per_message_usd?",
        "familiar.toml:7: agent.max_rounds: must be more than 0 (found 0)",
        "familiar.toml:9: agent.context.sources.system: must be one of full, operational (found "operatonal")",
        "familiar.toml:11: http.port: must be at most 65535 (found 70000)",
        "familiar.toml:12: http.allowed_origins[1]: must be an origin such as "https://example.org"",
        "familiar.toml:16: routes.fast: "nowhere/x" is not a configured model (known: offline/offline)",
        "familiar.toml:17: routes.vision: must be a model such as "local/main", or a list of them (found 3)",
        "providers.d/local.toml:8: models.main.cost_per_mtok[1]: must be at least 0 (found -1)",
        "providers.d/local.toml:10: models.main.temprature: is not a known key; did you mean temperature?",
        "providers.d/second.toml:1: type: must be one of anthropic, openai, openai-compatible, google, ollama, ai-sdk, offline (found "mistral")",
        "providers.d/second.toml:2: api_key: is not allowed: keys do not belong in this file. Put it into .env (NAME=value) and name it here: api_key_env = "NAME"",
        "providers.d/second.toml:3: models.x.model: is missing",
        "providers.d/second.toml:4: models.x.max_tokens: must be a whole number (found 1.5)",
        "environment: FAMILIAR_PORT: must be a port from 0 to 65535 (found "eighty")",
      ]
    `)
    expect(found.join()).not.toContain('very-secret')
  })

  it('CONF-2 keeps line and column of a syntax error, without the text around it', () => {
    write('familiar.toml', '[budget]\nper_day_usd = = "sk-very-secret"\n')
    expect(problems()).toEqual(['familiar.toml:2:15: not TOML: invalid value'])
    write('familiar.toml', '[budget]\nper_day_usd = 1\n[budget]\n')
    expect(problems()[0]).toMatch(/^familiar\.toml:3:\d+: not TOML: trying to redefine/)
  })

  it('CONF-2 reports what a provider needs', () => {
    write('providers.d/local.toml', 'type = "openai-compatible"\nextra = 1\n')
    expect(problems()).toEqual([
      'providers.d/local.toml:1: base_url: is required for type "openai-compatible"',
      expect.stringContaining('providers.d/local.toml:2: extra: is not a known key; known here: type, base_url'),
    ])
    write('providers.d/local.toml', 'type = "openai"\nbase_url = "http://me:hunter2@host/v1"\napi_key_env = "sk-123"\n')
    expect(problems()).toEqual([
      'providers.d/local.toml:2: base_url: must not contain a user name or password',
      'providers.d/local.toml:3: api_key_env: must be the name of an environment variable, such as LOCAL_KEY',
    ])
  })

  it('CONF-2 reports what an embedding needs, and what has no effect there', () => {
    write(
      'familiar.toml',
      '[memory]\ndecay = "never"\n[memory.embedding]\nprovider = "openai-compatible"\nmodle = "x"\n',
    )
    expect(problems()).toEqual([
      'familiar.toml:2: memory.decay: must be one of time, cycles (found "never")',
      'familiar.toml:3: memory.embedding.model: is required for a server',
      'familiar.toml:3: memory.embedding.base_url: is required for provider "openai-compatible"',
      'familiar.toml:5: memory.embedding.modle: is not a known key; did you mean model?',
    ])
    write('familiar.toml', '[memory.embedding]\nmodel = "x"\nbase_url = "http://a:b@c"\napi_key_env = "KEY"\n')
    expect(problems()).toEqual([
      'familiar.toml:2: memory.embedding.model: has no effect without a server: provider = "openai-compatible" or "ollama"',
      'familiar.toml:3: memory.embedding.base_url: must not contain a user name or password',
      'familiar.toml:3: memory.embedding.base_url: has no effect without a server: provider = "openai-compatible" or "ollama"',
      'familiar.toml:4: memory.embedding.api_key_env: has no effect without a server: provider = "openai-compatible" or "ollama"',
    ])
    write('familiar.toml', '[memory.embedding]\nprovider = "llama"\napi_key = "sk-very-secret"\n')
    expect(problems()).toEqual([
      'familiar.toml:2: memory.embedding.provider: must be one of local, openai-compatible, ollama, off (found "llama")',
      expect.stringContaining('familiar.toml:3: memory.embedding.api_key: is not a known key'),
    ])
    expect(problems().join()).not.toContain('very-secret')
  })

  it('CONF-2 names a provider file that is missing or misnamed', () => {
    write('providers.d/local.toml', local)
    write('familiar.toml', '[providers]\nload = [\n  "local",\n  "locale",\n]\n[routes]\nprimary = "locale/main"\n')
    expect(problems()).toEqual([
      'familiar.toml:4: providers.load: providers.d/locale.toml does not exist; did you mean local?',
    ])
    write('familiar.toml', '[providers]\nload = ["../local"]\n')
    expect(problems()).toEqual([
      expect.stringContaining('familiar.toml:2: providers.load[0]: must be a name of lower-case letters'),
    ])
    write('familiar.toml', '')
    write('providers.d/My Model.toml', local)
    expect(problems()).toEqual([
      expect.stringContaining('providers.d/My Model.toml:1: must have a name of lower-case letters'),
    ])
  })

  it('CONF-2 says where a key in the wrong table belongs', () => {
    write('familiar.toml', 'per_day_usd = 3\n[budgets]\n[__proto__]\nx = 1\n')
    expect(problems()).toEqual([
      'familiar.toml:1: per_day_usd: is not a known key here; it belongs in [budget]',
      'familiar.toml:2: budgets: is not a known key; did you mean budget?',
      expect.stringContaining('familiar.toml:3: __proto__: is not a known key'),
    ])
  })

  it('CONF-2 names a file that cannot be read', () => {
    mkdirSync(join(home, 'familiar.toml'))
    expect(problems()).toEqual(['familiar.toml: cannot be read (EISDIR)'])
  })

  it('CONF-2 prints no escape sequence of the file', () => {
    write('familiar.toml', '[agent]\nmax_rounds = "\\u001b[2J\\u202e"\n"\\u001b]0;x\\u0007" = 1\n')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that there is none is what is tested.
    for (const line of problems()) expect(line).not.toMatch(/[\u001b\u202e\u0007]/)
  })

  it('CTX-2 rejects an unknown prompt profile', () => {
    write('familiar.toml', '[agent.context.sources]\nhttp = "tiny"\n')
    expect(problems()).toEqual([
      'familiar.toml:2: agent.context.sources.http: must be one of full, operational (found "tiny")',
    ])
    write('familiar.toml', '[agent.context.profiles]\nfull = ["../../etc/passwd"]\noperationl = []\n')
    expect(problems()).toEqual([
      expect.stringContaining('familiar.toml:2: agent.context.profiles.full[0]: must be the name of a .md file'),
      'familiar.toml:3: agent.context.profiles.operationl: is not a known key; did you mean operational?',
    ])
  })
})

describe('remote access', () => {
  const token = 'b8Qx2mWv7TzJ4nLk9RfYc1HsDgPaEu6oXi3BtN5jMw0'

  it('SEC-1 listens to other machines only with the flag and a token of 256 bits', () => {
    write('familiar.toml', '[http]\nhost = "0.0.0.0"\n')
    expect(problems()).toEqual([
      expect.stringContaining(
        'familiar.toml:2: http.host: 0.0.0.0 is reachable from other machines; this requires allow_remote',
      ),
      expect.stringContaining('a token of 256 bits, and FAMILIAR_TOKEN is not set'),
    ])
    expect(problems({ FAMILIAR_TOKEN: token })).toHaveLength(1)
    write('familiar.toml', '[http]\nhost = "0.0.0.0"\nallow_remote = true\n')
    expect(problems({ FAMILIAR_TOKEN: token.slice(1) })).toEqual([
      expect.stringContaining('FAMILIAR_TOKEN is too weak'),
    ])
    expect(problems({ FAMILIAR_TOKEN: 'a'.repeat(64) })).toHaveLength(1)
    expect(problems({ FAMILIAR_TOKEN: token })).toEqual([])
    expect(load({ FAMILIAR_TOKEN: token }).config.http.host).toBe('0.0.0.0')
  })

  it('SEC-1 requires the same for FAMILIAR_HOST, and nothing for loopback', () => {
    expect(problems({ FAMILIAR_HOST: '192.168.0.7' })[0]).toMatch(
      /^environment: FAMILIAR_HOST: 192\.168\.0\.7 is reach/,
    )
    for (const host of ['localhost', '127.0.0.1', '127.8.8.8', '::1'])
      expect(problems({ FAMILIAR_HOST: host })).toEqual([])
    for (const host of ['::', '128.0.0.1', '127.evil.example'])
      expect(problems({ FAMILIAR_HOST: host })).toHaveLength(2)
  })

  it('SEC-1 requires the same for the command line, which overrides everything', () => {
    write('familiar.toml', '[http]\nport = 1111\n')
    const env = { FAMILIAR_PORT: '2222', FAMILIAR_HOST: '0.0.0.0' }
    expect(loadConfig({ home, env, flags: { port: 3333, host: 'localhost' } })).toMatchObject({
      config: { http: { port: 3333, host: 'localhost' } },
    })
    const refused = loadConfig({ home, env: {}, flags: { host: '0.0.0.0', port: undefined } })
    expect(refused.ok || formatProblems(refused.problems, home)[0]).toMatch(
      /^command line: --host: 0\.0\.0\.0 is reach/,
    )
  })

  it('SEC-1 rejects a token that a header cannot carry', () => {
    expect(problems({ FAMILIAR_TOKEN: 'two words' })).toEqual([
      'environment: FAMILIAR_TOKEN: must be one word of at most 512 plain characters',
    ])
  })
})
