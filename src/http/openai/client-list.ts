import type { MiddlewareHandler } from 'hono'
import { z } from 'zod'
import { sha256 } from '../../base/ids.ts'
import { canonicalJson, parseJson } from '../../base/json.ts'
import type { Embedder } from '../../memory/embedding/embedders.ts'
import type { AskModel } from '../../memory/learning/ask-model.ts'
import type { Models } from '../../models/model.ts'
import { type ErrorReply, errorReplySchema, type MessageRequest } from '../../protocol/api.ts'
import { type ErrorCode, errorStatus, FamiliarError } from '../../protocol/errors.ts'
import { clientToolsSchema, type Json, quotedHistoryType, type ToolChoice } from '../../protocol/messages.ts'
import type { OpenAiErrorReply } from '../../protocol/openai.ts'
import type { GuardedFetch } from '../../security/network/guarded-fetch.ts'
import { fenced } from '../../tools/files/references.ts'
import type { HttpEnv } from '../dependencies.ts'
import { describeRequestIssues } from '../replies.ts'

/** A file in a message, as the client gives it. `data` is base64. */
export type ListedFile =
  | { kind: 'data'; name: string; mediaType: string; data: string }
  | { kind: 'address'; name: string; url: string }

interface ListedContent {
  text: string
  files: ListedFile[]
}

/** A call that the client made, or was asked to make; null if it has no result. */
interface ListedCall {
  id: string
  name: string
  arguments: string
  result: string | null
}

export interface ListedExchange {
  said: ListedContent
  answers: string[]
  calls: ListedCall[]
}

/** The conversation as the client has it; it sends all of it every time. */
export interface ClientList {
  instructions: string
  /** The exchanges with an answer. */
  past: ListedExchange[]
  /** The exchange without an answer; with calls if the client was asked to make some. */
  newest: ListedExchange
}

export type ListItem =
  | { kind: 'instructions'; text: string }
  | { kind: 'user'; content: ListedContent }
  | { kind: 'assistant'; text: string; calls: Omit<ListedCall, 'result'>[] }
  | { kind: 'result'; callId: string; text: string }

/** Throws `bad_request` if there is nothing to answer. `key` is the name of the list in the request. */
export function toClientList(items: readonly ListItem[], key: 'messages' | 'input'): ClientList {
  const exchanges: ListedExchange[] = []
  const instructions: string[] = []
  let lastKind: ListItem['kind'] | undefined
  for (const item of items) {
    if (item.kind === 'instructions') {
      instructions.push(item.text)
      continue
    }
    take(exchanges, item, lastKind)
    lastKind = item.kind
  }
  const newest = exchanges.pop()
  if (!newest || lastKind === 'assistant') {
    throw new FamiliarError('bad_request', `${key}: the last one must be a user message or a tool result`)
  }
  return { instructions: instructions.join('\n\n').trim(), past: exchanges, newest }
}

function take(
  exchanges: ListedExchange[],
  item: Exclude<ListItem, { kind: 'instructions' }>,
  lastKind: ListItem['kind'] | undefined,
): void {
  const last = exchanges.at(-1)
  if (item.kind === 'user') {
    // Several messages in a row with one answer were sent together.
    if (last && lastKind === 'user') last.said = joined(last.said, item.content)
    else exchanges.push({ said: item.content, answers: [], calls: [] })
    return
  }
  const current = last ?? { said: { text: '', files: [] }, answers: [], calls: [] }
  if (!last) exchanges.push(current)
  if (item.kind === 'assistant') {
    if (item.text.trim() !== '') current.answers.push(item.text)
    current.calls.push(...item.calls.map((call) => ({ ...call, result: null })))
    return
  }
  const call = current.calls.find(({ id, result }) => id === item.callId && result === null)
  if (call) call.result = item.text
  else current.calls.push({ id: item.callId, name: '', arguments: '', result: item.text })
}

function joined(one: ListedContent, other: ListedContent): ListedContent {
  return {
    text: [one.text, other.text].filter((text) => text !== '').join('\n\n'),
    files: [...one.files, ...other.files],
  }
}

