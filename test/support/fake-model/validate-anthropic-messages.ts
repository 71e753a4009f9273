import type { Issued } from './issued.ts'
import { isObject, type JsonObject, objects, string } from './json.ts'
import { invalid, type Rejection } from './wire.ts'

const TOOL_USE_ID = /^[a-zA-Z0-9_-]+$/
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']

interface Turn {
  index: number
  role: string
  blocks: JsonObject[]
  isLast: boolean
}

export function validateAnthropicMessages(body: JsonObject, issued: Issued): Rejection | undefined {
  if (!Array.isArray(body.messages)) return invalid('messages: Field required')
  const turns = objects(body.messages).map((entry, index, all) => readTurn(entry, index, all.length))
  if (turns.length === 0) return invalid('messages: at least one message is required')
  if (turns[0]?.role !== 'user') return invalid('messages: first message must use the "user" role')

  for (const turn of turns) {
    const rejection = checkTurn(turn, issued) ?? checkPairing(turn, turns)
    if (rejection) return rejection
  }
  return checkUniqueToolUses(turns) ?? checkFinalTurn({ turns, thinking: body.thinking, issued })
}

function readTurn({ role, content }: JsonObject, index: number, total: number): Turn {
  const blocks =
    typeof content === 'string' ? (content === '' ? [] : [{ type: 'text', text: content }]) : objects(content)
  return { index, role: string(role), blocks, isLast: index === total - 1 }
}

function checkTurn(turn: Turn, issued: Issued): Rejection | undefined {
  const { index, role, blocks, isLast } = turn
  if (role !== 'user' && role !== 'assistant') {
    return invalid(`messages: Unexpected role "${role}". Allowed roles are "user" or "assistant".`)
  }
  if (blocks.length === 0 && !(isLast && role === 'assistant')) {
    return invalid(
      `messages.${index}: all messages must have non-empty content except for the optional final assistant message`,
    )
  }
  for (const [position, block] of blocks.entries()) {
    const rejection = checkBlock({ block, role, at: `messages.${index}.content.${position}`, issued })
    if (rejection) return rejection
  }
  if (role === 'assistant' && isThought(blocks.at(-1))) {
    return invalid(`messages.${index}: The final block in an assistant message cannot be \`thinking\`.`)
  }
  return undefined
}

function checkBlock(options: { block: JsonObject; role: string; at: string; issued: Issued }): Rejection | undefined {
  const { block, role, at } = options
  switch (block.type) {
    case 'text':
      return checkText(block)
    case 'image':
      return role === 'user' ? checkImage(block, at) : invalid(`${at}: \`image\` blocks are not permitted`)
    case 'tool_use':
      return role === 'assistant'
        ? checkToolUse(block, at)
        : invalid(`${at}: \`tool_use\` blocks can only be in \`assistant\` messages`)
    case 'tool_result':
      return role === 'user'
        ? checkToolResult(block, at)
        : invalid(`${at}: \`tool_result\` blocks can only be in \`user\` messages`)
    case 'thinking':
    case 'redacted_thinking':
      return role === 'assistant'
        ? checkThought(options)
        : invalid(`${at}: \`${block.type}\` blocks can only be in \`assistant\` messages`)
    case 'document':
    case 'search_result':
      return undefined
    default:
      return invalid(`${at}: Input tag '${string(block.type)}' found using 'type' does not match any expected tag`)
  }
}

function checkText(block: JsonObject): Rejection | undefined {
  const text = string(block.text)
  if (text === '') return invalid('messages: text content blocks must be non-empty')
  if (text.trim() === '') return invalid('messages: text content blocks must contain non-whitespace text')
  return undefined
}

function checkImage(block: JsonObject, at: string): Rejection | undefined {
  const source = isObject(block.source) ? block.source : {}
  if (source.type !== 'base64') {
    return string(source.url) || string(source.file_id) ? undefined : invalid(`${at}.image.source: Field required`)
  }
  if (!IMAGE_TYPES.includes(string(source.media_type))) {
    const allowed = IMAGE_TYPES.map((type) => `'${type}'`).join(', ')
    return invalid(`${at}.image.source.base64.media_type: Input should be one of ${allowed}`)
  }
  if (!BASE64.test(string(source.data))) return invalid(`${at}.image.source.base64.data: invalid base64 data`)
  return undefined
}

function checkToolUse(block: JsonObject, at: string): Rejection | undefined {
  if (!TOOL_USE_ID.test(string(block.id))) {
    return invalid(`${at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`)
  }
  if (!string(block.name)) return invalid(`${at}.tool_use.name: Field required`)
  if (!isObject(block.input)) return invalid(`${at}.tool_use.input: Input should be a valid dictionary`)
  return undefined
}

function checkToolResult(block: JsonObject, at: string): Rejection | undefined {
  if (!string(block.tool_use_id)) return invalid(`${at}.tool_result.tool_use_id: Field required`)
  for (const [position, part] of objects(block.content).entries()) {
    const partAt = `${at}.tool_result.content.${position}`
    const rejection =
      part.type === 'image'
        ? checkImage(part, partAt)
        : part.type === 'text' && string(part.text) === ''
          ? invalid('messages: text content blocks must be non-empty')
          : undefined
    if (rejection) return rejection
  }
  return undefined
}

