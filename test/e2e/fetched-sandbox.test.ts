import { execFile, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, describe, expect, it } from 'vitest'
import { createClone } from '../../scripts/launch-fixture.ts'
import { hasBubblewrap, isOpenToAll, isRoot } from '../support/embedded-sandbox.ts'

/** An unused user id. */
const user = 64_556
const why = whyNot()

/** Root can take bubblewrap out of sight for one process and its children; others can only do without it. */
function whyNot(): string | undefined {
  if (!existsSync('/usr/bin/apt-get')) return 'there is no apt'
  if (!isRoot) return 'root is needed to take the account of another user'
  if (![import.meta.filename, process.execPath].every(isOpenToAll)) return 'another user cannot read this repository'
  if (spawnSync('unshare', ['--mount', 'true']).status !== 0) return 'no mount namespace can be made'
  return undefined
}

const cleanups: (() => void | Promise<void>)[] = []
afterEach(async () => {
  for (const each of cleanups.splice(0).reverse()) await each()
})

/** A clone whose dependencies count as installed, in which an ordinary user runs commands without bubblewrap. */
function cloneWithoutBubblewrap() {
  const clone = createClone()
  cleanups.push(clone.remove)
  const home = mkdtempSync(join(tmpdir(), 'familiar-user-'))
  cleanups.push(() => rmSync(home, { recursive: true, force: true }))
  const hidden = join(home, 'hidden')
  writeFileSync(hidden, '')
  mkdirSync(join(home, 'sandbox'))
  spawnSync('chown', ['-R', `${user}:${user}`, clone.folder, home])
  chmodSync(home, 0o755)
  const run = async (argv: string[], env: Record<string, string> = {}) => {
    const hide = hasBubblewrap ? 'mount --bind "$0" /usr/bin/bwrap && ' : ''
    const script = `${hide}exec setpriv --reuid ${user} --regid ${user} --clear-groups "$@"`
    const path = `${join(process.execPath, '..')}:/usr/bin:/bin`
    const options = { cwd: clone.folder, env: { PATH: path, HOME: home, ...clone.fakeNpm, ...env } }
    return promisify(execFile)('unshare', ['--mount', 'sh', '-c', script, hidden, ...argv], options)
  }
  return {
    ...clone,
    home,
    run,
    start: (env?: Record<string, string>) => run([join(clone.folder, 'bin/familiar'), 'chat'], env),
  }
}

describe.skipIf(why !== undefined)(`a machine without bubblewrap${why ? ` (${why})` : ''}`, () => {
  it('SEC-12 fetches it as an ordinary user, once, and tools run in it', { timeout: 120_000 }, async ({ skip }) => {
    const { folder, home, run, start } = cloneWithoutBubblewrap()
    const { stderr } = await start()
    if (/Could not resolve|Failed to fetch|Temporary failure/.test(stderr)) skip('no package can be fetched here')
    expect(stderr).toMatch(/Familiar: fetching bubblewrap, the sandbox of tools \(once\)… done in [\d.]+ s\n/)
    const fetched = join(folder, '.runtime', 'bubblewrap')
    expect(readdirSync(fetched)).toEqual(expect.arrayContaining(['bwrap', 'copyright-bubblewrap']))
    expect((await start()).stderr).not.toContain('bubblewrap')
    const at = (path: string) => new URL(`../../${path}`, import.meta.url)
    const program = `
      import { createEmbeddedDriver } from '${at('src/sandbox/embedded/embedded-driver.ts')}'
      import { commandOf } from '${at('test/contract/sandbox-support.ts')}'
      import { silentLogger } from '${at('src/base/logger.ts')}'
      const driver = createEmbeddedDriver({ directory: '${home}/sandbox', logger: silentLogger, fetched: '${fetched}' })
      const { ok, program, reason } = await driver.test(AbortSignal.timeout(60_000))
      const { stdout } = ok ? await driver.run(commandOf(['echo', 'from inside'])) : { stdout: '' }
      await driver.close()
      console.log(JSON.stringify({ ok, program, reason, said: Buffer.from(stdout).toString() }))`
    const { stdout } = await run([process.execPath, '--input-type=module-typescript', '--eval', program])
    expect(JSON.parse(stdout)).toEqual({ ok: true, program: join(fetched, 'bwrap'), said: 'from inside\n' })
  })

  it('SEC-12 uses no package that differs from the signed index', { timeout: 120_000 }, async ({ skip }) => {
    const { folder, start } = cloneWithoutBubblewrap()
    let changed = 0
    const proxy = createServer((asked, answer) => {
      const onward = request(asked.url ?? '', { headers: asked.headers }, (found) => {
        const parts: Buffer[] = []
        found.on('data', (part: Buffer) => parts.push(part))
        found.on('end', () => {
          const body = Buffer.concat(parts)
          if (asked.url?.endsWith('.deb') && found.statusCode === 200) {
            body[body.length - 1] = (body.at(-1) ?? 0) ^ 1
            changed += 1
          }
          answer.writeHead(found.statusCode ?? 502, found.headers).end(body)
        })
      })
      onward.on('error', () => answer.writeHead(502).end())
      onward.end()
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    cleanups.push(() => void proxy.close())
    cleanups.push(() => proxy.closeAllConnections())
    const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    const { stderr } = await start({ http_proxy: address })
    if (changed === 0) skip('the packages do not come through a proxy that can change them')
    expect(stderr).toContain('no sandbox, so tools do not run (the package is not the one that the signed index names)')
    expect(stderr).toContain('To fix it: sudo apt-get install bubblewrap')
    expect(existsSync(join(folder, '.runtime', 'bubblewrap'))).toBe(false)
    // It is remembered: the next start tries nothing and says nothing.
    const before = changed
    expect((await start({ http_proxy: address })).stderr).not.toContain('sandbox')
    expect(changed).toBe(before)
  })
})
