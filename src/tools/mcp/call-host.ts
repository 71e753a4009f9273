import { isUtf8 } from 'node:buffer'
import type {
  CallToolResult,
  CreateMessageRequestParams,
  CreateMessageResult,
  ElicitRequestParams,
  ElicitResult,
} from '@modelcontextprotocol/client'
import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { sha256 } from '../../base/ids.ts'
import { canonicalJson, isRecord, parseAnyJson } from '../../base/json.ts'
import { toDisplayText, toStorableText, truncateText } from '../../base/text.ts'
import type { AskModel } from '../../memory/learning/ask-model.ts'
import type { Json, MediaPart } from '../../protocol/messages.ts'
import type { MediaStore } from '../../storage/media-store.ts'
import type { HeardCall, ToolContext } from '../tool.ts'

/** The call is over, and the turn ends with this question: the user's next message answers it. */
export class UserAsked extends Error {
  readonly question: string
  constructor(question: string) {
    super('The server asks the user first')
    this.name = 'UserAsked'
    this.question = question
  }
}

/** A rejected request of the server, with a message for the server. */
export class RequestRefused extends Error {}

/** Answers a server's requests during one call, for the user who made the call. */
export type CallHost = ReturnType<CallHosts['hostFor']>

/** For all calls to one server: stores answers until their call is repeated, and counts samples. */
export type CallHosts = ReturnType<typeof createCallHosts>

const answersHoldMs = 30 * 60_000
const maxKept = 200
const maxSamplesPerMinute = 6
const maxSampleCharacters = 40_000

interface Kept {
  question: string
  answer: string | null
  result: ElicitResult | null
  until: number
}

export function createCallHosts(needs: {
  server: string
  clock: Clock
  /** Undefined: the server may not use the model. */
  askModel: AskModel | undefined
}) {
  const { server, clock, askModel } = needs
  const kept = new Map<string, Kept>()
  /** By call: whether a user could answer a question. */
  const withUser = new Map<string, boolean>()
  let sampledAt: number[] = []

  function sweep(): void {
    // Oldest first.
    for (const [key, { until }] of kept) if (until <= clock.now() || kept.size >= maxKept) kept.delete(key)
  }

  return {
    /** Stores the user's answer for a call that may have to wait for approval first. */
    hears({ tool, arguments: given, heard }: { tool: string; arguments: Json; heard: HeardCall }): void {
      if (withUser.size >= maxKept) withUser.clear()
      withUser.set(heard.callId, heard.hasUser)
      const scope = scopeOf(heard, tool, given)
      for (const [key, before] of kept) {
        if (!key.startsWith(scope) || before.result || !heard.answers?.includes(before.question)) continue
        kept.set(key, { ...before, answer: heard.userText })
      }
    },
    hostFor({ tool, arguments: given, context }: { tool: string; arguments: Json; context: ToolContext }) {
      const scope = scopeOf(context, tool, given)
      const hasUser = withUser.get(context.callId) ?? context.userText !== ''
      withUser.delete(context.callId)
      const notes: string[] = []

      function declined(reason: string): ElicitResult {
        notes.push(`The server asked the user for something. It was declined: ${reason}.`)
        return { action: 'decline' }
      }

      return {
        /** Names the call: the same one again has the same key. */
        key: scope,
        /** Rejected requests with reasons, for the model that made the call. */
        notes: () => notes,
        /** The call has its result: stored answers for it are deleted. */
        done(): void {
          for (const key of kept.keys()) if (key.startsWith(scope)) kept.delete(key)
        },
        /** Throws `UserAsked` if the user has not answered yet. */
        async elicit(params: ElicitRequestParams): Promise<ElicitResult> {
          const asked = readElicitation(params)
          if (asked.kind === 'refused') return declined(asked.reason)
          sweep()
          // By its content: ids that the server generates per request do not count.
          const key = `${scope} ${sha256(questionText(server, asked))}`
          const before = kept.get(key)
          if (before?.result) return before.result
          const isAnswer = before !== undefined && context.answers?.includes(before.question) === true
          const words = isAnswer ? context.userText : (before?.answer ?? null)
          const answer = words === null ? undefined : readAnswer(asked, words)
          const until = clock.now() + answersHoldMs
          if (answer?.ok) {
            kept.set(key, { question: '', answer: null, result: answer.result, until })
            return answer.result
          }
          if (!hasUser) return declined('no user is present to answer, because no user started this turn')
          const question = questionText(server, asked, answer?.problem)
          kept.set(key, { question, answer: null, result: null, until })
          throw new UserAsked(question)
        },
        async sample(params: CreateMessageRequestParams, signal: AbortSignal): Promise<CreateMessageResult> {
          if (!askModel) throw new RequestRefused('Sampling is off for this server.')
          sampledAt = sampledAt.filter((at) => at > clock.now() - 60_000)
          if (sampledAt.length >= maxSamplesPerMinute) {
            notes.push(`The server asked the model more than ${maxSamplesPerMinute} times in a minute and was refused.`)
            throw new RequestRefused(`At most ${maxSamplesPerMinute} samples a minute are allowed.`)
          }
          const { system, text } = readSample(params)
          sampledAt.push(clock.now())
          const { userId, sessionId } = context
          const answer = await askModel({ userId, sessionId, purpose: 'mcp_sampling', system, text, signal })
          if (!answer.ok) {
            notes.push(`The server requested a model response, which failed: ${answer.message}`)
            throw new RequestRefused('The model did not respond.')
          }
          const content = { type: 'text' as const, text: answer.text }
          return { role: 'assistant', model: 'familiar', stopReason: 'endTurn', content }
        },
      }
    },
  }
}

