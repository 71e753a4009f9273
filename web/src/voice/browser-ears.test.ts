import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createBrowserEars } from './browser-ears.ts'
import { VoiceFailure } from './voice-problem.tsx'
import type { VoiceMode } from './voice-state.ts'

/** The speech recognition of a browser, controlled by the test. */
class FakeRecognizer {
  static newest: FakeRecognizer
  starts = 0
  isAborted = false
  onstart?: () => void
  onspeechstart?: () => void
  onresult?: (event: unknown) => void
  onerror?: (event: { error: string }) => void
  onend?: () => void

  constructor() {
    FakeRecognizer.newest = this
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
  const recognizer = FakeRecognizer.newest
  return { opening, recognizer, told }
}

async function opened(mode: VoiceMode, said = '') {
  const { opening, recognizer, told } = await open(mode, said)
  recognizer.onstart?.()
  return { ears: await opening, recognizer, told }
}

describe('the speech recognition of the browser', () => {
  beforeEach(() => {
    vi.useFakeTimers()
    vi.stubGlobal('webkitSpeechRecognition', FakeRecognizer)
  })
  afterEach(() => {
    vi.unstubAllGlobals()
    vi.useRealTimers()
  })

  it('CHAN-3 text that was recognized while the button was held is passed on when it is released', async () => {
    const { ears, recognizer, told } = await opened('hold')
    recognizer.hear('What is', false)
    recognizer.hear('What is it', true)
    recognizer.hear('now', false)
    ears.finish()
    expect(told).toEqual(['words What is', 'words What is it', 'words What is it now', 'said What is it now'])
  })

  it('CHAN-3 hands-free listening continues when the browser stops', async () => {
    const { recognizer, told } = await opened('hands_free')
    recognizer.hear('Hello', true)
    recognizer.onerror?.({ error: 'no-speech' })
    recognizer.onend?.()
    vi.runAllTimers()
    expect(recognizer.starts).toBe(2)
    expect(told).toEqual(['said Hello', 'said '])
  })

  it('CHAN-3 while Familiar speaks, neither noise nor its own words count', async () => {
    const { ears, recognizer, told } = await opened('hands_free', 'The train leaves at nine.')
    ears.setGuarded(true)
    recognizer.onspeechstart?.()
    recognizer.hear('the train leaves', true)
    expect(told).toEqual([])
    recognizer.hear('no wait', false)
    expect(told).toEqual(['words no wait'])
  })

  it('CHAN-3 reports nothing and does not restart after it is closed', async () => {
    const { ears, recognizer, told } = await opened('hands_free')
    ears.close()
    recognizer.hear('late', true)
    vi.runAllTimers()
    expect(recognizer).toMatchObject({ isAborted: true, starts: 1 })
    expect(told).toEqual([])
  })

  it.each([
    ['not-allowed', 'refused'],
    ['network', 'unreached'],
    ['service-not-allowed', 'unreached'],
    ['bad-grammar', 'failed'],
  ])('CHAN-3 %s before and after it hears', async (error, kind) => {
    const before = await open('hold')
    before.recognizer.onerror?.({ error })
    await expect(before.opening).rejects.toMatchObject({ problem: { kind } })
    await expect(before.opening).rejects.toBeInstanceOf(VoiceFailure)
    const after = await opened('hold')
    after.recognizer.onerror?.({ error })
    expect(after.told).toEqual([`problem ${kind}`])
    expect(after.recognizer.isAborted).toBe(true)
  })

  it.each([
    ['another program holds it', ['audioinput', 'audiooutput'], 'microphone_taken'],
    ['there is none', ['audiooutput'], 'no_microphone'],
  ])('CHAN-3 no sound, and %s', async (_, kinds, kind) => {
    const enumerateDevices = async () => kinds.map((one) => ({ kind: one }))
    vi.stubGlobal('navigator', { mediaDevices: { enumerateDevices } })
    const before = await open('hold')
    before.recognizer.onerror?.({ error: 'audio-capture' })
    await expect(before.opening).rejects.toMatchObject({ problem: { kind } })
    const after = await opened('hands_free')
    after.recognizer.onerror?.({ error: 'audio-capture' })
    expect(after.recognizer.isAborted).toBe(true)
    await expect.poll(() => after.told).toEqual([`problem ${kind}`])
  })
})
