import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { estimateTokens } from '../base/tokens.ts'
import { openHome, starterFiles } from './home.ts'
import { homePaths, resolveHome } from './home-paths.ts'

let parent: string
let home: string
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'familiar-home-'))
  home = join(parent, 'home')
})
afterEach(() => {
  chmodSync(parent, 0o700)
  rmSync(parent, { recursive: true, force: true })
})

const modeOf = (path: string) => lstatSync(path).mode & 0o777

describe('home', () => {
  it('DAEMON-1 is at FAMILIAR_HOME, otherwise in the user’s home directory', () => {
    expect(resolveHome({}, '/home/me')).toBe('/home/me/.familiar')
    expect(resolveHome({ FAMILIAR_HOME: '  ' }, '/home/me')).toBe('/home/me/.familiar')
    expect(resolveHome({ FAMILIAR_HOME: '~/there' }, '/home/me')).toBe('/home/me/there')
    expect(resolveHome({ FAMILIAR_HOME: '/srv/familiar/' }, '/home/me')).toBe('/srv/familiar')
  })

  it('SEC-21 creates every directory as 0700 and every file as 0600, whatever the umask', async () => {
    const before = process.umask(0)
    try {
      expect(await openHome(home)).toEqual({ ok: true, paths: homePaths(home), isNew: true })
    } finally {
      process.umask(before)
    }
    expect(readdirSync(home).sort()).toMatchInlineSnapshot(`
      [
        "backups",
        "capabilities",
        "log",
        "media",
        "providers.d",
        "run",
        "tools",
        "workspace",
      ]
    `)
    for (const entry of readdirSync(home, { recursive: true, withFileTypes: true }))
      expect(modeOf(join(entry.parentPath, entry.name)), entry.name).toBe(entry.isDirectory() ? 0o700 : 0o600)
    expect(modeOf(home)).toBe(0o700)
  })

  it('CTX-5 writes starter files that fit a first request, and never overwrites files', async () => {
    await openHome(home)
    const workspace = join(home, 'workspace')
    expect(readdirSync(workspace).sort()).toEqual([
      'AGENTS.md',
      'IDENTITY.md',
      'SOUL.md',
      'USER.md',
      'memory',
      'skills',
    ])
    const texts = starterFiles.map((name) => readFileSync(join(workspace, name), 'utf8'))
    expect(estimateTokens(texts.join('\n'))).toBeLessThan(250)
    writeFileSync(join(workspace, 'USER.md'), 'Mine.')
    expect(await openHome(home)).toMatchObject({ ok: true, isNew: false })
    expect(readFileSync(join(workspace, 'USER.md'), 'utf8')).toBe('Mine.')
  })

  it('SEC-21 rejects a home behind a symlink', async () => {
    mkdirSync(join(parent, 'real'), { mode: 0o700 })
    symlinkSync(join(parent, 'real'), home)
    for (const path of [home, `${home}/`])
      expect(await openHome(path)).toMatchObject({ ok: false, path: home, message: expect.stringContaining('symlink') })
    expect(readdirSync(join(parent, 'real'))).toEqual([])
  })

  it('SEC-21 rejects a home that others can write, and changes nothing in it', async () => {
    mkdirSync(home)
    for (const mode of [0o770, 0o702, 0o1777]) {
      chmodSync(home, mode)
      const opened = await openHome(home)
      expect(opened).toMatchObject({ ok: false, path: home, hint: expect.stringContaining('chmod 700') })
      expect(readdirSync(home)).toEqual([])
    }
  })

  it('SEC-21 restricts a home and files that others could only read', async () => {
    mkdirSync(home)
    chmodSync(home, 0o755)
    for (const name of ['.env', 'familiar.toml', 'key']) writeFileSync(join(home, name), 'x', { mode: 0o644 })
    expect(await openHome(home)).toMatchObject({ ok: true, isNew: false })
    expect(modeOf(home)).toBe(0o700)
    for (const name of ['.env', 'familiar.toml', 'key']) expect(modeOf(join(home, name))).toBe(0o600)
  })

  it('DAEMON-1 reports which path is the problem and what to do', async () => {
    writeFileSync(home, 'a file')
    expect(await openHome(home)).toMatchObject({ ok: false, message: `${home} is not a directory.` })
    expect(await openHome(join(home, 'below'))).toMatchObject({
      ok: false,
      path: join(home, 'below'),
      hint: expect.stringContaining('FAMILIAR_HOME='),
    })
    expect(await openHome('/proc/nowhere/familiar')).toMatchObject({ ok: false, path: '/proc/nowhere/familiar' })
  })

  // Root may write everywhere, so the test switches to another user.
  it('DAEMON-1 reports a missing write permission', () => {
    const other = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
    chmodSync(parent, 0o555)
    const program = `import { openHome } from ${JSON.stringify(join(import.meta.dirname, 'home.ts'))}
      console.log(JSON.stringify(await openHome(${JSON.stringify(home)})))`
    const child = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8', ...other })
    expect(child.stderr).toBe('')
    expect(JSON.parse(child.stdout)).toEqual({
      ok: false,
      path: home,
      message: `No permission to write ${home}.`,
      hint: 'Take ownership (chown, chmod 700), or choose another place: FAMILIAR_HOME=/your/path',
    })
    expect(existsSync(home)).toBe(false)
  })
})
