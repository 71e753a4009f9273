import { z } from 'zod'
import { parseAnyJson } from '../../base/json.ts'

/** One message of JSON-RPC as a client wrote it; the bridge looks at no more of it than it has to. */
export interface McpMessage {
  /** Of a request; undefined for what wants no answer, and for a batch. */
  id: string | number | undefined
  method: string | undefined
  /** Undefined for a batch. */
  params: Readonly<Record<string, unknown>>
  /** The revision that a client of the newer generation names in every request. */
  revision: string | undefined
  /** To be sent as it is. */
  text: string
}

const versionKey = 'io.modelcontextprotocol/protocolVersion'
const messageSchema = z.looseObject({
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string().optional(),
  params: z.looseObject({ _meta: z.looseObject({ [versionKey]: z.string().optional() }).optional() }).optional(),
})

/** Undefined for what is no JSON. What it means is Familiar's to say. */
export function readMessage(line: string): McpMessage | undefined {
  const parsed = parseAnyJson(line)
  if (!parsed.ok) return undefined
  const text = JSON.stringify(parsed.value)
  const { data } = messageSchema.safeParse(parsed.value)
  if (!data) return { id: undefined, method: undefined, params: {}, revision: undefined, text }
  const { id, method, params = {} } = data
  const revision = params._meta?.[versionKey]
  return { id: method === undefined ? undefined : id, method, params, revision, text }
}

/** What a client of the newer generation says in headers where it speaks HTTP itself. */
export function headersOf({ method, params, revision }: McpMessage): Record<string, string> {
  if (revision === undefined || method === undefined) return {}
  const named = method === 'resources/read' ? params.uri : params.name
  const hasName = nameMethods.includes(method) && typeof named === 'string'
  return {
    'mcp-protocol-version': headerText(revision),
    'mcp-method': headerText(method),
    ...(hasName && { 'mcp-name': headerText(named) }),
  }
}

const nameMethods = ['tools/call', 'prompts/get', 'resources/read']
const plain = /^[\x21-\x7e]+$/

/** A header takes no more than this; the rest is written as the protocol says. */
function headerText(text: string): string {
  if (plain.test(text) && !text.startsWith('=?')) return text
  return `=?base64?${Buffer.from(text).toString('base64')}?=`
}
