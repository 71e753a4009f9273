import { createHash, createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface FakeS3 {
  endpoint: string
  /** By bucket and key. A test's entries count as another client's. */
  objects: Map<string, Buffer>
  requests: string[]
  /** Answers the next requests by themselves, one each, before anything else is looked at. */
  answers: { status: number; headers?: Record<string, string>; body?: string }[]
  close(): Promise<void>
}

export const s3Keys = { accessKeyId: 'AKIDFAMILIAR', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+a-secret' }
const skewMs = 15 * 60_000

/**
 * A server on this machine that implements the needed part of S3 and accepts only correctly signed requests: it
 * computes the signature from the received bytes, independently of the client.
 */
export async function openFakeS3(options: { bucket: string; region?: string; now?: () => number }): Promise<FakeS3> {
  const { bucket, region = 'us-east-1', now = Date.now } = options
  const objects = new Map<string, Buffer>()
  const requests: string[] = []
  const answers: FakeS3['answers'] = []

  function respond(request: IncomingMessage, body: Buffer, response: ServerResponse): void {
    requests.push(`${request.method} ${request.headers.host?.replace(/:\d+$/, '')} ${request.url}`)
    response.setHeader('date', new Date(now()).toUTCString())
    const forced = answers.shift()
    if (forced) {
      response.writeHead(forced.status, forced.headers).end(forced.body)
      return
    }
    const problem = whyRefused(request, body, { region, now: now() })
    if (problem) {
      refuse(response, 403, problem)
      return
    }
    const url = new URL(request.url ?? '', 'http://s3')
    const isVirtual = request.headers.host?.startsWith(`${bucket}.`)
    const [first = '', ...rest] = url.pathname.slice(1).split('/').map(decodeURIComponent)
    if (!isVirtual && first !== bucket) {
      refuse(response, 404, 'NoSuchBucket')
      return
    }
    const key = (isVirtual ? [first, ...rest] : rest).join('/')
    answer({ method: request.method ?? '', key, url, body, response })
  }

  function answer({ method, key, url, body, response }: Asked): void {
    const found = objects.get(key)
    if (method === 'PUT') {
      objects.set(key, body)
      response.end()
    } else if (method === 'DELETE') {
      objects.delete(key)
      response.writeHead(204).end()
    } else if (key === '' && url.searchParams.get('list-type') === '2') {
      response.end(page(url.searchParams))
    } else if (found) {
      response.writeHead(200, { 'content-length': found.length }).end(method === 'HEAD' ? undefined : found)
    } else refuse(response, 404, 'NoSuchKey')
  }

  /** Two keys per page, so that listing has to turn pages. */
  function page(query: URLSearchParams): string {
    const keys = [...objects.keys()].filter((key) => key.startsWith(query.get('prefix') ?? '')).sort()
    const from = Number((query.get('continuation-token') ?? 'page&0').slice('page&'.length))
    const more = from + 2 < keys.length
    const items = keys.slice(from, from + 2).map((key) => `<Contents><Key>${escaped(key)}</Key></Contents>`)
    const next = more ? `<NextContinuationToken>page&amp;${from + 2}</NextContinuationToken>` : ''
    return `<ListBucketResult><IsTruncated>${more}</IsTruncated>${next}${items.join('')}</ListBucketResult>`
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => respond(request, Buffer.concat(chunks), response))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    endpoint: `http://localhost:${port}`,
    objects,
    requests,
    answers,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

interface Asked {
  method: string
  key: string
  url: URL
  body: Buffer
  response: ServerResponse
}

function whyRefused(
  request: IncomingMessage,
  body: Buffer,
  { region, now }: { region: string; now: number },
): string | undefined {
  const form =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/
  const [, id, day = '', inRegion, signed = '', signature] = form.exec(request.headers.authorization ?? '') ?? []
  if (id !== s3Keys.accessKeyId) return 'InvalidAccessKeyId'
  if (inRegion !== region) return 'AuthorizationHeaderMalformed'
  const stamp = String(request.headers['x-amz-date'])
  const at = Date.parse(stamp.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  if (!(Math.abs(at - now) <= skewMs) || !stamp.startsWith(day)) return 'RequestTimeTooSkewed'
  const bodyHash = createHash('sha256').update(body).digest('hex')
  if (request.headers['x-amz-content-sha256'] !== bodyHash) return 'XAmzContentSHA256Mismatch'
  const names = signed.split(';')
  const mustBeSigned = Object.keys(request.headers).filter((name) => name === 'host' || name.startsWith('x-amz-'))
  if (!mustBeSigned.every((name) => names.includes(name))) return 'AccessDenied'
  const [path = '', query = ''] = (request.url ?? '').split('?')
  const text = `${request.method}\n${path}\n${query.split('&').sort().join('&')}\n${names
    .map((name) => `${name}:${String(request.headers[name])}\n`)
    .join('')}\n${signed}\n${bodyHash}`
  const scope = `${day}/${region}/s3/aws4_request`
  const toSign = `AWS4-HMAC-SHA256\n${stamp}\n${scope}\n${createHash('sha256').update(text).digest('hex')}`
  let key: Buffer = Buffer.from(`AWS4${s3Keys.secretAccessKey}`)
  for (const part of scope.split('/')) key = createHmac('sha256', key).update(part).digest()
  const expected = createHmac('sha256', key).update(toSign).digest('hex')
  return expected === signature ? undefined : 'SignatureDoesNotMatch'
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status).end(`<Error><Code>${code}</Code><Message>It was ${code}.</Message></Error>`)
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
