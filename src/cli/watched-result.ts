import type { z } from 'zod'
import { parseJson } from '../base/json.ts'
import { type ApiRequest, type ApiTransport, notUnderstood } from './api-transport.ts'
import { unreachable } from './http-request.ts'

/** Work that tells how far it is, and stops with its signal. */
export interface Watched<Progress> {
  signal: AbortSignal
  onProgress(progress: Progress): void
}

/** The result that a stream of progress ends with. */
export async function watchedResult<Progress, Result>(
  { base, events }: ApiTransport,
  work: {
    path: string
    request: ApiRequest
    schemas: { progress: z.ZodType<Progress>; result: z.ZodType<Result> }
    watched: Watched<Progress>
  },
): Promise<Result> {
  const { path, request, schemas, watched } = work
  for await (const { type, data } of events(path, { ...request, signal: watched.signal })) {
    if (type === 'progress') {
      const progress = parseJson(data, schemas.progress)
      if (progress.ok) watched.onProgress(progress.value)
    } else if (type === 'result') {
      const result = parseJson(data, schemas.result)
      if (!result.ok) throw notUnderstood(path, result.message)
      return result.value
    }
  }
  // A Familiar that stops ends its streams first.
  throw unreachable(base, 'it is stopping')
}
