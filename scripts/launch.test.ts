import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createClone, type Ended, lockText } from './launch-fixture.ts'

const require = createRequire(import.meta.url)
const platform: string = require('./launcher/platform.cjs')
const { pins } = require('./launcher/node-runtime.cjs') as { pins: Record<string, { integrity: string }> }

let clone: ReturnType<typeof createClone>
beforeEach(() => {
  clone = createClone()
})
afterEach(() => clone.remove())

const inClone = (...parts: string[]): string => join(clone.folder, ...parts)
const said = (ended: Ended) => JSON.parse(ended.stdout.split('\n')[0] ?? '')

/** As after an earlier start on a machine whose own Node is too old. */
function placeNode(): void {
  const folder = inClone('.runtime', `node-${platform}`)
  mkdirSync(join(folder, 'bin'), { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ version: '24.21.0' }))
  symlinkSync(process.execPath, join(folder, 'bin', 'node'))
}

describe('dependencies', () => {
  it('are installed by the real npm once, and the second start says nothing', async () => {
    const first = await clone.start(['a'])
    expect(first.stderr).toMatch(/^Familiar: installing dependencies \(once\)… done in [\d.]+ s\n$/)
    expect(first.code).toBe(0)
    expect(readdirSync(inClone('node_modules'))).toEqual(['.package-lock.json', 'dep'])
    const second = await clone.start(['b'])
    expect(second.stderr).toBe('')
    expect(said(second).args).toEqual(['b'])
    const test = await clone.start([inClone('src/terminal/main.ts')], { file: 'scripts/launch.cjs' })
    expect(test.stderr).toMatch(/^Familiar: adding the dependencies of tests and checks \(once\)… done in [\d.]+ s\n$/)
    expect(readdirSync(inClone('node_modules'))).toEqual(['.package-lock.json', 'dep', 'tool'])
    expect((await clone.start([])).stderr).toBe('')
  })

  it('are never taken back to the smaller set, and are updated when the lock file changes', async () => {
    const env = clone.fakeNpm
    await clone.start([], { env })
    await clone.start([inClone('src/terminal/main.ts')], { file: 'scripts/launch.cjs', env })
    await clone.start([], { env })
    expect(clone.npmRuns()).toEqual([expect.stringContaining('--omit=dev'), expect.stringContaining('--include=dev')])
    writeFileSync(inClone('package-lock.json'), '\n', { flag: 'a' })
    const changed = await clone.start([], { env })
    expect(changed.stderr).toMatch(/^Familiar: updating dependencies… done/)
    expect(clone.npmRuns()[2]).toContain('--include=dev')
  })

  it('are reinstalled when node_modules does not match the stamp', async () => {
    const env = clone.fakeNpm
    await clone.start([], { env })
    writeFileSync(inClone('node_modules', '.package-lock.json'), '{}')
    writeFileSync(inClone('node_modules', 'stray'), '')
    const again = await clone.start([], { env })
    expect(again.stderr).toMatch(/^Familiar: installing dependencies/)
    expect(existsSync(inClone('node_modules', 'stray'))).toBe(false)
  })

  it('that someone installed by hand are taken as they are', async () => {
    const npm = (...args: string[]) => spawnSync('npm', ['install', ...args], { cwd: clone.folder, stdio: 'ignore' })
    const env = clone.fakeNpm
    npm('--omit=dev')
    expect(await clone.start([], { env })).toMatchObject({ code: 0, stderr: '' })
    npm()
    expect(await clone.start([inClone('src/terminal/main.ts')], { file: 'scripts/launch.cjs', env })).toMatchObject({
      stderr: '',
    })
    clone.write('package-lock.json', lockText.replace('"node_modules/tool"', '"node_modules/newer"'))
    rmSync(inClone('.runtime'), { recursive: true })
    expect((await clone.start([], { env })).stderr).toMatch(/^Familiar: installing dependencies/)
  })

  it('are not guessed when package.json and its lock disagree', async () => {
    clone.write(
      'package.json',
      JSON.stringify({ dependencies: { dep: 'file:dep', other: '1.0.0' }, devDependencies: {} }),
    )
    const ended = await clone.start([], { env: clone.fakeNpm })
    expect(ended.code).toBe(1)
    expect(ended.stderr).toContain('package-lock.json does not match package.json (dependencies: other)')
    expect(clone.npmRuns()).toEqual([])
  })

  it('count as missing after an interrupted install', async () => {
    const slow = { ...clone.fakeNpm, FAKE_NPM_MS: '60000' }
    const onOutput = (text: string, pid: number) => {
      if (text.includes('installing')) setTimeout(() => process.kill(pid, 'SIGTERM'), 300)
    }
    const ended = await clone.start([], { env: slow, onOutput })
    expect(ended.signal).toBe('SIGTERM')
    expect(readdirSync(inClone('.runtime'))).toEqual(['dependencies.json'])
    expect((await clone.start([], { env: clone.fakeNpm })).stderr).toMatch(/^Familiar: installing dependencies/)
  })

  it('that cannot be downloaded: names the attempts, the addresses and the solution', async () => {
    const ended = await clone.start([], { env: { ...clone.fakeNpm, FAKE_NPM_FAILS: '1' } })
    expect(ended.code).toBe(1)
    expect(ended.stdout).toBe('')
    expect(ended.stderr).toContain('could not install the dependencies.')
    expect(ended.stderr).toContain('npm-cli.js install --no-save --include=optional --omit=dev (exit code 1)')
    expect(ended.stderr).toContain(`Into: ${inClone('node_modules')}`)
    expect(ended.stderr).toContain('    npm error network request failed\n  To fix it: check the network')
    expect((await clone.start([], { env: clone.fakeNpm })).stderr).toMatch(/^Familiar: installing dependencies/)
  })
})

