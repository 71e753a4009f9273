import { chmodSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { z } from 'zod'
import { systemClock } from '../../src/base/clock.ts'
import { createIds } from '../../src/base/ids.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { createCapabilityCatalog } from '../../src/custom-tools/built-catalog.ts'
import { createVersionStore } from '../../src/custom-tools/versions.ts'
import { openSqlite } from '../../src/storage/sqlite/open-sqlite.ts'
import { capabilityManifest } from '../support/capabilities.ts'
import { manifestOf } from '../support/contract-tools.ts'
import { startFakeModel } from '../support/fake-model/start-fake-model.ts'
import {
  cleanUp,
  familiar,
  familiarJson,
  homeWithModel,
  newHome,
  serveFamiliar,
  temporaryDirectory,
} from './cli-process.ts'

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
  expect(await familiar(['backup'], { home })).toMatchObject({ code: 3 })
})

it('CLI-1 the doctor looks beside a running daemon', async () => {
  const home = newHome()
  const daemon = await serveFamiliar({ home })
  const { ok, of } = await examine(home)
  expect(ok).toBe(true)
  expect(of('daemon')[0]?.message).toContain(daemon.url)
  expect(of('database')).toMatchObject([{ state: 'ok', message: expect.stringMatching(/^OK, .* version \d{4}-/) }])
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

it('CLI-1 the doctor finds files of conversations that are gone', async () => {
  const home = newHome()
  const file = join(temporaryDirectory(), 'note.txt')
  writeFileSync(file, 'A note.')
  await familiar(['send', '-m', 'See this', '-a', file], { home })
  expect((await examine(home)).of('media')).toEqual([])
  rmSync(join(home, 'media'), { recursive: true })
  expect((await examine(home)).of('media')).toMatchObject([
    { state: 'warn', message: expect.stringContaining('1 attached file missing') },
  ])
})

/** The files of a finished build. */
async function publish(home: string, name: string, versionCount: number): Promise<void> {
  const clock = systemClock()
  const path = join(home, 'familiar.db')
  const database = await openSqlite({ path, clock, snapshotDirectory: join(home, 'backups') })
  const versions = createVersionStore({ directory: join(home, 'capabilities') })
  const catalog = createCapabilityCatalog({ database, versions, clock, ids: createIds(clock), logger: silentLogger })
  await catalog.start()
  const owner = await database.read.selectFrom('users').select('id').executeTakeFirstOrThrow()
  const manifest = capabilityManifest({ name })
  for (let version = 1; version <= versionCount; version += 1) {
    const texts = { 'main.py': `# ${version}`, 'manifest.json': JSON.stringify({ name }), 'RUN.md': '# How\n' }
    const files = new Map(Object.entries(texts).map(([file, text]) => [file, Buffer.from(text)]))
    await catalog.publish({ userId: owner.id, manifest, files, origin: 'built', buildId: null, state: 'active' })
  }
  await database.close()
}

it('CLI-1 the doctor names tools whose files are gone, and the command that helps', async () => {
  const home = newHome()
  await familiar(['send', '-m', 'Hello'], { home })
  await publish(home, 'weather', 1)
  await publish(home, 'rates', 2)
  const source = join(temporaryDirectory(), 'shout')
  mkdirSync(source)
  writeFileSync(join(source, 'manifest.json'), JSON.stringify(manifestOf('shout')))
  writeFileSync(join(source, 'runner.sh'), 'echo hi\n')
  expect(await familiar(['tools', 'install', source, '--yes'], { home })).toMatchObject({ code: 0 })
  expect((await examine(home)).of('tools')).toEqual([])

  for (const id of readdirSync(join(home, 'capabilities'))) {
    const newest =
      readdirSync(join(home, 'capabilities', id))
        .sort()
        .at(-1) ?? ''
    rmSync(join(home, 'capabilities', id, newest), { recursive: true })
  }
  rmSync(join(home, 'tools', 'shout'), { recursive: true })
  const { ok, of } = await examine(home)
  expect(ok).toBe(true)
  expect(of('tools')).toMatchObject([
    { state: 'warn', message: expect.stringContaining('v2 is gone'), mend: 'familiar caps rollback rates 1' },
    { state: 'warn', message: expect.stringContaining('v1 is gone'), mend: 'familiar caps disable weather' },
    { state: 'warn', message: expect.stringContaining('its folder is missing'), mend: 'familiar tools remove shout' },
  ])
  for (const { mend = '' } of of('tools')) {
    const words = mend.split(' ').slice(1)
    if (words[0] === 'tools') words.push('--yes')
    expect(await familiar(words, { home }), mend).toMatchObject({ code: 0 })
  }
  expect((await examine(home)).of('tools')).toEqual([])
})

it('STORE-6 the start and the doctor say that the log of a killed daemon was deleted', async () => {
  const home = newHome()
  await familiar(['send', '-m', 'Remember that I like tea'], { home })
  const killed = await serveFamiliar({ home })
  await familiar(['send', '-m', 'Remember that I like coffee'], { home })
  killed.child.kill('SIGKILL')
  await killed.ended
  rmSync(join(home, 'familiar.db-wal'))
  const missing = /familiar\.db-wal was deleted before the next start\. Changes made after .* may be missing/
  expect((await examine(home)).of('database')).toMatchObject([
    { state: 'ok' },
    { message: expect.stringMatching(missing) },
  ])
  const next = await serveFamiliar({ home })
  expect(next.stdout()).toMatch(missing)
  expect(await familiar(['send', '-m', 'What do I like?'], { home })).toMatchObject({
    stdout: expect.stringContaining('tea'),
  })
  const note = join(home, 'familiar.db-log-missing')
  expect((await examine(home)).of('database')).toMatchObject([
    { state: 'ok' },
    { state: 'warn', message: expect.stringMatching(missing), mend: `rm ${note}` },
  ])
  rmSync(note)
  expect((await examine(home)).of('database')).toMatchObject([{ state: 'ok' }])
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

it('CLI-1 the doctor asks a model server on this machine at every look', async () => {
  const model = await startFakeModel()
  const { home, env } = homeWithModel(model.url)
  try {
    expect((await examine(home, [], env)).of('provider fake')).toMatchObject([{ state: 'ok' }])
    expect((await examine(home, [], env)).of('route primary')).toMatchObject([{ state: 'ok', message: 'fake/main' }])
    expect((await examine(home, ['--network'], env)).of('provider fake')).toMatchObject([{ state: 'ok' }])
  } finally {
    await model.close()
  }
  expect((await examine(home, [], env)).of('provider fake')).toMatchObject([{ state: 'fail' }])
})
