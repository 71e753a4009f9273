import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { McpServerSettings } from '../../src/tools/mcp/server-program.ts'
import type { ToolContext, ToolOutcome } from '../../src/tools/tool.ts'
import { type McpScene, openMcp } from '../support/mcp/mcp-scene.ts'
import { waitFor } from '../support/wait-for.ts'

const entry = join(import.meta.dirname, '../../node_modules/@modelcontextprotocol/server-everything/dist/index.js')

async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

interface Started {
  settings: McpServerSettings
  close(): void
}

/** The reference server of the MCP project, over both of its current transports. */
const transports: { [name: string]: () => Promise<Started> } = {
  async stdio() {
    const settings = { command: process.execPath, args: [entry, 'stdio'], environment: [], sampling: true }
    return { settings, close() {} }
  },
  async 'streamable HTTP'() {
    const port = await freePort()
    const env = { PATH: process.env.PATH, PORT: String(port) }
    const child = spawn(process.execPath, [entry, 'streamableHttp'], { env, stdio: ['ignore', 'ignore', 'pipe'] })
    await once(child.stderr, 'data')
    await waitFor(() => fetch(`http://127.0.0.1:${port}/mcp`))
    return {
      settings: { url: `http://127.0.0.1:${port}/mcp`, headers: {}, sampling: true },
      close: () => void child.kill('SIGKILL'),
    }
  },
}

