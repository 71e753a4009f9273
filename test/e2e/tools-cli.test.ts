import { exec, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ServedFamiliar } from '../security/http-support.ts'
import { makeZip } from '../support/made-office.ts'
import { bashTool, pythonTool, toolExample } from '../support/published-tools.ts'
import { openToolServer } from '../support/tool-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { asInDefaultHome, canOpenTerminal, familiar, familiarJson, startAtTerminal } from './cli-process.ts'
import { serveHome } from './serve-home.ts'

const secret = 'sk-canary-5b81d0'
const tests = [
  {
    name: 'greets by name',
    params: { name: 'Dylan' },
    expect: { text: 'Hello, Dylan!', html_contains: 'Hello, Dylan!' },
  },
  {
    name: 'knows the city',
    params: { name: 'Ada' },
    telemetry: { city: 'Valletta' },
    expect: { text_contains: 'Valletta' },
  },
  { name: 'needs a name', params: {}, expect: { error_contains: 'name' } },
]

describe('familiar tools', () => {
  let served: ServedFamiliar
  let home: string
  let close: () => Promise<void>
  beforeAll(async () => {
    ;({ served, home, close } = await serveHome({
      folderTools: {
        tool_example: { ...toolExample, 'tests.json': JSON.stringify(tests) },
        keeper: pythonTool('keeper', 'print(json.dumps({"text": "kept " + str(len(settings["api_key"]))}))', {
          config_schema: {
            api_key: { description: 'Your key', secret: true, required: true },
            units: { description: 'How to measure', default: 'metric' },
          },
        }),
        failing: bashTool(
          'failing',
          'echo a line for the log >&2; echo \'{"error": "The service is down"}\'; exit 1',
          {},
        ),
        outward: bashTool('outward', 'true', { sandbox: { network: 'bridge' } }),
        nasty: pythonTool(
          'nasty',
          `print(json.dumps({"text": "a\\u001b[2Jb", "html": "<p onclick=x>hi<script>1</script></p>"}))`,
        ),
        broken: { 'manifest.json': '{', 'runner.sh': '' },
      },
    }))
  })
  afterAll(async () => {
    await close()
  })

  const tools = (...args: string[]) => asInDefaultHome(familiar(['tools', ...args], { home }))
  const withInput = (input: string, ...args: string[]) => familiar(['tools', ...args], { home, input })

  it('CLI-1 lists tools with status and reason', async () => {
    const { stdout, code } = await tools('list')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Tool +Status +Runs +Description\nbroken +error +on_demand +.*manifest\.json/)
    expect(stdout).toMatch(/keeper +needs settings +on_demand +needs api_key: familiar tools config keeper\n/)
    expect(stdout).toMatch(/tool_example +on +on_demand +Greets somebody by name/)
  })

  it('CLI-1 shows one, and reports unknown names', async () => {
    const { stdout } = await tools('show', 'tool_example')
    expect(stdout).toMatch(/^tool_example 1\.0\nGreets somebody by name/)
    expect(stdout).toMatch(/Memory +67\.1 MB\n.*Time +10\.0 s\n/)
    expect(await tools('show', 'nothing')).toMatchObject({
      code: 1,
      stderr: 'Error: There is no tool named nothing.\n',
    })
  })

  it('TOOL-2 runs one and prints the output of the contract, with time and driver', async () => {
    const args = ['tools', 'run', 'tool_example', '--params', '{"name":"Dylan"}', '--telemetry', '{"city":"Valletta"}']
    expect(await familiarJson(args, { home })).toEqual({
      text: "Hello, Dylan! You're in Valletta.",
      html: expect.stringContaining('Hello, Dylan!'),
      title: 'Hello',
      error: null,
      budget_remaining: null,
      duration_ms: expect.any(Number),
      driver: 'embedded',
    })
  })

  it('CARD-2 shows the card as text, and from a pipe without colors', async () => {
    const { stdout, stderr, code } = await withInput('{"name":"Dylan"}', 'run', 'tool_example', '--params', '-')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^⭐ Hello\n\nHello, Dylan!/)
    expect(stderr).toMatch(/^[\d.]+ m?s, embedded sandbox\n$/)
  })

  it('SEC-10 removes control characters from tool output in every format', async () => {
    const { stdout } = await tools('run', 'nasty', '--json')
    expect(JSON.parse(stdout)).toMatchObject({ html: '<p>hi</p>' })
    expect((await tools('run', 'nasty')).stdout).not.toContain('\u001b')
  })

  it('CLI-1 explains a failed run, with the output of the tool, and exits with 1', async () => {
    const failed = await tools('run', 'failing')
    expect(failed).toMatchObject({ code: 1, stdout: '' })
    expect(failed.stderr).toMatch(/failing: a line for the log\n/)
    expect(failed.stderr).toMatch(/Error: The service is down\n$/)
    expect(await tools('run', 'failing', '--json')).toMatchObject({ code: 1 })
    const wrong = await tools('run', 'tool_example', '--params', '{"name"')
    expect(wrong).toMatchObject({ code: 2, stdout: '' })
    expect(wrong.stderr).toMatch(/^Error: --params is not JSON: .*\nExample: --params '\{"name": "Anna"\}'\n$/)
    expect((await tools('run', 'tool_example', '--params', '[1]')).stderr).toMatch(/must be a JSON object, not a list/)
    expect((await tools('run', 'tool_example')).stderr).toMatch(/name/)
  })

  it('CLI-1 runs the tests of a tool, each with its result, and ends with 1 when one fails', async () => {
    const passed = await tools('test', 'tool_example')
    expect(passed.stdout).toMatch(/^✓ greets by name .*\n✓ knows the city .*\n✓ needs a name .*\n3 tests passed\.\n$/)
    expect(passed.code).toBe(0)
    const wrong = [{ name: 'is silent', params: { name: 'x' }, expect: { text: null } }, tests[0]]
    writeFileSync(join(home, 'tools', 'tool_example', 'tests.json'), JSON.stringify(wrong))
    const failed = await tools('test', 'tool_example')
    expect(failed.code).toBe(1)
    expect(failed.stdout).toMatch(/^✗ is silent .*\n {4}text is "Hello, x!", not null\n✓ greets by name/)
    expect(failed.stderr).toBe('Error: 1 test of 2 failed.\n')
    expect((await tools('test', 'failing')).stderr).toMatch(/tests\.json cannot be read\.\nExample: \[/)
    writeFileSync(join(home, 'tools', 'tool_example', 'tests.json'), '[{"nmae": "x"}]')
    expect((await tools('test', 'tool_example')).stderr).toMatch(/tests\.json is not a list of tests: 0\.name/)
  })

  it('CLI-1 writes a tool that a running Familiar finds, runs and tests', async () => {
    const made = await tools('new', 'greeter', '--language', 'node', '--description', 'Greets')
    expect(made.stdout).toBe(`${join(home, 'tools', 'greeter')}: manifest.json, Dockerfile, runner.mjs, tests.json\n`)
    await waitFor(async () => expect((await tools('show', 'greeter')).code).toBe(0))
    expect((await tools('test', 'greeter')).stdout).toMatch(/4 tests passed\.\n$/)
    expect((await tools('new', 'greeter')).stderr).toMatch(/^Error: There is something at .*greeter already\.\n$/)
    expect(await tools('new', 'Not A Name')).toMatchObject({ code: 2 })
    expect((await tools('new', 'x', '--language', 'perl')).code).toBe(2)
  })

  it('TOOL-6 sets plain settings on the command line, secrets from standard input only', async () => {
    expect((await tools('config', 'keeper')).stdout).toMatch(
      /api_key +required +Your key\nunits +metric +How to measure\n/,
    )
    const refused = await tools('config', 'keeper', `api_key=${secret}`)
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toBe(
      'Error: api_key is a secret, which others could see on the command line.\nTo enter it: familiar tools config keeper api_key\n',
    )
    const set = await withInput(`${secret}\n`, 'config', 'keeper', 'api_key', 'units=imperial', '--json')
    expect(JSON.parse(set.stdout)).toEqual({ config: { api_key: '***', units: 'imperial' } })
    expect((await tools('run', 'keeper')).stdout).toBe(`kept ${secret.length}\n`)
    expect((await withInput('', 'config', 'keeper', 'api_key')).stderr).toMatch(
      /Standard input has no value for api_key/,
    )
    expect((await tools('config', 'keeper', 'colour=red')).stderr).toBe(
      'Error: keeper has no setting "colour".\nSettings: api_key, units\n',
    )
    expect((await tools('config', 'keeper', '--unset', 'units')).stdout).toMatch(/units +metric/)
    expect((await tools('config', 'failing')).stdout).toBe('failing has no settings.\n')
  })

  it.runIf(canOpenTerminal)('SEC-13 asks for a secret unseen on a terminal', async () => {
    const asked = startAtTerminal(['tools', 'config', 'keeper', 'api_key'], { home })
    // This terminal has no width, so that the question is drawn letter by letter; hiding the cursor begins it.
    await asked.untilShows(/\[\?25l/)
    asked.child.stdin.write(`${secret}-typed\r`)
    const { stdout, code } = await asked.ended
    expect(code).toBe(0)
    const drawn = stripVTControlCharacters(stdout).replace(/\s/g, '')
    expect(drawn).toContain('api_key(Yourkey)')
    expect(drawn).not.toContain('typed')
    expect((await tools('run', 'keeper')).stdout).toBe(`kept ${secret.length + 6}\n`)
  })

  it('TOOL-11 switches one off and on, and shows its calls', async () => {
    expect((await tools('disable', 'failing')).stdout).toBe(
      'failing is off. To enable it: familiar tools enable failing\n',
    )
    expect((await tools('run', 'failing')).stderr).toMatch(/failing is off/)
    expect((await tools('enable', 'failing')).stdout).toBe('failing is on.\n')
    const { stdout } = await tools('logs', 'failing', '-n', '2')
    expect(stdout).toMatch(/^When +By +Outcome +Took +Sandbox *\n[-\d: ]+ +user +refused .*failing is off/)
    expect((await tools('logs', 'broken')).stdout).toBe('broken has no calls yet.\n')
  })

  it('TOOL-4 allows hosts beside the API, and a running Familiar takes them in', async () => {
    expect((await tools('allow', 'outward')).stdout).toBe('outward may reach only the hosts in its manifest.\n')
    expect((await tools('allow', 'outward', 'API.example.com', '*.example.org:8443')).stdout).toBe(
      'outward may reach, in addition to the hosts in its manifest: api.example.com, *.example.org:8443\n',
    )
    const shown = await served.call({ path: '/api/v1/tools/outward' })
    expect(shown.json.network).toMatchObject({ allowed: ['api.example.com', '*.example.org:8443'] })
    expect((await tools('allow', 'outward', '--remove', 'api.example.com')).stdout).toMatch(
      /: \*\.example\.org:8443\n$/,
    )
    expect((await tools('allow', 'failing', 'a.example')).stdout).toMatch(/but its manifest asks for no network\.\n$/)
    const wrong = await tools('allow', 'outward', 'http://a.example/x')
    expect(wrong).toMatchObject({ code: 2 })
    expect(wrong.stderr).toMatch(/^Error: "http:\/\/a\.example\/x" is not a host\. Nothing was changed\.\n/)
  })

  it.each([
    'b.example  where it may reach, beside its manifest',
    'b.example # the host',
    'b.example 2',
    'b.example declares.',
  ])('TOOL-4 refuses words that were pasted behind the hosts, and stores nothing: %s', async (pasted) => {
    const before = (await served.call({ path: '/api/v1/tools/outward' })).json.network
    const wrong = await tools('allow', 'outward', ...pasted.split(/ +/))
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('is not a host. Nothing was changed.') })
    expect((await served.call({ path: '/api/v1/tools/outward' })).json.network).toEqual(before)
  })

  it('TOOL-1 installs a folder or an archive under its name or another one, off until it is enabled, and removes it', async () => {
    const source = join(mkdtempSync(join(tmpdir(), 'familiar-source-')), 'Published.Tool')
    mkdirSync(source)
    const files = pythonTool('published', 'print(json.dumps({"text": "hi"}))', {
      sandbox: { network: 'bridge', hosts: ['api.example.org'] },
      config_schema: { api_key: { secret: true } },
    })
    for (const [path, text] of Object.entries(files)) writeFileSync(join(source, path), text)
    const first = await tools('install', source)
    expect(first).toMatchObject({ code: 0, stderr: '' })
    expect(first.stdout).toMatch(/reaches: {2}api\.example\.org\n {2}secrets: {2}api_key\n/)
    expect(first.stdout).toMatch(/published is installed and off\. To enable it: familiar tools enable published\n$/)
    expect(await familiarJson(['tools', 'show', 'published'], { home })).toMatchObject({ status: 'disabled' })
    expect((await tools('install', source)).stderr).toMatch(/A tool named published already exists\.\n.*--as NAME/)

    const archive = join(source, '..', 'tool.tar.gz')
    execFileSync('tar', ['-czf', archive, '-C', join(source, '..'), 'Published.Tool'])
    const second = await tools('install', archive, '--as', 'second', '--yes')
    expect(second.stdout).toMatch(/second is on\.\n$/)
    expect((await tools('run', 'second')).stdout).toBe('hi\n')
    for (const [wrong, why] of [
      ['http://example.org/a.tar.gz', 'Only https addresses'],
      ['https://127.0.0.1/a.tar.gz', 'not a public address'],
      ['https://127.0.0.1/repo', 'not a public address'],
      [join(home, 'nowhere'), 'There is no folder or archive'],
    ] as const)
      expect((await tools('install', wrong)).stderr).toContain(why)

    expect(await tools('remove', 'second', '--yes')).toMatchObject({ code: 0, stdout: 'second is removed.\n' })
    expect(existsSync(join(home, 'tools', 'second'))).toBe(false)
    expect((await tools('remove', 'second', '--yes')).stderr).toContain('There is no tool named second')
    rmSync(join(source, '..'), { recursive: true })
  }, 120_000)

  describe('from a server', () => {
    let site: Awaited<ReturnType<typeof openToolServer>>
    const served = new Map<string, Uint8Array>()
    beforeAll(async () => {
      site = await openToolServer(served)
      writeFileSync(join(home, 'familiar.toml'), `[egress]\nallowed_hosts = ["127.0.0.1:${site.port}"]\n`)
    })
    afterAll(async () => {
      rmSync(join(home, 'familiar.toml'))
      await site.close()
    })
    const install = (path: string, ...args: string[]) =>
      familiar(['tools', 'install', `https://127.0.0.1:${site.port}${path}`, ...args], { home, env: site.env })
    const inFolder = (name: string, files: Record<string, string>) =>
      Object.fromEntries(Object.entries(files).map(([path, text]) => [`${name}-main/${path}`, text]))
    const hello = (name: string) => pythonTool(name, 'print(json.dumps({"text": "hi"}))')

    it('TOOL-1 installs a zip over https', async () => {
      served.set('/zipped.zip', makeZip({ 'zipped-main/': '', ...inFolder('zipped', hello('zipped')) }))
      const first = await install('/zipped.zip', '--yes')
      expect(first).toMatchObject({ code: 0, stderr: '' })
      expect(first.stdout).toMatch(/zipped is on\.\n$/)
      expect((await tools('run', 'zipped')).stdout).toBe('hi\n')
      expect((await install('/missing.zip')).stderr).toContain('HTTP 404')
      // The certificate of the server is not trusted.
      const strange = `https://127.0.0.1:${site.port}/zipped.zip`
      expect((await tools('install', strange, '--as', 'strange')).stderr).toContain('could not be downloaded')
    }, 120_000)

    it('TOOL-1 clones a repository over https', async () => {
      site.writeRepository('cloned', hello('cloned'))
      const first = await install('/cloned.git', '--as', 'cloned_here', '--yes')
      expect(first).toMatchObject({ code: 0, stderr: '' })
      expect((await tools('run', 'cloned_here')).stdout).toBe('hi\n')
      expect(existsSync(join(home, 'tools', 'cloned_here', '.git'))).toBe(false)
      expect((await install('/nothing.git')).stderr).toContain('nor a git repository (HTTP 404)')
    }, 120_000)

    it('SEC-11 refuses an archive that leads out of its folder, holds a link, or unpacks without end', async () => {
      const files = hello('hostile')
      const link = { 'notes.txt': '/etc/passwd' }
      served.set('/up.zip', makeZip({ ...files, '../../escaped.txt': 'x' }))
      served.set('/root.zip', makeZip({ ...files, [join(home, 'escaped.txt')]: 'x' }))
      served.set('/link.zip', makeZip({ ...files, ...link }, { 'notes.txt': 0o120777 }))
      served.set('/bomb.zip', makeZip({ ...files, 'zeros.bin': new Uint8Array(65 * 1024 ** 2) }))
      served.set('/bomb.tar.gz', gzipSync(new Uint8Array(65 * 1024 ** 2)))
      served.set('/many.zip', makeZip(Object.fromEntries(Array.from({ length: 5_001 }, (_, at) => [`${at}`, '']))))
      served.set('/torn.zip', Buffer.from(makeZip(files)).subarray(0, -30))
      served.set('/none.zip', Buffer.from('<html>Sign in</html>'))
      const refused = {
        '/up.zip': 'it contains a file outside of its folder ("../../escaped.txt")',
        '/root.zip': 'it contains a file outside of its folder',
        '/link.zip': 'it contains a link ("notes.txt")',
        '/bomb.zip': 'it is too large when unpacked',
        '/bomb.tar.gz': 'it is too large when unpacked',
        '/many.zip': 'it contains too many files',
        '/torn.zip': 'it is damaged',
        '/none.zip': 'it is damaged',
      }
      for (const [path, why] of Object.entries(refused)) {
        const { stderr, code } = await install(path)
        expect([path, code, stderr]).toEqual([path, 1, expect.stringContaining(`${path} was not unpacked: ${why}`)])
      }
      site.writeRepository('linked', hello('linked'), { 'notes.txt': '/etc/passwd' })
      expect((await install('/linked.git')).stderr).toContain('notes.txt is a link that leads to no file of it')
      expect(existsSync(join(home, 'escaped.txt'))).toBe(false)
      expect(readdirSync(join(home, 'tools')).filter((name) => name.startsWith('.') || name === 'hostile')).toEqual([])
    }, 120_000)

    it('SEC-11 takes no settings of git from folders that others can write to', async () => {
      site.writeRepository('plain', hello('plain'))
      const temporary = mkdtempSync(join(tmpdir(), 'familiar-shared-'))
      const ran = join(temporary, 'ran')
      writeFileSync(join(temporary, '.gitconfig'), `[core]\n\thooksPath = ${temporary}\n`)
      writeFileSync(join(temporary, 'post-checkout'), `#!/bin/sh\ntouch ${ran}\n`, { mode: 0o755 })
      const address = `https://127.0.0.1:${site.port}/plain.git`
      const env = { ...site.env, TMPDIR: temporary }
      expect(await familiar(['tools', 'install', address], { home, env })).toMatchObject({ code: 0 })
      expect(existsSync(ran)).toBe(false)
      rmSync(temporary, { recursive: true })
    }, 120_000)
  })

  it.skipIf(process.platform === 'win32')('SEC-2 keeps no token that was never shown', async () => {
    const token = (...args: string[]) => familiar(['token', ...args], { home })
    const { stdout: before } = await token('list', '--json')
    expect(await token('create', '--scope', 'read|chat')).toMatchObject({ code: 2 })
    expect(await token('create', '--scope', 'read', 'a', 'program')).toMatchObject({ code: 2 })
    const main = join(import.meta.dirname, '../../src/terminal/main.ts')
    // As `--scope read|chat|owner` is understood by a shell: a pipe to a command that is not there.
    const line = `"${process.execPath}" "${main}" token create --scope read | no-such-command-here`
    const env = { PATH: process.env.PATH, FAMILIAR_HOME: home, HOME: home }
    const stderr = await new Promise<string>((done) => exec(line, { env }, (_error, _stdout, said) => done(said)))
    expect(stderr).toContain('The token could not be printed, so it was revoked.')
    expect((await token('list', '--json')).stdout).toBe(before)
  })
})
