import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { startFamiliarAt } from '../support/installed-familiar.ts'
import { npm, packFamiliar } from '../support/packed-familiar.ts'

const repository = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'familiar-packed-'))
const prefix = join(folder, 'prefix')
const program = join(prefix, 'lib', 'node_modules', 'familiar')
const command = join(prefix, 'bin', 'familiar')
const { tarball, staged } = await packFamiliar(folder)
const notInstalled = await npm(['install', '--global', '--prefix', prefix, tarball], folder).then(
  () => '',
  (error: unknown) => String(error),
)
// Every folder is removed at the end, also one that was made read-only.
afterAll(() => {
  spawnSync('chmod', ['-R', 'u+w', folder])
  rmSync(folder, { recursive: true, force: true })
})

const read = (path: string) => JSON.parse(readFileSync(path, 'utf8'))
const names = spawnSync('tar', ['-tzf', tarball], { encoding: 'utf8' }).stdout.trim().split('\n')

describe('the npm package', () => {
  it('PACK-1 contains the program as JavaScript, its launcher and its licenses, and nothing else', () => {
    const kinds = new Set(
      names.map((name) =>
        name.replace(/^package\//, '').replace(/^(dist|docs\/licenses|scripts\/launcher)\/.*/, '$1/'),
      ),
    )
    expect([...kinds].sort()).toEqual([
      'LICENSE',
      'README.md',
      'bin/familiar',
      'bin/package.json',
      'dist/',
      'docs/licenses/',
      'npm-shrinkwrap.json',
      'package.json',
      'scripts/launch.cjs',
      'scripts/launcher/',
    ])
    expect(names.filter((name) => /\.ts$|\.test\./.test(name))).toEqual([])
  })

  it('PACK-1 runs nothing during installation, and names no registry', () => {
    expect(read(join(staged, 'package.json')).scripts).toBeUndefined()
    const lock = readFileSync(join(staged, 'npm-shrinkwrap.json'), 'utf8')
    expect(lock).not.toMatch(/"resolved"|"hasInstallScript"|"dev": true/)
    expect(lock).not.toMatch(/registry/)
  })
})

describe.skipIf(notInstalled !== '')(
  `a packed install${notInstalled && ` (npm: ${notInstalled.slice(0, 300)})`}`,
  () => {
    it('PACK-1 has its dependencies in the versions that were tried, and runs no script of theirs', () => {
      const { dependencies } = read(join(repository, 'package.json')) as { dependencies: Record<string, string> }
      for (const [name, version] of Object.entries(dependencies)) {
        expect(read(join(program, 'node_modules', name, 'package.json')).version, name).toBe(version)
      }
      const manifests = globSync('node_modules/**/package.json', { cwd: program })
        .filter((path) => /(^|\/)node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/.test(path))
        .map((path) => read(join(program, path)) as { name: string; scripts?: Record<string, string> })
      expect(manifests.length).toBeGreaterThan(50)
      const withScript = manifests.filter(
        ({ scripts }) => scripts?.install ?? scripts?.preinstall ?? scripts?.postinstall,
      )
      expect(withScript.map(({ name }) => name)).toEqual([])
    })

    it('PACK-1 answers in an empty home, from a read-only folder, offline', async () => {
      const home = join(folder, 'home')
      mkdirSync(home)
      for (const path of ['', 'bin', 'dist', 'scripts']) chmodSync(join(program, path), 0o555)
      const familiar = startFamiliarAt({ command, home })
      expect(await familiar(['--version'])).toMatchObject({
        code: 0,
        stdout: `${read(join(program, 'package.json')).version}\n`,
      })
      // Nothing was fetched or made for that.
      expect(existsSync(join(home, '.familiar'))).toBe(false)
      const told = await familiar(['send', '--message', 'Remember that I like tea'])
      expect(told).toMatchObject({ code: 0, stdout: expect.stringContaining('I like tea') })
      const chat = await familiar(['chat'], { input: 'What do I like?\n' })
      expect(chat).toMatchObject({ code: 0, stdout: expect.stringContaining('tea') })
    })

    it('PACK-1 serves, and is asked, as another user', async () => {
      const home = mkdtempSync(join(folder, 'other-'))
      const isRoot = process.getuid?.() === 0
      if (isRoot) for (const path of [folder, home]) chmodSync(path, 0o755)
      if (isRoot) spawnSync('chown', ['-R', '65534:65534', home])
      const familiar = startFamiliarAt({ command, home, ...(isRoot && { uid: 65_534 }) })
      const serving = familiar(['serve', '--port', '0'], { until: /is running at (http:\S+)/ })
      await serving.shown
      const sent = await familiar(['send', '--message', 'Remember that I like tea', '--json'])
      expect(JSON.parse(sent.stdout)).toMatchObject({ reply: expect.stringContaining('tea') })
      serving.kill('SIGTERM')
      expect(await serving).toMatchObject({ code: 0 })
    })

    it('PACK-1 says its version and its commands under a Node that is too old to run it, fetching nothing', () => {
      const home = join(folder, 'old')
      mkdirSync(home)
      const old = join(folder, 'old.cjs')
      const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.1.0' } })`
      spawnSync('sh', ['-c', `cat > '${old}'`], { input: pretend })
      const ask = (word: string) =>
        spawnSync(process.execPath, ['--require', old, command, word], {
          encoding: 'utf8',
          env: { HOME: home, PATH: '' },
        })
      expect(ask('--version').stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
      expect(ask('--help').stdout).toContain('Chat in the terminal')
      expect(readdirSync(home)).toEqual([])
    })
  },
)
