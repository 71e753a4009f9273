import { createHmac } from 'node:crypto'
import { sha256 } from '../../../base/hash.ts'

export interface S3Credentials {
  accessKeyId: string
  secretAccessKey: string
  /** Of keys that are lent for a while. */
  sessionToken?: string | undefined
}

/**
 * The headers that a request to S3 needs beside its own, the signature (AWS Signature Version 4) among them. It covers the
 * method, the address, every given header, and the body by its hash: what reaches the store is what was meant, or refused.
 */
export function signS3Request(request: {
  method: string
  /** Its path and query are encoded by `encodeS3Path` and `encodeS3Query`: they are signed as they stand. */
  url: URL
  headers: Readonly<Record<string, string>>
  bodyHash: string
  region: string
  credentials: S3Credentials
  now: number
}): Record<string, string> {
  const { method, url, bodyHash, region, credentials } = request
  const time = new Date(request.now).toISOString().replace(/[-:]|\.\d{3}/g, '')
  const day = time.slice(0, 8)
  const added = {
    'x-amz-content-sha256': bodyHash,
    'x-amz-date': time,
    ...(credentials.sessionToken !== undefined && { 'x-amz-security-token': credentials.sessionToken }),
  }
  const signed = Object.entries({ ...request.headers, ...added, host: url.host })
    .map(([name, value]) => [name.toLowerCase(), value.trim().replace(/ +/g, ' ')] as const)
    .sort(byName)
  const names = signed.map(([name]) => name).join(';')
  const lines = signed.map(([name, value]) => `${name}:${value}\n`).join('')
  const canonical = [method, url.pathname, sortedQuery(url), lines, names, bodyHash].join('\n')
  const scope = `${day}/${region}/s3/aws4_request`
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n')
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${credentials.secretAccessKey}`)
  const signature = hmac(key, text).toString('hex')
  const authorization = `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`
  return { ...request.headers, ...added, authorization }
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

function sortedQuery(url: URL): string {
  const pairs = url.search === '' ? [] : url.search.slice(1).split('&')
  // A name without a value has an empty one.
  return pairs
    .map((pair) => pair.split('=') as [string, string?])
    .map(([name, value = '']) => [name, value] as const)
    .sort(byName)
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
}

function byName([a]: readonly [string, string], [b]: readonly [string, string]): number {
  return a < b ? -1 : 1
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
