import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CapabilitiesHome, openCapabilities } from '../../../test/support/capabilities.ts'
import { openRealSandbox } from '../../../test/support/real-sandbox.ts'
import { createIds } from '../../base/ids.ts'
import { silentLogger } from '../../base/logger.ts'
import type { Json } from '../../protocol/messages.ts'
import { type CapabilityCatalog, createCapabilityCatalog } from '../built-catalog.ts'
import type { CapabilityFiles } from '../tool-folder.ts'
import { createVersionStore } from '../versions.ts'
import { type CapabilityGate, createCapabilityGate } from './gate.ts'

const hasPip = spawnSync('/usr/bin/python3', ['-m', 'pip', '--version']).status === 0
const hasSandbox = existsSync('/usr/bin/bwrap')
const signal = AbortSignal.timeout(120_000)

const manifest = {
  name: 'greeter',
  description: 'Greets somebody',
  input_schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
}
const python = 'def run(args):\n    return "Hello, " + args["name"]\n'
const node = "export function run({ name }) {\n  return 'Hello, ' + name\n}\n"
const examples: Json = [{ input: { name: 'Ada' }, expect: { equals: 'Hello, Ada' } }]

interface Draft {
  manifest?: { [key: string]: Json }
  examples?: Json
  files?: Record<string, string | null>
}

/** A capability that passes, with changes; a file that is null is left out. */
function draft({ manifest: more = {}, examples: tried = examples, files = {} }: Draft = {}): CapabilityFiles {
  const main: Record<string, string> = more.runtime === 'node' ? { 'main.js': node } : { 'main.py': python }
  const all: Record<string, string | null> = {
    ...main,
    'manifest.json': JSON.stringify({ ...manifest, ...more }),
    'examples.json': JSON.stringify(tried),
    ...files,
  }
  return new Map(
    Object.entries(all).flatMap(([path, text]) => (text === null ? [] : [[path, Buffer.from(text)] as const])),
  )
}

