import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import type { FamiliarError } from '../../protocol/error.ts'
import { redactJson } from '../../secrets/redact-json.ts'
import type { Redactor } from '../../secrets/redactor.ts'
import { describeError } from './error-reply.ts'
import { eventStreamReply, type SentEvent } from './event-stream-reply.ts'
import type { OpenStreams } from './open-streams.ts'

/** Opens a stream of a user and answers with it. What fails before the first byte is an ordinary error, with its own status. */
export type StreamReply = (
  userId: string,
  begin: (signal: AbortSignal) => Promise<{ events: AsyncIterator<SentEvent>; headers?: Record<string, string> }>,
  /** How an error on the way is told, where its readers do not know our own shape. */
  tellError?: (cause: FamiliarError & { requestId?: string }) => SentEvent,
) => Promise<Response>

export function createStreamReply(dependencies: {
  streams: OpenStreams
  clock: Clock
  logger: Logger
  redactor?: Redactor | undefined
  /** Of the request that is being answered. */
  requestId?: () => string | undefined
}): StreamReply {
  const { streams, clock, logger, redactor } = dependencies
  const redact = redactor && ((data: object) => redactJson(redactor, data))

  function tellPlainly({ code, message, requestId }: FamiliarError & { requestId?: string }): SentEvent {
    return { name: 'error', data: { error: message, code, ...(requestId && { request_id: requestId }) } }
  }

  return async (userId, begin, tellError = tellPlainly) => {
    const { signal, release } = streams.open(userId)
    const requestId = dependencies.requestId?.()
    const toErrorEvent = (cause: unknown) => tellError(describeError(cause, logger, requestId))
    try {
      return eventStreamReply({ ...(await begin(signal)), release, clock, toErrorEvent, redact })
    } catch (cause) {
      release()
      throw cause
    }
  }
}
