import { pageKey } from './page-key.ts'

/** What the daemon answered in place of what was asked for. */
export class ApiError extends Error {
  readonly code: string
  readonly status: number

  constructor(message: string, options: { code: string; status: number }) {
    super(message)
    this.code = options.code
    this.status = options.status
  }
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface AskOptions {
  method?: Method
  body?: unknown
  /** Undefined ones are left out. */
  query?: Readonly<Record<string, string | number | boolean | undefined>>
  signal?: AbortSignal
}

/** Told whenever the daemon no longer knows this browser. */
const signedOut = new Set<() => void>()
export function onSignedOut(listener: () => void): () => void {
  signedOut.add(listener)
  return () => void signedOut.delete(listener)
}

/**
 * Asks the daemon. The types of answers are those that its schemas are made from (`src/protocol`); it has checked them, so
 * they are not checked again here.
 */
export async function ask<T>(path: string, options: AskOptions = {}): Promise<T> {
  const { body, query, signal, method = body === undefined ? 'GET' : 'POST' } = options
  const response = await send(`/api/v1${path}${searchOf(query)}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    ...(signal && { signal }),
  })
  return (await response.json()) as T
}

/** The same for what is not JSON: a recording, a file. */
export async function send(
  path: string,
  init: Omit<RequestInit, 'headers'> & { headers?: Record<string, string> },
): Promise<Response> {
  const headers = { ...init.headers, ...(pageKey.get() && { authorization: `Page ${pageKey.get()}` }) }
  const response = await fetch(path, { ...init, headers, credentials: 'same-origin' }).catch((cause: unknown) => {
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause
    throw new ApiError('Familiar does not answer. Is it still running?', { code: 'unreached', status: 0 })
  })
  if (response.ok) return response
  if (response.status === 401) for (const listener of signedOut) listener()
  throw await toError(response)
}

async function toError(response: Response): Promise<ApiError> {
  const told = (await response.json().catch(() => ({}))) as { error?: unknown; code?: unknown }
  const message = typeof told.error === 'string' ? told.error : `Familiar answered ${response.status}.`
  return new ApiError(message, {
    code: typeof told.code === 'string' ? told.code : 'unknown',
    status: response.status,
  })
}

function searchOf(query: AskOptions['query']): string {
  const given = Object.entries(query ?? {}).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  )
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
}
