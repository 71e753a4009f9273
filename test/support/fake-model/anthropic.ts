import { type Conversation, type Message, message } from './conversation.ts'
import { issueThinking } from './issued.ts'
import { type JsonObject, objects, string } from './json.ts'
import { type Block, type Reply, splitText, toolCallsOf } from './reply.ts'
import type { StopKind } from './step.ts'
import { validateAnthropic } from './validate-anthropic.ts'
import type { Frame, Wire } from './wire.ts'

const STOP_REASONS: Record<StopKind, string> = {
  end: 'end_turn',
  tool_use: 'tool_use',
  max_tokens: 'max_tokens',
  refusal: 'refusal',
}

const ERROR_TYPES: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
}

/** The Messages API. */
export const anthropic: Wire = {
  name: 'anthropic',
  matches: (path) => path === '/v1/messages',
  streamType: 'text/event-stream; charset=utf-8',
  toolCallPrefix: 'toolu',
  model: ({ body }) => string(body.model),
  wantsStream: ({ body }) => body.stream === true,
  read,
  validate: validateAnthropic,
  remember(reply, _call, issued) {
    const thoughts = reply.blocks.filter(({ type }) => type === 'thinking' || type === 'redacted_thinking')
    for (const block of thoughts) {
      if (block.type === 'thinking') issueThinking(issued, block)
      if (block.type === 'redacted_thinking') issued.redactedThinking.add(block.data)
    }
    if (thoughts.length > 0) for (const { id } of toolCallsOf(reply)) issued.toolCallsAfterThinking.add(id)
  },
  stream,
  whole: (reply) => ({
    ...openMessage(reply),
    content: reply.blocks.map(wholeBlock),
    stop_reason: STOP_REASONS[reply.stop],
    usage: usageOf(reply, reply.usage.output),
  }),
  error: ({ status, message }) => ({
    type: 'error',
    error: { type: ERROR_TYPES[status] ?? 'api_error', message },
  }),
  errorFrame: (message) => event('error', { type: 'error', error: { type: 'overloaded_error', message } }),
}

function stream(reply: Reply): Frame[] {
  const frames: Frame[] = [protocol('message_start', { message: openMessage(reply) })]
  reply.blocks.forEach((block, index) => {
    frames.push(protocol('content_block_start', { index, content_block: openBlock(block) }))
    if (index === 0) frames.push(protocol('ping', {}))
    frames.push(...deltas(block, reply.chunkSize).map((frame) => protocolDelta(index, frame)))
    frames.push(protocol('content_block_stop', { index }))
  })
  frames.push(
    protocol('message_delta', {
      delta: { stop_reason: STOP_REASONS[reply.stop], stop_sequence: null },
      usage: usageOf(reply, reply.usage.output),
    }),
    protocol('message_stop', {}),
  )
  return frames
}

interface Delta {
  delta: JsonObject
  content: boolean
}

function deltas(block: Block, size: number): Delta[] {
  switch (block.type) {
    case 'text':
      return splitText(block.text, size).map((text) => ({ delta: { type: 'text_delta', text }, content: true }))
    case 'thinking':
      return [
        ...splitText(block.text, size).map((thinking) => ({
          delta: { type: 'thinking_delta', thinking },
          content: true,
        })),
        { delta: { type: 'signature_delta', signature: block.signature }, content: false },
      ]
    case 'redacted_thinking':
      return []
    case 'tool_call':
      return [
        { delta: { type: 'input_json_delta', partial_json: '' }, content: false },
        ...splitText(block.inputText, size).map((partial_json) => ({
          delta: { type: 'input_json_delta', partial_json },
          content: true,
        })),
      ]
  }
}

function openMessage(reply: Reply): JsonObject {
  return {
    id: `msg_${reply.n}`,
    type: 'message',
    role: 'assistant',
    model: reply.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: usageOf(reply, 1),
  }
}

function openBlock(block: Block): JsonObject {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: '' }
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' }
    case 'redacted_thinking':
      return { type: 'redacted_thinking', data: block.data }
    case 'tool_call':
      return { type: 'tool_use', id: block.id, name: block.name, input: {} }
  }
}

function wholeBlock(block: Block): JsonObject {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text }
    case 'thinking':
      return { type: 'thinking', thinking: block.text, signature: block.signature }
    case 'redacted_thinking':
      return { type: 'redacted_thinking', data: block.data }
    case 'tool_call':
      return { type: 'tool_use', id: block.id, name: block.name, input: block.input }
  }
}

function usageOf({ usage }: Reply, output: number): JsonObject {
  return {
    input_tokens: usage.input,
    cache_creation_input_tokens: usage.cacheWrite,
    cache_read_input_tokens: usage.cacheRead,
    output_tokens: output,
  }
}

function protocol(type: string, fields: JsonObject): Frame {
  return { data: event(type, { type, ...fields }), content: false }
}

function protocolDelta(index: number, { delta, content }: Delta): Frame {
  return { data: event('content_block_delta', { type: 'content_block_delta', index, delta }), content }
}

function event(name: string, data: JsonObject): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
}

function read(body: JsonObject): Conversation {
  return {
    system: contentText(body.system),
    messages: objects(body.messages).map(readMessage),
    tools: objects(body.tools).map((tool) => string(tool.name)),
  }
}

function readMessage({ role, content }: JsonObject): Message {
  const read = message(role === 'assistant' ? 'assistant' : 'user', { text: contentText(content) })
  for (const block of objects(content)) {
    if (block.type === 'image') read.images += 1
    if (block.type === 'tool_use') {
      read.toolCalls.push({ id: string(block.id), name: string(block.name), input: block.input })
    }
    if (block.type === 'tool_result') {
      read.toolResults.push({
        id: string(block.tool_use_id),
        text: contentText(block.content),
        isError: block.is_error === true,
      })
    }
  }
  return read
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  return objects(content)
    .filter(({ type }) => type === 'text')
    .map(({ text }) => string(text))
    .join('\n')
}
