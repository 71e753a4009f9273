import type { Ids } from '../../base/ids.ts'
import { type LanguageModel, ModelError } from '../model.ts'

const offlineModelId = 'offline/offline'

/**
 * `setup` is the command that connects a model on this machine.
 * Answers when no language model does, and says that it is not one: it reads the form of the newest message, calls the
 * same tools as every model, and reports their results.
 */
export function createOfflineModel({ ids, setup }: { ids: Ids; setup?: string }): LanguageModel {
  return {
    info: {
      id: offlineModelId,
      maxTokens: 4_096,
      maxContextTokens: 1_000_000,
      supportsVision: false,
      offline: true,
      costPerMtok: [0, 0, 0, 0],
    },
    async *stream(request, signal) {
      stopIfAborted(signal)
      // The rules are loaded with the first reply: with a language model they are never needed.
      const { respond } = await import('./respond.ts')
      const response = respond(request, { ids, setup })
      for (const part of response.parts) {
        if (part.type !== 'text') continue
        for (const text of splitDeltas(part.text)) {
          stopIfAborted(signal)
          yield { type: 'text_delta', text }
        }
      }
      stopIfAborted(signal)
      yield { type: 'finished', response }
    },
  }
}

function stopIfAborted(signal: AbortSignal): void {
  if (signal.aborted)
    throw new ModelError('aborted', 'The turn was stopped', { retryable: false, cause: signal.reason })
}

const wanted = 24

/** The text in small pieces, split before a space if there is one and never inside a character. */
function* splitDeltas(text: string): Generator<string> {
  let start = 0
  while (start < text.length) {
    const end = endOfPiece(text, start)
    yield text.slice(start, end)
    start = end
  }
}

function endOfPiece(text: string, start: number): number {
  const limit = start + wanted
  if (limit >= text.length) return text.length
  const space = text.lastIndexOf(' ', limit)
  if (space > start) return space
  const code = text.charCodeAt(limit - 1)
  const isHighSurrogate = code >= 0xd800 && code <= 0xdbff
  return isHighSurrogate ? limit - 1 : limit
}
