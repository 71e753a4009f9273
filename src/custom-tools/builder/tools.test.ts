import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type BuildsHome, openBuilds } from '../../../test/support/builds.ts'
import { type LocalSite, openLocalSite } from '../../../test/support/local-site.ts'
import { openRealSandbox } from '../../../test/support/real-sandbox.ts'
import type { Json } from '../../protocol/messages.ts'
import type { Build } from './builds.ts'

const everything = { untrusted: true, private: true }
const nothing = { untrusted: false, private: false }
const goodMain = 'def run(args):\n    return "Sunny in " + args["city"]\n'
const goodExamples = '[{"input": {"city": "Oslo"}, "expect": {"equals": "Sunny in Oslo"}}]'

let real: ReturnType<typeof openRealSandbox>
let site: LocalSite
let home: BuildsHome
let build: Build

beforeAll(async () => {
  real = openRealSandbox()
  // Not 127.0.0.1, which inside is the sandbox itself.
  site = await openLocalSite((_request, response) => response.end('12 degrees'), '127.0.0.2')
})
afterAll(async () => {
  await site.close()
  await real.close()
})
beforeEach(async () => {
  const listedHosts = () => [{ host: '127.0.0.2', port: site.port }]
  home = await openBuilds({ sandbox: real.sandbox, listedHosts })
  build = await home.request()
})
afterEach(() => home.close())

const call = (name: string, input: { [key: string]: Json } = {}, more = {}) => home.call(build, name, input, more)
const write = (path: string, content: string) => call('write_file', { path, content })
const host = () => `127.0.0.2:${site.port}`
const manifest = (changes: { [key: string]: Json } = {}) => write('manifest.json', JSON.stringify(draft(changes)))
const draft = (changes: { [key: string]: Json }) => ({
  name: 'weather_lookup',
  description: 'The weather of a city.',
  input_schema: { type: 'object' },
  ...changes,
})
const fetching = () => `import urllib.request\nprint(urllib.request.urlopen("http://${host()}/").read().decode())`
const filesOf = (id = build.id) =>
  home.database.read.selectFrom('build_files').select('path').where('build_id', '=', id).execute()

describe('write_file', () => {
  it('CAP-3 keeps files by plain paths, the newest of each', async () => {
    expect(await write('data/cities.json', '[]')).toMatchObject({ isError: false })
    await write('main.py', 'old')
    await write('main.py', 'new')
    expect((await call('run_command', { command: 'cat main.py data/cities.json' })).text).toBe('new[]')
  })

  it.each(['../main.py', '/etc/passwd', 'a/../b', '.git/config', 'a//b', 'a\\b', 'lock.json', 'x'.repeat(201)])(
    'CAP-3 refuses %s',
    async (path) => {
      expect(await write(path, 'x')).toMatchObject({ isError: true })
      expect(await filesOf()).toEqual([])
    },
  )

  it('CAP-3 refuses what is too large, one by one and in all', async () => {
    expect(await write('big.txt', 'x'.repeat(256 * 1024 + 1))).toMatchObject({ isError: true })
    const part = 'x'.repeat(250 * 1024)
    for (let index = 0; index < 8; index += 1) expect((await write(`part${index}.txt`, part)).isError).toBe(false)
    expect(await write('part8.txt', part)).toMatchObject({ isError: true })
    expect(await filesOf()).toHaveLength(8)
  })

  it('CAP-3 belongs to its own build alone', async () => {
    const other = await home.request({ name: 'other_tool' })
    await write('main.py', goodMain)
    expect(await filesOf(other.id)).toEqual([])
    const stray = home.call(build, 'write_file', { path: 'main.py', content: '' }, { sessionId: 'chat' })
    expect(await stray).toMatchObject({ isError: true })
  })
})

