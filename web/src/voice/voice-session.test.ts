import { describe, expect, it } from 'vitest'
import type { TurnItem } from '../chat/conversation.ts'
import type { EarsListener } from './browser-ears.ts'
import type { Mouth } from './mouth.ts'
import { createVoiceSession } from './voice-session.ts'
import { usualVoiceSettings, type VoiceSettings } from './voice-settings.ts'

function turn(id: string, text: string, outcome?: TurnItem['outcome']): TurnItem {
  return {
    kind: 'turn',
    seq: 1,
    id,
    model: '',
    parts: text === '' ? [] : [{ kind: 'text', text }],
    memories: [],
    costUsd: 0,
    isEstimate: false,
    tokens: 0,
    deliver: true,
    pendingQuestion: null,
    ...(outcome && { outcome }),
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

/** Recognition and a voice that the test controls. */
async function bench(
  options: { mode?: 'hold' | 'hands_free'; settings?: Partial<VoiceSettings>; isSent?: boolean } = {},
) {
  const { mode = 'hands_free', isSent = true } = options
  const sent: string[] = []
  const said: string[] = []
  const ears = { isOpen: false, isGuarded: false, isMuted: false }
  let heard: EarsListener | undefined
  let isSpeaking = false
  let isHeld = false
  let tellMouth: () => void = () => undefined
  const mouth: Mouth = {
    say(text) {
      said.push(text)
      isSpeaking = true
      tellMouth()
    },
    cut() {
      isSpeaking = isHeld = false
      tellMouth()
    },
    hold() {
      isHeld = isSpeaking
      tellMouth()
    },
    resume() {
      isHeld = false
      tellMouth()
    },
    state: () => (!isSpeaking ? 'silent' : isHeld ? 'held' : 'sounding'),
    sentence: () => said.at(-1) ?? '',
    owner: () => (isSpeaking ? 'reply' : null),
    recent: () => said.join(' '),
    subscribe(listener) {
      tellMouth = listener
      return () => undefined
    },
  }
  const session = createVoiceSession({
    async openEars(_mode, listener) {
      heard = listener
      ears.isOpen = true
      return {
        finish: () => listener.onUtterance('held'),
        close: () => {
          ears.isOpen = false
        },
        setGuarded: (isGuarded) => {
          ears.isGuarded = isGuarded
        },
        setMuted: (isMuted) => {
          ears.isMuted = isMuted
        },
      }
    },
    mouth,
    settings: () => ({ ...usualVoiceSettings, ...options.settings }),
    async send(text) {
      sent.push(text)
      return isSent
    },
  })
  const stop = session.start()
  const show = (...items: TurnItem[]) => session.follow({ items, cursor: '1' })
  async function start(): Promise<EarsListener> {
    session.tell({ type: 'begin', mode })
    await settled()
    if (!heard) throw new Error('the ears are not open')
    return heard
  }
  function finishSpeaking(): void {
    isSpeaking = false
    tellMouth()
  }
  return { session, stop, show, start, finishSpeaking, sent, said, ears, isSpeaking: () => isSpeaking && !isHeld }
}

describe('a conversation by voice', () => {
  it('CHAN-3 earlier replies are not spoken; a new one is, as it streams, and then it listens again', async () => {
    const { session, show, start, finishSpeaking, sent, said, ears } = await bench()
    const old = turn('old', 'Long ago. ', 'completed')
    show(old)
    const heard = await start()
    show(old)
    heard.onSpeech()
    heard.onPause()
    heard.onUtterance('Hello')
    show(old, turn('new', 'One. Tw'))
    expect(said).toEqual(['One.'])
    expect(session.state().kind).toBe('speaking')
    expect(ears.isGuarded).toBe(true)
    show(old, turn('new', 'One. Two.', 'completed'))
    expect(said).toEqual(['One.', 'Two.'])
    expect(session.state().kind).toBe('speaking')
    finishSpeaking()
    expect(session.state().kind).toBe('listening')
    expect(ears).toEqual({ isOpen: true, isGuarded: false, isMuted: false })
    expect(sent).toEqual(['Hello'])
  })

  it('CHAN-3 a conversation that loads after the voice was switched on is not read out', async () => {
    const { show, start, said } = await bench()
    await start()
    show(turn('old', 'Long ago.', 'completed'))
    expect(said).toEqual([])
  })

  it('CHAN-3 an interrupted reply is not resumed', async () => {
    const { show, start, said, isSpeaking } = await bench()
    const heard = await start()
    heard.onUtterance('Hello')
    show(turn('a', 'One. Two'))
    heard.onSpeech()
    expect(isSpeaking()).toBe(false)
    show(turn('a', 'One. Two. Three.', 'completed'))
    heard.onUtterance('Other')
    show(turn('a', 'One. Two. Three.', 'completed'), turn('b', 'Yes.', 'completed'))
    expect(said).toEqual(['One.', 'Yes.'])
  })

  it('VOICE-3 a cough only pauses the reply: it continues, with what came meanwhile', async () => {
    const { session, show, start, said, sent, isSpeaking, finishSpeaking } = await bench()
    const heard = await start()
    heard.onUtterance('Hello')
    show(turn('a', 'One. Two'))
    heard.onSpeech()
    expect(session.state()).toMatchObject({ kind: 'listening', isHearing: true })
    expect(isSpeaking()).toBe(false)
    show(turn('a', 'One. Two. Three.', 'completed'))
    heard.onPause()
    heard.onUtterance('')
    expect(session.state().kind).toBe('speaking')
    expect(isSpeaking()).toBe(true)
    expect(said).toEqual(['One.', 'Two.', 'Three.'])
    expect(sent).toEqual(['Hello'])
    finishSpeaking()
    expect(session.state().kind).toBe('listening')
  })

  it('VOICE-8 paused, it is silent and deaf; then it continues', async () => {
    const { session, show, start, said, ears, isSpeaking } = await bench()
    const heard = await start()
    heard.onUtterance('Hello')
    show(turn('a', 'One. Two'))
    session.tell({ type: 'pause' })
    expect(session.state().kind).toBe('paused')
    expect(ears.isMuted).toBe(true)
    expect(isSpeaking()).toBe(false)
    show(turn('a', 'One. Two. ', 'completed'))
    expect(said).toEqual(['One.'])
    session.tell({ type: 'resume' })
    expect(session.state().kind).toBe('speaking')
    expect(ears.isMuted).toBe(false)
    expect(said).toEqual(['One.', 'Two.'])
  })

  it('VOICE-8 muted, it continues to speak; the end unmutes', async () => {
    const { session, show, start, ears, isSpeaking } = await bench()
    const heard = await start()
    heard.onUtterance('Hello')
    session.setMuted(true)
    show(turn('a', 'One. Two', 'completed'))
    expect([ears.isMuted, isSpeaking(), session.isMuted()]).toEqual([true, true, true])
    session.tell({ type: 'end' })
    expect(session.isMuted()).toBe(false)
  })

  it('CHAN-3 its own voice in the microphone is not taken for the user’s', async () => {
    const { show, start, sent } = await bench()
    const heard = await start()
    heard.onUtterance('Hello')
    show(turn('a', 'The train leaves at nine. And'))
    heard.onSpeech()
    heard.onPause()
    heard.onUtterance('the train leaves at nine')
    expect(sent).toEqual(['Hello'])
  })

  it('CHAN-3 speaking does not interrupt where the setting is off', async () => {
    const { session, show, start, sent, isSpeaking } = await bench({ settings: { isInterruptible: false } })
    const heard = await start()
    heard.onUtterance('Hello')
    show(turn('a', 'One. Two'))
    heard.onSpeech()
    heard.onPause()
    heard.onUtterance('something else')
    expect(session.state().kind).toBe('speaking')
    expect(isSpeaking()).toBe(true)
    expect(sent).toEqual(['Hello'])
  })

  it('CHAN-3 a held question is answered in silence where that is wanted', async () => {
    const { session, show, start, said, ears } = await bench({ mode: 'hold', settings: { isAnsweredAloud: false } })
    await start()
    session.tell({ type: 'released' })
    await settled()
    expect(session.state().kind).toBe('off')
    show(turn('a', 'One.', 'completed'))
    expect(said).toEqual([])
    expect(ears.isOpen).toBe(false)
  })

  it('CHAN-3 a message that could not be sent is not lost, and the microphone is released', async () => {
    const { session, start, ears } = await bench({ isSent: false })
    const heard = await start()
    heard.onUtterance('Hello')
    await settled()
    expect(session.state()).toMatchObject({ kind: 'off', problem: { kind: 'not_sent', detail: 'Hello' } })
    expect(ears.isOpen).toBe(false)
  })

  it('CHAN-3 a microphone that opens after the end is closed at once', async () => {
    const { session, stop, ears } = await bench()
    session.tell({ type: 'begin', mode: 'hands_free' })
    stop()
    await settled()
    expect(session.state().kind).toBe('off')
    expect(ears.isOpen).toBe(false)
  })
})
