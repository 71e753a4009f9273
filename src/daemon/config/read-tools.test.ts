import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { formatProblems } from './config.ts'
import { loadConfig } from './load-config.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'familiar-config-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

function load(toml: string, env: Record<string, string> = {}) {
  writeFileSync(join(home, 'familiar.toml'), toml, { mode: 0o600 })
  const loaded = loadConfig({ home, env })
  return loaded.ok ? loaded : { problems: formatProblems(loaded.problems, home) }
}

describe('tool settings in the config', () => {
  it('CONF-1 replaces variable names by their keys', () => {
    const toml = `
[tools]
directories = ["/srv/tools"]
[tools.web_search]
provider = "brave"
api_key_env = "BRAVE_KEY"
[tools.tts]
provider = "elevenlabs"
api_key_env = "VOICE_KEY"
voice = "Rachel"
[sandbox]
driver = "container"
container_socket = "/run/podman/podman.sock"
python_index_url = "https://pypi.example.org/simple"
[policy]
destinations = ["https://api.example.org", "mcp:calendar"]
approval_minutes = 5
[mcp.servers.files]
command = "mcp-files"
args = ["--root", "/srv"]
environment = ["LANG"]
sampling = true
[mcp.servers.calendar]
url = "https://calendar.example.org/mcp"
header_env = { Authorization = "CALENDAR_AUTH", X-Missing = "NOT_SET" }
[mcp.servers.code]
url = "https://code.example.org/mcp"
oauth_client_id = "client-1"
oauth_client_secret_env = "CODE_SECRET"
`
    const env = {
      BRAVE_KEY: 'brave-key',
      VOICE_KEY: 'voice-key',
      CALENDAR_AUTH: 'Bearer calendar',
      CODE_SECRET: 'code-secret',
    }
    const loaded = load(toml, env)
    expect(loaded).toMatchObject({
      config: {
        tools: {
          directories: ['/srv/tools'],
          webSearch: { provider: 'brave', apiKey: 'brave-key', baseUrl: null },
          tts: { provider: 'elevenlabs', apiKey: 'voice-key', voice: 'Rachel' },
        },
        sandbox: {
          driver: 'container',
          containerSocket: '/run/podman/podman.sock',
          pythonIndexUrl: 'https://pypi.example.org/simple',
          npmRegistryUrl: null,
        },
        policy: { destinations: ['https://api.example.org', 'mcp:calendar'], approvalMinutes: 5 },
        mcp: {
          servers: {
            files: { command: 'mcp-files', args: ['--root', '/srv'], environment: ['LANG'], sampling: true },
            calendar: { url: 'https://calendar.example.org/mcp', headers: { Authorization: 'Bearer calendar' } },
            code: {
              url: 'https://code.example.org/mcp',
              headers: {},
              oauth: { clientId: 'client-1', clientSecret: 'code-secret' },
            },
          },
        },
      },
      warnings: [expect.stringContaining('NOT_SET is not set, so calendar is called without X-Missing')],
    })
  })

  it('CONF-1 takes the sandbox from FAMILIAR_SANDBOX', () => {
    expect(load('', { FAMILIAR_SANDBOX: 'off' })).toMatchObject({ config: { sandbox: { driver: 'off' } } })
    expect(load('', { FAMILIAR_SANDBOX: 'none' })).toEqual({
      problems: ['environment: FAMILIAR_SANDBOX: must be auto, embedded, container or off (found "none")'],
    })
  })

  it('CONF-2 reports every mistake with its line', () => {
    const toml = `[tools]
directories = ["relative"]
[tools.web_search]
provider = "searxng"
[policy]
destinations = ["example.org", "https://example.org/path"]
[mcp.servers.both]
command = "x"
url = "https://example.org"
`
    expect(load(toml)).toMatchInlineSnapshot(`
      {
        "problems": [
          "familiar.toml:2: tools.directories[0]: must be an absolute path",
          "familiar.toml:3: tools.web_search.base_url: is required for provider "searxng"",
          "familiar.toml:6: policy.destinations[0]: must be an origin such as "https://example.org", or "mcp:NAME", "tool:NAME" or "client:NAME"",
          "familiar.toml:6: policy.destinations[1]: must be an origin such as "https://example.org", or "mcp:NAME", "tool:NAME" or "client:NAME"",
          "familiar.toml:7: mcp.servers.both: must have either a command or a url (found a table)",
        ],
      }
    `)
  })
})
