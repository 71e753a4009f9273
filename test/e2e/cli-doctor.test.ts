import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { z } from 'zod'
import { startFakeModel } from '../support/fake-model/start-fake-model.ts'
import { cleanUp, familiar, familiarJson, homeWithModel, newHome, serveFamiliar } from './cli-process.ts'

afterEach(cleanUp)

const reportSchema = z.object({
  ok: z.boolean(),
  findings: z.array(
    z.object({
      check: z.string(),
      state: z.enum(['ok', 'warn', 'fail']),
      message: z.string(),
      mend: z.string().optional(),
    }),
  ),
})

async function examine(home: string, args: string[] = [], env: Record<string, string> = {}) {
  const { ok, findings } = reportSchema.parse(await familiarJson(['doctor', ...args], { home, env }))
  const of = (check: string) => findings.filter((finding) => finding.check === check)
  return { ok, findings, of }
}

it('CLI-1 the doctor finds a fresh place sound and makes nothing', async () => {
  const home = newHome()
  const { ok, findings, of } = await examine(home)
  expect(ok).toBe(true)
  for (const check of ['node', 'home', 'disk', 'clock', 'config', 'database', 'daemon', 'route primary', 'tokenizer']) {
    expect(of(check), check).toHaveLength(1)
  }
  expect(of('route primary')).toMatchObject([{ state: 'warn', mend: 'familiar setup' }])
  expect(findings.filter(({ state }) => state === 'fail')).toEqual([])
  expect(await familiar(['backup'], { home })).toMatchObject({ code: 1 })
})

it('CLI-1 the doctor looks beside a running daemon', async () => {
  const home = newHome()
  const daemon = await serveFamiliar({ home })
  const { ok, of } = await examine(home)
  expect(ok).toBe(true)
  expect(of('daemon')[0]?.message).toContain(daemon.url)
  expect(of('database')).toMatchObject([{ state: 'ok', message: expect.stringMatching(/^Sound, .* version \d{4}-/) }])
  daemon.child.kill('SIGKILL')
  await daemon.ended
  const after = await examine(home)
  expect(after.of('daemon')).toMatchObject([{ state: 'ok', message: expect.stringContaining('Not running') }])
  expect(after.of('database')).toMatchObject([{ state: 'ok' }, { state: 'warn', mend: 'familiar serve' }])
})

it('CLI-1 the doctor works with a broken configuration and names the line', async () => {
  const home = newHome()
  mkdirSync(home, { mode: 0o700 })
  writeFileSync(join(home, 'familiar.toml'), '[http]\nport = "x"\n')
  const { ok, of } = await examine(home)
  expect(ok).toBe(false)
  expect(of('config')).toMatchObject([
    { state: 'fail', message: expect.stringContaining('familiar.toml:2: http.port') },
  ])
  expect(of('config')[0]?.mend).toContain(`+2 ${home}/familiar.toml`)
  expect(await familiar(['doctor'], { home })).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^fail {2}config/m),
  })
})

it('CLI-1 the doctor sees permissions that are too wide, and a damaged database', async () => {
  const home = newHome()
  await familiar(['send', '-m', 'Hello'], { home })
  const backup = (await familiar(['backup'], { home })).stdout.trim()
  chmodSync(home, 0o755)
  chmodSync(join(home, 'familiar.db'), 0o644)
  writeFileSync(join(home, 'familiar.db'), Buffer.alloc(8_192, 'x'), { flag: 'r+' })
  const { ok, of } = await examine(home)
  expect(ok).toBe(false)
  expect(of('home')).toMatchObject([
    { state: 'warn', mend: `chmod 700 ${home}` },
    { state: 'warn', mend: `chmod 600 ${home}/familiar.db` },
  ])
  expect(of('database')).toMatchObject([{ state: 'fail', mend: `familiar restore ${backup}` }])
})

it('CLI-1 the doctor calls providers only when told to', async () => {
  const model = await startFakeModel()
  const { home, env } = homeWithModel(model.url)
  try {
    expect((await examine(home, [], env)).of('provider fake')).toEqual([])
    expect((await examine(home, [], env)).of('route primary')).toMatchObject([{ state: 'ok', message: 'fake/main' }])
    expect((await examine(home, ['--network'], env)).of('provider fake')).toMatchObject([{ state: 'ok' }])
  } finally {
    await model.close()
  }
  expect((await examine(home, ['--network'], env)).of('provider fake')).toMatchObject([{ state: 'fail' }])
})
