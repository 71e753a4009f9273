import type { IncomingHttpHeaders } from 'node:http'
import type { Issued } from './issued.ts'
import { isObject, type JsonObject, objects, string } from './json.ts'
import { validateAnthropicMessages } from './validate-anthropic-messages.ts'
import { type Call, invalid, type Rejection } from './wire.ts'

const MAX_CACHE_BREAKPOINTS = 4
const MIN_THINKING_BUDGET = 1024
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/

export function validateAnthropic({ headers, body }: Call, issued: Issued): Rejection | undefined {
  return (
    checkHeaders(headers) ??
    checkEnvelope(body) ??
    checkTools(body.tools) ??
    checkSystem(body.system) ??
    checkCacheControl(body) ??
    validateAnthropicMessages(body, issued)
  )
}

function checkHeaders(headers: IncomingHttpHeaders): Rejection | undefined {
  if (!headers['x-api-key'] && !headers.authorization?.startsWith('Bearer ')) {
    return { status: 401, message: 'x-api-key header is required' }
  }
  if (!headers['anthropic-version']) return invalid('anthropic-version: header is required')
  return undefined
}

function checkEnvelope(body: JsonObject): Rejection | undefined {
  if (!string(body.model)) return invalid('model: Field required')
  if (body.max_tokens === undefined) return invalid('max_tokens: Field required')
  if (!Number.isInteger(body.max_tokens)) return invalid('max_tokens: Input should be a valid integer')
  if (Number(body.max_tokens) < 1) return invalid('max_tokens: Input should be greater than or equal to 1')

  const thinking = isObject(body.thinking) ? body.thinking : {}
  if (thinking.type !== 'enabled') return undefined
  if (!Number.isInteger(thinking.budget_tokens)) return invalid('thinking.enabled.budget_tokens: Field required')
  const budget = Number(thinking.budget_tokens)
  if (budget < MIN_THINKING_BUDGET) {
    return invalid('thinking.enabled.budget_tokens: Input should be greater than or equal to 1024')
  }
  if (budget >= Number(body.max_tokens)) {
    return invalid('`max_tokens` must be greater than `thinking.budget_tokens`')
  }
  return undefined
}

function checkTools(tools: unknown): Rejection | undefined {
  const names = new Set<string>()
  for (const [index, tool] of objects(tools).entries()) {
    const name = string(tool.name)
    if (!TOOL_NAME.test(name)) {
      return invalid(`tools.${index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`)
    }
    if (names.has(name)) return invalid('tools: Tool names must be unique.')
    names.add(name)
    // Tools with a versioned type are the provider's own and bring no schema.
    if (tool.type !== undefined && tool.type !== 'custom') continue
    if (!isObject(tool.input_schema)) return invalid(`tools.${index}.custom.input_schema: Field required`)
    if (tool.input_schema.type !== 'object') {
      return invalid(`tools.${index}.custom.input_schema.type: Input should be 'object'`)
    }
  }
  return undefined
}

function checkSystem(system: unknown): Rejection | undefined {
  if (system === undefined || typeof system === 'string') return undefined
  if (!Array.isArray(system)) return invalid('system: Input should be a valid list')
  for (const block of objects(system)) {
    if (string(block.text) === '') return invalid('system: text content blocks must be non-empty')
    if (string(block.text).trim() === '') return invalid('system: text content blocks must contain non-whitespace text')
  }
  return undefined
}

/** Breakpoints count in the order in which the prompt is assembled: tools, system, messages. */
function checkCacheControl(body: JsonObject): Rejection | undefined {
  const content = objects(body.messages).flatMap(({ content }) => objects(content))
  const nested = content.flatMap((block) => [block, ...objects(block.content)])
  const marked = [...objects(body.tools), ...objects(body.system), ...nested, body].filter(({ cache_control }) =>
    isObject(cache_control),
  )
  if (marked.length > MAX_CACHE_BREAKPOINTS) {
    return invalid(`A maximum of 4 blocks with cache_control may be provided. Found ${marked.length}.`)
  }
  const ttls = marked.map(({ cache_control }) => (isObject(cache_control) && cache_control.ttl) || '5m')
  if (ttls.lastIndexOf('1h') > ttls.indexOf('5m') && ttls.includes('5m')) {
    return invalid("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block")
  }
  return undefined
}
