import { createHmac, randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { hasBubblewrap } from '../support/embedded-sandbox.ts'
import { waitFor } from '../support/wait-for.ts'
import { cleanUp, familiar, familiarJson, newHome, serveFamiliar } from './cli-process.ts'

afterEach(cleanUp)

interface Runs {
  runs: { tool: string; kind: string; state: string; error: string | null }[]
}

/** A home with one tool for each trigger. */
function homeWithTools(): string {
  const home = newHome()
  mkdirSync(home, { recursive: true, mode: 0o700 })
  writeFileSync(join(home, 'familiar.toml'), '[memory.embedding]\nprovider = "off"\n', { mode: 0o600 })
  const triggers = {
    mail: { type: 'webhook', prompt: 'Mail:' },
    digest: { type: 'cron', schedule: '0 7 * * 1-5', prompt: 'Today:' },
  }
  for (const [name, trigger] of Object.entries(triggers)) {
    const folder = join(home, 'tools', name)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const manifest = {
      name,
      description: `Does ${name}.`,
      trigger,
      parameters: {},
      returns: {},
      sandbox: { network: 'none' },
    }
    writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest))
    writeFileSync(join(folder, 'runner.sh'), 'echo \'{"text": "something new"}\'\n')
  }
  return home
}

function post(url: string, body: string, secret: string): Promise<number> {
  const timestamp = String(Math.floor(Date.now() / 1_000))
  const nonce = randomUUID()
  const signature = createHmac('sha256', secret).update(`${timestamp}.${nonce}.${body}`).digest('hex')
  const headers = {
    'content-type': 'application/json',
    'x-familiar-timestamp': timestamp,
    'x-familiar-nonce': nonce,
    'x-familiar-signature': signature,
  }
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method: 'POST', headers }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

const missing = hasBubblewrap ? undefined : 'bubblewrap is not installed: no tool runs by itself'

describe.skipIf(missing)(missing ?? 'tools that nobody asks', () => {
  it('TOOL-7 are called by webhook with the secret that was made for it, and their runs can be seen', async () => {
    const options = { home: homeWithTools(), env: { FAMILIAR_SANDBOX: 'embedded' } }
    await serveFamiliar({ ...options, args: ['--port', '0'] })
    const hook = (await familiarJson(['tools', 'hook', 'mail'], options)) as { url: string; secret: string }
    expect(await post(hook.url, '{"subject":"hello"}', 'another secret')).toBe(401)
    expect(await post(hook.url, '{"subject":"hello"}', hook.secret)).toBe(202)
    await waitFor(async () => {
      const { runs } = (await familiarJson(['tools', 'runs', 'mail'], options)) as Runs
      expect(runs).toMatchObject([{ tool: 'mail', kind: 'webhook', state: 'done', error: null }])
    })
    await waitFor(async () => {
      const { stdout } = await familiar(['history', 'main'], options)
      expect(stdout).toContain('[TOOL:mail]')
      expect(stdout).toContain('something new')
    })
    const all = await familiar(['tools', 'runs'], options)
    expect(all.stdout).toMatch(/^Tool +By +Due +State\s/)
    expect(all.stdout).toMatch(/^digest +cron .*scheduled/m)
    const refused = await familiar(['tools', 'hook', 'digest'], options)
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('with a webhook trigger') })
  })
})
