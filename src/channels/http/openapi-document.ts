import { z } from 'zod'
import * as api from '../../protocol/api.ts'
import * as approvalApi from '../../protocol/approval-api.ts'
import * as assetApi from '../../protocol/asset-api.ts'
import * as buildApi from '../../protocol/build-api.ts'
import * as capabilityApi from '../../protocol/capability-api.ts'
import * as clientToolApi from '../../protocol/client-tool-api.ts'
import * as commandApi from '../../protocol/command-api.ts'
import * as costApi from '../../protocol/cost-api.ts'
import * as factApi from '../../protocol/fact-api.ts'
import * as finderApi from '../../protocol/finder-api.ts'
import * as healthApi from '../../protocol/health-api.ts'
import * as homeApi from '../../protocol/home-api.ts'
import * as mcpApi from '../../protocol/mcp-api.ts'
import * as memoryApi from '../../protocol/memory-api.ts'
import * as memoryUpkeepApi from '../../protocol/memory-upkeep-api.ts'
import * as openAiApi from '../../protocol/openai-api.ts'
import * as openAiResponsesApi from '../../protocol/openai-responses-api.ts'
import * as outboxApi from '../../protocol/outbox-api.ts'
import * as pageApi from '../../protocol/page-api.ts'
import * as scheduleApi from '../../protocol/schedule-api.ts'
import * as skillApi from '../../protocol/skill-api.ts'
import * as spawnApi from '../../protocol/spawn-api.ts'
import * as telegramApi from '../../protocol/telegram-api.ts'
import * as tokenApi from '../../protocol/token-api.ts'
import * as toolApi from '../../protocol/tool-api.ts'
import * as traceApi from '../../protocol/trace-api.ts'
import * as triggerApi from '../../protocol/trigger-api.ts'
import * as userApi from '../../protocol/user-api.ts'
import * as voiceApi from '../../protocol/voice-api.ts'
import type { Route } from './route.ts'

type Schema = z.ZodType

const parts: readonly [string, unknown][] = [
  ...Object.entries(api),
  ...Object.entries(approvalApi),
  ...Object.entries(assetApi),
  ...Object.entries(buildApi),
  ...Object.entries(capabilityApi),
  ...Object.entries(commandApi),
  ...Object.entries(clientToolApi),
  ...Object.entries(factApi),
  ...Object.entries(finderApi),
  ...Object.entries(mcpApi),
  ...Object.entries(memoryApi),
  ...Object.entries(memoryUpkeepApi),
  ...Object.entries(openAiApi),
  ...Object.entries(openAiResponsesApi),
  ...Object.entries(costApi),
  ...Object.entries(healthApi),
  ...Object.entries(homeApi),
  ...Object.entries(outboxApi),
  ...Object.entries(pageApi),
  ...Object.entries(telegramApi),
  ...Object.entries(traceApi),
  ...Object.entries(scheduleApi),
  ...Object.entries(skillApi),
  ...Object.entries(spawnApi),
  ...Object.entries(tokenApi),
  ...Object.entries(toolApi),
  ...Object.entries(triggerApi),
  ...Object.entries(userApi),
  ...Object.entries(voiceApi),
]

/** The description of the API, out of the same schemas that check it. Costly, so it is made when someone asks. */
export function openApiDocument(routes: readonly Route[], info: { title: string; version: string }): object {
  const names = z.registry<{ id: string }>()
  for (const [name, value] of parts) {
    if (value instanceof z.ZodType && !name.endsWith('QuerySchema')) names.add(value, { id: componentName(name) })
  }
  const requests = schemasOf(names, 'input')
  const replies = schemasOf(names, 'output')
  const isRequest = (id: string) => id.endsWith('Request')
  const components = Object.keys(replies).map((id) => [id, isRequest(id) ? requests[id] : replies[id]])

  const reference = (schema: Schema) => ({ $ref: pointer(names.get(schema)?.id ?? '') })
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, reference) }
  }
  return {
    openapi: '3.1.0',
    info,
    paths,
    components: {
      schemas: Object.fromEntries(components),
      securitySchemes: { token: { type: 'http', scheme: 'bearer' }, signature },
    },
  }
}

function operation(route: Route, reference: (schema: Schema) => object): object {
  const { status, schema, events, mediaTypes = [] } = route.reply
  const content = {
    ...(schema && { 'application/json': { schema: reference(schema) } }),
    ...(events && { 'text/event-stream': textContent }),
    ...textOf(mediaTypes),
  }
  const error = {
    description: 'What went wrong',
    content: { 'application/json': { schema: reference(errorSchemaOf(route)) } },
  }
  return {
    summary: route.summary,
    security: securityOf[route.auth],
    parameters: [...pathParameters(route.path), ...queryParameters(route.query)],
    ...(route.body && {
      requestBody: { required: true, content: { 'application/json': { schema: reference(route.body) } } },
    }),
    ...(route.rawBody && { requestBody: { required: true, content: textOf(route.rawBody.mediaTypes) } }),
    responses: { [status]: { description: 'Done', content }, default: error },
  }
}

function errorSchemaOf({ path }: Route): Schema {
  return path.startsWith('/v1/') ? openAiApi.openAiErrorReplySchema : api.errorReplySchema
}

const securityOf: Record<Route['auth'], object[]> = {
  token: [{ token: [] }],
  optional: [{}, { token: [] }],
  signature: [{ signature: [] }],
  link: [{}],
}

const signature = {
  type: 'apiKey',
  in: 'header',
  name: 'x-familiar-signature',
  description:
    'HMAC-SHA256 in hex over "timestamp.nonce.body", with x-familiar-timestamp (seconds) and x-familiar-nonce (8 to 128 letters, digits, - and _, used once).',
}

const textContent = { schema: { type: 'string' } }

function textOf(mediaTypes: readonly string[]): Record<string, object> {
  return Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, textContent]))
}

function pathParameters(path: string): object[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => {
    return { name, in: 'path', required: true, schema: { type: 'string' } }
  })
}

function queryParameters(query: Schema | undefined): object[] {
  if (!query) return []
  const { properties = {}, required = [] } = z.toJSONSchema(query, { io: 'input', unrepresentable: 'any' })
  return Object.entries(properties).map(([name, schema]) => {
    return { name, in: 'query', required: required.includes(name), schema }
  })
}

function schemasOf(names: z.core.$ZodRegistry<{ id: string }>, io: 'input' | 'output'): Record<string, object> {
  return z.toJSONSchema(names, { io, uri: pointer, unrepresentable: 'any' }).schemas
}

function componentName(schemaName: string): string {
  const name = schemaName.replace(/Schema$/, '')
  return name.charAt(0).toUpperCase() + name.slice(1)
}

function pointer(id: string): string {
  return `#/components/schemas/${id}`
}
