import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ServedFamiliar } from '../security/http-support.ts'
import { bashTool, pythonTool, toolExample } from '../support/published-tools.ts'
import { waitFor } from '../support/wait-for.ts'
import { canOpenTerminal, familiar, familiarJson, startAtTerminal } from './cli-process.ts'
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

  const tools = (...args: string[]) => familiar(['tools', ...args], { home })
  const withInput = (input: string, ...args: string[]) => familiar(['tools', ...args], { home, input })

  it('CLI-1 lists tools with status and reason', async () => {
    const { stdout, code } = await tools('list')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Tool +Status +Runs +What it is\nbroken +error +on_demand +.*manifest\.json/)
    expect(stdout).toMatch(/keeper +available +on_demand +needs api_key: familiar tools config keeper\n/)
    expect(stdout).toMatch(/tool_example +system +on_demand +Greets somebody by name/)
  })

  it('CLI-1 shows one, and says what is not there', async () => {
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

  it('CARD-2 shows the card as text, and from a pipe without colours', async () => {
    const { stdout, stderr, code } = await withInput('{"name":"Dylan"}', 'run', 'tool_example', '--params', '-')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^⭐ Hello\n\nHello, Dylan!/)
    expect(stderr).toMatch(/^[\d.]+ m?s, embedded sandbox\n$/)
  })

  it('SEC-10 what a tool prints is cleaned in every form', async () => {
    const { stdout } = await tools('run', 'nasty', '--json')
    expect(JSON.parse(stdout)).toMatchObject({ html: '<p>hi</p>' })
    expect((await tools('run', 'nasty')).stdout).not.toContain('\u001b')
  })

  it('CLI-1 says why a run failed, with what the tool wrote, and ends with 1', async () => {
    const failed = await tools('run', 'failing')
    expect(failed).toMatchObject({ code: 1, stdout: '' })
    expect(failed.stderr).toMatch(/failing: a line for the log\n/)
    expect(failed.stderr).toMatch(/Error: The service is down\n$/)
    expect(await tools('run', 'failing', '--json')).toMatchObject({ code: 1 })
    const wrong = await tools('run', 'tool_example', '--params', '{"name"')
    expect(wrong).toMatchObject({ code: 2, stdout: '' })
    expect(wrong.stderr).toMatch(/^Error: --params is not JSON: .*\nSuch as: --params '\{"name": "Anna"\}'\n$/)
    expect((await tools('run', 'tool_example', '--params', '[1]')).stderr).toMatch(
      /is an object of JSON; this is a list/,
    )
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
    expect((await tools('test', 'failing')).stderr).toMatch(/tests\.json cannot be read\.\nIt holds a list such as/)
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

  it('TOOL-6 sets what is no secret on the command line, secrets from standard input alone', async () => {
    expect((await tools('config', 'keeper')).stdout).toMatch(
      /api_key +needed +Your key\nunits +metric +How to measure\n/,
    )
    const refused = await tools('config', 'keeper', `api_key=${secret}`)
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toBe(
      'Error: api_key is a secret: on the command line others could see it.\nYou are asked for it with: familiar tools config keeper api_key\n',
    )
    const set = await withInput(`${secret}\n`, 'config', 'keeper', 'api_key', 'units=imperial', '--json')
    expect(JSON.parse(set.stdout)).toEqual({ config: { api_key: '***', units: 'imperial' } })
    expect((await tools('run', 'keeper')).stdout).toBe(`kept ${secret.length}\n`)
    expect((await withInput('', 'config', 'keeper', 'api_key')).stderr).toMatch(/There is no value for api_key/)
    expect((await tools('config', 'keeper', 'colour=red')).stderr).toBe(
      'Error: keeper has no setting "colour".\nIt has: api_key, units\n',
    )
    expect((await tools('config', 'keeper', '--unset', 'units')).stdout).toMatch(/units +metric/)
    expect((await tools('config', 'failing')).stdout).toBe('failing has nothing to configure.\n')
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
      'failing is off. To have it again: familiar tools enable failing\n',
    )
    expect((await tools('run', 'failing')).stderr).toMatch(/failing is off/)
    expect((await tools('enable', 'failing')).stdout).toBe('failing is on.\n')
    const { stdout } = await tools('logs', 'failing', '-n', '2')
    expect(stdout).toMatch(/^When +By +Outcome +Took +Sandbox *\n[-\d: ]+ +user +refused .*failing is off/)
    expect((await tools('logs', 'broken')).stdout).toBe('broken has not been called yet.\n')
  })

  it('TOOL-4 allows hosts beside the API, and a running Familiar takes them in', async () => {
    expect((await tools('allow', 'outward')).stdout).toBe(
      'outward may reach what its manifest declares, and nothing else.\n',
    )
    expect((await tools('allow', 'outward', 'API.example.com', '*.example.org:8443')).stdout).toBe(
      'outward may reach, beside what its manifest declares: api.example.com, *.example.org:8443\n',
    )
    const shown = await served.call({ path: '/api/v1/tools/outward' })
    expect(shown.json.network).toMatchObject({ allowed: ['api.example.com', '*.example.org:8443'] })
    expect((await tools('allow', 'outward', '--remove', 'api.example.com')).stdout).toMatch(
      /: \*\.example\.org:8443\n$/,
    )
    expect((await tools('allow', 'failing', 'a.example')).stdout).toMatch(/but its manifest asks for no network\.\n$/)
    const wrong = await tools('allow', 'outward', 'http://a.example/x')
    expect(wrong).toMatchObject({ code: 2 })
    expect(wrong.stderr).toMatch(/^Error: "http:\/\/a\.example\/x" is no host\.\nSuch as: /)
  })
})
