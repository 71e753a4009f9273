import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { checkShared } from '../../src/daemon/doctor/examine.ts'
import { openFakeS3, s3Keys } from '../support/shared-place/fake-s3.ts'

let root: string
const closers: (() => Promise<void>)[] = []
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'familiar-place-'))
})
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
  rmSync(root, { recursive: true })
})

const directory = (path: string) => checkShared({ shared: { kind: 'directory', directory: path } }, false)

it('SCALE-5 reports whether the shared directory exists and accepts files, and leaves nothing there', async () => {
  expect(await checkShared({ shared: null }, true)).toEqual([])
  expect(await directory(root)).toMatchObject([{ state: 'ok', message: `${root} can be read and written` }])
  expect(readdirSync(root)).toEqual([])
  expect(await directory(join(root, 'not-mounted'))).toMatchObject([{ state: 'fail', message: /does not exist/ }])
})

async function bucket(changes: { secretAccessKey?: string; now?: () => number } = {}) {
  const { now, ...keys } = changes
  const server = await openFakeS3({ bucket: 'house', ...(now && { now }) })
  closers.push(server.close)
  const place = { endpoint: server.endpoint, region: 'us-east-1', bucket: 'house', prefix: 'x/', pathStyle: true }
  const shared = { kind: 's3' as const, s3: { ...place, ...s3Keys, ...keys }, cacheMegabytes: 1 }
  return { server, look: (network: boolean) => checkShared({ shared }, network) }
}

it('SCALE-5 reports whether the bucket accepts the keys, when it may ask, and leaves nothing there', async () => {
  const { server, look } = await bucket()
  expect(await look(false)).toMatchObject([{ state: 'ok', message: /not checked/ }])
  expect(server.requests).toEqual([])
  expect(await look(true)).toMatchObject([{ state: 'ok', message: /can be read and written/ }])
  expect(server.objects.size).toBe(0)
  const wrong = await bucket({ secretAccessKey: 'another' })
  const findings = await wrong.look(true)
  expect(findings).toMatchObject([{ state: 'fail', message: /SignatureDoesNotMatch/ }])
  expect(JSON.stringify(findings)).not.toContain('another')
})

it('SCALE-5 reports a clock that is minutes off, before it is too far off to be accepted', async () => {
  const { look } = await bucket({ now: () => Date.now() + 10 * 60_000 })
  expect(await look(true)).toMatchObject([{ state: 'ok' }, { state: 'warn', message: /10 minutes ahead of this one/ }])
  const late = await bucket({ now: () => Date.now() - 60 * 60_000 })
  expect(await late.look(true)).toMatchObject([{ state: 'fail', message: /RequestTimeTooSkewed/ }])
})
