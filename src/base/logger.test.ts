import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Clock } from './clock.ts'
import { openLogger } from './logger.ts'
import { toDisplayText } from './text.ts'
import { createWorkContext, logFieldsOf } from './work.ts'

const day = 86_400_000
let directory: string
let now: number
const clock: Clock = { now: () => now, after: () => () => {} }
const redact = (text: string) => text.replaceAll('hunter2-secret', '[redacted]')

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'familiar-log-'))
  now = Date.parse('2026-11-15T10:00:00Z')
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const logLines = () =>
  readdirSync(directory)
    .sort()
    .flatMap((name) => readFileSync(join(directory, name), 'utf8').trimEnd().split('\n'))

describe('logger', () => {
  it('SEC-13 writes JSON lines and readable lines, without secrets', async () => {
    const lines: string[] = []
    const log = openLogger({ level: 'info', clock, redact, directory, writeLine: (line) => lines.push(line) })
    const cause = new Error('key hunter2-secret refused', { cause: { url: 'http://x/?k=hunter2-secret' } })
    log.debug('not shown')
    log.warn('calling with hunter2-secret', {
      'hunter2-secret': ['hunter2-secret'],
      cause,
      level: 'mine',
      none: undefined,
    })
    log.close()
    const [line = '', ...rest] = logLines()
    expect(rest).toEqual([])
    expect(JSON.parse(line)).toMatchObject({
      level: 'warn',
      time: '2026-11-15T10:00:00.000Z',
      message: 'calling with [redacted]',
      '[redacted]': ['[redacted]'],
      cause: { name: 'Error', message: 'key [redacted] refused', cause: { url: 'http://x/?k=[redacted]' } },
      level_: 'mine',
    })
    expect(line + lines.join()).not.toContain('hunter2-secret')
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatch(/^10:00:00 warn {2}calling with \[redacted\] /)
  })

  it('SEC-10 no text can forge a line or control a terminal', async () => {
    const lines: string[] = []
    const log = openLogger({ level: 'debug', clock, redact, directory, writeLine: (line) => lines.push(line) })
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.jsonValue(), (message, data) => {
        lines.length = 0
        log.info(`a\n10:00:00 error forged \u001b[2J${message}`, { data, [message]: message })
        expect(lines).toHaveLength(1)
        expect(lines[0]).not.toContain('\n')
        expect(lines[0]).toBe(toDisplayText(lines[0] ?? ''))
      }),
    )
    log.info('split by escapes: hunter2\u001b[0m-sec\u200bret')
    expect(lines.at(-1)).toContain('[redacted]')
    log.close()
    for (const line of logLines()) expect(() => JSON.parse(line)).not.toThrow()
  })

  it('SEC-10 accepts circular fields and fields that are not data', async () => {
    const log = openLogger({ level: 'debug', clock, redact, directory })
    const circle: Record<string, unknown> = { big: 10n, task: () => 1, symbol: Symbol('s') }
    circle.self = circle
    log.info('circle', { circle })
    log.close()
    expect(JSON.parse(logLines()[0] ?? '').circle).toMatchObject({ big: '10', self: '…' })
  })

  it('DAEMON-1 starts a file per day and at the size limit, keeps the newest, readable by the owner only', async () => {
    const log = openLogger({ level: 'info', clock, redact, directory, maxFileBytes: 300, keepFiles: 4 })
    for (let round = 0; round < 6; round += 1) log.info('x'.repeat(150))
    now += day
    log.info('next day')
    log.close()
    expect(readdirSync(directory).sort()).toEqual([
      'familiar-2026-11-15.3.log',
      'familiar-2026-11-15.4.log',
      'familiar-2026-11-15.5.log',
      'familiar-2026-11-16.log',
    ])
    for (const name of readdirSync(directory)) expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600)
  })

  it('DAEMON-1 survives a missing directory and reports later how many lines were lost', async () => {
    const gone = join(directory, 'gone')
    const log = openLogger({ level: 'info', clock, redact, directory: gone })
    log.info('lost')
    log.info('lost too')
    const { mkdirSync } = await import('node:fs')
    mkdirSync(gone)
    log.info('back')
    log.close()
    const text = readFileSync(join(gone, 'familiar-2026-11-15.log'), 'utf8')
    expect(text).toMatch(/"count":2[^\n]*\n[^\n]*"message":"back"/)
  })

  it('SCALE-7 every line carries the current context, also after a wait; its own fields win', async () => {
    const work = createWorkContext()
    const log = openLogger({ level: 'info', clock, redact, directory, context: () => logFieldsOf(work.current()) })
    const turns = ['one', 'two'].map((turn) =>
      work.apart({ request: `request-${turn}`, session: 'main' }, async () => {
        log.info('received')
        await new Promise(setImmediate)
        await work.within({ turn }, async () => {
          await new Promise(setImmediate)
          log.info('answered', { session: 'another' })
        })
        setTimeout(() => log.info('later'), 0)
      }),
    )
    await Promise.all(turns)
    log.info('outside')
    await new Promise((resolve) => setTimeout(resolve, 5))
    log.close()
    const lines = logLines().map((line) => JSON.parse(line))
    for (const turn of ['one', 'two']) {
      const own = lines.filter(({ request }) => request === `request-${turn}`)
      expect(own.map(({ level: _, time: __, request: ___, ...line }) => line)).toEqual([
        { session: 'main', message: 'received' },
        { session: 'another', turn, message: 'answered' },
        { session: 'main', message: 'later' },
      ])
    }
    expect(lines.find(({ message }) => message === 'outside')).not.toHaveProperty('request')
  })

  it('DAEMON-1 changes its level at runtime', async () => {
    const lines: string[] = []
    const log = openLogger({ level: 'error', clock, redact, writeLine: (line) => lines.push(line) })
    log.info('quiet')
    log.setLevel('info')
    log.info('heard')
    expect(lines).toHaveLength(1)
  })
})