describe('createCapabilityGate', () => {
  const real = openRealSandbox()
  const wheels = mkdtempSync(join(tmpdir(), 'familiar-wheels-'))
  let home: CapabilitiesHome
  let catalog: CapabilityCatalog
  let gate: CapabilityGate
  let names = 0

  beforeAll(async () => {
    if (hasPip) execFileSync('/usr/bin/python3', ['-c', makeWheel, wheels])
    const packageIndex = {
      hosts: [],
      arguments: ['--no-index', '--find-links', '/wheels'],
      mounts: [{ source: wheels, target: '/wheels' }],
    }
    home = await openCapabilities({ sandbox: real.sandbox, packageIndex })
    const { database, clock, redactor, executor, sandbox } = home
    const versions = createVersionStore({ directory: join(home.home, 'capabilities') })
    const ids = createIds(clock)
    catalog = createCapabilityCatalog({ database, versions, clock, ids, logger: silentLogger })
    await catalog.start()
    const directory = join(home.home, 'cache', 'gate')
    gate = createCapabilityGate({ executor, catalog, sandbox, redactor, directory, logger: silentLogger })
  })
  afterAll(async () => {
    await home.close()
    await real.close()
    rmSync(wheels, { recursive: true })
  })

  const newName = () => {
    names += 1
    return `greeter_${names}`
  }
  const register = (files: CapabilityFiles, more: Partial<Parameters<CapabilityGate['register']>[1]> = {}) =>
    gate.register(files, { userId: 'max', origin: 'written', signal, ...more })
  const state = () => ({
    listed: catalog.list('max'),
    directories: readdirSync(home.home).includes('capabilities')
      ? readdirSync(join(home.home, 'capabilities'), { recursive: true }).sort()
      : [],
    staged: existsSync(join(home.home, 'cache', 'gate')) ? readdirSync(join(home.home, 'cache', 'gate')) : [],
  })

  it.each(['python', 'node'])('CAP-4 registers what passes, in %s, and it serves from then on', async (runtime) => {
    const name = newName()
    const lines: string[] = []
    const files = draft({ manifest: { name, runtime, colour: 'blue', created_at: 'never' } })
    const first = await register(files, { onProgress: (line) => lines.push(line) })
    expect(first).toMatchObject({
      ok: true,
      version: 1,
      capability: { name, state: 'active', origin: 'written', version: 1 },
      examples: [{ input: { name: 'Ada' }, ok: true, detail: '' }],
    })
    expect(lines).toEqual(['The files are as they should be.', 'Example 1 of 1 passed.'])
    const version = await catalog.version('max', name)
    const names = ['RUN.md', 'examples.json', 'lock.json', `main.${runtime === 'node' ? 'js' : 'py'}`, 'manifest.json']
    expect(readdirSync(version?.directory ?? '').sort()).toEqual(names)
    const second = await register(files)
    expect(second).toMatchObject({ ok: true, version: 2 })
    expect(state().staged).toEqual([])
  })

  it('CAP-4 makes a RUN.md if there is none, and keeps an existing one', async () => {
    const name = newName()
    const hosts = ['api.example.com']
    await register(draft({ manifest: { name, hosts } }))
    const read = async () => {
      const version = await catalog.version('max', name)
      return execFileSync('cat', [join(version?.directory ?? '', 'RUN.md')], { encoding: 'utf8' })
    }
    expect(await read()).toContain(`Call \`cap_${name}\` with an object that fits this schema`)
    expect(await read()).toContain('It reaches api.example.com.')
    const made = await read()
    await register(draft({ manifest: { name }, files: { 'RUN.md': made } }))
    expect(await read()).toContain('It reaches no network.')
    await register(draft({ manifest: { name }, files: { 'RUN.md': 'My own words' } }))
    expect(await read()).toBe('My own words')
  })

  it('CAP-4 takes run with one argument and with two, async too, and every kind of expectation', async () => {
    const two = 'async def run(args, context):\n    return {"text": "Hi", "count": 3}\n'
    const expects: Json = [
      { equals: { count: 3, text: 'Hi' } },
      { contains: 'Hi' },
      { matches: '^H.$' },
      { schema: { type: 'object', required: ['count'] } },
    ]
    const tried = (expects as Json[]).map((expect) => ({ input: { name: 'x' }, expect }))
    expect(
      await register(draft({ manifest: { name: newName() }, examples: tried, files: { 'main.py': two } })),
    ).toMatchObject({ ok: true })
    const common = "const { readFileSync } = require('fs')\nmodule.exports = { run: async (args, context) => 'Hi' }\n"
    const lines: Json = [{ input: { name: 'x' }, expect: { matches: '^\\p{L}i$' } }]
    const files = { 'main.js': common }
    expect(
      await register(draft({ manifest: { name: newName(), runtime: 'node' }, examples: lines, files })),
    ).toMatchObject({
      ok: true,
    })
  })

  const refusals: [string, Draft, string | RegExp][] = [
    [
      'a failing example',
      { examples: [{ input: { name: 'Ada' }, expect: { equals: 'Bye' } }] },
      'Example 1: expected "Bye", and it returned "Hello, Ada"',
    ],
    [
      'an example that raises',
      { files: { 'main.py': 'def run(args):\n    raise ValueError("no such city")\n' } },
      /Example 1: it failed\..*no such city/s,
    ],
    [
      'an example that does not match',
      { examples: [{ input: { name: 'Ada' }, expect: { matches: '^Bye' } }] },
      'Example 1: expected a text that matches "^Bye"',
    ],
    [
      'an example that does not fit its schema',
      { examples: [{ input: { name: 'A' }, expect: { schema: { type: 'object' } } }] },
      'what it returned does not fit: the value: expected object',
    ],
    [
      'a regular expression without end',
      { examples: [{ input: { name: 'a'.repeat(40) }, expect: { matches: '^(Hello, )?(a+)+!$' } }] },
      'did not come to an end',
    ],
    [
      'a regular expression that is none',
      { examples: [{ input: { name: 'Ada' }, expect: { matches: '(' } }] },
      'Example 1: the regular expression cannot be read',
    ],
    [
      'an input that does not fit',
      { examples: [{ input: {}, expect: { equals: 'x' } }] },
      'Example 1 does not fit input_schema: input.name: expected a value, found nothing.',
    ],
    ['no example', { examples: [] }, 'examples.json: the whole: expected at least 1 entries'],
    ['no examples.json', { files: { 'examples.json': null } }, 'examples.json is missing'],
    ['no manifest', { files: { 'manifest.json': null } }, 'manifest.json is missing'],
    ['no main file', { files: { 'main.py': null } }, 'main.py is missing'],
    ['a missing run', { files: { 'main.py': 'def start(args):\n    return "x"\n' } }, 'main.py has no function run'],
    [
      'a run of a class',
      { files: { 'main.py': 'class Tool:\n    def run(self, args):\n        return "x"\n' } },
      'main.py has no function run',
    ],
    [
      'a run without arguments',
      { files: { 'main.py': 'def run():\n    return "x"\n' } },
      'main.py, line 1: run takes one or two arguments',
    ],
    [
      'a run with three arguments',
      { files: { 'main.py': '\ndef run(a, b, c):\n    return "x"\n' } },
      'main.py, line 2: run takes one or two arguments',
    ],
    [
      'a syntax error',
      { files: { 'main.py': 'def run(args):\n    return (\n' } },
      /main\.py, line 2: '\(' was never closed/,
    ],
    ['a syntax error beside it', { files: { 'helper.py': 'x = = 1\n' } }, 'helper.py, line 1: invalid syntax.'],
    ['code that no parser can take', { files: { 'main.py': `${'('.repeat(5_000)}` } }, /main\.py/],
    [
      'a missing run, in Node',
      { manifest: { runtime: 'node' }, files: { 'main.js': 'export function start() {}\n' } },
      'main.js exports no function run',
    ],
    [
      'a syntax error, in Node',
      { manifest: { runtime: 'node' }, files: { 'main.js': 'export function run(args) {\n  return (\n}\n' } },
      /main\.js, line 3: Unexpected token/,
    ],
    [
      'three arguments, in Node',
      { manifest: { runtime: 'node' }, files: { 'main.js': 'export function run(a, b, c) {}\n' } },
      'main.js: run takes one or two arguments',
    ],
    [
      'a run that is none, in Node',
      { manifest: { runtime: 'node' }, files: { 'main.js': 'export const run = 5\n' } },
      /run/,
    ],
    [
      'a package, in Node',
      { manifest: { runtime: 'node' }, files: { 'package.json': '{"dependencies": {"lodash": "^4"}}' } },
      'It needs lodash, and no packages are installed for Node',
    ],
    [
      'a module that is not there, in Node',
      { manifest: { runtime: 'node' }, files: { 'main.js': 'import x from "lodash"\nexport const run = x\n' } },
      '"lodash" is no module of Node and no file of its own',
    ],
    [
      'a name that is no slug',
      { manifest: { name: 'Greet-Me' } },
      'manifest.json: name: expected 2 to 48 small letters',
    ],
    ['a name of Familiar', { manifest: { name: 'exec' } }, 'expected a name that Familiar does not keep for itself'],
    ['a path that leads elsewhere', { files: { '../evil.py': 'x' } }, '"../evil.py" is no plain path'],
    [
      'an option for pip',
      { files: { 'requirements.txt': '--index-url https://evil.example.com\n' } },
      'requirements.txt: "--index-url https://evil.example.com" is no name with a version',
    ],
    [
      'a hidden character in the code',
      { files: { 'main.py': `${python}# \u202eecilop\n` } },
      'main.py, line 3: U+202E cannot be seen',
    ],
    [
      'a key in the code',
      { files: { 'main.py': `${python}KEY = "sk-${'a1B2'.repeat(8)}"\n` } },
      'main.py, line 3: this is an API key.',
    ],
    [
      'a private key beside it',
      { files: { 'key.pem': '-----BEGIN RSA PRIVATE KEY-----\nabc\n' } },
      'key.pem, line 1: this is a private key.',
    ],
  ]

  it.each(refusals)('CAP-4 refuses %s, says why, and leaves the catalog as it was', async (_, changes, expected) => {
    const before = state()
    const answer = await register(draft({ ...changes, manifest: { name: 'refused', ...changes.manifest } }))
    expect(answer.ok).toBe(false)
    const problems = answer.ok ? '' : answer.problems.join('\n')
    if (typeof expected === 'string') expect(problems).toContain(expected)
    else expect(problems).toMatch(expected)
    expect(state()).toEqual(before)
  })

  it('CAP-4 refuses a name that is taken', async () => {
    const name = newName()
    const request = { name, description: 'x', inputSchema: { type: 'object' }, userId: 'max' }
    const built = await home.database.write((writer) => catalog.beginBuildIn(writer, request))
    await catalog.refresh(built.id)
    const before = state()
    const files = draft({ manifest: { name } })
    const taken = `The name ${name} is taken by a capability that Familiar has built: choose another name.`
    expect(await register(files)).toMatchObject({ ok: false, problems: [taken] })
    expect(await register(files, { name: 'other_name', origin: 'built' })).toMatchObject({
      ok: false,
      problems: [`manifest.json: name: expected "other_name", found "${name}".`],
    })
    expect(state()).toEqual(before)
    // Another user's names are their own.
    expect(await register(files, { userId: 'eve' })).toMatchObject({ ok: true })
    expect(await register(files, { name })).toMatchObject({ ok: true, version: 1 })
  })

  it('CAP-4 refuses a secret that Familiar knows, wherever it stands, and never repeats it', async () => {
    const value = 'correct horse battery staple'
    await home.setSecret('refused', 'KEY', value)
    const before = state()
    const code = `${python}\nKEY = "${Buffer.from(value).toString('base64')}"\n`
    const answer = await register(draft({ manifest: { name: 'refused', tags: [value] }, files: { 'main.py': code } }))
    expect(answer.ok ? [] : answer.problems).toEqual([
      expect.stringContaining('main.py, line 4: this is a secret of yours.'),
      expect.stringContaining('manifest.json, line 1: this is a secret of yours.'),
    ])
    expect(JSON.stringify(answer)).not.toContain('horse')
    expect(state()).toEqual(before)
  })

  it.skipIf(!hasPip)('CAP-4 installs what is required, and refuses what does not exist', async () => {
    const code = 'import greeting\n\ndef run(args):\n    return greeting.word\n'
    const tried: Json = [{ input: { name: 'x' }, expect: { contains: 'from a wheel' } }]
    const files = { 'main.py': code, 'requirements.txt': 'greeting==1.0  # by hand\n' }
    expect(await register(draft({ manifest: { name: newName() }, examples: tried, files }))).toMatchObject({ ok: true })
    const before = state()
    const missing = { ...files, 'requirements.txt': 'no-such-package==9\n' }
    const answer = await register(draft({ manifest: { name: 'refused' }, examples: tried, files: missing }))
    expect(answer.ok ? '' : answer.problems.join()).toMatch(/^requirements\.txt: .*no-such-package==9/s)
    expect(state()).toEqual(before)
  })

  it.skipIf(!hasSandbox).each([
    ['no host', []],
    ['another host', ['api.example.org']],
  ])(
    'CAP-4 refuses what reaches for a host that it does not declare, even where it hides that: %s',
    async (_, hosts) => {
      const before = state()
      const code = [
        'import urllib.request',
        'def run(args):',
        '    try:',
        '        urllib.request.urlopen("http://undeclared.example.com/x", timeout=5)',
        '    except Exception:',
        '        pass',
        '    return "Hello, " + args["name"]',
      ].join('\n')
      const answer = await register(draft({ manifest: { name: 'refused', hosts }, files: { 'main.py': code } }))
      expect(answer).toMatchObject({ ok: false, examples: [{ ok: true }] })
      expect(answer.ok ? [] : answer.problems).toEqual([
        'It tried to reach undeclared.example.com, which its manifest does not declare: add it to "hosts", or do without it.',
      ])
      expect(state()).toEqual(before)
    },
  )

  it('CAP-8 refuses a repair that does not try what failed', async () => {
    const name = newName()
    const files = draft({ manifest: { name } })
    const failed = await register(files, { mustTry: { name: 'Grace' } })
    expect(failed.ok ? [] : failed.problems).toEqual([
      'examples.json: one example must have the input that failed: {"name":"Grace"}',
    ])
    expect(await register(files, { mustTry: { name: 'Ada' } })).toMatchObject({ ok: true })
  })

  it('CAP-8 does not change by a repair where a capability comes from', async () => {
    const name = newName()
    const files = draft({ manifest: { name } })
    await register(files)
    const repaired = await register(files, { origin: 'built', name, buildId: 'build-1' })
    expect(repaired).toMatchObject({ ok: true, version: 2, capability: { origin: 'written' } })
    expect(await register(files, { origin: 'built', name, buildId: 'build-1' })).toMatchObject({ ok: true, version: 2 })
    expect(await register(files)).toMatchObject({ ok: true, version: 3 })
  })

  it('CAP-4 runs nothing where it only looks', async () => {
    const code = 'import os\nos._exit(1)\ndef run(args):\n    return "x"\n'
    expect(await gate.inspect(draft({ files: { 'main.py': code } }), signal)).toMatchObject({ ok: true, examples: [] })
    const script = 'process.exit(1)\nexport function run() {}\n'
    const files = draft({ manifest: { runtime: 'node' }, files: { 'main.js': script } })
    expect(await gate.inspect(files, signal)).toMatchObject({ ok: true, manifest: { runtime: 'node' } })
  })

  it('CAP-4 tells all that reading shows at once', async () => {
    const answer = await gate.check(
      draft({
        manifest: { runtime: 'python' },
        examples: [],
        files: { 'main.py': 'def run(:\n', 'a.pem': '-----BEGIN PRIVATE KEY' },
      }),
      { userId: 'max', signal },
    )
    expect(answer.ok ? [] : answer.problems).toHaveLength(3)
  })
})

// A wheel is a zip with a module and three files that say so.
const makeWheel = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1] + "/greeting-1.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr("greeting/__init__.py", "word = 'Hello from a wheel'")
    wheel.writestr("greeting-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: greeting\\nVersion: 1.0\\n")
    wheel.writestr("greeting-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr("greeting-1.0.dist-info/RECORD", "")
`
