import { type Conversation, foldToolResults, type Message, message } from './conversation.ts'
import { issueThinking } from './issued.ts'
import { type JsonObject, objects, parseArguments, string } from './json.ts'
import { openaiError } from './openai-error.ts'
import { type Block, inclusiveInput, type Reply, splitText } from './reply.ts'
import { validateOpenaiResponses } from './validate-openai-responses.ts'
import type { Call, Frame, Wire } from './wire.ts'

/** The Responses API. */
export const openaiResponses: Wire = {
  name: 'openai-responses',
  matches: (path) => path === '/v1/responses',
  streamType: 'text/event-stream; charset=utf-8',
  toolCallPrefix: 'call',
  model: ({ body }) => string(body.model),
  wantsStream: ({ body }) => body.stream === true,
  read,
  validate: validateOpenaiResponses,
  remember(reply, { body }, issued) {
    const stored = body.store !== false
    if (stored) issued.responses.add(responseId(reply))
    let reasoningId: string | undefined
    for (const { block, item } of itemsOf(reply, body)) {
      const id = string(item.id)
      if (block.type === 'thinking') issueThinking(issued, block)
      if (block.type === 'redacted_thinking') issueThinking(issued, { text: '', signature: block.data })
      const type = itemType(block)
      if (type === 'reasoning') reasoningId = id
      issued.items.set(id, { type, stored, ...(type !== 'reasoning' && reasoningId ? { reasoningId } : {}) })
    }
  },
  stream,
  whole: (reply, { body }) => finished(reply, body),
  error: openaiError,
  errorFrame: (message) => event({ type: 'error', sequence_number: 0, code: 'server_error', message, param: null }),
}

interface Item {
  block: Block
  item: JsonObject
}

function stream(reply: Reply, { body }: Call): Frame[] {
  const frames: Frame[] = []
  const emit = (type: string, fields: JsonObject, content = false) =>
    frames.push({ data: event({ type, sequence_number: frames.length, ...fields }), content })

  const opening = { ...envelope(reply), status: 'in_progress', output: [], usage: null }
  emit('response.created', { response: opening })
  emit('response.in_progress', { response: opening })
  for (const [output_index, { block, item }] of itemsOf(reply, body).entries()) {
    emit('response.output_item.added', { output_index, item: { ...item, ...openItem(block) } })
    for (const { type, content, ...fields } of itemEvents(block, reply.chunkSize)) {
      emit(`response.${type}`, { item_id: item.id, output_index, ...fields }, content)
    }
    emit('response.output_item.done', { output_index, item })
  }
  const response = finished(reply, body)
  emit(response.status === 'completed' ? 'response.completed' : 'response.incomplete', { response })
  return frames
}

function itemEvents(block: Block, size: number): ({ type: string; content: boolean } & JsonObject)[] {
  switch (block.type) {
    case 'thinking': {
      if (block.text === '') return []
      const part = { type: 'summary_text', text: block.text }
      const at = { summary_index: 0 }
      return [
        { type: 'reasoning_summary_part.added', content: false, ...at, part: { type: 'summary_text', text: '' } },
        ...splitText(block.text, size).map((delta) => ({
          type: 'reasoning_summary_text.delta',
          content: true,
          ...at,
          delta,
        })),
        { type: 'reasoning_summary_text.done', content: false, ...at, text: block.text },
        { type: 'reasoning_summary_part.done', content: false, ...at, part },
      ]
    }
    case 'redacted_thinking':
      return []
    case 'text': {
      const at = { content_index: 0 }
      const part = { type: 'output_text', text: block.text, annotations: [] }
      return [
        { type: 'content_part.added', content: false, ...at, part: { ...part, text: '' } },
        ...splitText(block.text, size).map((delta) => ({ type: 'output_text.delta', content: true, ...at, delta })),
        { type: 'output_text.done', content: false, ...at, text: block.text },
        { type: 'content_part.done', content: false, ...at, part },
      ]
    }
    case 'tool_call':
      return [
        ...splitText(block.inputText, size).map((delta) => ({
          type: 'function_call_arguments.delta',
          content: true,
          delta,
        })),
        { type: 'function_call_arguments.done', content: false, arguments: block.inputText },
      ]
  }
}

