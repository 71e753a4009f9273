import { ApiError, send } from '../api/ask.ts'
import { createEventReader } from '../api/read-events.ts'

/** Work that takes a while: `onProgress` is told how far it is, and the promise holds its result. */
export async function askWithProgress<Progress, Result>(
  path: string,
  options: { body: string | Blob; mediaType: string; signal?: AbortSignal; onProgress(progress: Progress): void },
): Promise<Result> {
  const { body, mediaType, signal, onProgress } = options
  const response = await send(`/api/v1${path}`, {
    method: 'POST',
    body,
    headers: { accept: 'text/event-stream', 'content-type': mediaType },
    ...(signal && { signal }),
  })
  const read = createEventReader()
  const pieces = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  for (let next = await pieces?.read(); next && !next.done; next = await pieces?.read()) {
    for (const { name, data } of read(next.value)) {
      if (name === 'progress') onProgress(data as Progress)
      if (name === 'result') return data as Result
      if (name === 'error') throw failureOf(data)
    }
  }
  throw new ApiError('The connection broke before it was done.', { code: 'unreached', status: 0 })
}

function failureOf(data: unknown): ApiError {
  const { error, code } = data as { error?: unknown; code?: unknown }
  return new ApiError(typeof error === 'string' ? error : 'It did not work.', {
    code: typeof code === 'string' ? code : 'unknown',
    status: 0,
  })
}
