import { type Clock, sleep } from '../base/clock.ts'
import { sha256 } from '../base/ids.ts'
import { toDisplayText, truncateText } from '../base/text.ts'
import { FamiliarError } from '../protocol/errors.ts'
import { type BlobStore, isBlobName, needBlobName } from '../storage/blobs.ts'

/** Names as keys of a bucket, below the prefix of its settings. Keys that are not names of ours are not listed. */
export function createS3Blobs({ ask, prefix }: { ask: AskS3; prefix: () => string }): BlobStore {
  return {
    async put(name, bytes) {
      const { status } = await ask({ method: 'PUT', key: needBlobName(name), body: bytes })
      if (status === 404) throw new FamiliarError('unavailable', 'The shared storage does not accept files')
    },
    async get(name) {
      const { status, body } = await ask({ method: 'GET', key: needBlobName(name) })
      return status === 404 ? undefined : body
    },
    async has(name) {
      const { status } = await ask({ method: 'HEAD', key: needBlobName(name) })
      return status !== 404
    },
    async delete(name) {
      await ask({ method: 'DELETE', key: needBlobName(name) })
    },
    async *list(folder) {
      const before = prefix()
      for (let token: string | undefined, isFirst = true; isFirst || token !== undefined; isFirst = false) {
        const query = { 'list-type': '2', prefix: before + folder, ...(token && { 'continuation-token': token }) }
        const { body } = await ask({ method: 'GET', key: '', query })
        const text = new TextDecoder().decode(body)
        const keys = Array.from(text.matchAll(/<Key>([^<]*)<\/Key>/g), ([, key = '']) => unescaped(key))
        yield* keys.map((key) => key.slice(before.length)).filter(isBlobName)
        const next = /<NextContinuationToken>([^<]*)<\/NextContinuationToken>/.exec(text)?.[1]
        token = next === undefined ? undefined : unescaped(next)
      }
    },
  }
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

function unescaped(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|apos);/g, (_, name: string) => entities[name] ?? '')
}

/** A bucket, and who may write there. Its secret is resolved: hand it to the redactor. */
export interface S3Settings extends S3Credentials {
  /** `https://s3.eu-central-1.amazonaws.com`, or the address of another server that speaks the same. */
  endpoint: string
  region: string
  bucket: string
  /** Before every key; empty, or ending with a slash. */
  prefix: string
  /** The bucket as the first step of the path, and not as part of the host's name. */
  pathStyle: boolean
}

/** The address of the bucket for every request, without a trailing slash. */
export function bucketAddress({ endpoint, bucket, pathStyle }: Omit<S3Settings, keyof S3Credentials>): string {
  const url = new URL(endpoint)
  const base = url.pathname.replace(/\/+$/, '')
  if (pathStyle) return `${url.origin}${base}/${bucket}`
  return `${url.protocol}//${bucket}.${url.host}${base}`
}

interface S3Credentials {
  accessKeyId: string
  secretAccessKey: string
  /** Of keys that are lent for a while. */
  sessionToken?: string | undefined
}

/**
 * The additional headers of a request to S3, with the signature (AWS Signature Version 4). It covers the method, the
 * address, every given header, and the hash of the body: the store refuses a changed request.
 */
export async function signS3Request(request: {
  method: string
  /** Its path and query are encoded by `encodeS3Path` and `encodeS3Query`: they are signed in that form. */
  url: URL
  headers: Readonly<Record<string, string>>
  bodyHash: string
  region: string
  credentials: S3Credentials
  now: number
}): Promise<Record<string, string>> {
  const { AwsV4Signer } = await import('aws4fetch')
  const { accessKeyId, secretAccessKey, sessionToken } = request.credentials
  const signer = new AwsV4Signer({
    method: request.method,
    url: request.url.href,
    // Without the hash the signer would leave the body out of the signature.
    headers: { ...request.headers, 'x-amz-content-sha256': request.bodyHash },
    accessKeyId,
    secretAccessKey,
    ...(sessionToken !== undefined && { sessionToken }),
    service: 's3',
    region: request.region,
    datetime: new Date(request.now).toISOString().replace(/[-:]|\.\d{3}/g, ''),
    allHeaders: true,
  })
  return Object.fromEntries((await signer.sign()).headers)
}

/** Every byte but the unreserved ones, and the slashes between the steps. */
export function encodeS3Path(path: string): string {
  return path.split('/').map(encode).join('/')
}