describe('run_code and run_command', () => {
  it('CAP-3 run beside the files, and tell what was printed and what went wrong', async () => {
    await write('main.py', goodMain)
    const code = 'from main import run\nprint(run({"city": "Oslo"}))'
    expect(await call('run_code', { code })).toMatchObject({ isError: false, text: 'Sunny in Oslo\n' })
    const failing = await call('run_code', { code: 'from main import run\nrun({})' })
    expect(failing).toMatchObject({ isError: true, text: expect.stringContaining("KeyError: 'city'") })
    expect(await call('run_command', { command: 'touch /capability/x' })).toMatchObject({ isError: true })
    expect(await call('run_command', { command: 'exit 3' })).toMatchObject({ isError: true })
    expect(readdirSync(join(home.home, 'tries'))).toEqual([])
  })

  it('CAP-3 run Node where the draft is for Node', async () => {
    await write('main.js', "export function run({ city }) { return 'Sunny in ' + city }")
    const code = "import { run } from './main.js'\nconsole.log(run({ city: 'Oslo' }))"
    expect(await call('run_code', { code })).toMatchObject({ isError: false, text: 'Sunny in Oslo\n' })
  })

  it('CAP-3 show the beginning and the end of much output', async () => {
    const { text } = await call('run_code', { code: 'print("first")\nprint("x" * 50000)\nprint("last")' })
    expect(text.length).toBeLessThan(6_200)
    expect(text).toMatch(/^first\n[\s\S]*characters left out[\s\S]*last\n$/)
  })

  it('CAP-3 have no network unless the manifest declares it and the call asks for it', async () => {
    const before = site.requests.length
    expect(await call('run_code', { code: fetching(), network: true })).toMatchObject({ isError: true })
    await manifest({ hosts: [host()] })
    expect(await call('run_code', { code: fetching() })).toMatchObject({ isError: true })
    await write('manifest.json', '{"hosts": 7}')
    const broken = await call('run_code', { code: fetching(), network: true })
    expect(broken.text).toContain('ran without network')
    expect(site.requests.length).toBe(before)
    await manifest({ hosts: [host()] })
    const reached = await call('run_code', { code: fetching(), network: true })
    expect(reached).toMatchObject({ isError: false, label: 'untrusted', text: '12 degrees\n' })
    expect((await home.eventsOf(build)).at(-2)).toMatchObject({ message: `Reaching ${host()}.` })
  })

  it('SEC-13 give a secret to the code, and never show it', async () => {
    await home.setSecret('weather_lookup', 'API_KEY', 'kestrel-41-lantern')
    await manifest({ secrets: ['API_KEY'] })
    const { text } = await call('run_code', { code: 'print(len(context.secrets.API_KEY), context.secrets.API_KEY)' })
    expect(text).toMatch(/^18 /)
    expect(text).not.toContain('kestrel')
  })
})

describe('SEC-17 a build that has read untrusted and private text', () => {
  const question = () => `${build.id}.host.${host()}`
  const online = (seen = everything) => call('run_code', { code: fetching(), network: true }, { seen })

  beforeEach(async () => {
    build = await home.request({ name: 'tainted' })
    await write('manifest.json', JSON.stringify({ ...draft({ hosts: [host()] }), name: 'tainted' }))
  })

  it('SEC-17 reaches nothing without the user’s yes', async () => {
    const before = site.requests.length
    const running = online()
    const asked = await home.waitForEvent(build, 'question')
    expect(asked).toMatchObject({ question_id: question(), question: expect.stringContaining(host()) })
    await home.builds.answer('max', question(), 'no')
    expect(await running).toMatchObject({ isError: true, text: expect.stringContaining('did not allow') })
    expect(await online()).toMatchObject({ isError: true })
    expect(site.requests.length).toBe(before)
  })

  it('SEC-17 is asked once for a host, and a yes holds for the build', async () => {
    const running = online()
    await home.waitForEvent(build, 'question')
    await home.builds.answer('max', question(), 'Yes.')
    expect(await running).toMatchObject({ isError: false, label: 'untrusted' })
    expect(await online()).toMatchObject({ isError: false })
    expect((await home.eventsOf(build)).filter(({ type }) => type === 'question')).toHaveLength(1)
  })

  it('SEC-17 takes the yes of no model', async () => {
    const running = online()
    await home.waitForEvent(build, 'question')
    await expect(home.builds.answer('max', question(), 'yes', nothing)).rejects.toMatchObject({ code: 'forbidden' })
    await home.builds.answer('max', question(), 'no')
    expect(await running).toMatchObject({ isError: true })
    const { lines } = await home.builds.news({ userId: 'max', sessionId: 'chat' })
    expect(lines).toEqual([])
  })

  it('SEC-17 inherits what its conversation had in sight', async () => {
    const request = { ...build.request, seen: everything }
    build = await home.request({ name: 'heir', request })
    await write('manifest.json', JSON.stringify({ ...draft({ hosts: [host()] }), name: 'heir' }))
    const running = online(nothing)
    await home.waitForEvent(build, 'question')
    await home.builds.answer('max', question(), 'no')
    expect(await running).toMatchObject({ isError: true })
  })

  it('SEC-17 registers nothing that would reach out without that yes', async () => {
    await write('main.py', goodMain)
    await write('examples.json', goodExamples)
    const registering = call('register_capability', {}, { seen: everything })
    await home.waitForEvent(build, 'question')
    await home.builds.answer('max', question(), 'no')
    expect(await registering).toMatchObject({ isError: true })
    expect(home.catalog.find('max', 'tainted')).toMatchObject({ state: 'building', version: null })
  })

  it('SEC-17 a secret at hand counts as private', async () => {
    await home.setSecret('tainted', 'API_KEY', 'kestrel-41-lantern')
    const changes = { hosts: [host()], secrets: ['API_KEY'] }
    await write('manifest.json', JSON.stringify({ ...draft(changes), name: 'tainted' }))
    expect(await online(nothing)).toMatchObject({ isError: false })
    const running = online({ untrusted: true, private: false })
    await home.waitForEvent(build, 'question')
    await home.builds.answer('max', question(), 'no')
    expect(await running).toMatchObject({ isError: true })
  })
})