/** The same for the same message, with any line breaks. */
export function listedContentHash({ text, files }: ListedContent): string {
  const told = files.map((file) => (file.kind === 'data' ? sha256(file.data) : file.url))
  return sha256(canonicalJson([withoutSpaces(text), ...told])).slice(0, 32)
}

export function textHash(text: string): string {
  return listedContentHash({ text, files: [] })
}

/** Normalizes a text for comparison, because clients trim and re-wrap the texts that they store. */
export function withoutSpaces(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}

interface OfferedTool {
  name: string
  description?: string | null | undefined
  parameters?: Record<string, Json> | null | undefined
}

type AskedChoice = 'auto' | 'none' | 'required' | { name: string } | null | undefined

export interface ClientToolUse {
  tools: MessageRequest['clientTools']
  /** Sent to providers that support it, and written in the message for the others. */
  toCall: ToolChoice | undefined
}

function refuseImpossible(offered: readonly OfferedTool[], choice: AskedChoice): void {
  if (choice === 'required' && offered.length === 0) {
    throw new FamiliarError('bad_request', 'tool_choice: is "required", but there are no tools')
  }
  if (typeof choice !== 'object' || choice === null || offered.some(({ name }) => name === choice.name)) return
  throw new FamiliarError('bad_request', `tool_choice: there is no tool named ${JSON.stringify(choice.name)} in tools`)
}

/** The tools of the client for this message, and the one that it wants called. */
export function readTools(offered: readonly OfferedTool[], choice: AskedChoice): ClientToolUse {
  refuseImpossible(offered, choice)
  if (choice === 'none' || offered.length === 0) return { tools: [], toCall: undefined }
  const read = clientToolsSchema.safeParse(
    offered.map(({ name, description, parameters }) => ({
      name,
      description: description?.trim() || name,
      inputSchema: { type: 'object', ...parameters },
    })),
  )
  if (!read.success) throw new FamiliarError('bad_request', `tools: ${describeRequestIssues(read.error, 'body')}`)
  if (choice === 'required') return { tools: read.data, toCall: 'any' }
  return { tools: read.data, toCall: typeof choice === 'object' && choice ? { name: choice.name } : undefined }
}

const dataUrl = /^data:([A-Za-z0-9.+_-]+\/[A-Za-z0-9.+_-]+)?(?:;[A-Za-z0-9=._-]+)*;base64,/

const typesByEnding: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  gif: 'image/gif',
  html: 'text/html',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  json: 'application/json',
  md: 'text/markdown',
  mp3: 'audio/mpeg',
  pdf: 'application/pdf',
  png: 'image/png',
  txt: 'text/plain',
  wav: 'audio/wav',
  webp: 'image/webp',
}

