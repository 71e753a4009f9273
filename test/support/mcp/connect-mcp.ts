import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as OlderStdioTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as OlderHttpTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  PromptListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'

/** The location of a server: an address, or a program. */
export type McpTarget =
  | { url: string; token: string; headers?: Record<string, string> }
  | { command: string; args: string[]; env: Record<string, string> }

export interface McpAnswer {
  text: string
  isError: boolean
  data: Record<string, unknown>
}

/** One of the two official clients, with the differences of their generations taken out. */
export interface McpTestClient {
  version(): string
  tools(): Promise<{ name: string; annotations?: object | undefined }[]>
  call(name: string, input?: Record<string, unknown>, onProgress?: (message: string) => void): Promise<McpAnswer>
  /** Page after page. */
  resources(): Promise<{ uri: string; name: string }[]>
  templates(): Promise<string[]>
  read(uri: string): Promise<string>
  prompts(): Promise<string[]>
  prompt(name: string, given: Record<string, string>): Promise<string>
  complete(template: string, argument: string, value: string): Promise<string[]>
  /** Of changes of these resources, of tools and of prompts. */
  follow(...uris: string[]): Promise<void>
  /** The received messages, and a signal for more. */
  heard: string[]
  untilHeard(what: string): Promise<void>
  close(): Promise<void>
}

export const generations = ['older', 'newer'] as const
export type Generation = (typeof generations)[number]

export async function connectMcp(generation: Generation, target: McpTarget): Promise<McpTestClient> {
  return generation === 'older' ? connectOlder(target) : connectNewer(target)
}

const info = { name: 'a-test', version: '1.0.0' }
const initOf = (target: Extract<McpTarget, { url: string }>) => {
  return { requestInit: { headers: { authorization: `Bearer ${target.token}`, ...target.headers } } }
}

async function connectOlder(target: McpTarget): Promise<McpTestClient> {
  const client = new OlderClient(info)
  const ears = createEars()
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => ears.hear(params.uri))
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => ears.hear('tools'))
  client.setNotificationHandler(PromptListChangedNotificationSchema, () => ears.hear('prompts'))
  const transport =
    'url' in target
      ? new OlderHttpTransport(new URL(target.url), initOf(target))
      : new OlderStdioTransport({ ...target, stderr: 'pipe' })
  let version = ''
  Object.assign(transport, {
    setProtocolVersion(agreed: string) {
      version = agreed
    },
  })
  await client.connect(transport as Parameters<OlderClient['connect']>[0])
  return {
    ...common(client as unknown as Client),
    ...ears,
    version: () => version,
    async follow(...uris) {
      for (const uri of uris) await client.subscribeResource({ uri })
    },
    async close() {
      if (transport instanceof OlderHttpTransport) await transport.terminateSession().catch(() => undefined)
      await client.close()
    },
  }
}

async function connectNewer(target: McpTarget): Promise<McpTestClient> {
  const client = new Client(info, { versionNegotiation: { mode: 'auto' } })
  const ears = createEars()
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => ears.hear(params.uri))
  client.setNotificationHandler('notifications/tools/list_changed', () => ears.hear('tools'))
  client.setNotificationHandler('notifications/prompts/list_changed', () => ears.hear('prompts'))
  const transport =
    'url' in target
      ? new StreamableHTTPClientTransport(new URL(target.url), initOf(target))
      : new StdioClientTransport({ ...target, stderr: 'pipe' })
  await client.connect(transport)
  return {
    ...common(client),
    ...ears,
    version: () => client.getNegotiatedProtocolVersion() ?? '',
    async follow(...uris) {
      await client.listen({ resourceSubscriptions: uris, toolsListChanged: true, promptsListChanged: true })
    },
    close: () => client.close(),
  }
}

function createEars() {
  const heard: string[] = []
  const waiting = new Set<() => void>()
  return {
    heard,
    hear(what: string) {
      heard.push(what)
      for (const look of waiting) look()
    },
    async untilHeard(what: string) {
      while (!heard.includes(what)) {
        await new Promise<void>((resolve) => {
          const look = () => {
            waiting.delete(look)
            resolve()
          }
          waiting.add(look)
        })
      }
    },
  }
}

/** The common messages of both. */
function common(client: Client) {
  return {
    tools: async () => (await client.listTools()).tools,
    async call(name: string, input: Record<string, unknown> = {}, onProgress?: (message: string) => void) {
      const options = onProgress && {
        onprogress: ({ message }: { message?: string | undefined }) => onProgress(message ?? ''),
      }
      const older = client as unknown as OlderClient
      const isOlder = client instanceof OlderClient
      const result = isOlder
        ? await older.callTool({ name, arguments: input }, undefined, options)
        : await client.callTool({ name, arguments: input }, options)
      const content = result.content as { type: string; text?: string }[]
      return {
        text: content.map(({ text }) => text ?? '').join('\n'),
        isError: result.isError === true,
        data: (result.structuredContent ?? {}) as Record<string, unknown>,
      }
    },
    async resources() {
      const found: { uri: string; name: string }[] = []
      let cursor: string | undefined
      do {
        const page = await client.listResources(cursor === undefined ? undefined : { cursor })
        found.push(...page.resources)
        // The newer client turns the pages itself.
        cursor = page.nextCursor
      } while (cursor !== undefined)
      return found
    },
    templates: async () => (await client.listResourceTemplates()).resourceTemplates.map((one) => one.uriTemplate),
    async read(uri: string) {
      const { contents } = await client.readResource({ uri })
      return contents.map((one) => ('text' in one ? one.text : '')).join('\n')
    },
    prompts: async () => (await client.listPrompts()).prompts.map(({ name }) => name),
    async prompt(name: string, given: Record<string, string>) {
      const { messages } = await client.getPrompt({ name, arguments: given })
      return messages.map(({ content }) => (content.type === 'text' ? content.text : '')).join('\n')
    },
    async complete(template: string, argument: string, value: string) {
      const { completion } = await client.complete({
        ref: { type: 'ref/resource', uri: template },
        argument: { name: argument, value },
      })
      return completion.values
    },
  }
}
