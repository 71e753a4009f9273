import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { VoiceFailure } from '../voice-problem.ts'
import type { VoiceMode } from '../voice-state.ts'
import { createBrowserEars } from './browser-ears.ts'

/** What a browser has, moved by the test. */
class FakeRecogniser {
  static newest: FakeRecogniser
  starts = 0
  isAborted = false
  onstart?: () => void
  onspeechstart?: () => void
  onresult?: (event: unknown) => void
  onerror?: (event: { error: string }) => void
  onend?: () => void

  constructor() {
    FakeRecogniser.newest = this
  }
  start(): void {
    this.starts += 1
  }
  stop(): void {
    this.onend?.()
  }
  abort(): void {
    this.isAborted = true
    this.onend?.()
  }
  hear(transcript: string, isFinal: boolean): void {
    this.onresult?.({ resultIndex: 0, results: [{ isFinal, 0: { transcript } }] })
  }
}

async function open(mode: VoiceMode, said = '') {
  const told: string[] = []
  const opening = createBrowserEars({ language: () => 'en-GB', said: () => said })(
    mode,
    {
      onSpeech: () => told.push('speech'),
      onWords: (words) => told.push(`words ${words}`),
      onPause: () => told.push('pause'),
      onUtterance: (text) => told.push(`said ${text}`),
      onLevel: () => undefined,
      onProblem: ({ kind }) => told.push(`problem ${kind}`),
    },
    new AbortController().signal,
  )
  const recogniser = FakeRecogniser.newest
  return { opening, recogniser, told }
}

async function opened(mode: VoiceMode, said = '') {
  const { opening, recogniser, told } = await open(mode, said)
  recogniser.onstart?.()
  return { ears: await opening, recogniser, told }
}

describe('the ears of the browser', () => {
  beforeEach(() => {
    vi.useFakeTimers()
    vi.stubGlobal('webkitSpeechRecognition', FakeRecogniser)
  })
  afterEach(() => {
    vi.unstubAllGlobals()
    vi.useRealTimers()
  })

  it('CHAN-3 what was understood while the button was held is told when it is let go', async () => {
    const { ears, recogniser, told } = await opened('hold')
    recogniser.hear('What is', false)
    recogniser.hear('What is it', true)
    recogniser.hear('now', false)
    ears.finish()
    expect(told).toEqual(['words What is', 'words What is it', 'words What is it now', 'said What is it now'])
  })

  it('CHAN-3 hands-free it goes on listening when the browser stops', async () => {
    const { recogniser, told } = await opened('hands_free')
    recogniser.hear('Hello', true)
    recogniser.onerror?.({ error: 'no-speech' })
    recogniser.onend?.()
    vi.runAllTimers()
    expect(recogniser.starts).toBe(2)
    expect(told).toEqual(['said Hello', 'said '])
  })

  it('CHAN-3 while Familiar speaks, neither noise nor its own words count', async () => {
    const { ears, recogniser, told } = await opened('hands_free', 'The train leaves at nine.')
    ears.setGuarded(true)
    recogniser.onspeechstart?.()
    recogniser.hear('the train leaves', true)
    expect(told).toEqual([])
    recogniser.hear('no wait', false)
    expect(told).toEqual(['words no wait'])
  })

  it('CHAN-3 closed, it tells nothing and does not begin again', async () => {
    const { ears, recogniser, told } = await opened('hands_free')
    ears.close()
    recogniser.hear('late', true)
    vi.runAllTimers()
    expect(recogniser).toMatchObject({ isAborted: true, starts: 1 })
    expect(told).toEqual([])
  })

  it.each([
    ['not-allowed', 'refused'],
    ['network', 'unreached'],
    ['service-not-allowed', 'unreached'],
    ['bad-grammar', 'failed'],
  ])('CHAN-3 %s before and after it hears', async (error, kind) => {
    const before = await open('hold')
    before.recogniser.onerror?.({ error })
    await expect(before.opening).rejects.toMatchObject({ problem: { kind } })
    await expect(before.opening).rejects.toBeInstanceOf(VoiceFailure)
    const after = await opened('hold')
    after.recogniser.onerror?.({ error })
    expect(after.told).toEqual([`problem ${kind}`])
    expect(after.recogniser.isAborted).toBe(true)
  })

  it.each([
    ['another program holds it', ['audioinput', 'audiooutput'], 'microphone_taken'],
    ['there is none', ['audiooutput'], 'no_microphone'],
  ])('CHAN-3 no sound, and %s', async (_, kinds, kind) => {
    const enumerateDevices = async () => kinds.map((one) => ({ kind: one }))
    vi.stubGlobal('navigator', { mediaDevices: { enumerateDevices } })
    const before = await open('hold')
    before.recogniser.onerror?.({ error: 'audio-capture' })
    await expect(before.opening).rejects.toMatchObject({ problem: { kind } })
    const after = await opened('hands_free')
    after.recogniser.onerror?.({ error: 'audio-capture' })
    expect(after.recogniser.isAborted).toBe(true)
    await expect.poll(() => after.told).toEqual([`problem ${kind}`])
  })
})
