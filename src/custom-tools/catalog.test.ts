import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newMark, processesMarked } from '../../test/contract/sandbox-support.ts'
import { type ContractToolsHome, openContractTools } from '../../test/support/contract-tools.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { placesHolding } from '../../test/support/places-holding.ts'
import { bashTool, pythonTool, toolExample } from '../../test/support/published-tools.ts'
import { openRealSandbox } from '../../test/support/real-sandbox.ts'
import { toolOf } from '../../test/support/scripted-familiar.ts'
import { createUnsandboxedDriver } from '../../test/support/unsandboxed-driver.ts'
import { rankTools } from '../tools/registry.ts'

const real = openRealSandbox()
afterAll(() => real.close())

describe('tools of folders', () => {
  let home: ContractToolsHome
  beforeEach(async () => {
    home = await openContractTools({ sandbox: real.sandbox })
  })
  afterEach(() => home.close())

  it('TOOL-1 runs the example of the contract: its text, its card, and the model told of the card alone', async () => {
    home.writeTool('tool_example', toolExample)
    await home.start()
    const run = await home.run('tool_example', { name: 'Dylan' }, { telemetry: { city: 'Valletta', country: 'Malta' } })
    expect(run).toMatchObject({
      ok: true,
      text: "Hello, Dylan! You're in Valletta.",
      title: 'Hello',
      error: null,
      outcome: 'succeeded',
      driver: 'embedded',
    })
    expect(run.card).toMatchObject({ title: 'Hello', accentColor: '#6c63ff', icon: 'fa-star' })
    expect(run.card?.html).toContain('Hello, Dylan!</div>')
    const outcome = await home.call('tool_example', { name: 'Dylan' })
    expect(outcome.text).toBe(
      '[TOOL:tool_example]\nThe user is shown the result as a card, "Hello". Do not repeat it.\n[/TOOL]',
    )
    expect(outcome).toMatchObject({ isError: false, label: 'internal', card: { title: 'Hello' } })
  })

  it('TOOL-1 is called what its manifest says, whatever its folder is called', async () => {
    home.writeTool(
      'Published.Echo Tool',
      pythonTool('echo', 'print(json.dumps({"text": "hi"}))', { tips: ['Ask for a yodel'] }),
    )
    await home.start()
    expect((await home.catalog.list('max')).map(({ name, status }) => [name, status])).toEqual([['echo', 'system']])
    expect((await home.run('echo')).text).toBe('hi')
    expect(
      rankTools(home.registry.list(), 'yodel', { experience: new Map(), closeness: new Map() }).map(
        ({ definition }) => definition.name,
      ),
    ).toEqual(['echo'])
  })

  it('SEC-6c trusts the words of a tool without a network, unless its manifest says otherwise', async () => {
    const script = 'print(json.dumps({"text": "hi"}))'
    home.writeTool('alone', pythonTool('alone', script))
    home.writeTool('modest', pythonTool('modest', script, { output: { label: 'untrusted' } }))
    home.writeTool('online', pythonTool('online', script, { sandbox: { network: 'bridge' } }))
    await home.start()
    const labels = await Promise.all(
      ['alone', 'modest', 'online'].map(async (name) => (await home.call(name, {})).label),
    )
    expect(labels).toEqual(['internal', 'untrusted', 'untrusted'])
  })

  it('TOOL-1 SEC-14 enables and runs a folder that was written a moment ago, as it is now', async () => {
    await home.start()
    home.writeTool('echo', pythonTool('echo', 'print(json.dumps({"text": "first"}))'))
    await home.catalog.setEnabled('echo', true)
    expect((await home.run('echo')).text).toBe('first')
    home.writeTool('echo', pythonTool('echo', 'print(json.dumps({"text": "second"}))'))
    await home.catalog.setEnabled('echo', true)
    expect(await home.catalog.show('max', 'echo')).toMatchObject({ status: 'system', problem: null })
    expect((await home.run('echo')).text).toBe('second')
  })

  it('TOOL-5 is not ready where its image is needed and cannot run', async () => {
    const dockerfile = 'FROM searxng/searxng:latest\nCOPY runner.py /app/\nENTRYPOINT ["python3", "/app/runner.py"]\n'
    home.writeTool('searxng', { ...pythonTool('searxng', 'print("{}")'), Dockerfile: dockerfile })
    await home.start()
    expect(await home.catalog.show('max', 'searxng')).toMatchObject({
      status: 'error',
      problem: expect.stringContaining('needs the image searxng/searxng:latest'),
    })
  })

  it('TOOL-2 gives the same in the argument and on standard input, every field of telemetry among it', async () => {
    const body = [
      'given = json.load(sys.stdin)',
      'print(json.dumps({"text": json.dumps(given), "same": given == payload}))',
    ].join('\n')
    home.writeTool('echo', pythonTool('echo', body, { parameters: { a: { type: 'integer' } } }))
    await home.start()
    const run = await home.run('echo', { a: '4' }, { telemetry: { city: 'Valletta' } })
    const { params, settings, telemetry } = JSON.parse(run.text ?? '')
    expect(params).toEqual({ a: 4 })
    expect(settings).toEqual({})
    expect(telemetry).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      locale: expect.stringMatching(/^[a-z]{2}/),
      language: expect.stringMatching(/^[a-z]{2,3}$/),
      city: 'Valletta',
      country: null,
      lat: null,
      lon: null,
      device: null,
    })
  })

  it('TOOL-2 keeps settings out of the argument of a tool that reads standard input', async () => {
    const manifest = { input: 'stdin', config_schema: { KEY: { secret: true } } }
    const runner = 'jq -n --argjson given "$(cat)" --arg words "$#" \'{text: ($words + " " + $given.settings.KEY)}\''
    home.writeTool('quiet', bashTool('quiet', runner, manifest))
    await home.start()
    await home.catalog.setConfig('max', 'quiet', { KEY: 'kept' })
    expect((await home.run('quiet')).text).toBe('0 kept')
    expect((await home.catalog.show('max', 'quiet'))?.readsArgument).toBe(false)
  })

  it('TOOL-2 says what is too long for an argument, and takes it on standard input', async () => {
    const parameters = { text: { type: 'string' } }
    home.writeTool('short', pythonTool('short', 'print(json.dumps({"text": "ok"}))', { parameters }))
    home.writeTool(
      'long',
      bashTool('long', "jq '{text: (.params.text | length | tostring)}'", { parameters, input: 'stdin' }),
    )
    await home.start()
    const text = 'x'.repeat(150_000)
    expect((await home.run('short', { text })).error).toContain('too large for an argument: "input": "stdin"')
    expect((await home.run('long', { text })).text).toBe('150000')
  })

  // Published tools of this contract, in all their variants.
  it.each<[string, Record<string, string>, object]>([
    [
      'returns and an output without text and html',
      pythonTool('shape', 'print(json.dumps({"results": [1, 2], "count": 2, "_meta": {"ms": 4}}))', {
        returns: { results: { type: 'array' }, count: { type: 'integer' } },
      }),
      { ok: true, text: '{"results":[1,2],"count":2}' },
    ],
    [
      'further keys in the output',
      pythonTool('shape', 'print(json.dumps({"text": "ok", "results": [1], "_meta": {}}))'),
      { ok: true, text: 'ok' },
    ],
    [
      'html that is null',
      pythonTool('shape', 'print(json.dumps({"text": "ok", "html": None, "title": None}))', {
        output: { card: { enabled: true } },
      }),
      { ok: true, text: 'ok', html: null, card: null },
    ],
    [
      'settings as an empty object',
      pythonTool('shape', 'print(json.dumps({"text": str(settings)}))', { config_schema: {} }),
      { text: '{}' },
    ],
    [
      'settings as a list, with keys in capitals',
      pythonTool('shape', 'print(json.dumps({"text": settings["BASE_URL"]}))', {
        config_schema: [{ key: 'BASE_URL', default: 'https://api.example.com' }],
      }),
      { ok: true, text: 'https://api.example.com' },
    ],
    [
      'an error and exit code 1',
      pythonTool('shape', 'print(json.dumps({"error": "no such city"}))\nsys.exit(1)'),
      { ok: false, error: 'no such city', outcome: 'failed' },
    ],
    [
      'an error and exit code 0',
      pythonTool('shape', 'print(json.dumps({"error": "no such city"}))'),
      { ok: false, error: 'no such city', outcome: 'failed' },
    ],
    [
      'a failure outside of it',
      pythonTool('shape', 'print(json.dumps({"error": "502", "failure_class": "external"}))'),
      { ok: false, error: '502', outcome: 'service_failed' },
    ],
    [
      'words on standard error alone',
      bashTool('shape', 'echo "cannot connect" >&2; exit 3'),
      { ok: false, error: 'cannot connect', log: 'cannot connect' },
    ],
    [
      'a log on standard error',
      pythonTool('shape', 'print("fetching", file=sys.stderr)\nprint(json.dumps({"text": "ok"}))'),
      { ok: true, text: 'ok', log: 'fetching' },
    ],
    [
      '30 kB of valid JSON',
      pythonTool('shape', 'print(json.dumps({"text": "line\\n" * 6000}))'),
      { ok: true, text: 'line\n'.repeat(6_000) },
    ],
    ['what is no JSON', bashTool('shape', 'echo hello'), { ok: false, error: 'It printed no JSON but "hello"' }],
    ['nothing', bashTool('shape', 'true'), { ok: false, error: 'It printed nothing' }],
    [
      'a time that runs out',
      bashTool('shape', 'echo \'{"text": "early"}\'; sleep 60', { constraints: { timeout_seconds: 1 } }),
      { ok: false, text: null, error: 'timed out after 1 s', outcome: 'timed_out' },
    ],
    [
      'more output than is taken',
      pythonTool('shape', 'print(json.dumps({"text": "x" * 1100000}))'),
      { ok: false, text: null, error: 'output too large: more than 1 MB on standard output' },
    ],
  ])('TOOL-1 takes a tool with %s', async (_, files, expected) => {
    home.writeTool('shape', files)
    await home.start()
    expect(await home.run('shape')).toMatchObject(expected)
  })

  it.each([
    ['its time', 'sleep 60', 'timed_out'],
    ['it', 'echo \'{"text": "done"}\'', 'succeeded'],
  ])('TOOL-4 leaves no child that would outlive %s', async (_, end, outcome) => {
    const mark = newMark()
    const body = `(exec -a ${mark} sleep 60 >/dev/null 2>&1) & disown; ${end}`
    home.writeTool('parent', bashTool('parent', body, { constraints: { timeout_seconds: 2 } }))
    await home.start()
    expect((await home.run('parent')).outcome).toBe(outcome)
    expect(processesMarked(mark)).toEqual([])
  })

  it('TOOL-1 lists what is wrong with its reason while the others work', async () => {
    home.writeTool('good', bashTool('good', 'echo \'{"text": "ok"}\''))
    home.writeTool('bad_json', { 'manifest.json': '{"name": ', 'runner.sh': '' })
    home.writeTool('bad_trigger', bashTool('bad_trigger', '', { trigger: { type: 'hourly' } }))
    home.writeTool('no_manifest', { 'runner.sh': '' })
    home.writeTool('no_runner', { 'manifest.json': bashTool('no_runner', '')['manifest.json'] ?? '' })
    home.writeTool('Upper', bashTool('Upper', ''))
    home.writeTool('notes', { 'readme.md': 'no tool at all' })
    await home.start()
    const list = await home.catalog.list('max')
    expect(list.map(({ name, status }) => `${name} ${status}`)).toEqual([
      'Upper error',
      'bad_json error',
      'bad_trigger error',
      'good system',
      'no_manifest error',
      'no_runner error',
    ])
    const problems = Object.fromEntries(list.map(({ name, problem }) => [name, problem]))
    expect(problems).toMatchObject({
      Upper: expect.stringContaining('name: expected up to 64 small letters'),
      bad_json: expect.stringContaining('manifest.json is no JSON'),
      bad_trigger: expect.stringContaining('trigger.type: expected one of'),
      no_manifest: 'manifest.json is missing',
      no_runner: expect.stringContaining('There is no Dockerfile and no runner'),
    })
    expect((await home.run('good')).text).toBe('ok')
    expect(await home.run('bad_trigger')).toMatchObject({ ok: false, outcome: 'refused' })
    expect(home.registry.list().map((tool) => tool.definition.name)).toEqual(['good'])
  })

  it('TOOL-3 names what is missing, and tells what it left out', async () => {
    const parameters = { city: { type: 'string', required: true }, days: { type: 'integer', default: 3 } }
    home.writeTool('weather', pythonTool('weather', 'print(json.dumps({"text": str(params)}))', { parameters }))
    await home.start()
    expect(await home.call('weather', { days: 'x' })).toMatchObject({
      isError: true,
      text: '[TOOL:weather]\nError: Bad parameters for weather: city is missing; days: expected a whole number, found "x".\n[/TOOL]',
    })
    expect((await home.call('weather', { city: 'Valletta', mood: 1, _state: {} })).text).toBe(
      "[TOOL:weather]\n{'city': 'Valletta', 'days': 3}\n[/TOOL]\nLeft out, since it does not know them: \"mood\", \"_state\".",
    )
  })

  it('TOOL-9 tells the text where there is no card to hide it behind, and marks what is passing', async () => {
    const hidden = { synthesize: false, ephemeral: true, card: { enabled: true, title: 'Weather in {{city}}' } }
    const body = 'print(json.dumps({"text": "Sunny", "html": "<b>Sun</b>" if params.get("city") else None}))'
    const manifest = { output: hidden, parameters: { city: { type: 'string' } } }
    home.writeTool('weather', pythonTool('weather', body, manifest))
    await home.start()
    const withCard = await home.call('weather', { city: 'Valletta' })
    expect(withCard).toMatchObject({ card: { title: 'Weather in Valletta' }, isEphemeral: true })
    expect(withCard.text).not.toContain('Sunny')
    const without = await home.call('weather', {})
    expect(without.card).toBeUndefined()
    expect(without.text).toBe('[TOOL:weather]\nSunny\n[/TOOL]')
  })

  it('TOOL-8 gives the model what a card says where there is no text, and no more than 3,000 characters', async () => {
    const card = { output: { card: { enabled: true } } }
    home.writeTool('card', pythonTool('card', 'print(json.dumps({"html": "<p>Only a card</p>"}))', card))
    home.writeTool('long', pythonTool('long', 'print(json.dumps({"text": "x" * 9000}))'))
    await home.start()
    expect((await home.call('card', {})).text).toContain('Only a card')
    expect((await home.call('long', {})).text.length).toBeLessThan(3_050)
  })

  it('TOOL-11 shows what is left of a budget, and writes every run down', async () => {
    const body = 'print(json.dumps({"text": "found", "budget_remaining": 940}))'
    home.writeTool('search', pythonTool('search', body, { constraints: { cost_budget: 1000 } }))
    await home.start()
    const outcome = await home.call('search', {})
    expect(outcome.text).toBe('[TOOL:search]\nfound\n[/TOOL]\nBudget left: 940 of 1000.')
    expect(outcome.ran).toEqual({ driver: 'embedded', budgetRemaining: 940 })
    await home.run('search')
    await home.run('search', {}, { caller: 'cron', userId: 'eve' })
    expect(await home.catalog.calls('max', { limit: 10 })).toMatchObject([
      { tool: 'search', caller: 'user', outcome: 'succeeded', budgetRemaining: 940, driver: 'embedded' },
    ])
    expect(await home.catalog.calls('eve', { tool: 'search', limit: 10 })).toMatchObject([{ caller: 'cron' }])
  })

  it('TOOL-11 writes down a run that throws, and none of a tool that is not there', async () => {
    home.writeTool('slow', pythonTool('slow', 'import time\ntime.sleep(60)'))
    await home.start()
    const caller = new AbortController()
    const running = home.run('slow', {}, { signal: caller.signal })
    setTimeout(() => caller.abort(new Error('The caller has hung up')), 300)
    await expect(running).rejects.toThrow('The caller has hung up')
    await expect(home.run('none')).rejects.toMatchObject({ code: 'not_found' })
    expect(await home.catalog.calls('max', { limit: 10 })).toMatchObject([
      { tool: 'slow', caller: 'user', outcome: 'failed', error: 'The caller has hung up' },
    ])
  })

  it('TOOL-13 gives the previous state to scheduled and webhook runs, and returns the next one', async () => {
    const body = [
      'seen = params["_state"].get("seen", 0) + 1',
      'print(json.dumps({"text": str(params.get("_webhook")), "_state": {"seen": seen}, "notify": seen > 1}))',
    ].join('\n')
    const trigger = { type: 'cron', schedule: '*/30', prompt: 'Look:' }
    home.writeTool('watcher', pythonTool('watcher', body, { trigger, notification: { default_enabled: false } }))
    home.writeTool('hook', pythonTool('hook', body, { trigger: { type: 'webhook' } }))
    await home.start()
    expect(home.tools.triggered()).toEqual([
      { name: 'hook', trigger: { kind: 'webhook' }, prompt: '', notifiesByDefault: true },
      { name: 'watcher', trigger: { kind: 'cron', schedule: '*/30' }, prompt: 'Look:', notifiesByDefault: false },
    ])
    expect(home.registry.list()).toEqual([])
    const first = await home.run('watcher', {}, { caller: 'cron', state: {} })
    expect(first).toMatchObject({ ok: true, state: { seen: 1 }, notify: false, text: 'None' })
    const second = await home.run(
      'hook',
      { event: 'push', _state: { seen: 9 } },
      { caller: 'webhook', state: { seen: 1 } },
    )
    expect(second).toMatchObject({
      state: { seen: 2 },
      notify: true,
      notes: [],
      text: "{'event': 'push', '_state': {'seen': 9}}",
    })
  })

  it('SEC-13 takes a secret out of everything that a tool brings', async () => {
    const secret = 'correct-horse-battery-9'
    const body = [
      'key = settings["KEY"]',
      'print(key, file=sys.stderr)',
      'out = {"text": key, "html": "<b>" + key + "</b>", "title": key, "_state": {"k": [key]}, "x": key}',
      'print(json.dumps({"error": key} if params.get("fail") else out))',
    ].join('\n')
    const manifest = {
      config_schema: { KEY: { secret: true, required: true } },
      parameters: { fail: { type: 'boolean' } },
      output: { card: { enabled: true } },
    }
    home.writeTool('leaky', pythonTool('leaky', body, manifest))
    await home.start()
    await home.catalog.setConfig('max', 'leaky', { KEY: secret })
    const seen = [
      await home.run('leaky'),
      await home.run('leaky', { fail: true }),
      await home.call('leaky', {}),
      await home.call('leaky', { fail: true }),
      await home.catalog.calls('max', { limit: 10 }),
    ]
    expect(JSON.stringify(seen)).not.toContain(secret)
    expect(seen[0]).toMatchObject({ ok: true, text: '[redacted]', state: { k: ['[redacted]'] } })
  })

  it('SEC-6 says of each tool what it reaches', async () => {
    const networks = {
      alone: { network: 'none' },
      nowhere: { network: 'bridge' },
      one: { network: 'bridge', hosts: ['api.example.com'] },
      many: { network: 'bridge', hosts: ['a.example.com', '*.example.org'] },
      machine: { network: 'host' },
    }
    for (const [name, sandbox] of Object.entries(networks)) home.writeTool(name, bashTool(name, 'true', { sandbox }))
    await home.start()
    await home.catalog.setEnabled('machine', true)
    const reaches = home.registry.list().map((tool) => [tool.definition.name, tool.reach({}), tool.effect])
    expect(reaches).toEqual([
      ['alone', { kind: 'read', destination: null }, 'idempotent'],
      ['machine', { kind: 'host', destination: "tool:machine on this machine's network" }, 'at-most-once'],
      ['many', { kind: 'reach', destination: 'tool:many', isApproved: true }, 'at-most-once'],
      ['nowhere', { kind: 'read', destination: null }, 'idempotent'],
      ['one', { kind: 'reach', destination: 'https://api.example.com', isApproved: true }, 'at-most-once'],
    ])
  })
})

