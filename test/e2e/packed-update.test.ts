import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { globalChange } from '../../src/terminal/commands/update.ts'
import { findInstallation } from '../../src/terminal/commands/update-program.ts'
import { startFamiliarAt } from '../support/installed-familiar.ts'
import { createVersions, npm } from '../support/packed-familiar.ts'

const folder = mkdtempSync(join(tmpdir(), 'familiar-update-'))
const base = join(folder, 'base')
const marker = join(folder, 'started')
let tarballs: Record<'good' | 'broken' | 'spoiler' | 'slow' | 'stranger', string>

/** On the copy that a version is tried on, these behave. */
const onTheHome = (home: string) => `!${home}.includes('/run/update-')`
/** As a migration that the old version does not know. */
const migrate = (home: string) =>
  `const raw = new (process.getBuiltinModule('node:sqlite').DatabaseSync)(${home} + '/familiar.db')
   raw.exec("drop table memories; insert into schema_migrations values ('9999-newer', 0)")
   raw.close()`

const small = (version: string, atStart: string) => `#!/usr/bin/env node
const words = process.argv.slice(2)
const home = words[words.indexOf('--home') + 1]
const command = words.find((word) => ['doctor', 'send', 'status', '--version'].includes(word))
if (command === '--version') console.log('${version}')
if (command === 'doctor') console.log('{"findings":[]}')
if (command === 'send') console.log('{"reply":"Noted."}')
if (command === 'status') {
  ${atStart}
  console.log('{"version":"${version}"}')
}
`

beforeAll(async () => {
  const versions = createVersions(folder)
  const old = versions.pack('1.0.0')
  tarballs = {
    good: versions.pack('1.1.0'),
    slow: versions.pack(
      '1.4.0',
      `if (${onTheHome('options.home')}) {
         ${migrate('options.home')}
         process.getBuiltinModule('fs').writeFileSync(${JSON.stringify(marker)}, '')
         await new Promise((resolve) => setTimeout(resolve, 500))
         throw new Error('broken for real')
       }`,
    ),
    broken: versions.packSmall('1.2.0', small('1.2.0', `throw new Error('broken at start')`)),
    spoiler: versions.packSmall(
      '1.3.0',
      small('1.3.0', `if (${onTheHome('home')}) { ${migrate('home')}; throw new Error('broken for real') }`),
    ),
    stranger: versions.packSmall('9.9.9', small('9.9.9', ''), 'not-familiar'),
  }
  mkdirSync(join(base, 'home'), { recursive: true })
  await npm(['install', '--global', '--prefix', join(base, 'prefix'), old], base)
  familiar = startFamiliarAt({ command: join(base, 'prefix', 'bin', 'familiar'), home: join(base, 'home') })
  await familiar(['send', '--message', 'Remember that I like tea'])
}, 180_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }), 180_000)

let home: string
let prefix: string
let modules: string
let familiar: ReturnType<typeof startFamiliarAt>
const inHome = (...parts: string[]) => join(home, '.familiar', ...parts)

beforeEach(() => {
  const place = mkdtempSync(join(folder, 'try-'))
  execFileSync('cp', ['-a', `${base}/.`, place])
  prefix = join(place, 'prefix')
  home = join(place, 'home')
  modules = join(prefix, 'lib', 'node_modules')
  familiar = startFamiliarAt({ command: join(prefix, 'bin', 'familiar'), home })
})

async function expectTidy(version: string, kept: string[] = []): Promise<void> {
  expect((await familiar(['--version'])).stdout).toBe(`${version}\n`)
  expect(readdirSync(modules)).toEqual([...kept, 'familiar'])
  expect(readlinkSync(join(prefix, 'bin', 'familiar'))).toBe('../lib/node_modules/familiar/bin/familiar')
  expect(readdirSync(inHome('run')).filter((name) => name.startsWith('update'))).toEqual([])
  const asked = await familiar(['send', '--message', 'What do I like?'])
  expect(asked).toMatchObject({ code: 0, stdout: expect.stringContaining('tea') })
}