describe('two starts at once', () => {
  it('install once; the other waits and says so', async () => {
    const env = { ...clone.fakeNpm, FAKE_NPM_MS: '1500' }
    const ended = await Promise.all([
      clone.start(['1'], { env }),
      clone.start(['2'], { env }),
      clone.start(['3'], { env }),
    ])
    expect(ended.map(({ code }) => code)).toEqual([0, 0, 0])
    expect(clone.npmRuns()).toHaveLength(1)
    const lines = ended.map(({ stderr }) => stderr.replace(/\(process [\d, ]+\)/, '').replace(/[\d.]+ s/, '')).sort()
    const waiting = 'Familiar: waiting for another start that is installing … done in \n'
    expect(lines).toEqual(['Familiar: installing dependencies (once)… done in \n', waiting, waiting])
    expect(existsSync(inClone('.runtime', 'lock'))).toBe(false)
  })

  it('do not wait for a lock whose processes are gone', async () => {
    mkdirSync(inClone('.runtime', 'lock'), { recursive: true })
    writeFileSync(inClone('.runtime', 'lock', '4194305'), '')
    const both = [clone.start([], { env: clone.fakeNpm }), clone.start([], { env: clone.fakeNpm })]
    expect((await Promise.all(both)).map(({ code }) => code)).toEqual([0, 0])
    expect(clone.npmRuns()).toHaveLength(1)
  })
})

describe('a Node that is too old', () => {
  it('fetches a new one, checks it, and continues with it first in PATH', async () => {
    const env = { ...clone.fakeNpm, FAKE_NPM_INTEGRITY: pins[platform]?.integrity ?? '' }
    const first = await clone.start(['a'], { pretend: ['old'], env })
    expect(first.stderr).toMatch(
      /^Familiar: installing Node 24 into .runtime \(once\)… done in [\d.]+ s\nFamiliar: installing dep.* s\n$/,
    )
    expect(said(first).path.split(delimiter)[0]).toBe(inClone('.runtime', `node-${platform}`, 'bin'))
    expect(readdirSync(inClone('.runtime')).filter((name) => name.startsWith('install-'))).toEqual([])
    expect((await clone.start([], { pretend: ['old'], env })).stderr).toBe('')
  })

  it.skipIf(!pins[platform])('refuses a package with other content', async () => {
    const env = { ...clone.fakeNpm, FAKE_NPM_INTEGRITY: 'sha512-other' }
    const ended = await clone.start([], { pretend: ['old'], env })
    expect(ended.code).toBe(1)
    expect(ended.stderr).toContain('is not the package that was expected (sha512-other)')
    expect(readdirSync(inClone('.runtime'))).toEqual([])
  })

  it('and no npm: says so', async () => {
    const env = { npm_execpath: '', PATH: '/nowhere' }
    const ended = await clone.start([], { pretend: ['old', 'alone'], env })
    expect(ended.code).toBe(1)
    expect(ended.stderr).toContain('npm is needed to install Node 24, and there is none.')
    expect(ended.stderr).toContain('Looked beside /nowhere/bin/node (Node v20.1.0) and in PATH.')
  })

  it('even to install: says so, but continues when everything is installed', async () => {
    const refused = await clone.start([], { pretend: ['ancient'] })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toMatch(/^Familiar: Node v6.17.1 \(.*\) is too old.\n {2}Install Node/)
    placeNode()
    await clone.start([], { env: clone.fakeNpm })
    expect((await clone.start(['exit', '4'], { pretend: ['ancient'] })).code).toBe(4)
  })
})

