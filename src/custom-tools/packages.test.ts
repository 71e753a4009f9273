import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ContractToolsHome, openContractTools } from '../../test/support/contract-tools.ts'
import { hasPip, makeGreetingIndex } from '../../test/support/greeting-wheel.ts'
import { pythonTool } from '../../test/support/published-tools.ts'
import { openRealSandbox } from '../../test/support/real-sandbox.ts'
import { createSharedWork, readPackages } from './packages.ts'

describe.skipIf(!hasPip)(hasPip ? 'packages of Python' : 'pip is not installed', () => {
  const real = openRealSandbox()
  const { index: packageIndex, remove } = makeGreetingIndex()
  let home: ContractToolsHome
  beforeEach(async () => {
    home = await openContractTools({ sandbox: real.sandbox, packageIndex })
  })
  afterEach(() => home.close())
  afterAll(async () => {
    remove()
    await real.close()
  })

  const body = 'import greeting\nprint(json.dumps({"text": greeting.word + " " + greeting.__cached__}))'
  const statusOf = async () => {
    const [tool] = await home.catalog.list('max')
    return `${tool?.status} ${tool?.problem ?? ''}`.trim()
  }

  it('TOOL-5 are built once for a tool that needs them, and found by the next one and after a restart', async () => {
    home.writeTool('greeter', { ...pythonTool('greeter', body), 'requirements.txt': 'greeting>=1.0 # a comment\n' })
    await home.tools.start()
    expect(await statusOf()).toBe('building')
    expect(home.registry.list()).toEqual([])
    expect(await home.run('greeter', {}, { caller: 'cron' })).toMatchObject({
      outcome: 'refused',
      error: 'greeter is still being built. Try again in a moment.',
    })
    await home.tools.settled()
    expect(await statusOf()).toBe('system')
    expect((await home.run('greeter')).text).toMatch(/^Hello from a wheel \/familiar\/python\/greeting\/__pycache__/)
    const built = () => readdirSync(join(home.home, 'cache', 'python'))
    expect(built()).toHaveLength(1)
    home.writeTool('second', { ...pythonTool('second', body), 'requirements.txt': 'greeting>=1.0' })
    await home.restart()
    expect((await home.run('second')).ok).toBe(true)
    expect(built()).toHaveLength(1)
  })

  it('TOOL-5 that the Dockerfile installs are the same', async () => {
    const lines = [
      'FROM python:3',
      'WORKDIR /app',
      'COPY . .',
      'RUN pip install greeting',
      'ENTRYPOINT ["python", "runner.py"]',
    ]
    home.writeTool('greeter', { ...pythonTool('greeter', body), Dockerfile: lines.join('\n') })
    await home.start()
    expect((await home.run('greeter')).text).toContain('Hello from a wheel')
  })

  it('TOOL-5 that cannot be had are named in the status', async () => {
    home.writeTool('greeter', { ...pythonTool('greeter', body), 'requirements.txt': 'no-such-package==9' })
    await home.start()
    expect(await statusOf()).toMatch(
      /^error needs no-such-package==9 for Python, and pip says: .*No matching distribution/s,
    )
  })

  it.each([
    '--index-url https://evil.example.com',
    '-r other.txt',
    'git+https://example.com/x',
    'x @ https://example.com/x.whl',
    './local',
    '-e .',
  ])('SEC-14 are names and versions only: %s', async (line) => {
    home.writeTool('greeter', { ...pythonTool('greeter', body), 'requirements.txt': `greeting\n${line}` })
    await home.start()
    expect(await statusOf()).toContain('only names with versions are installed, no options or addresses')
  })
})

function entry(path: string, content: string, more: object = {}): Buffer {
  const packed = deflateSync(content)
  return Buffer.concat([line({ path, size: Buffer.byteLength(content), packed: packed.length, ...more }), packed])
}

function line(header: object): Buffer {
  return Buffer.from(`${JSON.stringify(header)}\n`)
}