// Each starts a handful of programs: on a busy machine that takes its time.
describe('familiar update', { timeout: 180_000 }, () => {
  it('PACK-2 changes to a healthy version, with the daemon stopped and a snapshot taken, and back by command', async () => {
    const serving = familiar(['serve', '--port', '0'], { until: /is running at/ })
    await serving.shown
    const updated = await familiar(['update', '--to', tarballs.good, '--json'])
    expect(updated).toMatchObject({ code: 0 })
    const told = JSON.parse(updated.stdout)
    expect(told).toMatchObject({ ok: true, from: '1.0.0', to: '1.1.0', problem: null, start_again: true })
    expect(existsSync(told.snapshot)).toBe(true)
    expect(await serving).toMatchObject({ code: 0, stdout: expect.stringContaining('Stopping.') })
    await expectTidy('1.1.0', ['.familiar-before'])

    const back = await familiar(['update', '--rollback', '--yes', '--json'])
    expect(back).toMatchObject({ code: 0 })
    expect(JSON.parse(back.stdout)).toMatchObject({ ok: true, from: '1.1.0', to: '1.0.0', kept_aside: null })
    await expectTidy('1.0.0')
  })

  it('PACK-2 changes nothing if the new version does not start on a copy', async () => {
    const updated = await familiar(['update', '--to', tarballs.broken])
    expect(updated.code).toBe(1)
    expect(updated.stdout).toMatch(
      /^Familiar 1\.0\.0 stays in use: 1\.2\.0 failed its check \(familiar status: .*broken at start/,
    )
    expect(readdirSync(inHome('backups'))).toEqual([])
    await expectTidy('1.0.0')
  })

  it('PACK-2 restores program and database if the new version fails on the home itself', async () => {
    const updated = await familiar(['update', '--to', tarballs.spoiler, '--json'])
    expect(updated.code).toBe(1)
    const told = JSON.parse(updated.stdout)
    expect(told).toMatchObject({ ok: false, problem: expect.stringContaining('broken for real') })
    expect(existsSync(told.kept_aside)).toBe(true)
    await expectTidy('1.0.0')
  })

  it('PACK-2 killed after the change, is undone by the next one', async () => {
    rmSync(marker, { force: true })
    const updating = familiar(['update', '--to', tarballs.slow])
    while (!existsSync(marker)) await wait(20)
    updating.kill('SIGKILL')
    await updating
    expect((await familiar(['--version'])).stdout).toBe('1.4.0\n')
    const next = await familiar(['update', '--check'])
    expect(next.stderr).toContain('The update to 1.4.0, which was cut off, was undone.')
    await expectTidy('1.0.0')
  })

  it('PACK-2 killed between the two renames, leaves a command that repairs itself', async () => {
    const root = join(modules, 'familiar')
    const installation = findInstallation(root)
    if (installation.kind !== 'global') throw new Error(installation.kind)
    // There is no new version, so only the first rename can be made.
    const change = globalChange(installation, { from: '1.0.0', to: '1.1.0' })
    mkdirSync(join(modules, '.familiar-update'))
    await expect(change.apply()).rejects.toThrow('ENOENT')
    expect(existsSync(root)).toBe(false)
    expect(execFileSync(join(prefix, 'bin', 'familiar'), ['--version'], { encoding: 'utf8' })).toBe('1.0.0\n')
    await change.finish()
    await expectTidy('1.0.0')
  })

  it('PACK-2 accepts only Familiar packages, and asks no registry for an unpublished one', async () => {
    const stranger = await familiar(['update', '--to', tarballs.stranger])
    expect(stranger).toMatchObject({ code: 1, stderr: expect.stringContaining('is not a version of Familiar') })
    const newest = await familiar(['update', '--check'])
    expect(newest).toMatchObject({ code: 1, stderr: expect.stringContaining('is not published') })
    expect(await familiar(['update', '--to', 'https://example.org/familiar.tgz'])).toMatchObject({ code: 2 })
    expect((await familiar(['--version'])).stdout).toBe('1.0.0\n')
  })
})
