import { setTimeout as wait } from 'node:timers/promises'
import type { OpenedAnswer } from '../../egress/opened-answer.ts'
import { createInputSettler } from '../input-settler.ts'
import type { LanguageModel, ModelInfo, ModelRequest, ModelStreamEvent } from '../model.ts'
import { ModelError } from '../model-error.ts'
import { type FailedCall, toModelError, toStreamError } from '../model-error-from.ts'
import type { ProviderConnection } from '../providers/provider-connection.ts'
import { createToolCallIds } from '../tool-call-ids.ts'
import { createChatAnswer } from './chat-answer.ts'
import { type ChatChunk, readChatChunk } from './chat-chunk.ts'
import { toChatRequest } from './chat-request.ts'
import { createEventDataReader } from './event-data.ts'
import { openWithFetch } from './open-with-fetch.ts'

const endOfBodyMs = 1_000
const longestErrorBytes = 64 * 1024

/** Any server that speaks OpenAI's chat completions: OpenRouter, Groq, vLLM, LM Studio, llama.cpp, … */
export function createOpenaiChatModel(
  options: ProviderConnection & { info: ModelInfo; providerName: string; now: () => number },
): LanguageModel {
  const { info, providerName, baseUrl, apiKey, settings, fetch, now } = options
  const open = fetch.open ?? openWithFetch(fetch)
  const url = `${baseUrl}/chat/completions`
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (apiKey) headers.authorization = `Bearer ${apiKey}`

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelStreamEvent> {
    let opened: OpenedAnswer | undefined
    const failed = (): FailedCall => ({ modelId: info.id, apiKey, signal, begun: opened !== undefined, now: now() })
    const answer = createChatAnswer({
      providerName,
      ids: createToolCallIds(request.messages),
      settleInput: createInputSettler({ tools: request.tools, strictTools: settings.strictTools ?? false }),
    })
    let ended = false
    let whole = false
    try {
      signal.throwIfAborted()
      opened = await post(await toChatRequest(request, { info, providerName, settings }), signal)
      const events = createEventDataReader()
      while (!ended && !whole) {
        const bytes = await opened.read()
        // Also for what makes no event: servers send comments while the model has not begun.
        request.onActivity?.()
        ended = bytes === undefined
        for (const data of bytes ? events.push(bytes) : events.end()) {
          request.onActivity?.()
          whole ||= data.startsWith('[DONE]')
          const chunk = readData(data)
          if (!chunk) continue
          if (chunk.error) throw toStreamError(failureIn(chunk.error), failed())
          for (const event of answer.add(chunk)) yield event
        }
      }
      const response = answer.response()
      if (!response) throw brokenOff('the answer broke off before its end')
      yield { type: 'finished', response }
    } catch (error) {
      throw toModelError(error instanceof RangeError ? brokenOff(error.message) : error, failed())
    } finally {
      if (opened && !ended) void release(opened, whole)
    }
  }

  async function post(body: string, signal: AbortSignal): Promise<OpenedAnswer> {
    const opened = await open(url, { method: 'POST', headers, body, signal })
    if (opened.status >= 200 && opened.status < 300) return opened
    throw {
      message: opened.statusText,
      statusCode: opened.status,
      responseHeaders: opened.headers,
      responseBody: await readError(opened),
    }
  }

  /** Undefined for what is no chunk at all: the `[DONE]` at the end, a ping. */
  function readData(data: string): ChatChunk | undefined {
    if (!data.startsWith('{')) return undefined
    const chunk = readChatChunk(data)
    if (!chunk) throw brokenOff('the answer broke off in the middle of a line')
    return chunk
  }

  function brokenOff(message: string): ModelError {
    return new ModelError('cut', `${info.id}: ${message}`, { retryable: true })
  }

  return { info, stream }
}

/**
 * After a whole answer only the end of its body is missing, and with it the connection can be used again. A server that
 * does not send it in time loses the connection.
 */
async function release(opened: OpenedAnswer, whole: boolean): Promise<void> {
  if (!whole) return opened.cancel()
  const late = wait(endOfBodyMs, 'late', { ref: false })
  // A connection that breaks now is as good as one that is closed.
  const rest = await Promise.race([opened.read().catch(() => undefined), late])
  if (rest !== undefined) opened.cancel()
}

/** What a provider says about a refusal, as far as anybody would read it. */
async function readError(opened: OpenedAnswer): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for (let bytes = await opened.read(); bytes; bytes = await opened.read()) {
    text += decoder.decode(bytes, { stream: true })
    if (text.length > longestErrorBytes) {
      opened.cancel()
      break
    }
  }
  return text
}

function failureIn(error: NonNullable<ChatChunk['error']>): unknown {
  return typeof error === 'object' ? error : { message: String(error) }
}