export function encodeS3Query(query: Readonly<Record<string, string>>): string {
  return Object.entries(query)
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .join('&')
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

interface S3Request {
  method: 'GET' | 'PUT' | 'HEAD' | 'DELETE'
  /** Empty for the bucket itself. */
  key: string
  query?: Readonly<Record<string, string>>
  body?: Uint8Array
}

interface S3Answer {
  status: number
  body: Uint8Array
  /** When the server answered, by its own clock. */
  date: number | undefined
}

/**
 * Answers with any status that says something of the object: 2xx, and 404 where the bucket is there. Everything else is
 * thrown as `unavailable`, with the server's words; what may pass is tried again before that.
 */
export type AskS3 = (request: S3Request) => Promise<S3Answer>

const attempts = 4
const firstDelayMs = 200
const maxDelayMs = 10_000
const passing = new Set([408, 425, 429])

export function createAskS3(dependencies: {
  settings: () => S3Settings
  /** May reach no other host than that of the bucket. */
  fetch: typeof globalThis.fetch
  clock: Clock
  random: () => number
}): AskS3 {
  const { fetch, clock, random } = dependencies

  async function askOnce({ method, key, query = {}, body }: S3Request): Promise<Outcome> {
    const settings = dependencies.settings()
    const path = key === '' ? '' : `/${encodeS3Path(settings.prefix + key)}`
    const url = new URL(`${bucketAddress(settings)}${path === '' ? '/' : path}`)
    url.search = encodeS3Query(query)
    const headers = await signS3Request({
      method,
      url,
      headers: body ? { 'content-type': 'application/octet-stream' } : {},
      bodyHash: sha256(body ?? ''),
      region: settings.region,
      credentials: settings,
      now: clock.now(),
    })
    try {
      // A redirect would send the request to an unapproved host, where the signature is invalid.
      const init: RequestInit = {
        method,
        headers,
        redirect: 'manual',
        body: (body as Uint8Array<ArrayBuffer> | undefined) ?? null,
      }
      const response = await fetch(url, init)
      const answer = {
        status: response.status,
        body: new Uint8Array(await response.arrayBuffer()),
        date: dateOf(response.headers.get('date')),
      }
      return { answer, retryAfterMs: 1000 * (Number(response.headers.get('retry-after')) || 0) }
    } catch (cause) {
      return { failure: cause, retryAfterMs: 0 }
    }
  }

  return async (request) => {
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await askOnce(request)
      const error = problemOf(outcome, dependencies.settings())
      if (!error && outcome.answer) return outcome.answer
      if (attempt === attempts || !mayPass(outcome)) throw error
      const pause = random() * Math.min(maxDelayMs, firstDelayMs * 2 ** attempt)
      await sleep(clock, Math.min(maxDelayMs, Math.max(outcome.retryAfterMs, pause)))
    }
  }
}

interface Outcome {
  answer?: S3Answer
  failure?: unknown
  retryAfterMs: number
}

function mayPass({ answer, failure }: Outcome): boolean {
  if (answer) return answer.status >= 500 || passing.has(answer.status)
  // A request that the egress guard refused would be refused again.
  const code = failure instanceof Error && 'code' in failure ? failure.code : undefined
  return !String(code).startsWith('blocked')
}

function problemOf({ answer, failure }: Outcome, { bucket }: S3Settings): FamiliarError | undefined {
  const where = `The shared storage (bucket ${bucket})`
  if (!answer) return new FamiliarError('unavailable', `${where} cannot be reached: ${reasonOf(failure)}`)
  const said = new TextDecoder().decode(answer.body.subarray(0, 4_000))
  const code = /<Code>([^<]*)<\/Code>/.exec(said)?.[1]
  const isAnswer = answer.status >= 200 && answer.status < 300
  if (isAnswer || (answer.status === 404 && code !== 'NoSuchBucket')) return undefined
  const message = /<Message>([^<]*)<\/Message>/.exec(said)?.[1]
  const words = toDisplayText(truncateText([code, message].filter(Boolean).join(': '), 300))
  return new FamiliarError('unavailable', `${where} answers ${answer.status}${words && ` (${words})`}`)
}

/** The reason behind "fetch failed". */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  return cause.cause instanceof Error ? cause.cause.message : cause.message
}

function dateOf(header: string | null): number | undefined {
  const date = Date.parse(header ?? '')
  return Number.isNaN(date) ? undefined : date
}
