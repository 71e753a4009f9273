import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { secretOwnerOf } from '../../src/custom-tools/built-catalog.ts'
import type { ServedFamiliar } from '../security/http-support.ts'
import { openRealSandbox } from '../support/real-sandbox.ts'
import { greeterFiles, greeterManifest } from '../support/served-capabilities.ts'
import { waitFor } from '../support/wait-for.ts'
import {
  asInDefaultHome,
  canOpenTerminal,
  cleanUp,
  familiar,
  familiarJson,
  newHome,
  startAtTerminal,
  startFamiliar,
  temporaryDirectory,
} from './cli-process.ts'
import { serveHome } from './serve-home.ts'

const secret = 'sk-canary-90be12f7ac'
const seen = { untrusted: false, private: false }

describe('familiar caps', () => {
  const real = openRealSandbox()
  let served: ServedFamiliar
  let home: string
  let close: () => Promise<void>
  beforeAll(async () => {
    ;({ served, home, close } = await serveHome({ sandbox: real.sandbox }))
  })
  afterAll(async () => {
    await close()
    await real.close()
  })

  const caps = (...args: string[]) => asInDefaultHome(familiar(['caps', ...args], { home }))
  const capsJson = (...args: string[]) => familiarJson(['caps', ...args], { home })
  const begin = (name: string) => served.capabilities.requestBuild(served.familiar.userId, name)

  function write(name: string, files: Record<string, string>): string {
    const directory = join(home, 'drafts', name)
    mkdirSync(directory, { recursive: true })
    for (const [path, text] of Object.entries(files)) writeFileSync(join(directory, path), text)
    return directory
  }

  it('CLI-1 lists them, and says how to start if there are none', async () => {
    expect(await caps('list')).toMatchObject({
      code: 0,
      stdout: 'No capabilities yet. Ask for one in a chat, or create one: familiar caps new NAME\n',
    })
    expect((await caps('show', 'nothing')).stderr).toBe('Error: There is no capability named nothing.\n')
    expect((await caps('list', '--state', 'sleeping')).code).toBe(2)
    expect((await caps('builds')).stdout).toBe('No builds yet. Ask for a tool in a chat.\n')
    expect((await caps('review')).stdout).toBe('No unused or superseded capabilities.\n')
    const help = await caps('run', '--help')
    expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining('--version <number>') })
  })

  it('CAP-4 registers a folder with what its examples gave, and refuses with every reason', async () => {
    const registered = await caps('register', write('greeter', greeterFiles()))
    expect(registered).toMatchObject({ code: 0 })
    expect(registered.stdout).toBe('✓ {"name":"Ada"}\ngreeter v1 is active. 1 example passed.\n')
    const wrong = greeterFiles({
      'manifest.json': greeterManifest({ name: 'Not A Name' }),
      'main.py': 'def walk(args):\n    return 1\n',
    })
    const refused = await caps('register', write('wrong', wrong), '--json')
    expect(refused.code).toBe(1)
    expect(JSON.parse(refused.stdout)).toMatchObject({ ok: false, name: null, version: null, examples: [] })
    const plain = await caps('register', write('wrong', wrong))
    expect(plain).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^Error: Not accepted:\n {2}/) })
    expect(await caps('register', join(home, 'nowhere'))).toMatchObject({ code: 1 })
  })

  it('CAP-5 runs one with parameters from the command line or standard input, and an older version too', async () => {
    const polite = greeterFiles({
      'main.py': 'def run(args):\n    print("a line for the log")\n    return "Good day, " + args["name"] + "!"\n',
      'examples.json': [{ input: { name: 'Ada' }, expect: { matches: '^Good' } }],
    })
    expect(await capsJson('register', write('greeter', polite))).toMatchObject({ ok: true, version: 2, problems: [] })
    const ran = await caps('run', 'greeter', '--args', '{"name": "Ada"}')
    expect(ran).toMatchObject({ code: 0, stdout: 'Good day, Ada!\n' })
    expect(ran.stderr).toMatch(/^greeter: a line for the log\n[\d.]+ m?s, \w+ sandbox\n$/)
    const older = ['caps', 'run', 'greeter', '--version', '1', '--args', '-']
    expect((await familiar(older, { home, input: '{"name": "Ada"}' })).stdout).toBe('Hello, Ada!\n')
    const failed = await caps('run', 'greeter', '--args', '{"name": 7}', '--json')
    expect(failed.code).toBe(1)
    expect(JSON.parse(failed.stdout)).toMatchObject({ ok: false, error: expect.stringContaining('name') })
    expect((await caps('run', 'greeter', '--args', '{"name"')).code).toBe(2)
    expect((await caps('logs', 'greeter', '-n', '1')).stdout).toMatch(/^When +By +Outcome +Took/)
  })

  it('CAP-8 shows, compares, rolls back and switches', async () => {
    const shown = (await caps('show', 'greeter')).stdout
    expect(shown).toMatch(/^greeter v2\nGreets somebody by name\n/)
    expect(shown).toContain('  no network access\n  no storage\n')
    expect(shown).toMatch(/Versions:\nv1 +python .*by hand\nv2 \* +python/)
    expect((await caps('diff', 'greeter')).stdout).toMatch(/--- v1\/main\.py\n\+\+\+ v2\/main\.py\n[\s\S]*\+.*Good day/)
    expect((await caps('diff', 'greeter', '1', '1')).stdout).toBe('v1 and v1 of greeter are the same.\n')
    expect((await caps('rollback', 'greeter')).stdout).toBe('greeter now uses v1.\n')
    expect((await caps('rollback', 'greeter')).stderr).toMatch(/^Error: greeter has no version before this one/)
    expect((await caps('rollback', 'greeter', '2')).stdout).toBe('greeter now uses v2.\n')
    expect((await caps('disable', 'greeter')).stdout).toBe(
      'greeter is off. To enable it: familiar caps enable greeter\n',
    )
    expect((await caps('run', 'greeter')).code).toBe(1)
    expect((await caps('enable', 'greeter')).stdout).toBe('greeter is on.\n')
    expect((await caps('list')).stdout).toMatch(/^Capability +State +Version +Calls +Description\ngreeter +active +v2 /)
  })

  it('CAP-9 exports a folder, imports it under another name, and lets it run after its permissions were seen', async () => {
    const out = join(home, 'out')
    const exported = (await capsJson('export', 'greeter', out)) as { directory: string; files: string[] }
    expect(exported.files).toContain('SKILL.md')
    expect(existsSync(join(exported.directory, 'SKILL.md'))).toBe(true)
    const guest = greeterFiles({
      'manifest.json': greeterManifest({ name: 'guest', hosts: ['api.example.com'], secrets: ['API_KEY'] }),
    })
    const imported = await caps('import', write('guest', guest))
    expect(imported).toMatchObject({ code: 0, stderr: 'To enable it: familiar caps enable guest\n' })
    expect(imported.stdout).toContain('It is off. Permissions:\n  reach api.example.com\n  use the secret API_KEY')
    const unasked = await caps('enable', 'guest')
    expect(unasked).toMatchObject({ code: 2, stderr: expect.stringContaining('pass --yes to confirm') })
    expect((await caps('run', 'guest', '--args', '{"name": "Ada"}')).stderr).toContain('switched off')
    const given = await familiar(['caps', 'secret', 'guest', 'API_KEY'], { home, input: `${secret}\n` })
    expect(given).toMatchObject({ code: 0, stdout: 'API_KEY is stored. guest can use it from its next call.\n' })
    expect((await caps('enable', 'guest', '--yes')).stdout).toContain('guest v1 is active. 1 example passed.\n')
    expect((await caps('run', 'guest', '--args', '{"name": "Ada"}')).stdout).toBe('Hello, Ada!\n')
    const unknown = await familiar(['caps', 'secret', 'guest', 'OTHER'], { home, input: 'x\n' })
    expect(unknown).toMatchObject({ code: 2, stderr: 'Error: guest declares no secret "OTHER". It has: API_KEY.\n' })
  })

  it('CAP-7 follows a build to its end in a pipe, with its questions and how to answer', async () => {
    const build = await begin('weather')
    const { desk } = served.capabilities
    const watching = startFamiliar(['caps', 'watch', 'weather'], { home })
    await desk.report(build, { callId: 'call-1', message: 'Looking for a service' })
    await watching.untilShows(/Looking for a service/)
    const ask = {
      build,
      callId: 'call-2',
      question: 'Celsius or Fahrenheit?',
      seen,
      signal: new AbortController().signal,
    }
    const answered = desk.ask(ask)
    await watching.untilShows(/weather asks: Celsius or Fahrenheit\?\n.*familiar caps answer \S+call-2 "…"/)
    expect((await caps('builds')).stdout).toContain('weather asks: Celsius or Fahrenheit?')
    const wrong = await caps('answer', 'nothing', 'Celsius')
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('There is no open question') })
    expect((await caps('answer', `${build.id}.call-2`, 'Celsius', 'please')).stdout).toMatch(/^Answered\. /)
    expect(await answered).toMatchObject({ text: 'Celsius please' })
    await watching.untilShows(/Answered: Celsius please/)
    await served.capabilities.complete(build)
    expect(await watching.ended).toMatchObject({ code: 0, stdout: expect.not.stringContaining('\u001b') })
    const lines = (await caps('watch', build.id, '--json')).stdout.trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).seq)).toEqual(lines.map((_, at) => at + 1))
  })

  it('CAP-3 stops a build; a command that watches it exits with 1', async () => {
    await begin('doomed')
    const watching = startFamiliar(['caps', 'watch', 'doomed'], { home })
    await waitFor(() => expect(watching.stdout()).not.toBe(''))
    expect((await caps('stop', 'doomed')).stdout).toBe('The build of doomed is stopped.\n')
    expect((await watching.ended).code).toBe(1)
    expect((await caps('stop', 'doomed')).stdout).toBe('The build of doomed had already ended: stopped.\n')
    expect((await caps('stop', 'nothing')).stderr).toMatch(/^Error: There is no build "nothing"/)
    const repaired = await caps('repair', 'greeter', '--problem', 'It is too polite')
    expect(repaired).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Repairing greeter: build \S+\n$/),
    })
  })

  it('CAP-7 Ctrl-C leaves the build running and says so', async () => {
    const build = await begin('patient')
    const watching = startFamiliar(['caps', 'watch', 'patient'], { home })
    await waitFor(() => expect(watching.stdout()).not.toBe(''))
    watching.child.kill('SIGINT')
    expect(await asInDefaultHome(watching.ended)).toMatchObject({
      code: 130,
      stderr: `The build continues. To watch it again: familiar caps watch ${build.id}\n`,
    })
    expect((await served.call({ path: `/api/v1/builds/${build.id}` })).json).toMatchObject({ state: 'running' })
  })

  it.runIf(canOpenTerminal)('SEC-13 asks for the secret of a build unseen on a terminal', async () => {
    const build = await begin('sealed')
    const ask = { build, callId: 'call-1', secret: 'API_KEY', description: 'For the service', seen }
    const given = served.capabilities.desk.requestSecret({ ...ask, signal: new AbortController().signal })
    const watching = startAtTerminal(['caps', 'watch', 'sealed'], { home })
    // Hiding the cursor begins the prompt.
    await watching.untilShows(/\[\?25l/)
    watching.child.stdin.write(`${secret}-typed\r`)
    expect(await given).toBe(true)
    const { userId } = served.familiar
    expect(await served.capabilities.secretOf({ userId, owner: secretOwnerOf('sealed'), name: 'API_KEY' })).toBe(
      `${secret}-typed`,
    )
    await served.capabilities.complete(build)
    const { stdout, code } = await watching.ended
    expect(code).toBe(0)
    expect(stripVTControlCharacters(stdout).replace(/\s/g, '')).not.toContain('typed')
  })

  it.runIf(canOpenTerminal)('CAP-7 a question that is answered elsewhere is taken from the terminal', async () => {
    const build = await begin('shared')
    const ask = { build, callId: 'call-1', question: 'Which?', seen, signal: new AbortController().signal }
    const answered = served.capabilities.desk.ask(ask)
    const watching = startAtTerminal(['caps', 'watch', 'shared'], { home })
    await watching.untilShows(/\[\?25l/)
    await served.call({ path: `/api/v1/builds/questions/${build.id}.call-1`, body: { answer: 'This one' } })
    expect(await answered).toMatchObject({ text: 'This one' })
    await watching.untilShows(/Answered: This one/)
    await served.capabilities.complete(build)
    expect((await watching.ended).code).toBe(0)
  })

  it('CAP-4 writes a new one that passes the gate as it is', async () => {
    for (const runtime of ['python', 'node']) {
      const name = `fresh_${runtime}`
      const written = await familiar(['caps', 'new', name, '--runtime', runtime], { home, workingDirectory: home })
      expect(written).toMatchObject({ code: 0, stdout: expect.stringContaining(`${join(home, name)}: main.`) })
      expect(await capsJson('register', join(home, name))).toMatchObject({ ok: true, name, version: 1 })
    }
    expect((await caps('new', 'Not A Name')).code).toBe(2)
  })
})

describe('familiar caps without a daemon', () => {
  afterAll(cleanUp)

  it.runIf(existsSync('/usr/bin/bwrap'))(
    'CLI-1 writes, registers and runs one in the command’s own process',
    async () => {
      const home = newHome()
      const options = { home, workingDirectory: temporaryDirectory(), env: { FAMILIAR_SANDBOX: 'embedded' } }
      expect((await familiar(['caps', 'new', 'words'], options)).code).toBe(0)
      expect(await familiarJson(['caps', 'register', 'words'], options)).toMatchObject({ ok: true, version: 1 })
      const run = ['caps', 'run', 'words', '--args', '{"text": "to be or not to be"}']
      expect(await familiarJson(run, options)).toMatchObject({ ok: true, value: { words: 6 } })
      expect(await familiar(['caps', 'repair', 'words', '--problem', 'It counts wrong'], options)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('no language model is configured'),
      })
    },
  )
})
