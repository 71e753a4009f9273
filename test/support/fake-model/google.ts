import { type Conversation, type Message, message } from './conversation.ts'
import { issueThinking } from './issued.ts'
import { isObject, type JsonObject, objects, string } from './json.ts'
import { inclusiveInput, type Reply, splitText, textOf, thinkingOf, toolCallsOf } from './reply.ts'
import type { StopKind } from './step.ts'
import { validateGoogle } from './validate-google.ts'
import type { Frame, Wire } from './wire.ts'

const PATH = /^\/v1beta\/models\/(.+):(streamGenerateContent|generateContent)$/

const FINISH_REASONS: Record<StopKind, string> = {
  end: 'STOP',
  tool_use: 'STOP',
  max_tokens: 'MAX_TOKENS',
  refusal: 'SAFETY',
}

const ERROR_STATUSES: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
}

/** The Gemini API. */
export const google: Wire = {
  name: 'google',
  matches: (path) => PATH.test(path),
  streamType: 'text/event-stream',
  toolCallPrefix: 'call',
  model: ({ path }) => decodeURIComponent(PATH.exec(path)?.[1] ?? ''),
  wantsStream: ({ path }) => path.endsWith(':streamGenerateContent'),
  read,
  validate: validateGoogle,
  remember(reply, _call, issued) {
    const thinking = thinkingOf(reply)
    if (thinking) issueThinking(issued, thinking)
  },
  stream,
  whole: (reply) => ({
    ...response(reply, partsOf({ ...reply, chunkSize: Number.POSITIVE_INFINITY })),
    usageMetadata: usageOf(reply),
  }),
  error: ({ status, message }) => ({
    error: { code: status, message, status: ERROR_STATUSES[status] ?? 'UNAVAILABLE' },
  }),
  errorFrame: (message) => event({ error: { code: 503, message, status: 'UNAVAILABLE' } }),
}

function stream(reply: Reply): Frame[] {
  const frames = partsOf(reply).map((part) => ({
    data: event({
      candidates: [{ content: { parts: [part], role: 'model' }, index: 0 }],
      usageMetadata: { promptTokenCount: inclusiveInput(reply.usage) },
      modelVersion: reply.model,
      responseId: `response_${reply.n}`,
    }),
    content: part.text !== '',
  }))
  return [...frames, { data: event({ ...response(reply, []), usageMetadata: usageOf(reply) }), content: false }]
}

/** The signature of a thought rides on the part that follows it: the first call, or else an empty text at the end. */
function partsOf(reply: Reply): JsonObject[] {
  const thinking = thinkingOf(reply)
  const calls = toolCallsOf(reply)
  const signed = thinking ? { thoughtSignature: thinking.signature } : {}
  return [
    ...splitText(thinking?.text ?? '', reply.chunkSize).map((text) => ({ text, thought: true })),
    ...splitText(textOf(reply), reply.chunkSize).map((text) => ({ text })),
    ...calls.map(({ id, name, input }, index) => ({
      functionCall: { id, name, args: input },
      ...(index === 0 ? signed : {}),
    })),
    ...(thinking && calls.length === 0 ? [{ text: '', ...signed }] : []),
  ]
}

function response(reply: Reply, parts: JsonObject[]): JsonObject {
  return {
    candidates: [{ content: { parts, role: 'model' }, finishReason: FINISH_REASONS[reply.stop], index: 0 }],
    modelVersion: reply.model,
    responseId: `response_${reply.n}`,
  }
}

function usageOf({ usage }: Reply): JsonObject {
  const prompt = inclusiveInput(usage)
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: usage.output - usage.reasoning,
    thoughtsTokenCount: usage.reasoning,
    cachedContentTokenCount: usage.cacheRead,
    totalTokenCount: prompt + usage.output,
  }
}

function event(data: JsonObject): string {
  return `data: ${JSON.stringify(data)}\r\n\r\n`
}

function read(body: JsonObject): Conversation {
  const system = isObject(body.systemInstruction) ? objects(body.systemInstruction.parts) : []
  return {
    system: system.map(({ text }) => string(text)).join('\n'),
    messages: objects(body.contents).map(readContent),
    tools: objects(body.tools).flatMap((tool) => objects(tool.functionDeclarations).map(({ name }) => string(name))),
  }
}

function readContent({ role, parts }: JsonObject): Message {
  const read = message(role === 'model' ? 'assistant' : 'user')
  const texts: string[] = []
  for (const { text, thought, inlineData, functionCall, functionResponse } of objects(parts)) {
    if (typeof text === 'string' && thought !== true) texts.push(text)
    if (isObject(inlineData) && string(inlineData.mimeType).startsWith('image/')) read.images += 1
    if (isObject(functionCall)) {
      const { id, name, args } = functionCall
      read.toolCalls.push({ id: string(id) || string(name), name: string(name), input: args })
    }
    if (isObject(functionResponse)) {
      const { id, name, response } = functionResponse
      const answer = isObject(response) ? (response.content ?? response.error ?? response) : response
      read.toolResults.push({
        id: string(id) || string(name),
        text: typeof answer === 'string' ? answer : JSON.stringify(answer),
        isError: isObject(response) && response.error !== undefined,
      })
    }
  }
  return { ...read, text: texts.join('\n') }
}
