import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type CapabilitiesHome, openCapabilities } from '../../../../test/support/capabilities.ts'
import { hasPip, makeGreetingIndex } from '../../../../test/support/greeting-wheel.ts'
import { openRealSandbox } from '../../../../test/support/real-sandbox.ts'

const canBuild = existsSync('/usr/bin/bwrap') && hasPip

describe.skipIf(!canBuild)(canBuild ? 'the packages of a capability' : 'bubblewrap or pip is not installed', () => {
  const real = openRealSandbox()
  const { index: packageIndex, remove } = makeGreetingIndex()
  let home: CapabilitiesHome
  beforeEach(async () => {
    home = await openCapabilities({ sandbox: real.sandbox, packageIndex })
  })
  afterEach(() => home.close())
  afterAll(async () => {
    remove()
    await real.close()
  })

  const code = 'import greeting\ndef run(args): return greeting.word'
  const signal = AbortSignal.timeout(60_000)
  const built = () => readdirSync(join(home.home, 'cache', 'python'))

  it('CAP-5 are built once and shared by hash, whoever asks first and leaves', async () => {
    const one = home.runnable(code, { name: 'one', requirements: ['greeting>=1.0'] })
    const two = home.runnable(code, { name: 'two', requirements: ['greeting>=1.0'] })
    const leaving = new AbortController()
    const left = home.executor.prepare(one, leaving.signal)
    const stayed = home.executor.prepare(two, signal)
    setImmediate(() => leaving.abort(new Error('left')))
    await expect(left).rejects.toThrow('left')
    expect(await stayed).toEqual({ ok: true })
    const [key = ''] = built()
    expect(built()).toEqual([key])
    // For root's sandbox, which would look through all of it before every call otherwise.
    const isClosed = (statSync(join(home.home, 'cache', 'python', key)).mode & 0o222) === 0
    expect(isClosed).toBe(process.geteuid?.() === 0)
    expect((await Promise.all([one, two].map((runnable) => home.run(runnable)))).map(({ text }) => text)).toEqual([
      'Hello from a wheel',
      'Hello from a wheel',
    ])
    expect(built()).toHaveLength(1)
  })

  it('CAP-5 are built again by the call that needs them', async () => {
    const runnable = home.runnable(code, { requirements: ['greeting'] })
    expect((await home.run(runnable)).text).toBe('Hello from a wheel')
    rmSync(join(home.home, 'cache'), { recursive: true })
    expect((await home.run(runnable)).text).toBe('Hello from a wheel')
    const command = { kind: 'code', code: 'import greeting\nprint(greeting.word)' } as const
    const tried = await home.executor.tryOut({ userId: 'max', runnable, command, signal })
    expect(tried.text).toBe('Hello from a wheel\n')
  })

  it('CAP-4 that do not exist, or are for Node, are named', async () => {
    const missing = home.runnable(code, { requirements: ['no-such-package==9'] })
    expect(await home.executor.prepare(missing, signal)).toMatchObject({
      ok: false,
      problem: expect.stringMatching(/^sample needs no-such-package==9 for Python, and pip says: .*No matching/s),
    })
    expect(await home.run(missing)).toMatchObject({ ok: false, outcome: 'refused', driver: null })
    const node = home.runnable('export const run = () => 1', { runtime: 'node', requirements: ['left-pad'] })
    expect(await home.executor.prepare(node, signal)).toEqual({
      ok: false,
      problem:
        'sample needs left-pad for Node, and packages are installed for Python alone. What it needs must be among its own files.',
    })
  })

  it('CAP-4 that no network leads to are not called missing', async () => {
    const offline = await openCapabilities({
      sandbox: real.sandbox,
      packageIndex: {
        hosts: ['index.invalid'],
        arguments: ['--index-url', 'https://index.invalid/simple', '--retries', '1'],
        mounts: [],
      },
    })
    try {
      expect(await offline.executor.prepare(home.runnable(code, { requirements: ['greeting'] }), signal)).toEqual({
        ok: false,
        problem:
          'sample needs greeting for Python, and the index of packages cannot be reached. Is this machine online?',
      })
    } finally {
      await offline.close()
    }
  })
})