/** Thinking comes back exactly as it was issued or not at all. */
function checkThought(options: { block: JsonObject; at: string; issued: Issued }): Rejection | undefined {
  const { block, at, issued } = options
  if (block.cache_control) return invalid(`${at}.${block.type}.cache_control: Extra inputs are not permitted`)
  const modified = invalid(
    `${at}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. ` +
      'These blocks must remain as they were in the original response.',
  )
  if (block.type === 'redacted_thinking') {
    return issued.redactedThinking.has(string(block.data)) ? undefined : modified
  }
  const texts = issued.thinking.get(string(block.signature))
  if (!texts) return invalid(`${at}: Invalid \`signature\` in \`thinking\` block`)
  return texts.has(string(block.thinking)) ? undefined : modified
}

function checkPairing(turn: Turn, turns: Turn[]): Rejection | undefined {
  return turn.role === 'assistant'
    ? checkEveryUseAnswered(turn, turns[turn.index + 1])
    : checkEveryResultAsked(turn, turns[turn.index - 1])
}

/** Only results at the head of the very next message count: text before them, or a second message, is too late. */
function checkEveryUseAnswered(turn: Turn, next: Turn | undefined): Rejection | undefined {
  const answered = new Set(next?.role === 'user' ? leadingResults(next).map(({ tool_use_id }) => tool_use_id) : [])
  const missing = toolUses(turn).filter(({ id }) => !answered.has(id))
  if (missing.length === 0) return undefined
  const ids = missing.map(({ id }) => string(id)).join(', ')
  return invalid(
    `messages.${turn.index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids}. ` +
      'Each `tool_use` block must have a corresponding `tool_result` block in the next message.',
  )
}

function checkEveryResultAsked(turn: Turn, previous: Turn | undefined): Rejection | undefined {
  const asked = new Set(previous?.role === 'assistant' ? toolUses(previous).map(({ id }) => id) : [])
  const seen = new Set<unknown>()
  for (const [position, block] of turn.blocks.entries()) {
    if (block.type !== 'tool_result') continue
    const id = string(block.tool_use_id)
    if (!asked.has(id)) {
      return invalid(
        `messages.${turn.index}.content.${position}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ` +
          `${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      )
    }
    if (seen.has(id)) {
      return invalid(
        `messages.${turn.index}.content.${position}: each tool_use must have a single result. ` +
          `Found multiple \`tool_result\` blocks with id: ${id}`,
      )
    }
    seen.add(id)
  }
  return undefined
}

function checkUniqueToolUses(turns: Turn[]): Rejection | undefined {
  const ids = turns.flatMap(toolUses).map(({ id }) => id)
  return new Set(ids).size === ids.length ? undefined : invalid('messages: `tool_use` ids must be unique')
}

function checkFinalTurn(options: { turns: Turn[]; thinking: unknown; issued: Issued }): Rejection | undefined {
  const { turns, issued } = options
  const thinkingEnabled = isObject(options.thinking) && options.thinking.type === 'enabled'
  const last = turns.at(-1)
  if (last?.role === 'assistant') return checkPrefill(last, thinkingEnabled)

  const open = turns.findLast(({ role }) => role === 'assistant')
  if (!thinkingEnabled || !open || open.index !== turns.length - 2) return undefined
  const lostThinking = toolUses(open).some(({ id }) => issued.toolCallsAfterThinking.has(string(id)))
  return lostThinking && !isThought(open.blocks[0]) ? expectedThinking(open) : undefined
}

function checkPrefill(turn: Turn, thinkingEnabled: boolean): Rejection | undefined {
  if (thinkingEnabled && !isThought(turn.blocks[0])) return expectedThinking(turn)
  if (!thinkingEnabled && turn.blocks.some(isThought)) {
    return invalid(
      `messages.${turn.index}.content.0: When thinking is disabled, an \`assistant\` message in the final position ` +
        'cannot contain `thinking`. To use thinking blocks, enable `thinking` in your request.',
    )
  }
  const final = turn.blocks.at(-1)
  if (final?.type === 'text' && string(final.text) !== string(final.text).trimEnd()) {
    return invalid('messages: final assistant content cannot end with trailing whitespace')
  }
  return undefined
}

function expectedThinking({ index, blocks }: Turn): Rejection {
  return invalid(
    `messages.${index}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found ` +
      `\`${string(blocks[0]?.type)}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a ` +
      'thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).',
  )
}

function toolUses({ blocks }: Turn): JsonObject[] {
  return blocks.filter(({ type }) => type === 'tool_use')
}

function leadingResults({ blocks }: Turn): JsonObject[] {
  const end = blocks.findIndex(({ type }) => type !== 'tool_result')
  return end === -1 ? blocks : blocks.slice(0, end)
}

function isThought(block: JsonObject | undefined): boolean {
  return block?.type === 'thinking' || block?.type === 'redacted_thinking'
}