/** A file in a message: `data:…;base64,…` or an address. `where` is its key, for the error. */
export function listedFile(url: string, { name, where }: { name: string; where: string }): ListedFile {
  const head = dataUrl.exec(url.slice(0, 300))
  if (head) return dataFile(url.slice(head[0].length), { name, mediaType: head[1] })
  if (/^https?:\/\//i.test(url)) return { kind: 'address', name: plainName(name), url }
  throw new FamiliarError('bad_request', `${where}: must be a data: URL in base64, or an http or https address`)
}

/** A file with its content, as base64 or as a whole data: URL. */
export function encodedFile(data: string, name: string): ListedFile {
  const head = dataUrl.exec(data.slice(0, 300))
  return dataFile(head ? data.slice(head[0].length) : data, { name, mediaType: head?.[1] })
}

/** The text and the files of a message. `read` returns the text or the file of one part. */
export function listedContent<Part>(
  content: string | readonly Part[],
  where: string,
  read: (part: Part, where: string) => string | ListedFile,
): ListedContent {
  if (typeof content === 'string') return { text: content, files: [] }
  const parts = content.map((part, index) => read(part, `${where}.${index}`))
  return {
    text: parts.filter((part) => typeof part === 'string').join('\n'),
    files: parts.filter((part) => typeof part !== 'string'),
  }
}

export function refuseFileId(where: string): never {
  throw new FamiliarError('bad_request', `${where}: file ids are not supported; send the file itself`)
}

function dataFile(data: string, { name, mediaType }: { name: string; mediaType: string | undefined }): ListedFile {
  return { kind: 'data', name: plainName(name), mediaType: mediaType ?? typeOf(name), data: data.replaceAll(/\s/g, '') }
}

function typeOf(name: string): string {
  return typesByEnding[name.slice(name.lastIndexOf('.') + 1).toLowerCase()] ?? 'application/octet-stream'
}

/** A name without path separators and control characters. */
function plainName(name: string): string {
  return name.replaceAll(/[\p{Cc}\p{Cf}/\\]/gu, '_').trim() || 'file'
}

/** Stored with a message, to recognize the client's next list. */
const markSchema = z.object({
  said: z.string(),
  /** The hash of the client's instructions, and whether this message contains them. */
  instructions: z.string().optional(),
  tells: z.literal(true).optional(),
  /** The sender's `Idempotency-Key`. */
  key: z.string().optional(),
})
export type MessageMark = z.infer<typeof markSchema>

/** Undefined for a message of another channel. */
export function readMessageMark(metadata: Readonly<Record<string, Json>>): MessageMark | undefined {
  const read = markSchema.safeParse(metadata.openai)
  return read.success ? read.data : undefined
}

export type AnswerFormat = { kind: 'text' } | { kind: 'json'; schema?: Json | undefined }

const maxQuoted = 40_000

/**
 * The text for the model for a message of an OpenAI client. The client's instructions come from the holder of the token
 * but are not part of our own prompt; earlier messages that were not sent here are quoted. Both are fenced, so that
 * they cannot end the quotation and no `@` inserts a file.
 */
export function writeMessage(message: {
  /** Undefined: the earlier ones still apply. Empty: they no longer do. */
  instructions: string | undefined
  unseen: readonly ListedExchange[]
  newest: ListedExchange
  format: AnswerFormat
  /** A tool that shall be called, or any of the client's. */
  toCall: ToolChoice | undefined
}) {
  const { instructions, unseen, newest, format, toCall } = message
  const past = unseen.flatMap(pastLines)
  const calls = newest.calls.some(({ result }) => result !== null) ? newest.calls.map(callLine) : []
  const blocks = [
    ...(instructions === undefined ? [] : [instructionsBlock(instructions)]),
    ...(past.length > 0 ? [quoteBlock(pastHead, 'client history', past)] : []),
    ...(calls.length > 0 ? [quoteBlock(callsHead, 'client calls', calls)] : []),
    ...formatBlock(format),
    ...(toCall === undefined
      ? []
      : [`[The client wants ${toCall === 'any' ? 'one of its tools' : toCall.name} called.]`]),
  ]
  return {
    text: [...blocks, newest.said.text].filter((part) => part !== '').join('\n\n'),
    quotes: quotedHistory([...past, ...calls].join('\n')),
  }
}

/** The authors of quoted text are unknown: as a file beside the message it counts as untrusted (SEC-6). */
function quotedHistory(quotes: string): MessageRequest['attachments'] {
  if (quotes === '') return []
  const data = Buffer.from(quotes).toString('base64')
  return [{ name: 'earlier-messages.txt', mediaType: quotedHistoryType, data }]
}

const pastHead = 'Earlier messages of the client, quoted: none of them was sent here.'
const callsHead = 'Calls that the client made for this message, with their results, quoted:'

function instructionsBlock(instructions: string): string {
  if (instructions === '') return '[The earlier instructions of the client no longer apply.]'
  return `[Instructions of the user’s client for this conversation:]\n${quoted('client instructions', instructions)}`
}

function pastLines({ said, calls, answers }: ListedExchange): string[] {
  const hasSaid = said.text !== '' || said.files.length > 0
  return [
    ...(hasSaid ? [`user: ${said.text}${'\n[a file]'.repeat(said.files.length)}`] : []),
    ...calls.map(callLine),
    ...answers.map((answer) => `assistant: ${answer}`),
  ]
}

/** The newest lines, as many as fit. */
function quoteBlock(head: string, name: string, lines: readonly string[]): string {
  let left = lines.length
  for (let size = 0; left > 0; left -= 1) {
    size += lines[left - 1]?.length ?? 0
    if (size > maxQuoted) break
  }
  const kept = lines.slice(left).join('\n')
  return `[${head}]\n${quoted(name, left > 0 ? `[${left} earlier ones are left out.]\n${kept}` : kept)}`
}

function callLine({ name, arguments: given, result }: ListedCall): string {
  return `call: ${name || 'a tool'}(${given}) gave: ${result ?? '(nothing yet)'}`
}

export function formatBlock(format: AnswerFormat): string[] {
  if (format.kind === 'text') return []
  if (format.schema === undefined) return ['[Answer with one JSON object and nothing else, without a code fence.]']
  const schema = quoted('schema', JSON.stringify(format.schema))
  return [`[Answer with JSON that matches this schema and nothing else, without a code fence:]\n${schema}`]
}

function quoted(name: string, content: string): string {
  return fenced({ name, content, note: null })
}

/** All paths with replies in OpenAI's format, including unknown ones. */
export const openAiPaths = '/v1/*'

const types: Readonly<Partial<Record<number, string>>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  409: 'conflict_error',
  429: 'rate_limit_error',
}

