import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider'

export interface CollectedStream {
  parts: LanguageModelV4StreamPart[]
  text: string
  /** Blocks of reasoning with the metadata of all their parts merged, as a client has to keep it for the replay. */
  reasoning: { text: string; providerMetadata: SharedV4ProviderMetadata }[]
  toolCalls: LanguageModelV4ToolCall[]
  finish: Extract<LanguageModelV4StreamPart, { type: 'finish' }> | undefined
  /** Errors that came as parts. */
  errors: unknown[]
  /** The error of `doStream` or of reading the stream. */
  thrown: unknown
}

/** Reads a stream to its end, whatever that end is. */
export async function collectStream(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
): Promise<CollectedStream> {
  const collected: CollectedStream = {
    parts: [],
    text: '',
    reasoning: [],
    toolCalls: [],
    finish: undefined,
    errors: [],
    thrown: undefined,
  }
  try {
    const { stream } = await model.doStream(options)
    for await (const part of stream) collect(part, collected)
  } catch (error) {
    collected.thrown = error
  }
  return collected
}

function collect(part: LanguageModelV4StreamPart, collected: CollectedStream): void {
  collected.parts.push(part)
  switch (part.type) {
    case 'text-delta':
      collected.text += part.delta
      break
    case 'reasoning-start':
      collected.reasoning.push({ text: '', providerMetadata: part.providerMetadata ?? {} })
      break
    case 'reasoning-delta':
    case 'reasoning-end': {
      const block = collected.reasoning.at(-1)
      if (!block) break
      if (part.type === 'reasoning-delta') block.text += part.delta
      block.providerMetadata = { ...block.providerMetadata, ...part.providerMetadata }
      break
    }
    case 'tool-call':
      collected.toolCalls.push(part)
      break
    case 'finish':
      collected.finish = part
      break
    case 'error':
      collected.errors.push(part.error)
      break
  }
}
