import { describe, expect, it } from 'vitest'
import { createHoldPress } from './voice-controls.tsx'
import { chooseEars, chooseVoice, readSettings, usualVoiceSettings } from './voice-settings.ts'

const able = { by: 'whisper-tiny', hint: null }
const unable = { by: null, hint: 'familiar voice install' }
const speaking = { by: 'kokoro', hint: null, voices: ['anna'] }
const silent = { by: null, hint: 'install one', voices: [] }
const near = { voiceURI: 'near', localService: true, lang: 'de-AT' }
const english = { voiceURI: 'english', localService: true, lang: 'en-GB' }
const far = { voiceURI: 'far', localService: false, lang: 'en-US' }
const nothing = { voice: null, language: null }

describe('the choice of recognition and voice', () => {
  it('CHAN-3 the browser listens only when that was chosen, and is asked for first', () => {
    expect(chooseEars({ ears: null }, { hasRecognizer: true, daemon: able })).toMatchObject({
      problem: { kind: 'choose' },
    })
    expect(chooseEars({ ears: 'browser' }, { hasRecognizer: true, daemon: able })).toMatchObject({ chosen: 'browser' })
    expect(chooseEars({ ears: 'daemon' }, { hasRecognizer: true, daemon: able })).toMatchObject({ chosen: 'daemon' })
  })

  it('CHAN-3 the daemon listens where the browser cannot, or says what is missing', () => {
    for (const ears of [null, 'browser', 'daemon'] as const) {
      expect(chooseEars({ ears }, { hasRecognizer: false, daemon: able })).toMatchObject({ chosen: 'daemon' })
      expect(chooseEars({ ears }, { hasRecognizer: false, daemon: unable })).toMatchObject({
        problem: { kind: 'unable', detail: 'familiar voice install' },
      })
    }
  })

  it('CHAN-3 a voice that sends the text away speaks only when it was chosen', () => {
    expect(chooseVoice(nothing, { voices: [far, near], daemon: speaking })).toMatchObject({
      chosen: { by: 'browser', voice: near },
    })
    expect(chooseVoice(nothing, { voices: [far], daemon: speaking })).toMatchObject({ chosen: { by: 'daemon' } })
    expect(chooseVoice(nothing, { voices: [far], daemon: silent })).toMatchObject({
      problem: { detail: 'install one' },
    })
    const chosen = { voice: { by: 'browser', name: 'far' }, language: null } as const
    expect(chooseVoice(chosen, { voices: [near, far], daemon: silent })).toMatchObject({ chosen: { voice: far } })
  })

  it('CHAN-3 the voice speaks the language of the user where there is one', () => {
    const english_ = { voice: null, language: 'en-US' }
    expect(chooseVoice(english_, { voices: [near, english], daemon: silent })).toMatchObject({
      chosen: { voice: english },
    })
  })

  it('CHAN-3 a missing voice of the daemon is replaced by its default voice', () => {
    const named = (name: string) => ({ voice: { by: 'daemon', name }, language: null }) as const
    const there = { voices: [near], daemon: speaking }
    expect(chooseVoice(named('anna'), there)).toMatchObject({ chosen: { by: 'daemon', name: 'anna' } })
    expect(chooseVoice(named('gone'), there)).toMatchObject({ chosen: { by: 'daemon', name: null } })
  })

  it('CHAN-3 invalid settings fall back to the defaults', () => {
    for (const stored of [null, '', '{', '[]', '{"rate":99,"ears":"cat","voice":{"by":"x"}}']) {
      expect(readSettings(stored)).toEqual(usualVoiceSettings)
    }
    const kept = { ...usualVoiceSettings, rate: 1.5, voice: { by: 'daemon', name: 'anna' }, isInterruptible: false }
    expect(readSettings(JSON.stringify(kept))).toEqual(kept)
  })
})

describe('holding a button', () => {
  function bench() {
    const told: string[] = []
    let now = 0
    const hold = createHoldPress({
      begin: () => told.push('begin'),
      release: () => told.push('release'),
      now: () => now,
    })
    return { told, hold, wait: (ms: number) => (now += ms) }
  }

  it('CHAN-3 records as long as it is held', () => {
    const { told, hold, wait } = bench()
    hold.press()
    hold.press()
    wait(1_000)
    hold.letGo()
    hold.letGo()
    expect(told).toEqual(['begin', 'release'])
  })

  it('CHAN-3 records from one tap to the next', () => {
    const { told, hold, wait } = bench()
    hold.press()
    wait(100)
    hold.letGo()
    expect(told).toEqual(['begin'])
    wait(5_000)
    hold.press()
    hold.letGo()
    expect(told).toEqual(['begin', 'release'])
    hold.press()
    hold.letGo()
    hold.reset()
    hold.press()
    expect(told).toEqual(['begin', 'release', 'begin', 'begin'])
  })
})