describe('the environment of a tool', () => {
  let home: ContractToolsHome
  afterEach(() => home.close())

  it('TOOL-11 runs nothing once tools are switched off', async () => {
    const driver = createUnsandboxedDriver()
    home = await openContractTools({ driver })
    home.writeTool('good', bashTool('good', 'echo \'{"text": "ok"}\''))
    await home.start()
    home.switches.isEnabled = false
    expect(await home.run('good')).toMatchObject({
      ok: false,
      outcome: 'refused',
      error: expect.stringContaining('switched off'),
    })
    expect(home.registry.find('good')).toBeUndefined()
    expect(driver.runs).toEqual([])
    expect(await home.catalog.list('max')).toMatchObject([{ status: 'disabled' }])
    home.switches.isEnabled = true
    expect((await home.run('good')).ok).toBe(true)
  })

  it('TOOL-4 hands the sandbox the limits of the manifest, and the way out that it declares', async () => {
    const driver = createUnsandboxedDriver()
    home = await openContractTools({ driver })
    const sandbox = { memory: '64m', network: 'bridge', hosts: ['api.example.com'], writable: true }
    home.writeTool('net', bashTool('net', 'echo \'{"text": "ok"}\'', { sandbox, constraints: { timeout_seconds: 4 } }))
    await home.start()
    await home.run('net')
    const [command] = driver.runs
    expect(command).toMatchObject({
      isWritable: true,
      network: { kind: 'proxy', socketPath: expect.stringContaining('/proxy/') },
      limits: { memoryBytes: 64 * 1024 ** 2, processes: 64, wallMs: 4_000, outputBytes: 1024 ** 2 },
    })
  })

  it('CARD-4 the pictures of a card come from the hosts of its tool, as data, and from nowhere else', async () => {
    const asked: { addresses: readonly string[]; hosts: readonly string[] }[] = []
    const data = 'data:image/png;base64,iVBORw0KGgo='
    home = await openContractTools({
      driver: createUnsandboxedDriver(),
      async fetchPictures({ addresses, hosts, onRefused }) {
        asked.push({ addresses, hosts })
        onRefused('b.example.com')
        return new Map([['https://a.example.com/1.png', data]])
      },
    })
    const html =
      '<p>Look</p><img src=https://a.example.com/1.png alt=One><img src=https://b.example.com/2.png alt=Two><img src=/3.png alt=Three>'
    const script = `echo '${JSON.stringify({ text: 'ok', html })}'`
    home.writeTool('seen', bashTool('seen', script, { sandbox: { network: 'bridge', hosts: ['a.example.com'] } }))
    home.writeTool('blind', bashTool('blind', script, { sandbox: { network: 'none' } }))
    await home.start()
    const seen = await home.run('seen')
    expect(seen.html).toBe(`<p>Look</p><img src="${data}" alt="One">TwoThree`)
    expect(seen.notes.join(' ')).toContain('familiar tools allow seen b.example.com')
    expect(asked).toEqual([
      { addresses: ['https://a.example.com/1.png', 'https://b.example.com/2.png'], hosts: ['a.example.com'] },
    ])
    expect((await home.run('blind')).html).toBe('<p>Look</p>OneTwoThree')
    expect(asked).toHaveLength(1)
  })

  it('TOOL-5 is named in its status, and looked for again when it is asked for', async () => {
    const lacks = ['jq']
    const clock = createManualClock()
    home = await openContractTools({ driver: createUnsandboxedDriver({ lacks }), clock })
    home.writeTool('tool_example', toolExample)
    await home.start()
    expect(await home.catalog.list('max')).toMatchObject([
      { status: 'error', problem: 'needs jq, which is not installed: sudo apt-get install jq' },
    ])
    expect(home.registry.list()).toEqual([])
    lacks.pop()
    await clock.advance(10_000)
    expect(await home.catalog.list('max')).toMatchObject([{ status: 'system', problem: null }])
    expect(home.registry.list()).toHaveLength(1)
  })

  it('SEC-12 no sandbox, no run: the tool says so and is not offered', async () => {
    const driver = createUnsandboxedDriver()
    driver.test = async () => ({
      ok: false,
      reason: 'memory is not held',
      proofs: [],
      fix: 'sudo apt-get install bubblewrap',
    })
    home = await openContractTools({ driver })
    home.writeTool('good', bashTool('good', 'echo \'{"text": "ok"}\''))
    await home.start()
    expect(await home.catalog.list('max')).toMatchObject([
      { status: 'error', problem: 'Code does not run here, since no sandbox holds: sudo apt-get install bubblewrap' },
    ])
    expect(await home.run('good')).toMatchObject({ ok: false, outcome: 'refused' })
    expect(driver.runs).toEqual([])
  })
})

