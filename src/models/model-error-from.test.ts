import { describe, expect, it } from 'vitest'
import { ModelError } from './model.ts'
import { type FailedCall, toModelError, toStreamError } from './model-errors.ts'

const call: FailedCall = {
  modelId: 'mine/main',
  apiKey: 'topsecret',
  signal: new AbortController().signal,
  begun: false,
}

describe('toModelError', () => {
  it.each<[string, unknown, string]>([
    ['the usual shape', '{"error":{"message":"too long"}}', 'too long'],
    ['an error that is text', '{"error":"model not found"}', 'model not found'],
    ['a detail', '{"detail":"not authenticated"}', 'not authenticated'],
    ['a message', '{"message":"no credit"}', 'no credit'],
    ['a page', '<html>Bad Gateway</html>', 'Bad Gateway'],
    ['nothing', '', 'Bad Gateway'],
  ])('LOOP-7 takes the reason from %s', (_shape, responseBody, words) => {
    const error = toModelError({ message: 'Bad Gateway', statusCode: 502, responseBody }, call)
    expect(error.message).toBe(`mine/main: ${words} (HTTP 502)`)
  })

  it('SEC-13 keeps the reason short and free of keys and control characters', () => {
    const message = `topsecret \u001b[31m${'very '.repeat(500)}long`
    const error = toModelError({ message, statusCode: 400 }, call)
    expect(error.message).toMatch(/^mine\/main: \[key\] very very/)
    expect(error.message.length).toBeLessThan(500)
  })

  it('LOOP-7 distinguishes an unreachable server from a lost connection', () => {
    const network = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
    const failed = new TypeError('fetch failed', { cause: network })
    expect(toModelError(failed, call)).toMatchObject({ code: 'unreachable', retryable: true })
    expect(toModelError(failed, { ...call, begun: true })).toMatchObject({ code: 'cut', retryable: true })
  })

  it('LOOP-7 does not retry unknown errors', () => {
    const bug = new RangeError('a bug')
    expect(toModelError(bug, call)).toMatchObject({ code: 'rejected', retryable: false, cause: bug })
    const known = new ModelError('cut', 'known', { retryable: true })
    expect(toModelError(known, call)).toBe(known)
  })
})

describe('toStreamError', () => {
  it.each<[object, string, number]>([
    [{ message: 'x', type: 'invalid_request_error' }, 'rejected', 400],
    [{ message: 'x', code: 'context_length_exceeded' }, 'too_long', 400],
    [{ message: 'x', type: 'rate_limit_error' }, 'rate_limited', 429],
    [{ message: 'x', code: 429 }, 'rate_limited', 429],
    [{ message: 'x', code: 502 }, 'overloaded', 502],
    [{ message: 'x', type: 'server_error' }, 'overloaded', 503],
    [{ message: 'x' }, 'overloaded', 503],
  ])('LOOP-7 treats %j as %s', (error, code, status) => {
    expect(toStreamError(error, call)).toMatchObject({ code, status })
  })
})