function itemsOf(reply: Reply, body: JsonObject): Item[] {
  const wantsEncrypted = Array.isArray(body.include) && body.include.includes('reasoning.encrypted_content')
  return reply.blocks.map((block, index) => ({ block, item: itemOf(block, `${reply.n}_${index}`, wantsEncrypted) }))
}

function itemOf(block: Block, suffix: string, wantsEncrypted: boolean): JsonObject {
  const status = 'completed'
  switch (block.type) {
    case 'thinking':
    case 'redacted_thinking': {
      const encrypted = block.type === 'thinking' ? block.signature : block.data
      const summary = block.type === 'thinking' && block.text ? [{ type: 'summary_text', text: block.text }] : []
      return {
        id: `rs_${suffix}`,
        type: 'reasoning',
        summary,
        ...(wantsEncrypted ? { encrypted_content: encrypted } : {}),
      }
    }
    case 'text': {
      const content = [{ type: 'output_text', text: block.text, annotations: [] }]
      return { id: `msg_${suffix}`, type: 'message', status, role: 'assistant', content }
    }
    case 'tool_call': {
      const { id, name, inputText } = block
      return { id: `fc_${suffix}`, type: 'function_call', status, call_id: id, name, arguments: inputText }
    }
  }
}

function openItem(block: Block): JsonObject {
  switch (block.type) {
    case 'thinking':
    case 'redacted_thinking':
      return { summary: [] }
    case 'text':
      return { status: 'in_progress', content: [] }
    case 'tool_call':
      return { status: 'in_progress', arguments: '' }
  }
}

function itemType(block: Block): 'reasoning' | 'message' | 'function_call' {
  switch (block.type) {
    case 'thinking':
    case 'redacted_thinking':
      return 'reasoning'
    case 'text':
      return 'message'
    case 'tool_call':
      return 'function_call'
  }
}

function finished(reply: Reply, body: JsonObject): JsonObject {
  const reason = { end: null, tool_use: null, max_tokens: 'max_output_tokens', refusal: 'content_filter' }[reply.stop]
  const input = inclusiveInput(reply.usage)
  return {
    ...envelope(reply),
    status: reason ? 'incomplete' : 'completed',
    error: null,
    incomplete_details: reason ? { reason } : null,
    output: itemsOf(reply, body).map(({ item }) => item),
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: reply.usage.cacheRead, cache_write_tokens: reply.usage.cacheWrite },
      output_tokens: reply.usage.output,
      output_tokens_details: { reasoning_tokens: reply.usage.reasoning },
      total_tokens: input + reply.usage.output,
    },
  }
}

function envelope(reply: Reply): JsonObject {
  const created_at = Math.floor(reply.createdAt / 1000)
  return { id: responseId(reply), object: 'response', created_at, model: reply.model }
}

function responseId(reply: Reply): string {
  return `resp_${reply.n}`
}

function event(data: JsonObject): string {
  return `event: ${string(data.type)}\ndata: ${JSON.stringify(data)}\n\n`
}

function read(body: JsonObject): Conversation {
  const items = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : objects(body.input)
  const system = items.filter(({ role }) => role === 'system' || role === 'developer')
  return {
    system: [string(body.instructions), ...system.map(({ content }) => contentText(content))]
      .filter(Boolean)
      .join('\n'),
    messages: foldToolResults(items.flatMap(readItem)),
    tools: objects(body.tools).map(({ name }) => string(name)),
  }
}

function readItem({ type, role, content, call_id, name, arguments: text, output }: JsonObject): Message[] {
  if (type === 'function_call') {
    const toolCalls = [{ id: string(call_id), name: string(name), input: parseArguments(text) }]
    return [message('assistant', { toolCalls })]
  }
  if (type === 'function_call_output') {
    return [message('user', { toolResults: [{ id: string(call_id), text: contentText(output), isError: false }] })]
  }
  if (role !== 'user' && role !== 'assistant') return []
  const images = objects(content).filter((part) => part.type === 'input_image').length
  return [message(role, { text: contentText(content), images })]
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  return objects(content)
    .filter(({ type }) => type === 'input_text' || type === 'output_text')
    .map(({ text }) => string(text))
    .join('\n')
}