const secret = 'sk-canary-3f7a91c2'
const settings = {
  API_KEY: { description: 'Your key', secret: true, required: true },
  endpoint: { description: 'Where', default: 'https://api.example.com/v1' },
  days: { required: true },
}
const builtin = [toolOf('recall_memory', async () => ({ text: '', isError: false }))]

const { sandbox, close } = openRealSandbox()
afterAll(close)

describe('the catalog of tools', () => {
  let home: ContractToolsHome
  beforeEach(async () => {
    home = await openContractTools({ sandbox, builtin })
    const body = 'print(json.dumps({"text": json.dumps(settings, sort_keys=True)}))'
    home.writeTool(
      'weather',
      pythonTool('weather', body, { config_schema: settings, category: 'context', version: '1.2' }),
    )
    home.writeTool('plain', bashTool('plain', 'echo \'{"text": "ok"}\''))
    await home.start()
  })
  afterEach(() => home.close())

  const refused = (work: Promise<unknown>) =>
    work.then(
      () => 'done',
      (cause) => `${cause.code}: ${cause.message}`,
    )

  it('TOOL-6 tells the status of each tool and what is missing', async () => {
    const list = await home.catalog.list('max')
    expect(list.map(({ name, kind, status, problem }) => [name, kind, status, problem])).toEqual([
      ['plain', 'contract', 'system', null],
      ['recall_memory', 'builtin', 'system', null],
      ['weather', 'contract', 'available', 'needs API_KEY, days: familiar tools config weather'],
    ])
    expect(await home.catalog.test('max', 'weather')).toEqual({
      ok: false,
      message: 'needs API_KEY, days: familiar tools config weather',
    })
    await home.catalog.setConfig('max', 'weather', { API_KEY: secret, days: 3 })
    expect((await home.catalog.show('max', 'weather'))?.status).toBe('connected')
    expect(await home.catalog.test('max', 'weather')).toEqual({ ok: true, message: 'Configuration looks complete' })
    // Another user has settings of their own.
    expect((await home.catalog.show('eve', 'weather'))?.status).toBe('available')
    expect((await home.run('weather', {}, { userId: 'eve' })).error).toContain('weather needs API_KEY, days')
  })

  it('TOOL-6 shows secrets as ***, keeps them when that is written back, and gives them to the tool', async () => {
    await home.catalog.setConfig('max', 'weather', { API_KEY: secret, days: 3 })
    const shown = await home.catalog.config('max', 'weather')
    expect(shown).toEqual({ API_KEY: '***', endpoint: 'https://api.example.com/v1', days: 3 })
    await home.catalog.setConfig('max', 'weather', { ...shown, days: 5 })
    expect(await home.vault.get({ userId: 'max', owner: 'tool:weather', name: 'API_KEY' })).toBe(secret)
    expect((await home.run('weather')).text).toBe(
      '{"API_KEY": "[redacted]", "days": 5, "endpoint": "https://api.example.com/v1"}',
    )
    expect(JSON.stringify([shown, await home.catalog.show('max', 'weather')])).not.toContain(secret)
    expect(await placesHolding(home.database, join(home.home, 'familiar.db'), secret)).toEqual([])
  })

  it('TOOL-6 takes settings away, and refuses keys that there are not, writing nothing', async () => {
    await home.catalog.setConfig('max', 'weather', { API_KEY: secret, days: 3 })
    expect(await refused(home.catalog.setConfig('max', 'weather', { days: 9, typo: 1 }))).toBe(
      'bad_request: weather has no setting "typo". It has: API_KEY, endpoint, days.',
    )
    expect((await home.catalog.config('max', 'weather')).days).toBe(3)
    await home.catalog.deleteConfig('max', 'weather', 'API_KEY')
    await home.catalog.setConfig('max', 'weather', { days: null })
    expect(await home.catalog.config('max', 'weather')).toEqual({ endpoint: 'https://api.example.com/v1' })
    expect(await refused(home.catalog.deleteConfig('max', 'weather', 'typo'))).toContain('not_found')
    expect(await refused(home.catalog.setConfig('max', 'plain', { a: 1 }))).toBe(
      'bad_request: plain has no setting "a". It has none.',
    )
    expect(await refused(home.catalog.setConfig('max', 'weather', { API_KEY: { a: 1 } }))).toContain('expected a text')
    expect(await refused(home.catalog.setConfig('max', 'weather', { days: 'x'.repeat(20_000) }))).toContain(
      'bad_request',
    )
  })

  it('TOOL-6 shows all that the owner decides by', async () => {
    await home.catalog.allowHosts('weather', ['Files.Example.com', 'files.example.com', '*.example.org:8443'])
    expect(await home.catalog.show('max', 'weather')).toEqual({
      name: 'weather',
      description: 'The tool weather',
      version: '1.2',
      category: 'context',
      icon: null,
      kind: 'contract',
      trigger: 'on_demand',
      status: 'available',
      problem: 'needs API_KEY, days: familiar tools config weather',
      directory: join(home.directory, 'weather'),
      parameters: { type: 'object', properties: {} },
      configuration: [
        { key: 'API_KEY', description: 'Your key', isSecret: true, isRequired: true, default: null },
        {
          key: 'endpoint',
          description: 'Where',
          isSecret: false,
          isRequired: false,
          default: 'https://api.example.com/v1',
        },
        { key: 'days', description: '', isSecret: false, isRequired: true, default: null },
      ],
      network: { mode: 'none', declared: ['api.example.com'], allowed: ['files.example.com', '*.example.org:8443'] },
      limits: { memoryBytes: 256 * 1024 ** 2, timeoutMs: 9_000, isWritable: false, processes: 64 },
      refusedHosts: [],
      readsArgument: true,
      notes: [],
    })
    expect(await refused(home.catalog.allowHosts('weather', ['http://x/']))).toBe(
      'bad_request: "http://x/" is not a host.',
    )
  })

  it('TOOL-6 knows no tool that there is not, and runs none that is no folder', async () => {
    expect(await home.catalog.show('max', 'nothing')).toBeUndefined()
    for (const work of [
      home.run('nothing'),
      home.catalog.config('max', 'nothing'),
      home.catalog.test('max', 'nothing'),
      home.catalog.setEnabled('nothing', true),
      home.catalog.allowHosts('nothing', []),
    ]) {
      expect(await refused(work)).toContain('not_found')
    }
    expect(await home.run('recall_memory')).toMatchObject({ ok: false, outcome: 'refused' })
    expect(await home.catalog.config('max', 'recall_memory')).toEqual({})
  })

  it('TOOL-12 lists what servers bring', async () => {
    home.registry.replace('mcp:calendar', [toolOf('mcp_calendar_today', async () => ({ text: '', isError: false }))])
    expect(await home.catalog.show('max', 'mcp_calendar_today')).toMatchObject({ kind: 'mcp', status: 'connected' })
    expect(await refused(home.catalog.setEnabled('mcp_calendar_today', false))).toContain('bad_request')
  })

  it('TOOL-1 looks again when it is asked to, at the folders and at what was decided elsewhere', async () => {
    await home.database.write((writer) =>
      writer.updateTable('tool_states').set({ is_enabled: 0 }).where('name', '=', 'plain').execute(),
    )
    await home.catalog.reload()
    expect(await home.catalog.show('max', 'plain')).toMatchObject({ status: 'disabled' })
    expect(home.registry.find('plain')).toBeUndefined()
  })
})