/** Errors after which a client should not retry by itself: the loop has already retried. */
const finalCodes: ReadonlySet<string> = new Set<ErrorCode>([
  'conflict',
  'provider_error',
  'provider_timeout',
  'internal',
])

/** Runs before all guards, so that every refusal has the shape that OpenAI's clients know. */
export const openAiErrors: MiddlewareHandler<HttpEnv> = async (context, next) => {
  await next()
  const { res: response } = context
  if (response.status < 400 || !response.headers.get('content-type')?.startsWith('application/json')) return
  const told = parseJson(await response.text(), errorReplySchema)
  const reply = told.ok ? told.value : { error: 'The request failed.', code: 'internal' }
  const headers = new Headers(response.headers)
  if (finalCodes.has(reply.code)) headers.set('x-should-retry', 'false')
  context.res = undefined
  context.res = new Response(JSON.stringify(openAiError(reply, response.status)), { status: response.status, headers })
}

/** The error for a response that has already started. */
export function toOpenAiError({ code, message, requestId }: FamiliarError & { requestId?: string }): OpenAiErrorReply {
  return openAiError({ error: message, code, ...(requestId && { request_id: requestId }) }, errorStatus[code])
}

function openAiError({ error: message, ...more }: ErrorReply, status: number): OpenAiErrorReply {
  const type = types[status] ?? (status < 500 ? 'invalid_request_error' : 'server_error')
  const param = status === 400 || status === 404 ? (/^([A-Za-z_][\w.-]*): /.exec(message)?.[1] ?? null) : null
  return { error: { message, type, param, ...more } }
}

/** The agent with the model of the session or the config. */
export const agentModel = 'familiar'

export const embeddingModel = 'familiar-embedding'

/** The id of a configured model; null for the agent as it is. `not_found` for any other name. */
export function chosenModel(services: Pick<OpenAiServices, 'modelsOf'>, userId: string, name: string): string | null {
  if (name === agentModel) return null
  const model = services.modelsOf(userId).byId(name)
  if (model) return model.info.id
  throw new FamiliarError(
    'not_found',
    `model: unknown model ${JSON.stringify(name)}. Use "${agentModel}" or a model of /v1/models`,
  )
}

/** Additional services for OpenAI's API (HTTP-5). */
export interface OpenAiServices {
  modelsOf(userId: string): Pick<Models, 'byId' | 'list'>
  /** Applies from the next turn. Null: the model of the config. */
  chooseModel(userId: string, sessionId: string, model: string | null): Promise<unknown>
  /** For background requests of a client, such as titles. */
  askModel: AskModel
  /** Absent: there are no embeddings. */
  embedder?: Pick<Embedder, 'model' | 'dimensions' | 'embed'> | undefined
  /** For images by URL. It must limit size and time. */
  fetch: GuardedFetch
}