/** The same call of the same session: with other arguments it is another question. */
function scopeOf({ userId, sessionId }: Pick<ToolContext, 'userId' | 'sessionId'>, tool: string, given: Json): string {
  return sha256(canonicalJson([userId, sessionId, tool, given]))
}

const sampleSystem =
  'Another program asks for a text. Answer its request below with the text only. You have no tools and know nothing about the user.'

/** Text only: no tools, no images, and no user context, whatever the server requests. */
function readSample(params: CreateMessageRequestParams): { system: string; text: string } {
  if (params.tools && params.tools.length > 0) throw new RequestRefused('Sampling with tools is not supported.')
  const texts = params.messages.flatMap(({ role, content }) =>
    [content].flat().map((part) => {
      if (part.type !== 'text') throw new RequestRefused('Only text can be sampled.')
      return params.messages.length === 1 ? part.text : `[${role}]\n${part.text}`
    }),
  )
  const text = toStorableText(texts.join('\n\n'))
  const system = [sampleSystem, params.systemPrompt ?? ''].filter(Boolean).join('\n\n')
  if (text.length + system.length > maxSampleCharacters) {
    throw new RequestRefused(`At most ${maxSampleCharacters} characters can be sampled.`)
  }
  return { system, text }
}

const maxFields = 20
const maxChoices = 50
const maxMessageCharacters = 1_000
const maxLabelCharacters = 200
const maxValueCharacters = 10_000

const choiceSchema = z.object({ const: z.string(), title: z.string().optional() })

/** The flat fields that the protocol allows, as far as they are needed to read an answer. */
const fieldSchema = z.object({
  type: z.enum(['string', 'number', 'integer', 'boolean', 'array']),
  title: z.string().optional(),
  description: z.string().optional(),
  format: z.string().optional(),
  enum: z.array(z.string()).optional(),
  enumNames: z.array(z.string()).optional(),
  oneOf: z.array(choiceSchema).optional(),
  items: z.object({ enum: z.array(z.string()).optional(), anyOf: z.array(choiceSchema).optional() }).optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  minLength: z.number().optional(),
  maxLength: z.number().optional(),
  minItems: z.number().optional(),
  maxItems: z.number().optional(),
  default: z
    .union([z.string(), z.number(), z.boolean(), z.array(z.string())])
    .optional()
    .catch(undefined),
})
const formSchema = z.object({
  properties: z.record(z.string(), fieldSchema),
  required: z.array(z.string()).default([]),
})