describe.each(Object.keys(transports))('the reference server over %s', (transport) => {
  let scene: McpScene
  let server: Started | undefined
  const sampled: string[] = []

  beforeAll(async () => {
    server = await transports[transport]?.()
    if (!server) throw new Error(`There is no ${transport}`)
    scene = await openMcp(
      { every: server.settings },
      {
        allowedHosts: [{ host: '127.0.0.1' }],
        async askModel({ text }) {
          sampled.push(text)
          return { ok: true, text: 'Roses are red.' }
        },
      },
    )
  })
  afterAll(async () => {
    await scene?.close()
    server?.close()
  })

  const call = (tool: string, input: object = {}, said: Partial<ToolContext> = {}): Promise<ToolOutcome> =>
    scene.call(`mcp_every_${tool}`, { ...input }, undefined, { userText: 'go on', ...said })

  it('TOOL-12 offers all its tools', () => {
    const names = scene.names().map((name) => name.replace('mcp_every_', ''))
    expect(names.filter((name) => name !== 'get_roots_list')).toEqual([
      'echo',
      'get_annotated_message',
      'get_env',
      'get_resource_links',
      'get_resource_reference',
      'get_structured_content',
      'get_sum',
      'get_tiny_image',
      'gzip_file_as_resource',
      'list_resources',
      'read_resource',
      'simulate_research_query',
      'toggle_simulated_logging',
      'toggle_subscriber_updates',
      'trigger_elicitation_request',
      'trigger_long_running_operation',
      'trigger_sampling_request',
      'trigger_url_elicitation',
      'use_prompt',
    ])
  })

  it('TOOL-12 returns text, structured content once, links, embedded resources and pictures', async () => {
    expect(await call('echo', { message: 'hello' })).toMatchObject({ text: 'Echo: hello', label: 'untrusted' })
    expect(await call('get_sum', { a: 2, b: 3 })).toMatchObject({ text: 'The sum of 2 and 3 is 5.' })
    const structured = await call('get_structured_content', { location: 'New York' })
    expect(JSON.parse(structured.text)).toEqual({ temperature: 33, conditions: 'Cloudy', humidity: 82 })
    const links = await call('get_resource_links', { count: 2 })
    expect(links.text).toContain('[A link: Text Resource 2 demo://resource/dynamic/text/2]')
    for (const resourceType of ['Text', 'Blob']) {
      const { text } = await call('get_resource_reference', { resourceType, resourceId: 4 })
      expect(text).toMatch(/Resource 4: This is a (?:plaintext resource|base64 blob)/)
    }
    const picture = await call('get_tiny_image')
    expect(picture).toMatchObject({
      text: expect.stringContaining('[A picture: every-1.png]'),
      media: [{ mediaType: 'image/png', bytes: expect.any(Number) }],
    })
    const archive = { name: 'a.gz', data: 'data:text/plain,hello', outputType: 'resource' }
    expect(await call('gzip_file_as_resource', archive)).toMatchObject({
      text: '[A file that is not shown: demo://resource/session/a.gz (application/gzip)]',
    })
    expect(await call('get_sum', { a: 'two', b: 3 })).toMatchObject({ isError: true })
  })

  it('TOOL-12 its other tools answer, and a program gets none of this environment', async () => {
    const annotated = await call('get_annotated_message', { messageType: 'success', includeImage: true })
    expect(annotated).toMatchObject({
      isError: false,
      text: expect.stringContaining('Operation completed successfully'),
      media: [{ mediaType: 'image/png' }],
    })
    const { text } = await call('get_env')
    expect(text).toContain('PATH')
    expect(text).not.toContain('VITEST')
    expect(await call('toggle_subscriber_updates')).toMatchObject({ isError: false })
    expect(await call('toggle_subscriber_updates')).toMatchObject({ isError: false })
  })

  it('TOOL-12 reports progress, and can be stopped in the middle of a call', async () => {
    scene.progress.length = 0
    const done = await call('trigger_long_running_operation', { duration: 1, steps: 2 })
    expect(done.text).toBe('Long running operation completed. Duration: 1 seconds, Steps: 2.')
    expect(scene.progress[0]).toEqual({ done: 1, total: 2, message: null })
    const stop = new AbortController()
    const long = { duration: 600, steps: 6_000 }
    scene.progress.length = 0
    const running = call('trigger_long_running_operation', long, { signal: stop.signal })
    const stopped = expect(running).rejects.toThrow('stopped')
    await expect.poll(() => scene.progress.length).toBeGreaterThan(0)
    stop.abort(new Error('stopped'))
    await stopped
    expect(await call('echo', { message: 'after' })).toMatchObject({ text: 'Echo: after' })
  })

  it('TOOL-12b has resources, templates, and prompts with arguments and suggestions', async () => {
    const { text } = await call('list_resources')
    expect(text).toContain('- demo://resource/static/document/features.md')
    expect(text).toContain('- demo://resource/dynamic/text/{resourceId}')
    const read = (uri: string) => call('read_resource', { uri })
    expect((await read('demo://resource/dynamic/text/7')).text).toContain('Resource 7: This is a plaintext resource')
    expect((await read('demo://resource/dynamic/blob/7')).text).toContain('Resource 7: This is a base64 blob')
    expect((await read('demo://resource/static/document/features.md')).text).toContain('# Everything Server')
    expect(await read('demo://resource/none')).toMatchObject({ isError: true })

    const prompt = (name?: string, more = {}) => call('use_prompt', { ...(name && { name }), ...more })
    expect((await prompt()).text).toContain('- args-prompt(city, state?)')
    expect((await prompt('simple-prompt')).text).toContain('[user]\nThis is a simple prompt without arguments.')
    expect((await prompt('args-prompt', { arguments: { city: 'Austin', state: 'Texas' } })).text).toContain(
      'Austin, Texas',
    )
    const embedded = await prompt('resource-prompt', { arguments: { resourceType: 'Text', resourceId: '3' } })
    expect(embedded.text).toContain('Resource 3: This is a plaintext resource')
    const departments = await prompt('completable-prompt', { suggest: 'department' })
    expect(departments.text.split('\n')).toContain('- Engineering')
    const names = await prompt('completable-prompt', {
      arguments: { department: 'Engineering', name: 'A' },
      suggest: 'name',
    })
    expect(names.text).toBe('- Alice')
  })

  it('TOOL-12c asks the user with a form, with a link, and after an error', async () => {
    const asked = await call('trigger_elicitation_request')
    expect(asked.question).toContain('> - titledSingleSelectEnum (one of: Superman, Green Lantern, Wonder Woman')
    const words =
      'name: Max\ncheck: yes\nemail: max@example.org\nbirthdate: 2001-02-03\ntitledMultipleSelectEnum: tuna, trout'
    const wrong = await call(
      'trigger_elicitation_request',
      {},
      { userText: 'email: max', answers: asked.question ?? null },
    )
    expect(wrong.question).toMatch(/^Invalid answer: (?:name is missing|email takes an email address)/)
    const answer = { userText: words, answers: wrong.question ?? null }
    const answered = await call('trigger_elicitation_request', {}, answer)
    const raw = JSON.parse(/Raw result: (\{[\s\S]*\})/.exec(answered.text)?.[1] ?? '{}')
    expect(raw).toMatchObject({
      action: 'accept',
      content: {
        name: 'Max',
        check: true,
        integer: 42,
        email: 'max@example.org',
        birthdate: '2001-02-03',
        untitledSingleSelectEnum: 'Monica',
        titledSingleSelectEnum: 'hero-1',
        titledMultipleSelectEnum: ['fish-1', 'fish-3'],
        legacyTitledEnum: 'pet-1',
      },
    })
    for (const errorPath of [false, true]) {
      const input = { url: 'https://example.org/pay', elicitationId: `id-${errorPath}`, errorPath }
      let outcome = await call('trigger_url_elicitation', input)
      expect(outcome.question).toContain('in your browser:')
      for (let step = 0; step < 3 && outcome.question !== undefined; step += 1) {
        outcome = await call('trigger_url_elicitation', input, { userText: 'done', answers: outcome.question })
      }
      expect(outcome).toMatchObject({ isError: false, text: expect.stringContaining('accept') })
    }
  })

  it('COST-2a uses the model only through Familiar', async () => {
    const outcome = await call('trigger_sampling_request', { prompt: 'Write a poem.', maxTokens: 50 })
    expect(outcome.text).toContain('Roses are red.')
    expect(sampled).toEqual([expect.stringContaining('Write a poem.')])
  })

  it('TOOL-12 logs its messages, and a program learns the workspace as its root', async () => {
    await call('toggle_simulated_logging')
    await expect.poll(() => scene.log.join('\n')).toContain('message of an MCP server {"server":"every","level":')
    const isProgram = transport === 'stdio'
    expect(scene.names().includes('mcp_every_get_roots_list')).toBe(isProgram)
    if (isProgram) expect((await call('get_roots_list')).text).toMatch(/1\. workspace\s+URI: file:\/\/\//)
  })

  it('TOOL-12 a tool that needs tasks of the older protocol is an error that says so', async () => {
    const outcome = await call('simulate_research_query', { topic: 'tea' })
    expect(outcome).toMatchObject({ isError: true, text: expect.stringContaining('requires task augmentation') })
  })
})
