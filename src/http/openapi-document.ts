import { z } from 'zod'
import { errorReplySchema } from '../protocol/api.ts'
import { features } from '../protocol/features.ts'
import { openAiErrorReplySchema } from '../protocol/openai.ts'
import { hasWireNames, time, wireName } from '../protocol/operation.ts'
import type { Route } from './route.ts'

type Schema = z.ZodType

const parts: readonly [string, unknown][] = features.flatMap((feature) => Object.entries(feature))

/** Describes the API with the schemas that validate it. This is slow, so it runs on request. */
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
  const { status, reply: schema, events, mediaTypes = [] } = route
  const content = {
    ...(schema && { 'application/json': { schema: reference(schema) } }),
    ...(events && { 'text/event-stream': textContent }),
    ...textOf(mediaTypes),
  }
  const error = {
    description: 'Error message',
    content: { 'application/json': { schema: reference(errorSchemaOf(route)) } },
  }
  return {
    summary: route.summary,
    'x-familiar-access': accessOf(route),
    security: securityOf[route.auth],
    parameters: [...pathParameters(route.path), ...queryParameters(route.query)],
    ...(route.body && {
      requestBody: { required: true, content: { 'application/json': { schema: reference(route.body) } } },
    }),
    ...(route.rawBody && { requestBody: { required: true, content: textOf(route.rawBody.mediaTypes) } }),
    responses: { [status]: { description: 'Done', content }, default: error },
  }
}

/** The access that a route needs: the scope of a token, or another proof. */
function accessOf({ auth, scope, isLocal, isOwners }: Route): string {
  if (isLocal) return 'this machine'
  if (auth === 'token') return isOwners ? `${scope}, owner of the home` : scope
  return { optional: 'open', signature: 'signature', link: 'link' }[auth]
}

function errorSchemaOf({ path }: Route): Schema {
  return path.startsWith('/v1/') ? openAiErrorReplySchema : errorReplySchema
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
  const { properties = {}, required = [] } = z.toJSONSchema(query, {
    io: 'input',
    unrepresentable: 'any',
    override: writeForWire,
  })
  return Object.entries(properties).map(([name, schema]) => {
    return { name, in: 'query', required: required.includes(name), schema }
  })
}

function schemasOf(names: z.core.$ZodRegistry<{ id: string }>, io: 'input' | 'output'): Record<string, object> {
  return z.toJSONSchema(names, { io, uri: pointer, unrepresentable: 'any', override: writeForWire }).schemas
}

function componentName(schemaName: string): string {
  const name = schemaName.replace(/Schema$/, '')
  return name.charAt(0).toUpperCase() + name.slice(1)
}

function pointer(id: string): string {
  return `#/components/schemas/${id}`
}

/** Names and times as they are on the wire. */
function writeForWire({
  zodSchema,
  jsonSchema,
}: {
  zodSchema: z.core.$ZodTypes
  jsonSchema: z.core.JSONSchema.BaseSchema
}) {
  if ((zodSchema as unknown) === time) {
    delete jsonSchema.type
    Object.assign(jsonSchema, { type: 'string', format: 'date-time' })
  }
  if (zodSchema._zod.def.type !== 'object' || !hasWireNames(zodSchema)) return
  const { properties, required } = jsonSchema
  const renamed = Object.entries(properties ?? {}).map(([name, schema]) => [wireName(name), schema])
  if (properties) jsonSchema.properties = Object.fromEntries(renamed)
  if (required) jsonSchema.required = required.map(wireName)
}
