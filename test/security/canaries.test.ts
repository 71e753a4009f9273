import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FamiliarError } from '../../src/protocol/errors.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { hasBubblewrap } from '../support/embedded-sandbox.ts'
import { type FakeModel, startFakeModel } from '../support/fake-model/start-fake-model.ts'
import type { Step } from '../support/fake-model/step.ts'
import { pythonTool } from '../support/published-tools.ts'
import { type RunningFamiliar, startFamiliar } from '../support/running-familiar.ts'
import { said, toolOf } from '../support/scripted-familiar.ts'
import { canaries, everyCanary, findCanaries } from './canaries.ts'
import { openVaultIn } from './vault-support.ts'

const all = everyCanary()

/** Each leaks all of them in all encodings, in its own way. */
const tools: Tool[] = [
  toolOf('prints', async () => said(all)),
  toolOf('prints_json', async () => said(JSON.stringify({ all, list: canaries }))),
  toolOf('prints_too_much', async () => said(`${'x'.repeat(29_975)}${canaries[0]}${all}`)),
  toolOf('refuses', async () => ({ text: all, isError: true })),
  toolOf('fails', async () => {
    throw new Error(all)
  }),
  toolOf('fails_in_words', async () => {
    throw new FamiliarError('bad_request', all)
  }),
  toolOf('shows', async () => ({
    ...said('Shown.'),
    says: all,
    card: { title: all, html: `<p>${all}</p>`, text: all, accentColor: null, backgroundColor: null, icon: all },
  })),
  toolOf('tells_progress', async (_input, { progress }) => {
    progress({ all, [all]: [...canaries], number: 4242424242421011 })
    return said('Told.')
  }),
  toolOf('asks', async () => ({ ...said('Asked.'), question: all })),
]

/** A real one, in the sandbox, that is given them all and encodes them itself. `how` says what it does with them. */
const leaky = pythonTool(
  'leaky',
  `
import urllib.parse
forms = []
for key in settings.values():
    data = key.encode()
    forms += [key, base64.b64encode(b"user:" + data).decode(), data.hex(), data.hex().upper(),
              urllib.parse.quote(key), json.dumps(json.dumps(key)), key[::-1],
              "".join("&#%d;" % ord(c) for c in key), base64.encodebytes(b"a long line before it, " * 3 + data).decode()]
everything = "\\n".join(forms)
how = params["how"]
print(everything, file=sys.stderr)
if how == "print": print(json.dumps({"text": everything, "html": "<p>" + everything + "</p>", "title": everything}))
if how == "extra": print(json.dumps({"text": "x" * 5990 + everything, "more": {everything: forms}}))
if how == "error": print(json.dumps({"error": everything})); sys.exit(1)
if how == "raise": raise ValueError(everything)
if how == "garbage": print(everything)
if how == "state": print(json.dumps({"text": "kept", "_state": {"all": everything}}))
`,
  {
    parameters: { how: { type: 'string', required: true } },
    config_schema: Object.fromEntries(canaries.map((_, index) => [`key_${index}`, { secret: true, required: true }])),
    output: { synthesize: true, card: { enabled: true } },
  },
)
const ways = ['print', 'extra', 'error', 'raise', 'garbage', 'state']

const providerOf = (url: string) =>
  `type = "openai-compatible"\nbase_url = "${url}/v1"\napi_key_env = "FAKE_KEY"\n[models.main]\nmodel = "fake-model"\n`

