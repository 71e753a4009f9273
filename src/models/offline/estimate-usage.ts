import { estimateTokens } from '../../base/tokens.ts'
import type { AssistantPart, ModelMessage, Usage } from '../../protocol/message.ts'
import type { ModelRequest } from '../model.ts'

/** What a language model would have counted, so that ledgers and windows show the size of a conversation. */
export function estimateUsage(request: ModelRequest, parts: readonly AssistantPart[]): Usage {
  const input = [
    ...request.system.map((block) => block.text),
    ...request.messages.flatMap(textsOf),
    ...request.tools.map((tool) => JSON.stringify(tool)),
  ]
  return {
    inputTokens: sum(input),
    outputTokens: sum(parts.map(textOfPart)),
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
  }
}

function sum(texts: readonly string[]): number {
  return texts.reduce((total, text) => total + estimateTokens(text), 0)
}

function textsOf(message: ModelMessage): string[] {
  switch (message.role) {
    case 'user':
      return message.parts.map((part) => (part.type === 'text' ? part.text : part.name))
    case 'assistant':
      return message.parts.map(textOfPart)
    case 'tool':
      return message.results.map((result) => result.text)
  }
}

function textOfPart(part: AssistantPart): string {
  return part.type === 'tool_call' ? `${part.name} ${JSON.stringify(part.input)}` : part.text
}
