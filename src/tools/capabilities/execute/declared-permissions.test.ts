import { existsSync } from 'node:fs'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type CapabilitiesHome, openCapabilities } from '../../../../test/support/capabilities.ts'
import { type LocalSite, openLocalSite } from '../../../../test/support/local-site.ts'
import { openRealSandbox } from '../../../../test/support/real-sandbox.ts'

const hasSandbox = existsSync('/usr/bin/bwrap')
const token = 'Vq8-rX2z_Lm41Pd7Ks9T'
const secrets = [{ name: 'TOKEN', description: 'Of the weather service' }]

describe.skipIf(!hasSandbox)(hasSandbox ? 'what a capability declares' : 'bubblewrap is not installed', () => {
  const real = openRealSandbox()
  let home: CapabilitiesHome
  let site: LocalSite
  beforeEach(async () => {
    // Not 127.0.0.1, which inside is the sandbox itself.
    site = await openLocalSite((request, response) => {
      const status = { '/broken': 503, '/missing': 404 }[request.url] ?? 200
      response.writeHead(status).end(`You sent ${request.headers.authorization}`)
    }, '127.0.0.2')
    home = await openCapabilities({ sandbox: real.sandbox, listedHosts: () => [{ host: '127.0.0.2' }] })
  })
  afterEach(async () => {
    await home.close()
    await site.close()
  })
  afterAll(() => real.close())

  describe('of secrets', () => {
    it('SEC-13 is given to it, and to nobody else', async () => {
      await home.setSecret('sample', 'TOKEN', token)
      await home.setSecret('sample', 'OTHER', 'Zb5-other-secret-77')
      await home.setSecret('another', 'TOKEN', 'Zb5-another-secret-77')
      await home.setSecret('sample', 'TOKEN', 'Zb5-eves-secret-77', 'eve')
      const check = `[list(context.secrets), len(context["secrets"]["TOKEN"]), context.secrets.TOKEN == "${token}"]`
      const code = `def run(args, context): return ${check}`
      expect((await home.run(home.runnable(code, { secrets }))).value).toEqual([['TOKEN'], 20, true])
      const undeclared = await home.run(home.runnable('def run(args, context): return context.secrets["TOKEN"]'))
      expect(undeclared.error).toContain('TOKEN is not there: manifest.json does not declare it')
      const node = home.runnable(
        `export const run = (_, { secrets }) => [Object.keys(secrets), secrets.TOKEN.length]`,
        {
          runtime: 'node',
          secrets,
        },
      )
      expect((await home.run(node)).value).toEqual([['TOKEN'], 20])
      const shell = { kind: 'shell', command: 'cat; env; cat /proc/self/cmdline' } as const
      const signal = AbortSignal.timeout(30_000)
      const tried = await home.executor.tryOut({ userId: 'max', runnable: node, command: shell, signal })
      expect(tried.ok).toBe(true)
      expect(tried.text).not.toContain('redacted')
    })

    it('SEC-13 is in no argument and no environment', async () => {
      await home.setSecret('sample', 'TOKEN', token)
      const code = `def run(args, context):
  seen = open("/proc/self/cmdline").read() + open("/proc/self/environ").read() + str(dict(__import__("os").environ))
  return str(context.secrets.TOKEN in seen)`
      expect((await home.run(home.runnable(code, { secrets }))).text).toBe('False')
    })

    it('SEC-13 comes out nowhere: result, log, error', async () => {
      await home.setSecret('sample', 'TOKEN', token)
      const code = `import base64
def run(args, context):
  token = context.secrets.TOKEN
  print("log", token, base64.b64encode(token.encode()).decode())
  if args.get("fail"): raise ValueError("bad token " + token)
  return {"text": "text " + token, "html": "<p>" + token + "</p>", "title": token, "more": [token]}`
      const runnable = home.runnable(code, { secrets })
      const good = await home.run(runnable)
      expect(good).toMatchObject({ ok: true, text: 'text [redacted]', log: 'log [redacted] [redacted]\n' })
      expect(good.card?.html).toContain('[redacted]')
      const bad = await home.run(runnable, { fail: true })
      expect(bad.error).toMatch(/ValueError: bad token \[redacted\]$/)
      expect(JSON.stringify([good, bad])).not.toContain(token)
    })

    it('CAP-5 is named where nobody has set it, before anything runs', async () => {
      const runnable = home.runnable('def run(args, context): return "ran"', {
        secrets: [...secrets, { name: 'SECOND', description: '' }],
      })
      const run = await home.run(runnable)
      expect(run).toMatchObject({ ok: false, outcome: 'refused', driver: null })
      expect(run.error).toBe(
        'sample needs the secrets TOKEN, SECOND, which nobody has set yet. To set them: familiar caps secret sample TOKEN, familiar caps secret sample SECOND',
      )
    })
  })

  describe('of hosts', () => {
    const python = `
import urllib.request
def run(args):
  request = urllib.request.Request(args["address"], headers={"authorization": "me"})
  return urllib.request.urlopen(request, timeout=10).read().decode()
`
    const node = `
export async function run({ address }) {
  const response = await fetch(address, { headers: { authorization: 'me' } })
  if (!response.ok) throw new Error('the answer is ' + response.status)
  return await response.text()
}
`
    it.each([
      ['python', python],
      ['node', node],
    ] as const)('CAP-5 is reached, and nothing else: %s', async (runtime, code) => {
      const runnable = home.runnable(code, { runtime, hosts: [`127.0.0.2:${site.port}`] })
      const call = (address: string) => home.run(runnable, { address })
      expect(await call(site.origin)).toMatchObject({ ok: true, text: 'You sent me' })
      const refused = await call('https://example.invalid/')
      expect(refused).toMatchObject({ ok: false, outcome: 'failed', refusedHosts: ['example.invalid'] })
      expect(refused.error).toMatch(
        /\nIt was not let through to example\.invalid: the manifest must declare every host that it reaches\.$/,
      )
      expect(site.requests).toHaveLength(1)
    })

    it('CAP-5 is told from a service that fails', async () => {
      const runnable = home.runnable(python, { hosts: [`127.0.0.2:${site.port}`] })
      const run = await home.run(runnable, { address: `${site.origin}/broken` })
      expect(run).toMatchObject({ ok: false, outcome: 'service_failed', refusedHosts: [] })
      const missing = await home.run(runnable, { address: `${site.origin}/missing` })
      expect(missing).toMatchObject({ ok: false, outcome: 'failed', error: expect.stringContaining('404') })
    })

    it('CAP-5 is none where nothing is declared', async () => {
      for (const runnable of [home.runnable(python), home.runnable(node, { runtime: 'node' })]) {
        expect((await home.run(runnable, { address: site.origin })).ok).toBe(false)
      }
      expect(site.connections()).toBe(0)
    })

    it('CAP-5 says what to do to the code that is refused one', async () => {
      const asking = `
import urllib.error, urllib.request
def run(args):
  try: urllib.request.urlopen("http://example.invalid/")
  except urllib.error.HTTPError as error: return error.read().decode()
`
      const run = await home.run(home.runnable(asking, { hosts: [`127.0.0.2:${site.port}`] }))
      expect(run.text).toContain('A capability reaches only the hosts that its manifest declares.')
      expect(run.refusedHosts).toEqual(['example.invalid'])
    })
  })
})
