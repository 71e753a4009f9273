/**
 * Everything that a span or a metric may say of what happened (SCALE-7). What is not on these lists does not exist: there is
 * no key here that could hold what was said, asked or answered. The names are OpenTelemetry's where it has one.
 */
const textKeys = [
  'gen_ai.operation.name',
  'gen_ai.provider.name',
  'gen_ai.request.model',
  'gen_ai.token.type',
  'gen_ai.agent.name',
  'gen_ai.conversation.id',
  'gen_ai.tool.name',
  'error.type',
  'http.request.method',
  'http.route',
  'url.scheme',
  'db.system.name',
  'db.operation.name',
  'cpu.mode',
  'familiar.turn.id',
  'familiar.turn.outcome',
  'familiar.request.id',
  'familiar.outbox.state',
  'familiar.telemetry.signal',
  'familiar.telemetry.reason',
] as const

const numberKeys = [
  'gen_ai.request.max_tokens',
  'gen_ai.usage.input_tokens',
  'gen_ai.usage.output_tokens',
  'gen_ai.usage.cache_read.input_tokens',
  'gen_ai.usage.cache_creation.input_tokens',
  'http.response.status_code',
  'familiar.turn.rounds',
  'familiar.turn.tool_calls',
  'familiar.recall.memories',
] as const

export type TextKey = (typeof textKeys)[number]
type NumberKey = (typeof numberKeys)[number]
export type Attributes = { [Key in TextKey]?: string } & { [Key in NumberKey]?: number }

const isText = new Set<string>(textKeys)
const isNumber = new Set<string>(numberKeys)

/** Names, ids and paths of routes: no blank, so no sentence, and no length that could hold one. */
const nameShape = /^[\w/][\w.:/@+-]{0,99}$/

/** What stands in place of whatever does not have the shape of a name. */
export const otherName = '_OTHER'

export function toName(text: string): string {
  return nameShape.test(text) ? text : otherName
}

/** What is on the lists, in the shape that it must have. Not only types keep the rest out. */
export function cleanAttributes(attributes: Attributes): [string, string | number][] {
  return Object.entries(attributes).flatMap(([key, value]): [string, string | number][] => {
    if (isText.has(key) && typeof value === 'string') return [[key, toName(value)]]
    if (isNumber.has(key) && typeof value === 'number' && Number.isFinite(value)) return [[key, value]]
    return []
  })
}

/** A class of error: its code, or the name of its kind. Never its message, which may quote anything. */
export function errorType(cause: unknown): string {
  if (typeof cause === 'object' && cause !== null && 'code' in cause && typeof cause.code === 'string')
    return toName(cause.code)
  return cause instanceof Error ? toName(cause.name) : otherName
}
