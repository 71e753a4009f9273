import type { Step, StopKind, Usage } from './step.ts'

export type Block =
  | { type: 'thinking'; text: string; signature: string }
  | { type: 'redacted_thinking'; data: string }
  | { type: 'text'; text: string }
  | { type: 'tool_call'; id: string; name: string; input: unknown; inputText: string }

/** A step with nothing left open: the renderers read only this. */
export interface Reply {
  /** The request's number, from which every id of the reply is made. */
  n: number
  model: string
  /** Milliseconds since the epoch. */
  createdAt: number
  blocks: Block[]
  stop: StopKind
  usage: Usage & { reasoning: number }
  chunkSize: number
}

export type ToolCallBlock = Extract<Block, { type: 'tool_call' }>

export interface Counters {
  nextToolCallId(prefix: string): string
  nextSignature(): string
}

export function createCounters(): Counters {
  let toolCalls = 0
  let signatures = 0
  return {
    nextToolCallId: (prefix) => `${prefix}_${++toolCalls}`,
    nextSignature: () => `sig_${++signatures}`,
  }
}

const DEFAULT_CHUNK_SIZE = 48

export function resolveStep(options: {
  step: Step
  n: number
  model: string
  createdAt: number
  requestLength: number
  toolCallPrefix: string
  counters: Counters
}): Reply {
  const { step, n, model, createdAt, requestLength } = options
  const blocks = resolveBlocks(step, options)
  const reasoning = tokens(step.thinking?.text.length ?? 0)
  const output = step.usage?.output ?? tokens(blocks.reduce((sum, block) => sum + lengthOf(block), 0))
  return {
    n,
    model,
    createdAt,
    blocks,
    stop: step.stop ?? (step.toolCalls?.length ? 'tool_use' : 'end'),
    usage: {
      input: step.usage?.input ?? tokens(requestLength),
      output,
      cacheRead: step.usage?.cacheRead ?? 0,
      cacheWrite: step.usage?.cacheWrite ?? 0,
      reasoning: Math.min(reasoning, output),
    },
    chunkSize: step.chunkSize ?? DEFAULT_CHUNK_SIZE,
  }
}

/** The prompt count of the wires that fold cached tokens into it. */
export function inclusiveInput(usage: Usage): number {
  return usage.input + usage.cacheRead + usage.cacheWrite
}

export function textOf(reply: Reply): string {
  return reply.blocks.map((block) => (block.type === 'text' ? block.text : '')).join('')
}

export function thinkingOf(reply: Reply): Extract<Block, { type: 'thinking' }> | undefined {
  return reply.blocks.find((block) => block.type === 'thinking')
}

export function toolCallsOf(reply: Reply): ToolCallBlock[] {
  return reply.blocks.filter((block) => block.type === 'tool_call')
}

/** Never splits a surrogate pair: no provider sends half a character. */
export function splitText(text: string, size: number): string[] {
  const pieces: string[] = []
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + Math.max(1, size), text.length)
    if (end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800) end += 1
    pieces.push(text.slice(start, end))
    start = end
  }
  return pieces
}

function resolveBlocks(step: Step, options: { toolCallPrefix: string; counters: Counters }): Block[] {
  const { toolCallPrefix, counters } = options
  const blocks: Block[] = []
  if (step.thinking) {
    const { text, signature } = step.thinking
    blocks.push({ type: 'thinking', text, signature: signature ?? counters.nextSignature() })
  }
  if (step.redactedThinking !== undefined) blocks.push({ type: 'redacted_thinking', data: step.redactedThinking })
  if (step.text) blocks.push({ type: 'text', text: step.text })
  for (const call of step.toolCalls ?? []) {
    blocks.push({
      type: 'tool_call',
      id: call.id ?? counters.nextToolCallId(toolCallPrefix),
      name: call.name,
      input: call.input ?? {},
      inputText: call.rawInput ?? JSON.stringify(call.input ?? {}),
    })
  }
  return blocks
}

function lengthOf(block: Block): number {
  switch (block.type) {
    case 'thinking':
    case 'text':
      return block.text.length
    case 'redacted_thinking':
      return block.data.length
    case 'tool_call':
      return block.name.length + block.inputText.length
  }
}

function tokens(characters: number): number {
  return Math.ceil(characters / 4)
}