describe('no secret of the vault', () => {
  let model: FakeModel
  let familiar: RunningFamiliar
  const home = mkdtempSync(join(tmpdir(), 'familiar-'))
  /** Every byte that came out of the HTTP API. */
  const answers: string[] = []
  let events = ''
  /** The result of the tool in the sandbox. */
  const ran: string[] = []
  /** All files on the disk, while the daemon runs and after its end. */
  const files: { name: string; bytes: Uint8Array }[] = []

  async function ask(method: string, path: string, body?: unknown): Promise<string> {
    const response = await familiar.request(method, path, body)
    const text = await response.text()
    answers.push(text)
    return text
  }

  async function talk(message: string, ...steps: Step[]): Promise<void> {
    // Background requests that learn from the conversation carry no tools.
    model.respondWith(({ tools: offered }) =>
      offered.length === 0 ? { text: all } : (steps.shift() ?? { text: 'Done.' }),
    )
    const response = await familiar.request('POST', '/api/v1/chat', { message }, { accept: 'text/event-stream' })
    events += await response.text()
  }

  beforeAll(async () => {
    {
      await using opened = await openVaultIn(home)
      for (const [index, canary] of canaries.entries()) {
        await opened.vault.set({ userId: 'anna', owner: 'tool:leaky', name: `key_${index}` }, canary)
      }
    }
    mkdirSync(join(home, 'tools', 'leaky'), { recursive: true, mode: 0o700 })
    for (const [name, text] of Object.entries(leaky)) writeFileSync(join(home, 'tools', 'leaky', name), text)
    model = await startFakeModel()
    familiar = await startFamiliar({
      home,
      extraTools: tools,
      env: hasBubblewrap ? { FAMILIAR_SANDBOX: 'embedded' } : {},
      providers: { fake: providerOf(model.url) },
      toml: '[log]\nlevel = "debug"\n[memory]\nextraction = true\nconversations = true\n',
    })
    for (const { definition } of tools) {
      await talk(`Please use ${definition.name}.`, { toolCalls: [{ name: definition.name, input: { all } }] })
    }
    if (hasBubblewrap) {
      for (const how of ways) {
        ran.push(await ask('POST', '/api/v1/tools/leaky/run', { params: { how } }))
        await talk(`Please leak: ${how}.`, { toolCalls: [{ name: 'leaky', input: { how } }] })
      }
      for (const what of ['', '/config', '/calls']) await ask('GET', `/api/v1/tools/leaky${what}`)
    }
    // A model that repeats them, a few characters at a time, in what it says, thinks and asks of tools.
    await talk('Repeat.', { text: all, thinking: { text: all }, chunkSize: 7 })
    await talk(
      'Remember.',
      { toolCalls: [{ name: 'memory_write', input: { entity: 'user', attribute: 'password', value: all } }] },
      { toolCalls: [{ name: 'store_memory', input: { content: all } }] },
      { toolCalls: [{ name: all.slice(0, 60), input: all }] },
    )
    // A provider that quotes them in its refusal, at once and in the middle of an answer.
    await talk('Fail.', { status: 401, errorMessage: `Incorrect API key provided: ${all}` })
    await talk('Break.', { text: all, errorEventAfterChunks: 3, chunkSize: 400, errorMessage: all })
    // A user who tells them.
    await talk(`My keys are ${all}`, { text: 'Thank you.' })
    await ask('POST', '/api/v1/chat', { message: canaries.join(' ') })
    const attachments = [{ name: 'keys.txt', media_type: 'text/plain', data: Buffer.from(all).toString('base64') }]
    await ask('POST', '/api/v1/chat', { message: 'Read this.', attachments })
    await ask('POST', '/api/v1/memories', { content: `One key is ${canaries[0]}`, title: canaries[1] })
    await ask('POST', '/api/v1/chat', { message: 'x', [`${canaries[0]}`]: 1 })
    await ask('GET', `/api/v1/memories/${encodeURIComponent(canaries[0] ?? '')}`)
    await ask('GET', `/nothing/${encodeURIComponent(canaries[0] ?? '')}`)
    const { sessions } = JSON.parse(await ask('GET', '/api/v1/sessions')) as { sessions: { id: string }[] }
    for (const { id } of sessions) {
      for (const what of ['context', 'history', 'history?full=true']) await ask('GET', `/api/v1/sessions/${id}/${what}`)
      await ask('POST', `/api/v1/sessions/${id}/mark`, { name: canaries[2] })
      const watching = new AbortController()
      const watched = await fetch(`${familiar.daemon.url}/api/v1/sessions/${id}/events?after=0`, {
        headers: { authorization: `Bearer ${familiar.daemon.credential}` },
        signal: watching.signal,
      })
      const reader = watched.body?.getReader()
      for (let seen = ''; reader && !seen.includes('session_changed'); ) {
        const { value, done } = await reader.read()
        if (done) break
        seen += Buffer.from(value).toString('latin1')
        events += Buffer.from(value).toString()
      }
      watching.abort()
    }
    for (const path of [
      'monitor',
      'status',
      'cost',
      'memories',
      'memories/facts',
      'memories/export',
      'tools',
      'approvals',
    ]) {
      await ask('GET', `/api/v1/${path}`)
    }
    files.push(...readHome(home))
    await familiar.close({ keep: true })
    files.push(...readHome(home))
  }, 120_000)

  afterAll(async () => {
    await model.close()
    await rm(home, { recursive: true, force: true })
  })

  it('SEC-13 was left out because nothing happened: all of it did', () => {
    expect(model.requests.length).toBeGreaterThan(20)
    expect(model.requests.every(({ rejection }) => rejection === undefined)).toBe(true)
    for (const { definition } of tools) expect(events).toContain(definition.name)
    expect(events.match(/\[redacted\]/g)?.length).toBeGreaterThan(500)
    expect(findCanaries(all).filter((found) => found.includes(', '))).toHaveLength(canaries.length * 9)
  })

  it.skipIf(!hasBubblewrap)('SEC-13 came out of the sandbox that was given all of them (needs bubblewrap)', () => {
    const replies = ran.map((text) => JSON.parse(text) as { outcome?: string; driver?: string; text?: string })
    expect(replies.map(({ outcome }) => outcome)).toEqual(
      ways.map((how) => (how === 'error' || how === 'raise' || how === 'garbage' ? 'failed' : 'succeeded')),
    )
    expect(replies.every(({ driver }) => driver === 'embedded')).toBe(true)
    expect(replies[0]?.text?.match(/\[redacted\]/g)?.length).toBeGreaterThan(canaries.length * 8)
    expect(ran.flatMap(findCanaries)).toEqual([])
  })

  it('SEC-13 is in any request to a model', () => {
    for (const { n, bytes, headers } of model.requests) {
      expect({ n, found: [...findCanaries(bytes), ...findCanaries(JSON.stringify(headers))] }).toEqual({ n, found: [] })
    }
  })

  it('SEC-13 is in any event that was streamed', () => {
    expect(findCanaries(events)).toEqual([])
    // Joined again: a secret in two pieces is readable.
    const texts = [...events.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data) as { text?: unknown })
    expect(findCanaries(texts.map(({ text }) => (typeof text === 'string' ? text : '\n')).join(''))).toEqual([])
  })

  it('SEC-13 is in any answer of the API', () => {
    expect(answers.length).toBeGreaterThan(15)
    for (const answer of answers) expect(findCanaries(answer)).toEqual([])
  })

  it('SEC-13 is in any file of the home: the database and its log, the logs, the media, the monitor', () => {
    const names = files.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['familiar.db', 'familiar.db-wal', 'monitor.json']))
    expect(names.some((name) => /^familiar-.*\.log$/.test(name))).toBe(true)
    for (const { name, bytes } of files) expect({ name, found: findCanaries(bytes) }).toEqual({ name, found: [] })
  })
})

function readHome(home: string): { name: string; bytes: Uint8Array }[] {
  return readdirSync(home, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => ({ name, bytes: readFileSync(join(parentPath, name)) }))
}
