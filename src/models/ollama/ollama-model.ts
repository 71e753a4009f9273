import { parseJson } from '../../base/json.ts'
import type { AssistantPart, StopReason } from '../../protocol/message.ts'
import type { LanguageModel, ModelInfo, ModelRequest, ModelStreamEvent } from '../model.ts'
import { ModelError } from '../model-error.ts'
import { type FailedCall, toModelError, toStreamError } from '../model-error-from.ts'
import type { ProviderConnection } from '../providers/provider-connection.ts'
import { createToolCallIds, type ToolCallIds } from '../tool-call-ids.ts'
import { readToolInput } from '../tool-input.ts'
import { toOllamaMessages } from './ollama-messages.ts'
import { type OllamaLine, ollamaLineSchema } from './ollama-wire.ts'
import { readLines } from './read-lines.ts'

/** A model served by Ollama, through Ollama's own API: its compatible one hides thinking and the context length. */
export function createOllamaModel(
  options: ProviderConnection & { info: ModelInfo; providerName: string; now: () => number },
): LanguageModel {
  const { info, providerName, baseUrl, apiKey, settings, fetch, now } = options
  const url = `${baseUrl.replace(/\/+$/, '').replace(/\/(?:api|v1)$/, '')}/api/chat`

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelStreamEvent> {
    let begun = false
    const failed = (): FailedCall => ({ modelId: info.id, apiKey, signal, begun, now: now() })
    const answer = createOllamaAnswer(providerName, createToolCallIds(request.messages))
    try {
      signal.throwIfAborted()
      const received = await post(await body(request), signal)
      begun = true
      for await (const line of readLines(received)) {
        request.onActivity?.()
        const parsed = parseJson(line, ollamaLineSchema)
        if (!parsed.ok) throw brokenOff(`a line could not be read: ${parsed.message}`)
        if (parsed.value.error) throw toStreamError({ message: parsed.value.error }, failed())
        yield* answer.add(parsed.value)
        if (parsed.value.done) {
          yield answer.finished(parsed.value)
          return
        }
      }
      throw brokenOff('the answer broke off before its end')
    } catch (error) {
      throw toModelError(error, failed())
    }
  }

  async function post(content: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const headers: Record<string, string> = { 'content-type': 'application/json' }
    if (apiKey) headers.authorization = `Bearer ${apiKey}`
    const response = await fetch(url, { method: 'POST', headers, body: content, signal })
    if (response.ok && response.body) return response.body
    throw {
      message: response.statusText,
      statusCode: response.status,
      responseHeaders: Object.fromEntries(response.headers),
      responseBody: await response.text(),
    }
  }

  async function body(request: ModelRequest): Promise<string> {
    const { model, thinkingTokens, temperature, maxContextTokens } = settings
    return JSON.stringify({
      model,
      stream: true,
      ...(thinkingTokens !== undefined && { think: thinkingTokens > 0 }),
      options: {
        num_predict: Math.min(request.maxTokens, info.maxTokens),
        // Without it Ollama cuts the conversation at a few thousand tokens and says nothing.
        ...(maxContextTokens !== undefined && { num_ctx: maxContextTokens }),
        ...(temperature !== undefined && { temperature }),
      },
      ...(request.tools.length > 0 && {
        tools: request.tools.map(({ name, description, inputSchema }) => ({
          type: 'function',
          function: { name, description, parameters: inputSchema },
        })),
      }),
      messages: await toOllamaMessages(request, { info, providerName }),
    })
  }

  function brokenOff(message: string): ModelError {
    return new ModelError('cut', `${info.id}: ${message}`, { retryable: true })
  }

  return { info, stream }
}

function createOllamaAnswer(providerName: string, ids: ToolCallIds) {
  const parts: AssistantPart[] = []

  function append(type: 'text' | 'thinking', text: string): void {
    const last = parts.at(-1)
    if (last?.type === type) last.text += text
    else if (type === 'text') parts.push({ type, text })
    else parts.push({ type, text, replay: { provider: providerName, metadata: {} } })
  }

  return {
    *add({ message }: OllamaLine): Generator<ModelStreamEvent> {
      if (message?.thinking) {
        append('thinking', message.thinking)
        yield { type: 'thinking_delta', text: message.thinking }
      }
      if (message?.content) {
        append('text', message.content)
        yield { type: 'text_delta', text: message.content }
      }
      for (const { id, function: called } of message?.tool_calls ?? []) {
        const input = readToolInput(called.arguments ?? undefined)
        parts.push({ type: 'tool_call', id: ids.take(id ?? undefined), name: called.name, input })
      }
    },
    finished(line: OllamaLine): ModelStreamEvent {
      const usage = {
        inputTokens: line.prompt_eval_count ?? 0,
        outputTokens: line.eval_count ?? 0,
        cacheReadTokens: 0,
        cacheWriteTokens: 0,
      }
      return { type: 'finished', response: { parts, stopReason: stopReasonOf(line, parts), usage } }
    },
  }
}

/** Ollama says `stop` also where it stopped to have a tool called. */
function stopReasonOf({ done_reason }: OllamaLine, parts: AssistantPart[]): StopReason {
  if (done_reason === 'length') return 'max_tokens'
  if (parts.some((part) => part.type === 'tool_call')) return 'tool_use'
  return done_reason === 'stop' || !done_reason ? 'end' : 'other'
}