const end = line({ end: true })

describe('packages that come out of their build', () => {
  it('TOOL-5 are read whole', () => {
    const read = readPackages(Buffer.concat([entry('a/b.py', 'x = 1'), entry('c.py', ''), end]))
    expect(read.ok && Array.from(read.value, ([path, bytes]) => [path, Buffer.from(bytes).toString()])).toEqual([
      ['a/b.py', 'x = 1'],
      ['c.py', ''],
    ])
    expect(readPackages(line({ error: 'no such package' }))).toEqual({ ok: false, message: 'no such package' })
  })

  it.each(['../x', '/etc/passwd', 'a/../../x', 'a/./x', '.', '', 'a//b', 'a/', 'a\\b', 'a\u0000b', 'x'.repeat(600)])(
    'SEC-11 are refused with a path that leads elsewhere: %j',
    (path) => {
      expect(readPackages(Buffer.concat([entry(path, 'x'), end])).ok).toBe(false)
    },
  )

  it.each([
    ['no end', entry('a', 'x')],
    ['something after its end', Buffer.concat([end, entry('a', 'x')])],
    ['a file that is cut', Buffer.concat([entry('a', 'x'.repeat(100)).subarray(0, -3), end])],
    ['a size that is too small', Buffer.concat([entry('a', 'x'.repeat(100), { size: 10 }), end])],
    ['a size that is too large', Buffer.concat([entry('a', 'x', { size: 1_000 }), end])],
    ['a file larger than all may be', Buffer.concat([entry('a', 'x', { size: 10 ** 12 }), end])],
    ['no line at all', Buffer.alloc(10_000, 'x')],
    ['no JSON', Buffer.from('hello\n')],
  ])('SEC-11 are refused with %s', (_, output) => {
    expect(readPackages(output).ok).toBe(false)
  })

  it('SEC-11 never throws', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.uint8Array(),
            fc.json().map((text) => Buffer.from(`${text}\n`)),
          ),
        ),
        (parts) => {
          readPackages(Buffer.concat(parts))
        },
      ),
    )
  })
})

describe('work that several wait for', () => {
  const open = () => {
    const share = createSharedWork<string>()
    const begun: { signal: AbortSignal; end: PromiseWithResolvers<string> }[] = []
    const ask = (signal: AbortSignal) =>
      share('numpy', signal, (own) => {
        const end = Promise.withResolvers<string>()
        own.addEventListener('abort', () => end.reject(own.reason))
        begun.push({ signal: own, end })
        return end.promise
      })
    return { ask, begun }
  }
  const never = new AbortController().signal

  it('is done once', async () => {
    const { ask, begun } = open()
    const both = [ask(never), ask(never)]
    begun[0]?.end.resolve('built')
    expect(await Promise.all(both)).toEqual(['built', 'built'])
    expect(begun).toHaveLength(1)
  })

  it('continues for the others when the first caller leaves', async () => {
    const { ask, begun } = open()
    const first = new AbortController()
    const leaving = ask(first.signal)
    const staying = ask(never)
    first.abort(new Error('left'))
    await expect(leaving).rejects.toThrow('left')
    begun[0]?.end.resolve('built')
    expect(await staying).toBe('built')
  })

  it('ends with the last caller, and starts again for the next', async () => {
    const { ask, begun } = open()
    const only = new AbortController()
    const leaving = ask(only.signal)
    only.abort(new Error('left'))
    await expect(leaving).rejects.toThrow('left')
    expect(begun[0]?.signal.aborted).toBe(true)
    const next = ask(never)
    begun[1]?.end.resolve('built again')
    expect(await next).toBe('built again')
  })

  it('is not started for a caller who has already left', async () => {
    const { ask, begun } = open()
    await expect(ask(AbortSignal.abort(new Error('left')))).rejects.toThrow('left')
    expect(begun).toEqual([])
  })
})