describe('the program', () => {
  beforeEach(async () => {
    placeNode()
    await clone.start([], { env: clone.fakeNpm })
  })

  it('runs in the process of a new enough Node', async () => {
    const ended = await clone.start(['exit', '3'])
    expect(ended.code).toBe(3)
    expect(said(ended).pid).toBe(ended.pid)
  })

  it('passes its exit code and its signal on from a child, where Node cannot replace itself', async () => {
    const pretend = ['old', 'stuck'] as const
    const ended = await clone.start(['exit', '3'], { pretend: [...pretend] })
    expect(ended.code).toBe(3)
    expect(said(ended).pid).not.toBe(ended.pid)
    expect((await clone.start(['die', 'SIGKILL'], { pretend: [...pretend] })).signal).toBe('SIGKILL')
    expect((await clone.start(['die', 'SIGTERM'], { pretend: [...pretend] })).signal).toBe('SIGTERM')
  })

  it('replaces an old Node that can do that', async () => {
    const ended = await clone.start(['exit', '3'], { pretend: ['old'] })
    expect(ended.code).toBe(3)
    expect(said(ended).pid).toBe(ended.pid)
  })

  it.each([
    ['a new', []],
    ['an old', ['old', 'stuck']],
  ] as const)('is the only process where a shell starts it with %s Node', async (_which, pretend) => {
    const options = { pretend: [...pretend], isByShell: true }
    const ended = await clone.start(['exit', '3'], options)
    expect(ended).toMatchObject({ code: 3, stderr: '' })
    expect(said(ended).pid).toBe(ended.pid)
    expect((await clone.start(['die', 'SIGKILL'], options)).signal).toBe('SIGKILL')
    mkdirSync(inClone('elsewhere'))
    symlinkSync('../bin/familiar', inClone('elsewhere', 'familiar'))
    const linked = await clone.start(['a b', "it's", ''], { ...options, file: 'elsewhere/familiar', cwd: tmpdir() })
    expect(said(linked)).toMatchObject({ args: ['a b', "it's", ''], cwd: realpathSync(tmpdir()), pid: linked.pid })
  })

  it('is the only process after the first start, too, in which the old Node fetched the new one', async () => {
    rmSync(inClone('.runtime'), { recursive: true })
    const env = { ...clone.fakeNpm, FAKE_NPM_INTEGRITY: pins[platform]?.integrity ?? '' }
    const ended = await clone.start(['exit', '3'], { pretend: ['old', 'stuck'], isByShell: true, env })
    expect(ended.stderr).toMatch(/^Familiar: installing Node 24 into .runtime \(once\)… done in [\d.]+ s\n/)
    expect(ended.code).toBe(3)
    expect(said(ended).pid).toBe(ended.pid)
    expect(said(ended).path.split(delimiter)[0]).toBe(
      join(realpathSync(inClone('.runtime')), `node-${platform}`, 'bin'),
    )
  })

  it('is not started if the first start is stopped or fails while it downloads', async () => {
    rmSync(inClone('.runtime'), { recursive: true })
    const old = { pretend: ['old' as const, 'stuck' as const], isByShell: true }
    const onOutput = (text: string, pid: number) => {
      if (text.includes('installing')) setTimeout(() => process.kill(pid, 'SIGTERM'), 300)
    }
    const stopped = await clone.start([], { ...old, env: { ...clone.fakeNpm, FAKE_NPM_MS: '60000' }, onOutput })
    expect(stopped).toMatchObject({ signal: 'SIGTERM', stdout: '' })
    expect(readdirSync(inClone('.runtime'))).toEqual([])
    const failed = await clone.start([], { ...old, env: { ...clone.fakeNpm, FAKE_NPM_FAILS: '1' } })
    expect(failed).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('could not install Node 24') })
  })

  it.each(
    (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).flatMap((signal) => [
      [signal, 'a launcher that waits for it', { pretend: ['old' as const, 'stuck' as const] }] as const,
      [signal, 'a shell', { pretend: ['old' as const, 'stuck' as const], isByShell: true }] as const,
    ]),
  )('gets %s once through %s', async (signal, _through, how) => {
    const onOutput = (text: string, pid: number) => {
      if (text.includes('"wait"')) process.kill(pid, signal)
    }
    const ended = await clone.start(['wait'], { ...how, onOutput })
    expect(ended.code).toBe(8)
    expect(ended.stdout.split('\n').slice(1)).toEqual([signal, ''])
  })

  it.each([[[]], [['old' as const]]])(
    'starts through a symbolic link and keeps the working directory (%j)',
    async (pretend) => {
      mkdirSync(inClone('elsewhere'))
      symlinkSync(inClone('bin', 'familiar'), inClone('elsewhere', 'familiar'))
      const ended = await clone.start(['a b', '--c'], { file: 'elsewhere/familiar', cwd: tmpdir(), pretend })
      expect(said(ended)).toMatchObject({ args: ['a b', '--c'], cwd: realpathSync(tmpdir()) })
    },
  )
})

it('says how it is called when there is no such file', async () => {
  expect(await clone.start([], { file: 'scripts/launch.cjs' })).toMatchObject({ code: 2 })
  const ended = await clone.start(['none.ts'], { file: 'scripts/launch.cjs' })
  expect(ended).toMatchObject({ code: 2, stderr: 'Familiar: there is no file none.ts\n' })
})

it('says so when .runtime cannot be written', async () => {
  const isRoot = process.getuid?.() === 0
  chmodSync(clone.folder, 0o555)
  const ended = await clone.start([], { env: clone.fakeNpm, cwd: tmpdir(), ...(isRoot ? { uid: 65534 } : {}) })
  chmodSync(clone.folder, 0o755)
  expect(ended.code).toBe(1)
  expect(ended.stderr).toContain(`cannot write to ${inClone('.runtime')} (EACCES)`)
  expect(ended.stderr).toContain('Make that folder writable for you')
})
