import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { type ModelChild, startModelChild } from '../../base/processes.ts'
import { createAskedChild, type StartVoiceChild, startVoiceChild, type ToVoiceProcess } from './local-voice.ts'

const folder = mkdtempSync(join(tmpdir(), 'familiar-child-'))
afterAll(() => rmSync(folder, { recursive: true }))

// A model that returns its input, and obeys commands in it.
const program = join(folder, 'child.mjs')
writeFileSync(
  program,
  `process.on('disconnect', () => process.exit())
process.on('message', ({ type, sentences: [word] = [] }) => {
  if (type === 'cancel') return process.send({ type: 'failed', reason: 'canceled' })
  if (word === 'die') process.exit(7)
  if (word === 'progress') process.send({ type: 'progress' })
  else if (word !== 'hang') process.send({ type: 'failed', reason: word + ' ' + process.pid })
})
process.send({ type: 'ready' })
`,
)

function setUp(start?: StartVoiceChild) {
  const clock = createManualClock()
  const children: ModelChild<ToVoiceProcess>[] = []
  const begin: StartVoiceChild =
    start ?? ((events) => startModelChild({ program: pathToFileURL(program), args: [] }, events))
  const child = createAskedChild({
    clock,
    start(events) {
      const made = begin(events)
      children.push(made)
      return made
    },
  })
  const { signal } = new AbortController()
  const say = (word: string, until = signal) => child.ask({ type: 'speak', sentences: [word], voice: 'any' }, until)
  return { clock, children, child, say }
}

const isAlive = (pid: number | undefined) => {
  try {
    return process.kill(pid ?? 0, 0)
  } catch {
    return false
  }
}

describe('a model in a separate process', () => {
  it('CHAN-4 starts with the first request, does one at a time, and stops when idle', async () => {
    const { clock, children, child, say } = setUp()
    expect(children).toHaveLength(0)
    const answers = await Promise.all([say('one'), say('two')])
    const pid = children[0]?.pid
    expect(answers).toEqual([
      { type: 'failed', reason: `one ${pid}` },
      { type: 'failed', reason: `two ${pid}` },
    ])
    await clock.advance(5 * 60_000)
    expect(await say('three')).toEqual({ type: 'failed', reason: `three ${children[1]?.pid}` })
    expect(children).toHaveLength(2)
    await child.close()
    expect(children.map((each) => isAlive(each.pid))).toEqual([false, false])
    expect(await say('four')).toEqual({ type: 'failed', reason: 'Familiar is stopping.' })
  })

  it('CHAN-4 is reported and replaced when it dies', async () => {
    const { children, child, say } = setUp()
    expect(await say('die')).toEqual({
      type: 'failed',
      reason: 'The voice model cannot be used: it ended with exit code 7.',
    })
    expect(await say('one')).toMatchObject({ reason: `one ${children[1]?.pid}` })
    await child.close()
  })

  it('VOICE-2 an abort is answered at once and leaves the process with its model in place', async () => {
    const { children, child, say } = setUp()
    await say('one')
    const stop = new AbortController()
    const hanging = say('hang', stop.signal)
    const waiting = say('two', stop.signal)
    stop.abort(new Error('stopped'))
    await expect(hanging).rejects.toThrow('stopped')
    await expect(waiting).rejects.toThrow('stopped')
    expect(await say('three')).toMatchObject({ reason: `three ${children[0]?.pid}` })
    expect(children).toHaveLength(1)
    await child.close()
    expect(isAlive(children[0]?.pid)).toBe(false)
  })

  it('VOICE-2 an abort while the model loads does not stop the loading', async () => {
    const { children, child, say } = setUp()
    const stop = new AbortController()
    const early = say('hang', stop.signal)
    stop.abort(new Error('stopped'))
    await expect(early).rejects.toThrow('stopped')
    expect(await say('one')).toMatchObject({ reason: `one ${children[0]?.pid}` })
    await child.close()
  })

  it('CHAN-4 is stopped when it is silent for too long', async () => {
    const { clock, child, say } = setUp()
    await say('one')
    const hanging = say('hang')
    await clock.advance(120_000)
    expect(await hanging).toMatchObject({ type: 'failed', reason: expect.stringContaining('SIGKILL') })
    await child.close()
  })

  it('CHAN-4 reports a missing model', async () => {
    for (const kind of ['transcription', 'speech'] as const) {
      const { child, say } = setUp(startVoiceChild(kind, join(folder, 'nowhere')))
      expect(await say('one')).toMatchObject({ type: 'failed', reason: expect.stringContaining('cannot be used') })
      await child.close()
    }
  })
})
