import { useCallback, useEffect, useRef, useState } from 'react'
import type { features } from '../../../src/protocol/features.ts'
import type { Operation, PathParameters, Wire } from '../../../src/protocol/operation.ts'
import { t } from '../strings/strings.ts'
import { paths } from './operations.ts'

const name = 'familiar.page_key'

/**
 * This page's half of the proof that it is signed in; the other is a cookie that no script can read. Each is worth nothing
 * without the other.
 */
export const pageKey = {
  get: () => localStorage.getItem(name),
  keep: (key: string) => localStorage.setItem(name, key),
  forget: () => localStorage.removeItem(name),
}

/** An error reply of the daemon. */
export class ApiError extends Error {
  readonly code: string
  readonly status: number

  constructor(message: string, options: { code: string; status: number }) {
    super(message)
    this.code = options.code
    this.status = options.status
  }
}

export type OperationName = keyof typeof paths

type Feature = (typeof features)[number]
type Member<T, Key> = T extends unknown ? (Key extends keyof T ? T[Key] : never) : never
type Schema = NonNullable<Operation['body']>

/** The definition of an operation in `src/protocol`: `schedules.show` is the member `show` of the group `schedules`. */
type Definition<Name> = Name extends `${infer Group}.${infer Own}` ? Member<Member<Feature, Group>, Own> : never

/** Undefined fields are left out of a query and of JSON. */
type Fields<T> =
  T extends Record<string, never>
    ? unknown
    : T extends unknown
      ? { [Key in keyof T]: Record<never, never> extends Pick<T, Key> ? T[Key] | undefined : T[Key] }
      : never

/** The values of a query are text in the end. */
type QueryFields<T> = {
  [Key in keyof T]: unknown extends T[Key]
    ? string | number | boolean | undefined
    :
        | T[Key]
        | ('true' extends T[Key] ? boolean : never)
        | (Record<never, never> extends Pick<T, Key> ? undefined : never)
}

/** Path parameters, query and body of an operation together, under the names of the wire. A map as body is in `body`. */
export type Input<Name> = InputOf<Definition<Name>>
type InputOf<Of> = Of extends { path: string }
  ? PathParameters<Of['path']> &
      (Of extends { query: infer Query extends Schema; body?: undefined } ? QueryFields<Wire<Query>> : unknown) &
      (Of extends { body: infer Body extends Schema }
        ? Body extends { _zod: { def: { type: 'record' } } }
          ? { body: Wire<Body> }
          : Fields<Wire<Body>>
        : unknown)
  : never

/** The reply of an operation as it is on the wire. */
export type Reply<Name> = Definition<Name> extends { reply: infer Of extends Schema } ? Wire<Of> : never

type Given<Name> =
  Record<never, never> extends Input<Name>
    ? [input?: Input<Name>, options?: CallOptions]
    : [input: Input<Name>, options?: CallOptions]

interface CallOptions {
  signal?: AbortSignal | undefined
  accept?: string
  /** A body that is not JSON: a recording, a file. */
  raw?: { mediaType: string; data: BodyInit }
  /** Called as a large body is uploaded, with the part of it that the daemon has: 0 to 1. */
  onProgress?: ((part: number) => void) | undefined
}

/** Called when the daemon no longer knows this browser. */
const signedOut = new Set<() => void>()
export function onSignedOut(listener: () => void): () => void {
  signedOut.add(listener)
  return () => void signedOut.delete(listener)
}

/**
 * Calls an operation of the daemon: `call('schedules.show', { id })`. The daemon has checked the reply against the schema that
 * its type comes from, so it is not checked again here.
 */
export async function call<Name extends OperationName>(name: Name, ...given: Given<Name>): Promise<Reply<Name>> {
  const response = await callRaw(name, ...given)
  return (await response.json()) as Reply<Name>
}

/** The same for a reply that is not JSON: a file, a stream of events. */
export async function callRaw<Name extends OperationName>(name: Name, ...given: Given<Name>): Promise<Response> {
  const [input = {}, options = {}] = given as [input?: object, options?: CallOptions]
  return send(name, input, options)
}

async function send(name: OperationName, input: object, options: CallOptions): Promise<Response> {
  const { signal, accept, raw, onProgress } = options
  const { method, path, search, body } = requestOf(name, input, raw !== undefined)
  const data = raw?.data ?? (body && JSON.stringify(body))
  const key = pageKey.get()
  const isLarge = typeof data === 'string' && data.length > largeBody
  const response = await (isLarge && onProgress ? uploadWith(onProgress) : fetch)(`/api/v1${path}${search}`, {
    method,
    headers: {
      ...(accept && { accept }),
      ...(data !== undefined && { 'content-type': raw?.mediaType ?? 'application/json' }),
      ...(key && { authorization: `Page ${key}` }),
    },
    ...(data !== undefined && { body: data }),
    ...(signal && { signal }),
    credentials: 'same-origin',
  }).catch((cause: unknown) => {
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause
    throw new ApiError(t.common.cannotReach, { code: 'unreached', status: 0 })
  })
  if (response.ok) return response
  if (response.status === 401) for (const listener of signedOut) listener()
  throw await toError(response)
}

