import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { openS3 } from '../../src/daemon/open-fleet.ts'
import { createS3Blobs, type S3Settings } from '../../src/fleet/s3.ts'
import { type FakeS3, openFakeS3, s3Keys } from '../support/shared-place/fake-s3.ts'

describe('a bucket that is not at its best', () => {
  let server: FakeS3
  const closers: (() => Promise<void>)[] = []
  beforeEach(async () => {
    server = await openFakeS3({ bucket: 'house' })
  })
  afterEach(async () => {
    for (const close of closers.splice(0)) await close()
    await server.close()
  })

  function open(changes: Partial<S3Settings> = {}, now?: () => number) {
    const usual = { endpoint: server.endpoint, region: 'us-east-1', bucket: 'house', prefix: '', pathStyle: true }
    const clock = now ? { ...systemClock(), now } : systemClock()
    const { ask, close } = openS3({ s3: { ...usual, ...s3Keys, ...changes }, clock, random: () => 0 })
    closers.push(close)
    return createS3Blobs({ ask, prefix: () => '' })
  }

  it('SCALE-5 temporary failures are retried, and the blob is stored once', async () => {
    const store = open()
    server.answers.push({ status: 503 }, { status: 500, body: '<Code>InternalError</Code>' }, { status: 429 })
    await store.put('a', Buffer.from('1'))
    expect(server.requests).toHaveLength(4)
    expect(server.objects.get('a')?.toString()).toBe('1')
  })

  it("SCALE-5 permanent failures are reported in the server's words, without endless retries", async () => {
    const store = open()
    server.answers.push(...Array.from({ length: 9 }, () => ({ status: 503, body: '<Code>SlowDown</Code>' })))
    await expect(store.get('a')).rejects.toMatchObject({ code: 'unavailable', message: /answers 503 \(SlowDown\)/ })
    expect(server.requests).toHaveLength(4)
  })

  it.each([
    ['the key', { secretAccessKey: 'another' }, 'SignatureDoesNotMatch'],
    ['who', { accessKeyId: 'AKIDNOBODY' }, 'InvalidAccessKeyId'],
    ['the region', { region: 'eu-1' }, 'AuthorizationHeaderMalformed'],
    ['the bucket', { bucket: 'elsewhere' }, 'NoSuchBucket'],
  ])('SCALE-5 a mistake in %s is a failure and never an empty place', async (_what, changes, said) => {
    const store = open(changes)
    await expect(store.get('a')).rejects.toMatchObject({ code: 'unavailable', message: expect.stringContaining(said) })
    await expect(store.put('a', Buffer.from('1'))).rejects.toMatchObject({ code: 'unavailable' })
    await expect(Array.fromAsync(store.list(''))).rejects.toMatchObject({ code: 'unavailable' })
    expect(server.objects.size).toBe(0)
    // Each once: what is refused is not asked again.
    expect(server.requests).toHaveLength(3)
  })

  it('SCALE-5 a clock that is an hour off is rejected and reported', async () => {
    const store = open({}, () => Date.now() - 3_600_000)
    await expect(store.get('a')).rejects.toMatchObject({ message: expect.stringContaining('RequestTimeTooSkewed') })
  })

  it('SEC-8 it is sent nowhere else by an answer', async () => {
    const other = await openFakeS3({ bucket: 'house' })
    closers.push(other.close)
    server.answers.push({ status: 307, headers: { location: `${other.endpoint}/house/a` } })
    await expect(open().get('a')).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('307'),
    })
    expect(other.requests).toEqual([])
  })

  it('SCALE-5 an unreachable server is a failure too', async () => {
    const store = open({ endpoint: 'http://127.0.0.1:1' })
    await expect(store.has('a')).rejects.toMatchObject({ code: 'unavailable', message: /cannot be reached/ })
  })
})