describe('register_capability', () => {
  it('CAP-4 makes a version and ends the build, once', async () => {
    await write('main.py', goodMain)
    await write('examples.json', goodExamples)
    const registered = await call('register_capability', { tags: ['weather'] })
    expect(registered).toMatchObject({ isError: false, text: expect.stringContaining('cap_weather_lookup') })
    expect(home.catalog.find('max', 'weather_lookup')).toMatchObject({
      state: 'active',
      version: 1,
      tags: ['weather'],
      description: 'Look up the weather of a city.',
    })
    const events = await home.eventsOf(build)
    expect(events.at(-1)).toMatchObject({ type: 'complete', name: 'weather_lookup', version: 1 })
    expect(await call('register_capability')).toMatchObject({ isError: false })
    expect(await home.catalog.versions('max', 'weather_lookup')).toHaveLength(1)
    expect(await home.eventsOf(build)).toEqual(events)
    const { lines } = await home.builds.news({ userId: 'max', sessionId: 'chat' })
    expect(lines).toEqual(['The capability weather_lookup is ready: call cap_weather_lookup.'])
    await home.builds.ended(build.id, { isStopped: false, reason: 'over' })
    expect(await home.builds.find('max', build.id)).toMatchObject({ state: 'complete', error: null })
  })

  it('CAP-4 is refused with every reason, and the build continues', async () => {
    await write('main.py', 'def run(args):\n    return "Rain"\n')
    await write('examples.json', goodExamples)
    const refused = await call('register_capability')
    expect(refused).toMatchObject({ isError: true, text: expect.stringContaining('Sunny in Oslo') })
    expect(home.catalog.find('max', 'weather_lookup')).toMatchObject({ state: 'building', version: null })
    await write('main.py', goodMain)
    expect(await call('register_capability')).toMatchObject({ isError: false })
  })

  it('CAP-3 a build that was stopped meanwhile registers nothing', async () => {
    await write('main.py', goodMain)
    await write('examples.json', goodExamples)
    const registering = call('register_capability')
    await home.builds.stop('max', build.id)
    expect(await registering).toMatchObject({ isError: true })
    expect(home.catalog.find('max', 'weather_lookup')).toMatchObject({ state: 'failed', version: null })
    expect((await home.eventsOf(build)).at(-1)).toMatchObject({ type: 'error' })
  })

  it('CAP-8 a repair begins with the files that serve, and must try what failed', async () => {
    await write('main.py', goodMain)
    await write('examples.json', goodExamples)
    await call('register_capability')
    const failure = { input: { city: '' }, error: 'ValueError: no city' }
    build = await home.request({ kind: 'repair', request: { ...build.request, failure } })
    expect(home.messages.at(-1)).toContain('ValueError: no city')
    expect((await call('run_command', { command: 'cat main.py' })).text).toBe(goodMain)
    expect(await call('register_capability')).toMatchObject({ isError: true })
    expect(home.catalog.find('max', 'weather_lookup')).toMatchObject({ state: 'building', version: 1 })
    await write('main.py', 'def run(args):\n    return "Sunny in " + (args["city"] or "nowhere")\n')
    const added = '{"input": {"city": ""}, "expect": {"contains": "nowhere"}}'
    await write('examples.json', `${goodExamples.slice(0, -1)}, ${added}]`)
    expect(await call('register_capability')).toMatchObject({ isError: false })
    expect(home.catalog.find('max', 'weather_lookup')).toMatchObject({ state: 'active', version: 2 })
    expect((await home.eventsOf(build)).at(-1)).toMatchObject({ message: expect.stringContaining('is repaired') })
  })
})

describe('the Builder', () => {
  it('CAP-3 has seven tools, all in sight, and none that the loop’s gate would stop', () => {
    expect(home.tools.map(({ definition }) => definition.name).sort()).toEqual([
      'ask_user',
      'register_capability',
      'report_progress',
      'request_secret',
      'run_code',
      'run_command',
      'write_file',
    ])
    for (const tool of home.tools) {
      expect(tool).toMatchObject({ core: true, effect: 'idempotent' })
      expect(tool.reach({})).toEqual({ kind: 'read', destination: null })
    }
  })
})
