import { type Clock, sleep } from '../../../base/clock.ts'
import { sha256 } from '../../../base/hash.ts'
import { toDisplayText, truncateText } from '../../../base/text.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import { bucketAddress, type S3Settings } from './s3-settings.ts'
import { encodeS3Path, encodeS3Query, signS3Request } from './sign-s3-request.ts'

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
const longestDelayMs = 10_000
const passing = new Set([408, 425, 429])

export function createAskS3(dependencies: {
  settings: () => S3Settings
  /** May reach no other host than that of the bucket. */
  fetch: typeof globalThis.fetch
  clock: Clock
  /** From 0 to 1. */
  random: () => number
}): AskS3 {
  const { fetch, clock, random } = dependencies

  async function askOnce({ method, key, query = {}, body }: S3Request): Promise<Outcome> {
    const settings = dependencies.settings()
    const path = key === '' ? '' : `/${encodeS3Path(settings.prefix + key)}`
    const url = new URL(`${bucketAddress(settings)}${path === '' ? '/' : path}`)
    url.search = encodeS3Query(query)
    const headers = signS3Request({
      method,
      url,
      headers: body ? { 'content-type': 'application/octet-stream' } : {},
      bodyHash: sha256(body ?? ''),
      region: settings.region,
      credentials: settings,
      now: clock.now(),
    })
    try {
      // Elsewhere the signature is worth nothing, and nobody has said that elsewhere may be asked.
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
      const pause = random() * Math.min(longestDelayMs, firstDelayMs * 2 ** attempt)
      await sleep(clock, Math.min(longestDelayMs, Math.max(outcome.retryAfterMs, pause)))
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
  // What the guard of ways out refuses, it refuses again.
  const code = failure instanceof Error && 'code' in failure ? failure.code : undefined
  return !String(code).startsWith('blocked')
}

function problemOf({ answer, failure }: Outcome, { bucket }: S3Settings): FamiliarError | undefined {
  const where = `The shared place (bucket ${bucket})`
  if (!answer) return new FamiliarError('unavailable', `${where} cannot be reached: ${reasonOf(failure)}`)
  const said = new TextDecoder().decode(answer.body.subarray(0, 4_000))
  const code = /<Code>([^<]*)<\/Code>/.exec(said)?.[1]
  const isAnswer = answer.status >= 200 && answer.status < 300
  if (isAnswer || (answer.status === 404 && code !== 'NoSuchBucket')) return undefined
  const message = /<Message>([^<]*)<\/Message>/.exec(said)?.[1]
  const words = toDisplayText(truncateText([code, message].filter(Boolean).join(': '), 300))
  return new FamiliarError('unavailable', `${where} answers ${answer.status}${words && ` (${words})`}`)
}

/** What is behind "fetch failed". */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  return cause.cause instanceof Error ? cause.cause.message : cause.message
}

function dateOf(header: string | null): number | undefined {
  const date = Date.parse(header ?? '')
  return Number.isNaN(date) ? undefined : date
}
