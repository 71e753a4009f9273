import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type CapabilitiesHome, openCapabilities } from '../../test/support/capabilities.ts'
import { hasPip, makeGreetingIndex } from '../../test/support/greeting-wheel.ts'
import { type LocalSite, openLocalSite } from '../../test/support/local-site.ts'
import { openRealSandbox } from '../../test/support/real-sandbox.ts'

const hasSandbox = existsSync('/usr/bin/bwrap')

describe.skipIf(!hasSandbox)(hasSandbox ? 'a capability that is called' : 'bubblewrap is not installed', () => {
  const real = openRealSandbox()
  let home: CapabilitiesHome
  beforeAll(async () => {
    home = await openCapabilities({ sandbox: real.sandbox })
  })
  afterAll(async () => {
    await home.close()
    await real.close()
  })
  const python = (code: string, input = {}) => home.run(home.runnable(code), input)
  const node = (code: string, input = {}) => home.run(home.runnable(code, { runtime: 'node' }), input)

  describe('CAP-4 has a function named run', () => {
    it.each([
      ['of its arguments alone', 'def run(args) -> str:\n  return "Hello " + args["name"]'],
      [
        'of arguments and context',
        'def run(args, context):\n  return "Hello " + args["name"] + "!"[:len(context) - 1]',
      ],
      ['that has no need of a context', 'def run(args, context=None):\n  return "Hello " + args["name"]'],
      ['with a context by name', 'def run(args, *, context):\n  return "Hello " + args["name"]'],
      [
        'that is asynchronous',
        'import asyncio\nasync def run(args):\n  await asyncio.sleep(0)\n  return "Hello " + args["name"]',
      ],
      ['that is an object', 'class Run:\n  def __call__(self, args): return "Hello " + args["name"]\nrun = Run()'],
    ])('in Python, %s', async (_, code) => {
      expect(await python(code, { name: 'Max' })).toMatchObject({ ok: true, value: 'Hello Max', text: 'Hello Max' })
    })

    it.each([
      ['exported', 'export function run(args, context) { return "Hello " + args.name }'],
      ['asynchronous', 'export async function run({ name }) { return "Hello " + name }'],
      ['of CommonJS', 'module.exports.run = (args) => "Hello " + args.name'],
      ['of CommonJS, in an object', 'const run = (args) => "Hello " + args.name\nmodule.exports = { run, more: 1 }'],
      ['of the default export', 'export default { run: (args) => "Hello " + args.name }'],
    ])('in Node, %s', async (_, code) => {
      const run = await node(code, { name: 'Max' })
      expect(run).toMatchObject({ ok: true, value: 'Hello Max', text: 'Hello Max', log: '' })
    })

    it('and other files beside it', async () => {
      const files = { 'main.py': 'import helper\ndef run(args): return helper.word + open("data.txt").read()' }
      const beside = { 'helper.py': 'word = "beside "', 'data.txt': 'it' }
      expect((await home.run(home.runnable({ ...files, ...beside }))).text).toBe('beside it')
      const modules = { 'main.js': 'import { word } from "./lib/helper.js"\nexport const run = () => word' }
      const helper = { 'lib/helper.js': 'export const word = "beside it"' }
      expect((await home.run(home.runnable({ ...modules, ...helper }, { runtime: 'node' }))).text).toBe('beside it')
    })

    it('and files by the names of modules that Python has', async () => {
      const main = 'import json, statistics\ndef run(args): return json.dumps(statistics.word)'
      const files = { 'main.py': main, 'statistics.py': 'word = "its own"', 'json.py': 'taken', 'inspect.py': 'taken' }
      const runnable = home.runnable(files)
      for (const _ of [1, 2]) expect(await home.run(runnable)).toMatchObject({ ok: true, text: '"its own"' })
    })
  })

  describe('CAP-5 returns', () => {
    it.each([
      ['a number with all its digits', '12345678901234567890', '12345678901234567890'],
      ['a list', '[1, {"a": "ü"}]', '[1,{"a":"ü"}]'],
      ['false', 'False', 'false'],
      ['an object', '{"degrees": 21.5}', '{"degrees":21.5}'],
      ['an object with a text', '{"text": "It is warm", "degrees": 21.5}', 'It is warm'],
      ['an empty text', '""', ''],
    ])('%s', async (_, expression, text) => {
      expect(await python(`def run(args): return ${expression}`)).toMatchObject({ ok: true, text, card: null })
    })

    it('a card that is rebuilt from what is allowed', async () => {
      const code = 'def run(args): return {"html": "<b>21°</b><script>alert(1)</script>", "title": "Weather in Rome"}'
      const run = await python(code)
      expect(run.card).toMatchObject({ title: 'Weather in Rome', html: expect.stringContaining('<b>21°</b>') })
      expect(run.card?.html).not.toContain('script')
      expect(run.text).toContain('21°')
    })

    it('a report that printing cannot forge', async () => {
      const lines = ['print("__RESULT__")', `print('{"ok": true, "value": "\\\\"forged\\\\""}')`, 'return "genuine"']
      const run = await python(`import os\ndef run(args):\n  os.write(1, b"raw\\n")\n  ${lines.join('\n  ')}`)
      expect(run).toMatchObject({ ok: true, text: 'genuine', log: expect.stringMatching(/^raw\n__RESULT__\n\{"ok"/) })
      const other = await node('export function run() { console.log("__RESULT__\\nforged"); return "genuine" }')
      expect(other).toMatchObject({ ok: true, text: 'genuine', log: '__RESULT__\nforged\n' })
    })

    it('in the order in which it printed on both streams, cleaned', async () => {
      const lines = ['print("one")', 'sys.stderr.write("two\\n")', 'print("\\x1b[31mthree\\u202e")', 'print("\\ud800")']
      const run = await python(`import sys\ndef run(args):\n  ${lines.join('\n  ')}\n  return "done"`)
      expect(run.log).toBe('one\ntwo\nthree\n\\ud800\n')
    })

    it('the same after megabytes of logs, of which the end is kept', async () => {
      const line = '"x" * 1023'
      const run = await python(
        `def run(args):\n  for i in range(8192): print(${line})\n  print("the end")\n  return "done"`,
      )
      expect(run).toMatchObject({ ok: true, text: 'done', log: expect.stringMatching(/x\nthe end\n$/) })
      expect(run.log.length).toBeLessThanOrEqual(64 * 1024 + 1)
      const other = await node(
        `export function run() { for (let i = 0; i < 8192; i += 1) console.log("x".repeat(1023)); return "done" }`,
      )
      expect(other).toMatchObject({ ok: true, text: 'done' })
    })

    it('at once, whatever threads and children it leaves behind', async () => {
      const threads =
        'import threading, time\ndef run(args):\n  threading.Thread(target=time.sleep, args=(600,)).start()'
      expect((await python(`${threads}\n  return "done"`)).text).toBe('done')
      const pool =
        'import asyncio, time\nasync def run(args):\n  asyncio.get_running_loop().run_in_executor(None, time.sleep, 600)'
      expect((await python(`${pool}\n  return "done"`)).text).toBe('done')
      const daemon =
        'import os, time\ndef run(args):\n  if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(600)\n    os._exit(0)'
      expect((await python(`${daemon}\n  return "done"`)).text).toBe('done')
      const spawned =
        'import { spawn } from "node:child_process"\nexport function run() {\n  spawn("sleep", ["600"], { detached: true })'
      expect((await node(`${spawned}\n  setInterval(() => {}, 1000)\n  return "done"\n}`)).text).toBe('done')
    })

    it('once, where a forked child comes back out of run as well', async () => {
      const code =
        'import os\ndef run(args):\n  child = os.fork()\n  if child: os.waitpid(child, 0)\n  return "parent" if child else "child"'
      expect((await python(code)).text).toBe('parent')
    })

    it('nothing of the call before: the folder is read-only, and /tmp is new', async () => {
      const code =
        'import os\ndef run(args):\n  try: open("/capability/main.py", "a")\n  except OSError: print("closed")\n  seen = os.path.exists("/tmp/left")\n  open("/tmp/left", "w").close()\n  return str(seen)'
      const runnable = home.runnable(code)
      for (const _ of [1, 2, 3]) {
        expect(await home.run(runnable)).toMatchObject({ text: 'False', log: 'closed\n' })
      }
    })

    it('its own, where two versions run at once', async () => {
      const version = (word: string) =>
        home.runnable(`import time\ndef run(args):\n  time.sleep(0.2)\n  return "${word}"`)
      const [one, two] = [version('one'), version('two')]
      const runs = await Promise.all([one, two, one, two].map((runnable) => home.run(runnable)))
      expect(runs.map(({ text }) => text)).toEqual(['one', 'two', 'one', 'two'])
    })
  })

  describe('CAP-5 fails clearly', () => {
    it('with the frames of its own code and the reason', async () => {
      const code = 'import json\ndef parse(text):\n  return json.loads(text)\ndef run(args):\n  return parse("{")'
      const run = await python(code)
      expect(run).toMatchObject({ ok: false, value: null, text: '', outcome: 'failed' })
      expect(run.error).toContain('File "/capability/main.py", line 3, in parse')
      expect(run.error).toMatch(/json\.decoder\.JSONDecodeError: Expecting property name.*$/)
      expect(run.error).not.toContain('decoder.py')
      expect(run.error).not.toContain('run-capability')
      const other = await node('function parse(text) { return JSON.parse(text) }\nexport const run = () => parse("{")')
      expect(other.error).toMatch(/SyntaxError: .*\n {4}at parse \(\/capability\/main\.js:1:/)
      expect(other.error).not.toContain('node:internal')
    })

    it('with what led to it, and at most the last lines', async () => {
      const chained =
        'def run(args):\n  try: return args["city"]\n  except KeyError as error: raise ValueError("no city") from error'
      expect((await python(chained)).error).toMatch(/KeyError: 'city'\nled to:\n.*ValueError: no city$/s)
      const long = await python('def run(args): raise ValueError("\\n".join(map(str, range(100))))')
      expect(long.error?.split('\n')).toHaveLength(16)
      expect(long.error).toMatch(/^…\n85\n.*\n99$/s)
      const endless = await python('def run(args): return run(args)')
      expect(endless.error).toContain('RecursionError: maximum recursion depth exceeded')
    })

    it.each([
      ['sys.exit(3)', 'import sys\ndef run(args): sys.exit(3)', 'It called sys.exit(3) instead of returning a result.'],
      ['sys.exit()', 'import sys\ndef run(args): sys.exit()', 'It called sys.exit() instead of returning a result.'],
      ['os._exit', 'import os\ndef run(args): os._exit(4)', 'It ended with exit code 4 before it had a result.'],
      ['a crash', 'import os\ndef run(args): os.kill(os.getpid(), 11)', 'It was ended by SIGSEGV.'],
      ['nothing', 'def run(args): pass', 'run returned nothing (None). It returns a text or an object.'],
      [
        'no JSON',
        'def run(args): return {1, 2}',
        'The return value of run is not JSON: Object of type set is not JSON serializable.',
      ],
      [
        'not a number',
        'def run(args): return float("nan")',
        /^The return value of run is not JSON: Out of range float values/,
      ],
      ['no run', 'def start(args): return "x"', 'main.py has no function named run.'],
      ['an interrupt', 'def run(args): raise KeyboardInterrupt()', /KeyboardInterrupt$/],
      [
        'a wrong syntax',
        'def run(args):\n  return (',
        /File "\/capability\/main.py", line 2\n.*SyntaxError: '\(' was never closed$/s,
      ],
      ['too much', 'def run(args): return "x" * 2_000_000', 'The return value of run is larger than 1 MB.'],
      [
        'too many levels',
        'def run(args):\n  a = []\n  for _ in range(99): a = [a]\n  return a',
        'The return value of run is nested too deeply.',
      ],
      [
        'endless printing',
        'def run(args):\n  while True: print("x" * 1000)',
        'It printed or returned more than 16 MB.',
      ],
    ])('in Python: %s', async (_, code, error) => {
      const found = typeof error === 'string' ? error : expect.stringMatching(error)
      expect(await python(code)).toMatchObject({ ok: false, value: null, error: found, outcome: 'failed' })
    })

    it.each([
      [
        'process.exit(3)',
        'export const run = () => process.exit(3)',
        'It called process.exit(3) instead of returning a result.',
      ],
      ['a crash', 'export const run = () => process.kill(process.pid, "SIGKILL")', 'It was ended by SIGKILL.'],
      ['nothing', 'export const run = () => {}', 'run returned nothing (undefined). It returns a text or an object.'],
      [
        'no JSON',
        'export const run = () => 1n',
        /^The return value of run is not JSON: Do not know how to serialize a BigInt/,
      ],
      ['a function', 'export const run = () => () => 1', 'The return value of run is not JSON: it is a function.'],
      ['no run', 'export const start = () => 1', 'main.js has no function named run.'],
      ['no end', 'export const run = () => new Promise(() => {})', /^run never finished/],
      [
        'a text that is thrown',
        'export const run = () => { throw "over" }',
        'It failed with an exception:\nIt threw over',
      ],
      ['a wrong syntax', 'export const run = (', /\/capability\/main\.js:1\nexport const run = \(\n.*SyntaxError: /s],
      [
        'an exception beside',
        'export async function run() { setTimeout(() => { throw new Error("beside") }); await new Promise((r) => setTimeout(r, 5000)) }',
        /Error: beside/,
      ],
      [
        'a lost promise',
        'export async function run() { Promise.reject(new Error("lost")); await new Promise((r) => setTimeout(r, 5000)) }',
        /Error: lost/,
      ],
    ])('in Node: %s', async (_, code, error) => {
      const found = typeof error === 'string' ? error : expect.stringMatching(error)
      expect(await node(code)).toMatchObject({ ok: false, value: null, error: found, outcome: 'failed' })
    })

    it('that it takes too long or too much', async () => {
      const slow = home.runnable('import time\ndef run(args):\n  print("begun")\n  time.sleep(600)', {
        timeoutMs: 1_000,
      })
      expect(await home.run(slow)).toMatchObject({
        ok: false,
        outcome: 'timed_out',
        error: 'It did not finish within 1 s.',
        log: 'begun\n',
      })
      const large = home.runnable('def run(args): return len(bytearray(400_000_000))', { memoryBytes: 64 * 1024 ** 2 })
      expect((await home.run(large)).error).toBe('It ran out of memory: it may use 64 MB.')
    })

    it('and ends when no caller waits any more', async () => {
      const leaving = new AbortController()
      const slow = home.runnable('import time\ndef run(args): time.sleep(600)')
      const running = home.run(slow, {}, { signal: leaving.signal })
      setImmediate(() => leaving.abort(new Error('left')))
      await expect(running).rejects.toThrow('left')
    })

    it('before anything runs, where the input does not fit', async () => {
      const inputSchema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
      const run = await home.run(home.runnable('def run(args): return "x"', { inputSchema }), { city: 7 })
      expect(run).toMatchObject({
        outcome: 'refused',
        error: 'The input does not fit sample: city: expected string, found 7.',
        driver: null,
      })
    })
  })

  describe('that is being built', () => {
    const draft = (code: string, runtime: 'python' | 'node' = 'python') => home.runnable(code, { runtime })
    const attempt = (runnable: ReturnType<typeof draft>, command: { code: string } | { command: string }) => {
      const given = 'code' in command ? command : { shell: command.command }
      return home.executor.tryOut({ userId: 'max', runnable, command: given, signal: AbortSignal.timeout(60_000) })
    }

    it('CAP-3 is tried out by a piece of code beside it', async () => {
      const double = draft('def run(args): return args["n"] * 2')
      const good = await attempt(double, { code: 'from main import run\nprint(run({"n": 21}), context.secrets)' })
      expect(good).toMatchObject({ ok: true, text: '42 {}\n', log: '42 {}\n', error: null, outcome: 'succeeded' })
      const bad = await attempt(double, { code: 'import main\nprint("before")\nmain.run({})' })
      expect(bad).toMatchObject({ ok: false, text: 'before\n', outcome: 'failed' })
      expect(bad.error).toMatch(/File "<code>", line 3.*\n {4}main\.run.*line 1, in run.*KeyError: 'n'$/s)
      expect(await attempt(double, { code: 'import sys\nsys.exit(0)' })).toMatchObject({
        ok: true,
        text: 'It printed nothing.',
      })
      const other = draft('export const run = ({ n }) => n * 2', 'node')
      const imported = await attempt(other, {
        code: 'import { run } from "./main.js"\nconsole.log(await run({ n: 21 }))',
      })
      expect(imported).toMatchObject({ ok: true, text: '42\n' })
      const required = await attempt(other, { code: 'console.log(require("./main.js").run({ n: 4 }))' })
      expect(required).toMatchObject({ ok: true, text: '8\n' })
      const wrong = await attempt(other, { code: '\nconst x = (' })
      expect(wrong.error).toMatch(/<code>:2\nconst x = \(\n.*SyntaxError: /s)
      const thrown = await attempt(other, { code: '\nthrow new Error("over")' })
      expect(thrown.error).toMatch(/Error: over\n {4}at <code>:2:7$/)
    })

    it('CAP-3 and by a line for the shell', async () => {
      const listing = await attempt(draft('x = 1'), {
        command: 'ls; echo oops >&2; python3 -c "import main; print(main.x)"',
      })
      expect(listing).toMatchObject({ ok: true, text: 'main.py\n1\noops\n' })
      const failing = await attempt(draft('x = 1'), { command: 'touch main.py' })
      expect(failing).toMatchObject({ ok: false, error: 'It ended with exit code 1.', outcome: 'failed' })
      expect(failing.text).toMatch(/cannot touch 'main\.py'/)
    })
  })
})
/** The smallest picture there is. */
const gif = Buffer.from('R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=', 'base64')
const token = 'Vq8-rX2z_Lm41Pd7Ks9T'
const secrets = [{ name: 'TOKEN', description: 'Of the weather service' }]

describe.skipIf(!hasSandbox)(hasSandbox ? 'what a capability declares' : 'bubblewrap is not installed', () => {
  const real = openRealSandbox()
  let home: CapabilitiesHome
  let site: LocalSite
  beforeEach(async () => {
    // Not 127.0.0.1, which inside is the sandbox itself.
    site = await openLocalSite((request, response) => {
      const status = { '/broken': 503, '/missing': 404 }[request.url] ?? 200
      if (request.url === '/dot.gif') response.end(gif)
      else response.writeHead(status).end(`You sent ${request.headers.authorization}`)
    }, '127.0.0.2')
    home = await openCapabilities({ sandbox: real.sandbox, listedHosts: () => [{ host: '127.0.0.2' }] })
  })
  afterEach(async () => {
    await home.close()
    await site.close()
  })
  afterAll(() => real.close())

  describe('of secrets', () => {
    it('SEC-13 is given only to the tool that declares it', async () => {
      await home.setSecret('sample', 'TOKEN', token)
      await home.setSecret('sample', 'OTHER', 'Zb5-other-secret-77')
      await home.setSecret('another', 'TOKEN', 'Zb5-another-secret-77')
      await home.setSecret('sample', 'TOKEN', 'Zb5-eves-secret-77', 'eve')
      const check = `[list(context.secrets), len(context["secrets"]["TOKEN"]), context.secrets.TOKEN == "${token}"]`
      const code = `def run(args, context): return ${check}`
      expect((await home.run(home.runnable(code, { secrets }))).value).toEqual([['TOKEN'], 20, true])
      const undeclared = await home.run(home.runnable('def run(args, context): return context.secrets["TOKEN"]'))
      expect(undeclared.error).toContain('TOKEN is not there: manifest.json does not declare it')
      const node = home.runnable(
        `export const run = (_, { secrets }) => [Object.keys(secrets), secrets.TOKEN.length]`,
        {
          runtime: 'node',
          secrets,
        },
      )
      expect((await home.run(node)).value).toEqual([['TOKEN'], 20])
      const shell = { shell: 'cat; env; cat /proc/self/cmdline' } as const
      const signal = AbortSignal.timeout(30_000)
      const tried = await home.executor.tryOut({ userId: 'max', runnable: node, command: shell, signal })
      expect(tried.ok).toBe(true)
      expect(tried.text).not.toContain('redacted')
    })

    it('SEC-13 is in no argument and no environment', async () => {
      await home.setSecret('sample', 'TOKEN', token)
      const code = `def run(args, context):
  seen = open("/proc/self/cmdline").read() + open("/proc/self/environ").read() + str(dict(__import__("os").environ))
  return str(context.secrets.TOKEN in seen)`
      expect((await home.run(home.runnable(code, { secrets }))).text).toBe('False')
    })

    it('SEC-13 comes out nowhere: result, log, error', async () => {
      await home.setSecret('sample', 'TOKEN', token)
      const code = `import base64
def run(args, context):
  token = context.secrets.TOKEN
  print("log", token, base64.b64encode(token.encode()).decode())
  if args.get("fail"): raise ValueError("bad token " + token)
  return {"text": "text " + token, "html": "<p>" + token + "</p>", "title": token, "more": [token]}`
      const runnable = home.runnable(code, { secrets })
      const good = await home.run(runnable)
      expect(good).toMatchObject({ ok: true, text: 'text [redacted]', log: 'log [redacted] [redacted]\n' })
      expect(good.card?.html).toContain('[redacted]')
      const bad = await home.run(runnable, { fail: true })
      expect(bad.error).toMatch(/ValueError: bad token \[redacted\]$/)
      expect(JSON.stringify([good, bad])).not.toContain(token)
    })

    it('CAP-5 is named if it is not set, before anything runs', async () => {
      const runnable = home.runnable('def run(args, context): return "ran"', {
        secrets: [...secrets, { name: 'SECOND', description: '' }],
      })
      const run = await home.run(runnable)
      expect(run).toMatchObject({ ok: false, outcome: 'refused', driver: null })
      expect(run.error).toBe(
        'sample needs the secrets TOKEN, SECOND, which are not set yet. To set them: familiar caps secret sample TOKEN, familiar caps secret sample SECOND',
      )
    })
  })

  describe('of hosts', () => {
    const python = `
import urllib.request
def run(args):
  request = urllib.request.Request(args["address"], headers={"authorization": "me"})
  return urllib.request.urlopen(request, timeout=10).read().decode()
`
    const node = `
export async function run({ address }) {
  const response = await fetch(address, { headers: { authorization: 'me' } })
  if (!response.ok) throw new Error('the answer is ' + response.status)
  return await response.text()
}
`
    it.each([
      ['python', python],
      ['node', node],
    ] as const)('CAP-5 is reached, and nothing else: %s', async (runtime, code) => {
      const runnable = home.runnable(code, { runtime, hosts: [`127.0.0.2:${site.port}`] })
      const call = (address: string) => home.run(runnable, { address })
      expect(await call(site.origin)).toMatchObject({ ok: true, text: 'You sent me' })
      const refused = await call('https://example.invalid/')
      expect(refused).toMatchObject({ ok: false, outcome: 'failed', refusedHosts: ['example.invalid'] })
      expect(refused.error).toMatch(
        /\nIt was not let through to example\.invalid: the manifest must declare every host that it reaches\.$/,
      )
      expect(site.requests).toHaveLength(1)
    })

    it('CAP-5 differs from a service that fails', async () => {
      const runnable = home.runnable(python, { hosts: [`127.0.0.2:${site.port}`] })
      const run = await home.run(runnable, { address: `${site.origin}/broken` })
      expect(run).toMatchObject({ ok: false, outcome: 'service_failed', refusedHosts: [] })
      const missing = await home.run(runnable, { address: `${site.origin}/missing` })
      expect(missing).toMatchObject({ ok: false, outcome: 'failed', error: expect.stringContaining('404') })
    })

    it('CARD-4 gives the pictures of a card, as data, and no other host does', async () => {
      const html = `<p>Look</p><img src="${site.origin}/dot.gif" alt="One"><img src="https://example.invalid/2.png" alt="Two">`
      const code = `def run(args): return {"text": "ok", "html": ${JSON.stringify(html)}}`
      const run = await home.run(home.runnable(code, { hosts: [`127.0.0.2:${site.port}`] }))
      expect(run.card?.html).toBe(`<p>Look</p><img src="data:image/gif;base64,${gif.toString('base64')}" alt="One">Two`)
      expect(run.refusedHosts).toEqual(['example.invalid'])
      const blind = await home.run(home.runnable(code))
      expect(blind.card?.html).toBe('<p>Look</p>OneTwo')
      expect(site.requests).toHaveLength(1)
    })

    it('CAP-5 is none where nothing is declared', async () => {
      for (const runnable of [home.runnable(python), home.runnable(node, { runtime: 'node' })]) {
        expect((await home.run(runnable, { address: site.origin })).ok).toBe(false)
      }
      expect(site.connections()).toBe(0)
    })

    it('CAP-5 says what to do to the code that is refused one', async () => {
      const asking = `
import urllib.error, urllib.request
def run(args):
  try: urllib.request.urlopen("http://example.invalid/")
  except urllib.error.HTTPError as error: return error.read().decode()
`
      const run = await home.run(home.runnable(asking, { hosts: [`127.0.0.2:${site.port}`] }))
      expect(run.text).toContain('A capability reaches only the hosts that its manifest declares.')
      expect(run.refusedHosts).toEqual(['example.invalid'])
    })
  })
})

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

  it('CAP-5 are built once and shared by hash, even if the first caller leaves', async () => {
    const one = home.runnable(code, { name: 'one', requirements: ['greeting>=1.0'] })
    const two = home.runnable(code, { name: 'two', requirements: ['greeting>=1.0'] })
    const leaving = new AbortController()
    const left = home.executor.prepare(one, leaving.signal)
    const stayed = home.executor.prepare(two, signal)
    setImmediate(() => leaving.abort(new Error('left')))
    await expect(left).rejects.toThrow('left')
    const [key = ''] = (await stayed).ok ? built() : []
    expect(await stayed).toEqual({ ok: true, directory: join(home.home, 'cache', 'python', key) })
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
    const command = { code: 'import greeting\nprint(greeting.word)' } as const
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
