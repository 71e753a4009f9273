import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { systemClock } from '../../../src/base/clock.ts'
import { silentLogger } from '../../../src/base/logger.ts'
import { createChangeFeed, createMcpEndpoint } from '../../../src/http/mcp/familiar-mcp.ts'
import { createMcpServer, type McpCall, type McpSurface, type McpTool } from '../../../src/http/mcp/mcp-server.ts'
import { FamiliarError } from '../../../src/protocol/errors.ts'

/**
 * Our protocol layer and endpoint over the tools, resources and prompts that the conformance suite of the MCP project
 * expects of a server: `node test/support/mcp/conformance-server.ts PORT`, and then
 * `npx @modelcontextprotocol/conformance server --url http://127.0.0.1:PORT/mcp`.
 */

type Content = Awaited<ReturnType<McpTool['run']>>['content']

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const image = { type: 'image', mimeType: 'image/png', data: pixel } as const
const embedded = (uri: string, text: string) => {
  return { type: 'resource', resource: { uri, mimeType: 'text/plain', text } } as const
}

function tool(name: string, run: (call: McpCall) => Promise<Content> | Content, schema: object = {}): McpTool {
  return {
    scope: 'read',
    listed: { name, description: `What ${name} does.`, inputSchema: { type: 'object', ...schema } },
    run: async (_input, call) => ({ content: await run(call) }),
  }
}

const tools = [
  tool('test_simple_text', () => [{ type: 'text', text: 'This is a simple text response for testing.' }]),
  tool('test_image_content', () => [image]),
  tool('test_audio_content', () => [{ type: 'audio', mimeType: 'audio/wav', data: pixel }]),
  tool('test_embedded_resource', () => [embedded('test://embedded-resource', 'This is an embedded resource content.')]),
  tool('test_multiple_content_types', () => [
    { type: 'text', text: 'Multiple content types test:' },
    image,
    embedded('test://mixed-content-resource', '{"test":"data"}'),
  ]),
  tool('test_error_handling', () => {
    throw new FamiliarError('bad_request', 'This tool intentionally returns an error for testing')
  }),
  tool('test_tool_with_progress', async ({ progress }) => {
    for (const word of ['begun', 'half', 'done']) {
      progress(word)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    return [{ type: 'text', text: 'Done.' }]
  }),
  tool('json_schema_2020_12_tool', () => [], {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $defs: { address: { type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } } },
    properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
    additionalProperties: false,
  }),
]

const texts: Record<string, string> = {
  'test://static-text': 'This is the content of the static text resource.',
  'test://watched-resource': 'Watched.',
}

const prompts: Record<string, (given: Readonly<Record<string, string>>) => object[]> = {
  test_simple_prompt: () => [{ type: 'text', text: 'This is a simple prompt for testing.' }],
  test_prompt_with_arguments: ({ arg1, arg2 }) => [
    { type: 'text', text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` },
  ],
  test_prompt_with_embedded_resource: ({ resourceUri = '' }) => [
    embedded(resourceUri, 'Embedded resource content for testing.'),
    { type: 'text', text: 'Please process the embedded resource above.' },
  ],
  test_prompt_with_image: () => [image, { type: 'text', text: 'Please analyze the image above.' }],
}

const surface: McpSurface = {
  tools: { list: () => tools, find: (name) => tools.find(({ listed }) => listed.name === name) },
  resources: {
    templates: [{ name: 'data', uriTemplate: 'test://template/{id}/data', mimeType: 'application/json' }],
    async list() {
      return { resources: Object.keys(texts).map((uri) => ({ uri, name: uri, mimeType: 'text/plain' })) }
    },
    async read(uri) {
      if (uri === 'test://static-binary') return { contents: [{ uri, mimeType: 'image/png', blob: pixel }] }
      const id = /^test:\/\/template\/(\w+)\/data$/.exec(uri)?.[1]
      const text = id ? JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) : texts[uri]
      return text === undefined ? undefined : { contents: [{ uri, mimeType: 'text/plain', text }] }
    },
    complete: async () => [],
  },
  prompts: {
    list: () => Object.keys(prompts).map((name) => ({ name, description: `What ${name} says.` })),
    get(name, given) {
      const messages = prompts[name]?.(given).map((content) => ({ role: 'user' as const, content }))
      return messages && ({ messages } as ReturnType<McpSurface['prompts']['get']>)
    },
  },
}

const clock = systemClock()
const feed = createChangeFeed({
  onWrite: () => () => undefined,
  clock,
  logger: silentLogger,
  stateOf: async () => undefined,
  toolsOf: () => '',
})
const endpoint = createMcpEndpoint({
  serve: (_caller, subscriptions) =>
    createMcpServer({
      name: 'conformance',
      version: '1',
      instructions: '',
      surface,
      subscriptions,
      logger: silentLogger,
    }),
  feed,
  clock,
  logger: silentLogger,
})
const caller = { userId: 'tester', tokenId: 'token', scope: 'owner' } as const
const listener = getRequestListener(async (request) => {
  const body: unknown = request.method === 'POST' ? await request.json() : undefined
  return endpoint.handle(request, { caller, body })
})
createServer((incoming, outgoing) => void listener(incoming, outgoing)).listen(Number(process.argv[2]), '127.0.0.1')
