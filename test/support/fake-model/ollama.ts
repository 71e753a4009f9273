import { type Conversation, foldToolResults, type Message, message } from './conversation.ts'
import { isObject, type JsonObject, objects, string } from './json.ts'
import { inclusiveInput, type Reply, splitText, textOf, thinkingOf, toolCallsOf } from './reply.ts'
import { validateOllama } from './validate-ollama.ts'
import type { Frame, Wire } from './wire.ts'

/** Ollama's own chat API: one JSON document to a line. */
export const ollama: Wire = {
  name: 'ollama',
  matches: (path) => path === '/api/chat',
  streamType: 'application/x-ndjson',
  toolCallPrefix: 'call',
  model: ({ body }) => string(body.model),
  wantsStream: ({ body }) => body.stream !== false,
  read,
  validate: validateOllama,
  remember() {},
  stream,
  whole: (reply) => ({
    ...closing(reply),
    message: {
      role: 'assistant',
      content: textOf(reply),
      ...(thinkingOf(reply) ? { thinking: thinkingOf(reply)?.text } : {}),
      ...(toolCallsOf(reply).length > 0 ? { tool_calls: renderToolCalls(reply) } : {}),
    },
  }),
  error: ({ message }) => ({ error: message }),
  errorFrame: (message) => line({ error: message }),
  // The Go decoder replaces them and continues.
  loneSurrogates: 'accepted',
}

function stream(reply: Reply): Frame[] {
  const piece = (fields: JsonObject): Frame => ({
    data: line({ ...envelope(reply), message: { role: 'assistant', content: '', ...fields }, done: false }),
    content: true,
  })
  return [
    ...splitText(thinkingOf(reply)?.text ?? '', reply.chunkSize).map((thinking) => piece({ thinking })),
    ...splitText(textOf(reply), reply.chunkSize).map((content) => piece({ content })),
    ...renderToolCalls(reply).map((call) => piece({ tool_calls: [call] })),
    { data: line({ ...closing(reply), message: { role: 'assistant', content: '' } }), content: false },
  ]
}

function renderToolCalls(reply: Reply): JsonObject[] {
  return toolCallsOf(reply).map(({ id, name, input }, index) => ({ id, function: { index, name, arguments: input } }))
}

function closing(reply: Reply): JsonObject {
  return {
    ...envelope(reply),
    done: true,
    done_reason: reply.stop === 'max_tokens' ? 'length' : 'stop',
    total_duration: 1_000_000,
    load_duration: 0,
    prompt_eval_count: inclusiveInput(reply.usage),
    prompt_eval_duration: 0,
    eval_count: reply.usage.output,
    eval_duration: 1_000_000,
  }
}

function envelope(reply: Reply): JsonObject {
  return { model: reply.model, created_at: new Date(reply.createdAt).toISOString() }
}

function line(data: JsonObject): string {
  return `${JSON.stringify(data)}\n`
}

function read(body: JsonObject): Conversation {
  const all = objects(body.messages)
  return {
    system: all
      .filter(({ role }) => role === 'system')
      .map(({ content }) => string(content))
      .join('\n'),
    messages: foldToolResults(all.filter(({ role }) => role !== 'system').map(readMessage)),
    tools: objects(body.tools).map((tool) => (isObject(tool.function) ? string(tool.function.name) : '')),
  }
}

function readMessage({ role, content, images, tool_calls, tool_call_id, tool_name }: JsonObject): Message {
  if (role === 'tool') {
    const id = string(tool_call_id) || string(tool_name)
    return message('user', { toolResults: [{ id, text: string(content), isError: false }] })
  }
  return message(role === 'assistant' ? 'assistant' : 'user', {
    text: string(content),
    images: Array.isArray(images) ? images.length : 0,
    toolCalls: objects(tool_calls).map((call) => {
      const called = isObject(call.function) ? call.function : {}
      return { id: string(call.id), name: string(called.name), input: called.arguments }
    }),
  })
}