type Field = z.infer<typeof fieldSchema>
type Form = z.infer<typeof formSchema>
type Value = string | number | boolean | string[]

type Elicitation = { kind: 'form'; message: string; form: Form } | { kind: 'url'; message: string; url: URL }

/** Secrets must not be entered in a form: the protocol requires an address instead. */
const secretWords =
  /\b(?:pass ?(?:word|phrase|code|wort)|kennwort|secret|credentials?|pin|otp|cvv|cvc|ssn|iban|2fa|mfa|token|jwt|(?:api|access|private|secret|recovery|encryption) ?(?:key|code|phrase)|(?:one ?time|verification|security|login) ?(?:code|password)|(?:credit|debit|bank) ?card|card ?number|social ?security|seed ?(?:phrase|words)|(?:access|auth|bearer|refresh|session|api) ?tokens?)\b/i

const warnings = /\b(?:do not|don't|never) (?:enter|give|include|provide|send|share|type)\b[^.;:!?()\n]*/gi

export function readElicitation(params: ElicitRequestParams): Elicitation | { kind: 'refused'; reason: string } {
  const message = shown(String(params.message), maxMessageCharacters)
  if (params.mode === 'url') {
    const url = URL.parse(params.url)
    if (!url || !/^https?:$/.test(url.protocol)) return refused('its address is not a web address')
    return { kind: 'url', message, url }
  }
  const form = formSchema.safeParse(params.requestedSchema)
  if (!form.success) return refused('its form is not supported')
  const fields = Object.entries(form.data.properties)
  if (fields.length > maxFields) return refused(`its form has ${fields.length} fields`)
  if (fields.some(([, field]) => choicesOf(field).length > maxChoices)) return refused('its form has too many choices')
  const secret = fields.find(([name, { title, description = '', format }]) =>
    // Some descriptions warn: "do not give us your pin".
    looksSecret(name, title, description.replaceAll(warnings, ''), format),
  )
  if (secret || looksSecret(message)) {
    const what = secret ? `the field ${shown(secret[0], 50)}` : 'its question'
    return refused(`${what} asks for a secret, and secrets must not be entered in a form`)
  }
  return { kind: 'form', message, form: form.data }
}

function refused(reason: string) {
  return { kind: 'refused' as const, reason }
}

/** `apiKey`, `api_key` and `API key` are the same words. */
function looksSecret(...texts: (string | undefined)[]): boolean {
  return texts.some((text) => {
    const words = text?.replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2').replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    return words !== undefined && secretWords.test(words)
  })
}

/** The server's text is quoted under its name, so that none of it looks like Familiar's. */
export function questionText(server: string, asked: Elicitation, problem?: string): string {
  const lines = problem === undefined ? [] : [`Invalid answer: ${problem}`, '']
  const quoted = asked.message.split('\n').map((line) => `> ${line}`)
  if (asked.kind === 'url') {
    return [
      ...lines,
      `The MCP server ${server} asks you to open an address at ${asked.url.host} in your browser:`,
      ...quoted,
      `> ${asked.url.href}`,
      'Familiar does not open it. Open it only if you trust this host, and answer "done" afterwards; or answer "decline".',
    ].join('\n')
  }
  const fields = Object.entries(asked.form.properties)
  const [only, ...others] = fields
  const isOne = only && others.length === 0
  const each = only ? 'Answer with one line for each field, such as "field: value"' : 'Answer "accept"'
  const how = isOne ? `Answer with the value of ${shown(only[0], 50)}` : each
  const defaults = only && takesDefaults(asked.form) ? ', "accept" for the default values' : ''
  return [
    ...lines,
    `The MCP server ${server} asks:`,
    ...quoted,
    ...fields.map(([name, field]) => `> - ${describeField(name, field, asked.form.required.includes(name))}`),
    `${how}${defaults}, or answer "decline" or "cancel". Your answer is sent to ${server}.`,
  ].join('\n')
}

function describeField(name: string, field: Field, isRequired: boolean): string {
  const choices = choicesOf(field).map(({ title }) => title)
  const kind = choices.length > 0 ? `one of: ${choices.join(', ')}` : kinds[field.type]
  const kindOf = field.type === 'array' ? kind.replace('one of', 'any of, separated by commas') : kind
  const words = [field.title, field.description].filter((text) => text && text !== name).join(', ')
  const preset = defaultOf(field)
  const usual = preset === undefined ? '' : `, default: ${titlesOf(field, preset)}`
  const text = `${name} (${kindOf}${isRequired ? '' : ', optional'}${usual})${words === '' ? '' : `: ${words}`}`
  return shown(text.replaceAll(/\s+/g, ' '), maxLabelCharacters + choices.join(', ').length + usual.length)
}

/** A default that is valid for its field. Another one counts as none. */
function defaultOf(field: Field): Value | undefined {
  const preset = field.default
  if (preset === undefined || Array.isArray(preset) !== (field.type === 'array')) return undefined
  return readValue(field, Array.isArray(preset) ? preset.join(',') : String(preset))
}

function titlesOf(field: Field, value: Value): string {
  const titleOf = (word: string) => choicesOf(field).find((choice) => choice.value === word)?.title ?? word
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return [value].flat().map(String).map(titleOf).join(', ')
}

/** Whether "accept" alone answers it. */
function takesDefaults({ properties, required }: Form): boolean {
  const fields = Object.entries(properties)
  const hasAny = fields.length === 0 || fields.some(([, field]) => defaultOf(field) !== undefined)
  return hasAny && required.every((name) => properties[name] === undefined || defaultOf(properties[name]) !== undefined)
}

const kinds = { string: 'text', number: 'number', integer: 'whole number', boolean: 'yes or no', array: 'list' }

function shown(text: string, most: number): string {
  const lines = toDisplayText(text).replaceAll(/\s*\n\s*/g, '\n')
  return truncateText(lines.trim(), most)
}

type ElicitationAnswer = { ok: true; result: ElicitResult } | { ok: false; problem: string }

/** Reads the answer from the user's own words. No model takes part in it. */
export function readAnswer(asked: Elicitation, userText: string): ElicitationAnswer {
  const text = userText.trim()
  const word = text.toLowerCase().replace(/[.!]$/, '')
  if (word === 'decline' || word === 'cancel') return { ok: true, result: { action: word } }
  if (asked.kind === 'url') {
    if (/^(?:done|ok|yes|accept)$/.test(word)) return { ok: true, result: { action: 'accept' } }
    return { ok: false, problem: 'answer "done" or "decline".' }
  }
  const { properties, required } = asked.form
  const isEmpty = Object.keys(properties).length === 0
  const isAccepted = takesDefaults(asked.form) && (word === 'accept' || (isEmpty && /^(?:ok|yes)$/.test(word)))
  if (!isAccepted && isEmpty) return { ok: false, problem: 'answer "accept" or "decline".' }
  const given = isAccepted ? new Map<string, string>() : valuesIn(text, Object.entries(properties))
  const content: Record<string, Value> = {}
  for (const [name, field] of Object.entries(properties)) {
    const value = given.get(name)
    if (value === undefined || value === '') {
      const preset = isAccepted || given.size > 0 ? defaultOf(field) : undefined
      if (preset !== undefined) content[name] = preset
      else if (required.includes(name)) return { ok: false, problem: `${name} is missing.` }
      continue
    }
    const read = readValue(field, value)
    if (read === undefined) return { ok: false, problem: `${name} takes ${expected(field)}.` }
    content[name] = read
  }
  if (!isAccepted && given.size === 0) return { ok: false, problem: 'no field has a value.' }
  return { ok: true, result: { action: 'accept', content } }
}

/** A JSON object, lines of `field: value`, or, with a single field, the whole text. */
function valuesIn(text: string, fields: readonly (readonly [string, Field])[]): Map<string, string> {
  const values = new Map<string, string>()
  const nameOf = (word: string) => fields.find(([name, { title }]) => isNamed(word, name, title))?.[0]
  const parsed = text.startsWith('{') ? parseAnyJson(text) : undefined
  if (parsed?.ok && isRecord(parsed.value)) {
    for (const [key, value] of Object.entries(parsed.value)) {
      const name = nameOf(key)
      if (name !== undefined) values.set(name, Array.isArray(value) ? value.join(',') : String(value ?? ''))
    }
    return values
  }
  for (const line of text.split('\n')) {
    const colon = line.indexOf(':')
    const name = colon > 0 ? nameOf(line.slice(0, colon)) : undefined
    if (name !== undefined) values.set(name, line.slice(colon + 1).trim())
  }
  const [only] = fields
  if (fields.length === 1 && only && values.size === 0) values.set(only[0], text)
  return values
}

function isNamed(word: string, ...names: (string | undefined)[]): boolean {
  return names.some((name) => name?.toLowerCase() === word.trim().toLowerCase())
}

function readValue(field: Field, text: string): Value | undefined {
  const choices = choicesOf(field)
  const chosen = (word: string) => choices.find(({ value, title }) => isNamed(word, value, title))
  switch (field.type) {
    case 'boolean':
      if (/^(?:yes|y|true|on|1)$/i.test(text)) return true
      return /^(?:no|n|false|off|0)$/i.test(text) ? false : undefined
    case 'number':
    case 'integer': {
      const number = Number(text)
      const isWhole = field.type === 'number' || Number.isInteger(number)
      const isWithin = number >= (field.minimum ?? -Infinity) && number <= (field.maximum ?? Infinity)
      return Number.isFinite(number) && isWhole && isWithin ? number : undefined
    }
    case 'array': {
      const words = text.trim() === '' ? [] : text.split(',')
      const picked = new Set(words.map((word) => chosen(word)?.value))
      const { minItems = 0, maxItems = maxChoices } = field
      const values = [...picked].filter((value) => value !== undefined)
      return values.length === picked.size && picked.size >= minItems && picked.size <= maxItems ? values : undefined
    }
    default: {
      if (choices.length > 0) return chosen(text)?.value
      const fits = text.length >= (field.minLength ?? 0) && text.length <= (field.maxLength ?? maxValueCharacters)
      if (!fits || text.length > maxValueCharacters) return undefined
      return formats.get(field.format ?? '')?.schema.safeParse(text).success === false ? undefined : text
    }
  }
}

/** The formats that the protocol knows. */
const formats = new Map([
  ['email', { schema: z.email(), name: 'an email address' }],
  ['uri', { schema: z.url(), name: 'a web address' }],
  ['date', { schema: z.iso.date(), name: 'a date such as 2026-11-18' }],
  ['date-time', { schema: z.iso.datetime({ offset: true }), name: 'a time such as 2026-11-18T09:30:00Z' }],
])

function choicesOf({ enum: plain, enumNames, oneOf, items }: Field): { value: string; title: string }[] {
  const titled = oneOf ?? items?.anyOf
  if (titled) return titled.map((choice) => ({ value: choice.const, title: choice.title ?? choice.const }))
  return (plain ?? items?.enum ?? []).map((value, index) => ({ value, title: enumNames?.[index] ?? value }))
}

function expected(field: Field): string {
  const choices = choicesOf(field)
  if (choices.length > 0) return `one of: ${choices.map(({ title }) => title).join(', ')}`
  const { format, minimum, maximum, minLength, maxLength } = field
  const formatted = formats.get(format ?? '')
  if (formatted && field.type === 'string') return formatted.name
  const [least, most] = field.type === 'string' ? [minLength, maxLength] : [minimum, maximum]
  const bounds = [least === undefined ? '' : `from ${least}`, most === undefined ? '' : `up to ${most}`].filter(Boolean)
  return [`a ${kinds[field.type]}`, ...bounds].join(' ')
}

const maxCharacters = 20_000
const maxMedia = 5
const maxMediaBytes = 5 * 1024 * 1024
/** The types that are stored and shown, with the ends of their names. */
const shownTypes = new Map([
  ['image/png', 'png'],
  ['image/jpeg', 'jpeg'],
  ['image/gif', 'gif'],
  ['image/webp', 'webp'],
  ['audio/wav', 'wav'],
  ['audio/mpeg', 'mp3'],
  ['audio/ogg', 'ogg'],
  ['audio/mp4', 'm4a'],
  ['audio/webm', 'webm'],
])

type Content = CallToolResult['content'][number]

/** A server's result, as text for the model, and images and sounds for the store. Other content becomes a note. */
export async function readServerResult(
  result: CallToolResult,
  options: { server: string; putMedia: MediaStore['put'] },
): Promise<{ text: string; media: MediaPart[] }> {
  const texts: string[] = []
  const media: MediaPart[] = []
  for (const part of result.content) {
    const isShown = (part.type === 'image' || part.type === 'audio') && media.length < maxMedia
    const read = isShown ? readMedia(part) : undefined
    if (read) {
      const name = `${options.server}-${media.length + 1}.${shownTypes.get(read.mediaType)}`
      media.push(await options.putMedia({ name, ...read }))
      texts.push(`[${part.type === 'image' ? 'A picture' : 'A sound'}: ${name}]`)
    } else texts.push(describePart(part))
  }
  const structured = structuredText(result.structuredContent, texts)
  const all = [...texts, structured].filter((text) => text !== '')
  return { text: truncateText(toStorableText(all.join('\n')), maxCharacters), media }
}

function describePart(part: Content): string {
  switch (part.type) {
    case 'text':
      return part.text
    case 'resource':
      return describeResource(part.resource)
    case 'resource_link':
      return `[A link: ${part.name} ${part.uri}]`
    default:
      return `[${part.type === 'image' ? 'A picture' : 'A sound'} that is not shown: ${part.mimeType}]`
  }
}

function describeResource(resource: Extract<Content, { type: 'resource' }>['resource']): string {
  if ('text' in resource) return resource.text
  const { uri, mimeType = 'unknown type', blob } = resource
  const isText = /^text\/|^application\/json(?:;|$)/.test(mimeType) && blob.length <= maxCharacters * 4
  const data = isText ? Buffer.from(blob, 'base64') : undefined
  return data && isUtf8(data) ? data.toString('utf8') : `[A file that is not shown: ${uri} (${mimeType})]`
}

function readMedia(part: { mimeType: string; data: string }): { mediaType: string; data: Uint8Array } | undefined {
  const { mimeType: mediaType } = part
  if (!shownTypes.has(mediaType) || part.data.length > maxMediaBytes * 1.4) return undefined
  const data = Buffer.from(part.data, 'base64')
  return data.length > 0 && data.length <= maxMediaBytes ? { mediaType, data } : undefined
}

/** Servers repeat a structured result as text, for older clients. The model gets it once. */
function structuredText(content: unknown, texts: readonly string[]): string {
  if (content === undefined) return ''
  const said = texts.map((text) => canonicalJson(decoded(text)))
  const isSaid = formsOf(content).some((form) => said.includes(form) || `[${said.join(',')}]` === form)
  return isSaid ? '' : JSON.stringify(content)
}

/** The value itself, and without the `result` that libraries wrap around a non-object. */
function formsOf(content: unknown): string[] {
  const isWrapped = typeof content === 'object' && content !== null && Object.keys(content).join() === 'result'
  if (!isWrapped) return [canonicalJson(content)]
  const inner = (content as { result: unknown }).result
  return [content, inner, [inner], typeof inner === 'string' ? decoded(inner) : inner].map(canonicalJson)
}

function decoded(text: string): unknown {
  const parsed = parseAnyJson(text)
  return parsed.ok ? parsed.value : text
}
