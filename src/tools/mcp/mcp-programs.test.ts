import { readFileSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { type McpScene, openMcp, rawServer, sdkServer } from '../../../test/support/mcp/mcp-scene.ts'
import { waitFor } from '../../../test/support/wait-for.ts'
import { serverFingerprint } from './tool-listing.ts'

function isAlive(pid: number): boolean {
  try {
    // A zombie that waits for its parent counts as dead.
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

describe('a working server', () => {
  let scene: McpScene
  beforeAll(async () => {
    const one = { ...sdkServer(), environment: ['CALENDAR_KEY', 'NOT_SET'] }
    const two = rawServer('refuses')
    scene = await openMcp({ one, two }, { environment: { CALENDAR_KEY: 'k', OTHER: 'o' } })
  })
  afterAll(() => scene.close())

  it('TOOL-12 has its tools under prefixed names', () => {
    expect(scene.names()).toEqual([
      'mcp_one_add_numbers',
      'mcp_one_change',
      'mcp_one_child',
      'mcp_one_echo',
      'mcp_one_environment',
      'mcp_one_fail',
      'mcp_one_hang',
      'mcp_one_long',
      'mcp_one_picture',
      'mcp_one_progress',
      'mcp_two_go',
    ])
    expect(scene.tool('mcp_one_add_numbers').definition).toEqual({
      name: 'mcp_one_add_numbers',
      description: 'Adds two numbers.',
      inputSchema: expect.objectContaining({ type: 'object', required: ['a', 'b'] }),
    })
  })

  it('SEC-13 gets only the named variables, and none of ours', async () => {
    const { env } = JSON.parse((await scene.call('mcp_one_environment')).text)
    expect(env).toEqual({ PATH: '/usr/local/bin:/usr/bin:/bin', CALENDAR_KEY: 'k' })
  })

  it('TOOL-12 its standard error goes to the log', async () => {
    await scene.call('mcp_one_echo', { text: 'x' })
    await waitFor(() => expect(scene.log.join('\n')).toContain('"line":"the server is here"'))
  })

  it('SEC-6 returns untrusted text, and acts unless it declares read-only and closed-world', async () => {
    expect(await scene.call('mcp_one_echo', { text: 'x' })).toMatchObject({ label: 'untrusted', isPrivate: true })
    expect(scene.tool('mcp_one_echo').reach({})).toEqual({ kind: 'read', destination: 'mcp:one' })
    // `readOnlyHint` alone is not enough: reading from the open world sends the arguments there.
    expect(scene.tool('mcp_one_add_numbers').reach({})).toEqual({
      kind: 'reach',
      destination: 'mcp:one',
      isApproved: true,
    })
    expect(scene.tool('mcp_one_fail').reach({})).toEqual({ kind: 'reach', destination: 'mcp:one', isApproved: true })
    expect(scene.tool('mcp_one_echo').effect).toBe('idempotent')
    expect(scene.tool('mcp_one_add_numbers').effect).toBe('idempotent')
    expect(scene.tool('mcp_one_fail').effect).toBe('at-most-once')
  })

  it('TOOL-12 gets the arguments unchanged, and returns text', async () => {
    expect(await scene.call('mcp_one_add_numbers', '{"a": 2, "b": 3}')).toMatchObject({ text: '{"sum":5}' })
    expect(await scene.call('mcp_one_add_numbers', [1])).toMatchObject({
      isError: true,
      text: 'The arguments of mcp_one_add_numbers must be a JSON object.',
    })
    expect(await scene.call('mcp_one_add_numbers', { a: 'two' })).toMatchObject({ isError: true })
    expect(await scene.call('mcp_one_echo', { text: 'x'.repeat(300_000) })).toMatchObject({ isError: true })
  })

  it('TOOL-12 images and sounds are stored, and other content becomes a note', async () => {
    const { text, media } = await scene.call('mcp_one_picture')
    expect(text.split('\n')).toEqual([
      '[A picture: one-1.png]',
      '[A picture that is not shown: image/x-unknown]',
      '[A sound: one-2.wav]',
      '[A link: notes file:///notes.txt]',
      'what the file says',
    ])
    expect(media).toMatchObject([
      { mediaType: 'image/png', name: 'one-1.png' },
      { mediaType: 'audio/wav', name: 'one-2.wav' },
    ])
  })

  it('SEC-18 output is limited', async () => {
    const { text } = await scene.call('mcp_one_long')
    expect(text.length).toBeLessThan(20_100)
    expect(text).toContain('[… 80000 more characters]')
  })

  it('TOOL-12 reports progress', async () => {
    expect(await scene.call('mcp_one_progress')).toMatchObject({ text: 'done' })
    expect(scene.progress).toEqual([{ done: 1, total: 2, message: 'half' }])
  })

  it('TOOL-12 failures and refusals are passed on in its own words', async () => {
    expect(await scene.call('mcp_one_fail')).toMatchObject({
      isError: true,
      text: 'no such calendar',
      label: 'untrusted',
    })
    expect(await scene.call('mcp_two_go')).toMatchObject({
      isError: true,
      text: expect.stringContaining('no such thing'),
    })
    expect(scene.mcp.servers()).toMatchObject([{ isConnected: true }, { isConnected: true }])
  })

  it('LOOP-8 a stopped call is released, and the server continues', async () => {
    const controller = new AbortController()
    const calling = scene.call('mcp_one_hang', {}, controller.signal)
    setTimeout(() => controller.abort(new Error('stopped')), 100)
    await expect(calling).rejects.toThrow('stopped')
    expect(await scene.call('mcp_one_echo', { text: 'still here' })).toMatchObject({ text: 'still here' })
  })

  it('TOOL-12 ends with everything that it started', async () => {
    const child = Number((await scene.call('mcp_one_child')).text)
    expect(isAlive(child)).toBe(true)
    await scene.mcp.close()
    await waitFor(() => expect(isAlive(child)).toBe(false))
  })
})

describe('a faulty server', () => {
  let scene: McpScene
  afterEach(() => scene.close())

  /** As if it had been approved in another state. */
  async function exchange(server: string, mode: string): Promise<void> {
    const settings = rawServer(mode)
    const { tools } = await scene.approvals.read(server)
    scene.servers[server] = settings
    await scene.approvals.approve(server, { tools, fingerprint: serverFingerprint(settings, tools) })
    await scene.mcp.refresh()
  }

  it('TOOL-12 is reported if it does not exist, or ends at once', async () => {
    const gone = { command: '/nowhere/at-all', args: [], environment: [] }
    scene = await openMcp({ gone, dies: rawServer('dies-at-start') }, { approved: false })
    const problem = expect.stringContaining('there is no program /nowhere/at-all')
    expect(await scene.inspect('gone')).toEqual({ ok: false, problem })
    expect(await scene.inspect('dies')).toEqual({ ok: false, problem: 'it ended with exit code 7' })
  })

  it('SEC-18 times out if it never answers', async () => {
    scene = await openMcp({ one: rawServer('old') }, { connectMs: 3_000 })
    await exchange('one', 'silent')
    expect(await scene.call('mcp_one_go')).toMatchObject({
      isError: true,
      serviceFailed: true,
      text: 'The MCP server one cannot be used: it did not answer within 3 seconds.',
    })
  })

  it('SEC-18 is restarted after hanging twice', async () => {
    scene = await openMcp({ one: rawServer('hang') }, { callMs: 300 })
    for (let calls = 0; calls < 2; calls += 1) {
      expect(await scene.call('mcp_one_go')).toMatchObject({ isError: true, timedOut: true })
    }
    await waitFor(() => expect(scene.mcp.servers()[0]?.isConnected).toBe(false))
  })

  it('TOOL-12 is an error if it dies in the middle, and comes back after a pause', async () => {
    const clock = createManualClock()
    scene = await openMcp({ one: rawServer('old') }, { clock })
    const died = await scene.call('mcp_one_go', { die: true })
    expect(died).toMatchObject({ isError: true, serviceFailed: true, text: expect.stringContaining('exit code 3') })
    const waiting = await scene.call('mcp_one_go')
    expect(waiting).toMatchObject({
      isError: true,
      text: expect.stringContaining('The next attempt is possible in 1 seconds'),
    })
    await clock.advance(1_000)
    expect(await scene.call('mcp_one_go')).toMatchObject({ text: 'went' })
  })

  it('SEC-18 is retried ever more rarely if it keeps dying, and never by itself', async () => {
    const clock = createManualClock()
    scene = await openMcp({ one: rawServer('old') }, { clock })
    const starts = () => scene.log.filter((line) => line.includes('the server is here')).length
    const pauses: string[] = []
    for (let deaths = 0; deaths < 4; deaths += 1) {
      await scene.call('mcp_one_go', { die: true })
      const { text } = await scene.call('mcp_one_go')
      const seconds = /in (\d+) seconds/.exec(text)?.[1] ?? '?'
      pauses.push(seconds)
      await clock.advance(Number(seconds) * 1_000)
    }
    expect(pauses).toEqual(['1', '2', '4', '8'])
    const before = starts()
    await clock.advance(60 * 60_000)
    expect(starts()).toBe(before)
  })

  it.each([
    ['garbage', 'it writes invalid messages'],
    ['flood', 'it sends too many messages'],
    ['huge', 'a message of more than 8388608 bytes'],
    ['wrong-shape', 'the MCP server one is gone'],
    ['deep', 'the MCP server one is gone'],
  ])('SEC-18 is stopped if it answers with %s', async (mode, reason) => {
    scene = await openMcp({ one: rawServer(mode) })
    expect(await scene.call('mcp_one_go')).toMatchObject({
      isError: true,
      serviceFailed: true,
      text: expect.stringContaining(reason),
    })
    await waitFor(() => expect(scene.mcp.servers()[0]?.isConnected).toBe(false))
  })

  it('TOOL-12 is killed if it ignores closed input and signals', async () => {
    scene = await openMcp({ one: rawServer('old') })
    await exchange('one', 'ignores-end')
    const pid = Number((await scene.call('mcp_one_go')).text)
    expect(isAlive(pid)).toBe(true)
    await scene.mcp.close()
    expect(isAlive(pid)).toBe(false)
  })

  it('TOOL-12 a single invalid line is tolerated', async () => {
    scene = await openMcp({ one: rawServer('one-bad-line') })
    expect(await scene.call('mcp_one_go')).toMatchObject({ text: 'went' })
  })

  it('SEC-18 cannot keep Familiar busy with its own pattern', async () => {
    scene = await openMcp({ one: rawServer('evil-pattern') })
    expect(await scene.call('mcp_one_go')).toMatchObject({ isError: false, text: `{"x":"${'a'.repeat(40)}!"}` })
  })

  it('SEC-14 gets no access to a model', async () => {
    scene = await openMcp({ one: rawServer('asks-model') })
    expect(await scene.call('mcp_one_go')).toMatchObject({ text: 'the model was refused with -32601' })
  })
})

describe('protocol versions', () => {
  let scene: McpScene
  afterEach(() => scene.close())

  it('TOOL-12 supports the current and the older ones', async () => {
    const servers = {
      current: sdkServer(),
      older: rawServer('old'),
      oldest: rawServer('oldest'),
      // Some older programs exit on the first question of the newer protocol, or ignore it.
      ends: rawServer('dies-when-asked'),
      silent: rawServer('says-nothing'),
    }
    scene = await openMcp(servers, { approved: false })
    const seen = await Promise.all(Object.keys(servers).map((server) => scene.inspect(server)))
    expect(seen.map((inspection) => (inspection.ok ? inspection.protocolVersion : inspection.problem))).toEqual([
      '2026-07-28',
      '2025-11-25',
      '2024-11-05',
      '2025-11-25',
      '2025-11-25',
    ])
  })

  it('TOOL-12 rejects an unknown one', async () => {
    scene = await openMcp({ one: rawServer('newer') }, { approved: false })
    expect(await scene.inspect('one')).toMatchObject({ ok: false, problem: expect.stringContaining('2099-01-01') })
  })
})
