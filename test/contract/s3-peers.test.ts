import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { openS3 } from '../../src/daemon/open-fleet.ts'
import { createS3Blobs, encodeS3Path, encodeS3Query, signS3Request } from '../../src/fleet/s3.ts'
import { describeBlobStore } from './blob-store-contract.ts'

/**
 * Independent implementations, installed from npm into a separate folder: `aws4` signs requests, and `s3rver` is an S3
 * server. The latter does not verify version 4 signatures, so the former proves them.
 */
const packages = ['aws4@1.13.2', 's3rver@3.7.1']
const isAsked = Boolean(process.env.FAMILIAR_TEST_ALL)
const folder = isAsked ? mkdtempSync(join(tmpdir(), 'familiar-s3-peers-')) : tmpdir()
const run = promisify(execFile)

interface Aws4 {
  sign(request: object, keys: object): { headers: Record<string, string> }
}
interface S3rver {
  run(): Promise<{ port: number }>
  close(): Promise<void>
}

async function install(): Promise<string | undefined> {
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...packages]
  return await run('npm', args, { cwd: folder, timeout: 120_000 }).then(
    () => undefined,
    (cause: Error) => cause.message,
  )
}

const problem = isAsked ? await install() : 'FAMILIAR_TEST_ALL is not set'
if (problem !== undefined && isAsked) console.warn(`S3 was not tried against other people's programs: ${problem}`)
const load = createRequire(join(folder, 'index.js'))

describe.runIf(problem === undefined)('beside other people’s programs', () => {
  it('SCALE-5 signs every request as another program does', async () => {
    const aws4 = load('aws4') as Aws4
    const credentials = { accessKeyId: 'AKIDX', secretAccessKey: 'se/cr+et', sessionToken: 'lent//token==' }
    const now = Date.UTC(2026, 1, 3, 4, 5, 6)
    const requests = [
      { method: 'GET', key: 'a/b.txt', query: {}, body: '' },
      { method: 'PUT', key: "we ird/$&'()*!~ü/ä+b", query: {}, body: 'Wörter' },
      { method: 'DELETE', key: '0'.repeat(300), query: {}, body: '' },
      {
        method: 'GET',
        key: '',
        query: { prefix: 'x y/ü&=', 'list-type': '2', 'continuation-token': 'a+b/c==' },
        body: '',
      },
    ]
    for (const { method, key, query, body } of requests) {
      const path = `/house/${encodeS3Path(key)}`
      const search = encodeS3Query(query)
      const url = new URL(`http://s3.example:9000${path}${search && `?${search}`}`)
      const bodyHash = createHash('sha256').update(body).digest('hex')
      const ours = await signS3Request({ method, url, headers: {}, bodyHash, region: 'eu-1', credentials, now })
      const headers = { 'x-amz-date': ours['x-amz-date'], 'x-amz-content-sha256': bodyHash }
      const asked = { method, host: url.host, path: url.pathname + url.search, service: 's3', region: 'eu-1', headers }
      const theirs = aws4.sign(asked, credentials)
      expect(ours.authorization, key).toBe(theirs.headers.Authorization)
    }
  })

  let server: S3rver
  let port = 0
  beforeAll(async () => {
    const Server = load('s3rver') as new (options: object) => S3rver
    mkdirSync(join(folder, 'data'))
    const options = { port: 0, address: '127.0.0.1', silent: true, directory: join(folder, 'data') }
    server = new Server({ ...options, allowMismatchedSignatures: true, configureBuckets: [{ name: 'house' }] })
    port = (await server.run()).port
  })
  afterAll(async () => {
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  })

  let count = 0
  describeBlobStore('s3rver', async () => {
    count += 1
    const prefix = `run-${count}/`
    const place = {
      endpoint: `http://127.0.0.1:${port}`,
      region: 'us-east-1',
      bucket: 'house',
      prefix,
      pathStyle: true,
    }
    const s3 = { ...place, accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' }
    const { ask, close } = openS3({ s3, clock: systemClock(), random: () => 0 })
    return { store: createS3Blobs({ ask, prefix: () => prefix }), close }
  })
})