/** A body of this many characters takes long enough on a slow line for its progress to be worth showing. */
const largeBody = 500_000

/** `fetch` tells nothing about the progress of an upload. */
function uploadWith(onProgress: (part: number) => void) {
  return (url: string, { method = 'POST', headers, body, signal }: RequestInit): Promise<Response> =>
    new Promise((resolve, reject) => {
      const request = new XMLHttpRequest()
      request.open(method, url)
      for (const [name, value] of Object.entries((headers ?? {}) as Record<string, string>))
        request.setRequestHeader(name, value)
      request.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0)
      request.onload = () => resolve(new Response(request.responseText, { status: request.status }))
      request.onerror = () => reject(new TypeError(t.common.cannotReach))
      request.onabort = () => reject(new DOMException('Aborted', 'AbortError'))
      signal?.addEventListener('abort', () => request.abort(), { once: true })
      request.send(body as string)
    })
}

interface PreparedRequest {
  method: string
  path: string
  search: string
  body: object | undefined
}

/** Fields of the input that are not in the path go into the query of a GET, a DELETE and a raw body, and into JSON otherwise. */
export function requestOf(name: OperationName, input: object, hasRawBody = false): PreparedRequest {
  const [method = '', template = ''] = paths[name].split(' ')
  const rest: Record<string, unknown> = { ...input }
  const path = template.replaceAll(/:(\w+)/g, (_, parameter: string) => {
    const value = String(rest[parameter])
    delete rest[parameter]
    return encodeURIComponent(value)
  })
  const hasQuery = hasRawBody || method === 'GET' || method === 'DELETE'
  if (hasQuery) return { method, path, search: searchOf(rest), body: undefined }
  return { method, path, search: '', body: (rest.body as object | undefined) ?? rest }
}

async function toError(response: Response): Promise<ApiError> {
  const reply = (await response.json().catch(() => ({}))) as { error?: unknown; code?: unknown }
  const message = typeof reply.error === 'string' ? reply.error : t.common.requestFailed(response.status)
  return new ApiError(message, {
    code: typeof reply.code === 'string' ? reply.code : 'unknown',
    status: response.status,
  })
}

function searchOf(query: Record<string, unknown>): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  )
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
}

interface Answer<T> {
  /** The newest reply; it stays while the next one loads. */
  data: T | undefined
  error: Error | undefined
  isLoading: boolean
  /** Loads it again. */
  refresh(): void
  /** Shows this until the next reply. */
  put(data: T): void
}

/**
 * The reply of an operation that only reads. It is loaded again when the input changes and, with `everyMs`, from time to time
 * while the page is visible. Nothing is loaded where the input is null.
 */
export function useAnswer<Name extends OperationName>(
  name: Name,
  input: Input<Name> | null,
  { everyMs }: { everyMs?: number | undefined } = {},
): Answer<Reply<Name>> {
  type Data = Reply<Name>
  const [state, setState] = useState<{ data?: Data; error?: Error; isLoading: boolean }>({ isLoading: input !== null })
  const [turn, setTurn] = useState(0)
  const key = JSON.stringify(input)
  const shown = useRef<string>(undefined)

  // biome-ignore lint/correctness/useExhaustiveDependencies: `turn` loads it again.
  useEffect(() => {
    const current = JSON.parse(key) as object | null
    if (current === null) return setState({ isLoading: false })
    const controller = new AbortController()
    const { path } = requestOf(name, current)
    // Data of another path would be wrong here; another query keeps it until the reply comes.
    const isOther = shown.current !== path
    shown.current = path
    setState((before) => (isOther ? { isLoading: true } : { ...before, isLoading: true }))
    send(name, current, { signal: controller.signal })
      .then((response) => response.json() as Promise<Data>)
      .then(
        (data) => setState({ data, isLoading: false }),
        (error: Error) => {
          if (!controller.signal.aborted) setState((before) => ({ ...before, error, isLoading: false }))
        },
      )
    return () => controller.abort()
  }, [name, key, turn])

  const refresh = useCallback(() => setTurn((before) => before + 1), [])
  const put = useCallback((data: Data) => setState({ data, isLoading: false }), [])

  useEffect(() => {
    if (everyMs === undefined) return
    const timer = setInterval(() => document.visibilityState === 'visible' && refresh(), everyMs)
    return () => clearInterval(timer)
  }, [everyMs, refresh])

  return { data: state.data, error: state.error, isLoading: state.isLoading, refresh, put }
}
