import type { Ids } from '../../base/ids.ts'
import type { LanguageModel } from '../model.ts'
import { ModelError } from '../model-error.ts'
import { splitDeltas } from './split-deltas.ts'

const offlineModelId = 'offline/offline'

/**
 * What answers where no language model does. It is none, and says so: it reads the form of the newest message, calls
 * the same tools as every model, and tells what they answered.
 */
export function createOfflineModel({ ids }: { ids: Ids }): LanguageModel {
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
      // All that it can read is loaded with its first reply: where a language model answers, that never comes.
      const { respond } = await import('./respond.ts')
      const response = respond(request, ids)
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
