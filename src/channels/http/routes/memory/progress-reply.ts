import type { SentEvent } from '../../event-stream-reply.ts'
import { callerOf } from '../../guards/token-guard.ts'
import type { HttpContext } from '../../http-dependencies.ts'
import { jsonReply } from '../../json-reply.ts'
import type { StreamReply } from '../../stream-reply.ts'
import { wantsEvents } from '../../wants-events.ts'

/** Work that takes a while. It stops when whoever asked for it has gone. */
type Work<Progress, Result> = (job: { signal: AbortSignal; onProgress(progress: Progress): void }) => Promise<Result>

/** Of a reader that is slower than the work, only the newest progress is kept. */
const mostWaiting = 100

/** The result as JSON or, where events are asked for, `progress` as it comes and `result` at the end. */
export async function progressReply<Progress extends object, Result extends object>(
  context: HttpContext,
  streamReply: StreamReply,
  work: Work<Progress, Result>,
): Promise<Response> {
  if (wantsEvents(context)) {
    return streamReply(callerOf(context).userId, async (signal) => ({ events: progressEvents(signal, work) }))
  }
  return jsonReply(await work({ signal: context.req.raw.signal, onProgress: () => {} }))
}

/** The work has begun when this returns: whoever never reads does not keep it from its end. */
function progressEvents<Progress extends object, Result extends object>(
  signal: AbortSignal,
  work: Work<Progress, Result>,
): AsyncGenerator<SentEvent> {
  const waiting: SentEvent[] = []
  let news = Promise.withResolvers<void>()
  let outcome: { result: Result } | { cause: unknown } | undefined
  const onProgress = (progress: Progress) => {
    waiting.push({ name: 'progress', data: progress })
    if (waiting.length > mostWaiting) waiting.shift()
    news.resolve()
  }
  const end = (how: typeof outcome) => {
    outcome = how
    news.resolve()
  }
  work({ signal, onProgress }).then(
    (result) => end({ result }),
    (cause: unknown) => end({ cause }),
  )
  return events()

  async function* events(): AsyncGenerator<SentEvent> {
    while (!outcome || waiting.length > 0) {
      const event = waiting.shift()
      if (event) yield event
      else {
        await news.promise
        news = Promise.withResolvers()
      }
    }
    if ('cause' in outcome) throw outcome.cause
    yield { name: 'result', data: outcome.result }
  }
}
