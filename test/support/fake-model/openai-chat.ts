import { type Conversation, foldToolResults, type Message, message } from './conversation.ts'
import { isObject, type JsonObject, objects, parseArguments, string } from './json.ts'
import { openaiError } from './openai-error.ts'
import { inclusiveInput, type Reply, splitText, textOf, thinkingOf, toolCallsOf } from './reply.ts'
import type { StopKind } from './step.ts'
import { validateOpenaiChat } from './validate-openai-chat.ts'
import type { Call, Frame, Wire } from './wire.ts'

const FINISH_REASONS: Record<StopKind, string> = {
  end: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  refusal: 'content_filter',
}

/** The Chat Completions API, with the `reasoning_content` that compatible servers add to it. */
export const openaiChat: Wire = {
  name: 'openai-chat',
  matches: (path) => path === '/v1/chat/completions',
  streamType: 'text/event-stream; charset=utf-8',
  toolCallPrefix: 'call',
  model: ({ body }) => string(body.model),
  wantsStream: ({ body }) => body.stream === true,
  read,
  validate: validateOpenaiChat,
  remember() {},
  stream,
  whole: (reply) => ({
    ...envelope(reply, 'chat.completion'),
    choices: [{ index: 0, message: wholeMessage(reply), logprobs: null, finish_reason: FINISH_REASONS[reply.stop] }],
    usage: usageOf(reply),
  }),
  error: openaiError,
  errorFrame: (message) => line({ error: { message, type: 'server_error', param: null, code: null } }),
}

function stream(reply: Reply, { body }: Call): Frame[] {
  const wantsUsage = isObject(body.stream_options) && body.stream_options.include_usage === true
  const chunk = (delta: JsonObject, content: boolean, finish_reason: string | null = null): Frame => ({
    data: line({
      ...envelope(reply, 'chat.completion.chunk'),
      choices: [{ index: 0, delta, logprobs: null, finish_reason }],
      // A stream with usage announces it by a null in every chunk before the last.
      ...(wantsUsage ? { usage: null } : {}),
    }),
    content,
  })
  const frames = [
    chunk({ role: 'assistant', content: textOf(reply) === '' ? null : '', refusal: null }, false),
    ...deltas(reply).map(({ delta, content }) => chunk(delta, content)),
    chunk({}, false, FINISH_REASONS[reply.stop]),
  ]
  if (wantsUsage) {
    const last = { ...envelope(reply, 'chat.completion.chunk'), choices: [], usage: usageOf(reply) }
    frames.push({ data: line(last), content: false })
  }
  frames.push({ data: 'data: [DONE]\n\n', content: false })
  return frames
}

function deltas(reply: Reply): { delta: JsonObject; content: boolean }[] {
  const reasoning = splitText(thinkingOf(reply)?.text ?? '', reply.chunkSize)
  const text = splitText(textOf(reply), reply.chunkSize)
  return [
    ...reasoning.map((reasoning_content) => ({ delta: { reasoning_content }, content: true })),
    ...text.map((content) => ({ delta: { content }, content: true })),
    ...toolCallsOf(reply).flatMap(({ id, name, inputText }, index) => [
      {
        delta: { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] },
        content: false,
      },
      ...splitText(inputText, reply.chunkSize).map((piece) => ({
        delta: { tool_calls: [{ index, function: { arguments: piece } }] },
        content: true,
      })),
    ]),
  ]
}

function wholeMessage(reply: Reply): JsonObject {
  const calls = toolCallsOf(reply)
  const thinking = thinkingOf(reply)
  return {
    role: 'assistant',
    content: textOf(reply) || null,
    refusal: null,
    ...(thinking ? { reasoning_content: thinking.text } : {}),
    ...(calls.length > 0
      ? {
          tool_calls: calls.map(({ id, name, inputText }) => ({
            id,
            type: 'function',
            function: { name, arguments: inputText },
          })),
        }
      : {}),
  }
}

function envelope(reply: Reply, object: string): JsonObject {
  return { id: `chatcmpl-${reply.n}`, object, created: Math.floor(reply.createdAt / 1000), model: reply.model }
}

function usageOf({ usage }: Reply): JsonObject {
  const prompt = inclusiveInput(usage)
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cacheRead, cache_write_tokens: usage.cacheWrite },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
  }
}

function line(data: JsonObject): string {
  return `data: ${JSON.stringify(data)}\n\n`
}

function read(body: JsonObject): Conversation {
  const all = objects(body.messages)
  return {
    system: all
      .filter(({ role }) => role === 'system' || role === 'developer')
      .map(({ content }) => contentText(content))
      .join('\n'),
    messages: foldToolResults(
      all.filter(({ role }) => role === 'user' || role === 'assistant' || role === 'tool').map(readMessage),
    ),
    tools: objects(body.tools).map((tool) => (isObject(tool.function) ? string(tool.function.name) : '')),
  }
}

function readMessage({ role, content, tool_calls, tool_call_id }: JsonObject): Message {
  const text = contentText(content)
  if (role === 'tool') {
    return message('user', { toolResults: [{ id: string(tool_call_id), text, isError: false }] })
  }
  return message(role === 'assistant' ? 'assistant' : 'user', {
    text,
    images: objects(content).filter(({ type }) => type === 'image_url').length,
    toolCalls: objects(tool_calls).map((call) => {
      const called = isObject(call.function) ? call.function : {}
      return { id: string(call.id), name: string(called.name), input: parseArguments(called.arguments) }
    }),
  })
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  return objects(content)
    .filter(({ type }) => type === 'text')
    .map(({ text }) => string(text))
    .join('\n')
}
