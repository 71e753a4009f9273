import { describe, expect, it } from 'vitest'
import { transition, type VoiceCommand, type VoiceEvent, type VoiceState, voiceOff } from './voice-state.ts'

/** The kinds of the states that the events lead through, and the commands on the way. */
function walk(...events: VoiceEvent[]): { kinds: string[]; commands: VoiceCommand[]; state: VoiceState } {
  let state = voiceOff
  const kinds: string[] = []
  const commands: VoiceCommand[] = []
  for (const event of events) {
    const next = transition(state, event)
    state = next.state
    kinds.push(state.kind)
    commands.push(...next.commands)
  }
  return { kinds, commands, state }
}

const holding: VoiceEvent[] = [{ type: 'begin', mode: 'hold' }, { type: 'opened' }]
const handsFree: VoiceEvent[] = [{ type: 'begin', mode: 'hands_free' }, { type: 'opened' }]
const said: VoiceEvent = { type: 'utterance', text: 'Hello' }

describe('the states of a conversation by voice', () => {
  it('CHAN-3 speech while the button is held is sent when it is released, and the reply is spoken once', () => {
    const { kinds, commands } = walk(
      ...holding,
      { type: 'speech' },
      { type: 'released' },
      said,
      { type: 'reply' },
      { type: 'quiet' },
    )
    expect(kinds).toEqual(['opening', 'listening', 'listening', 'writing', 'thinking', 'speaking', 'off'])
    expect(commands.map((command) => command.do)).toEqual([
      'cut_voice',
      'open_ears',
      'hold_voice',
      'finish_ears',
      'close_ears',
      'cut_voice',
      'send',
      'close_ears',
      'cut_voice',
    ])
  })

  it('CHAN-3 hands-free it listens again when all is said', () => {
    const { kinds, commands } = walk(
      ...handsFree,
      { type: 'speech' },
      { type: 'paused' },
      said,
      { type: 'reply' },
      {
        type: 'quiet',
      },
    )
    expect(kinds).toEqual(['opening', 'listening', 'listening', 'writing', 'thinking', 'speaking', 'listening'])
    expect(commands).toContainEqual({ do: 'send', text: 'Hello' })
    expect(commands.map((command) => command.do)).not.toContain('close_ears')
  })

  it('VOICE-3 speaking while it speaks makes it wait, and it listens', () => {
    const before = walk(...handsFree, said, { type: 'reply' })
    const next = transition(before.state, { type: 'speech' })
    expect(next.state).toMatchObject({ kind: 'listening', isHearing: true })
    expect(next.commands).toEqual([{ do: 'hold_voice' }])
    const words = transition(transition(next.state, { type: 'paused' }).state, said)
    expect(words.commands.map((command) => command.do)).toEqual(['cut_voice', 'send'])
    const cough = transition(transition(next.state, { type: 'paused' }).state, { type: 'utterance', text: '' })
    expect(cough).toEqual({ state: { kind: 'thinking', mode: 'hands_free' }, commands: [{ do: 'resume_voice' }] })
  })

  it('CHAN-3 unrecognized speech is not sent', () => {
    const nothing: VoiceEvent = { type: 'utterance', text: '  ' }
    expect(walk(...handsFree, { type: 'speech' }, { type: 'paused' }, nothing).state).toMatchObject({
      kind: 'listening',
      isHearing: false,
    })
    const held = walk(...holding, { type: 'released' }, nothing)
    expect(held.state).toMatchObject({ kind: 'off', problem: { kind: 'nothing_heard' } })
    expect(held.commands.map((command) => command.do)).not.toContain('send')
  })

  it.each([
    ['opening', [{ type: 'begin', mode: 'hands_free' }]],
    ['listening', handsFree],
    ['writing', [...handsFree, { type: 'paused' }]],
    ['thinking', [...handsFree, said]],
    ['speaking', [...handsFree, said, { type: 'reply' }]],
  ] satisfies [string, VoiceEvent[]][])('CHAN-3 there is a way out while %s', (kind, events) => {
    const before = walk(...events)
    expect(before.state.kind).toBe(kind)
    const { state, commands } = transition(before.state, { type: 'end' })
    expect(state).toMatchObject({ kind: 'off', problem: null })
    expect(commands.map((command) => command.do)).toEqual(['close_ears', 'cut_voice'])
  })

  it('CHAN-3 a button that was let go before the microphone was open leaves it closed', () => {
    const { state, commands } = walk({ type: 'begin', mode: 'hold' }, { type: 'released' })
    expect(state).toMatchObject({ kind: 'off', problem: { kind: 'nothing_heard' } })
    expect(commands.at(-2)).toEqual({ do: 'close_ears' })
    expect(transition(state, { type: 'opened' }).state.kind).toBe('off')
  })

  it('CHAN-3 held again while it speaks, it is silent and listens', () => {
    const before = walk(...holding, { type: 'released' }, said, { type: 'reply' })
    const { state, commands } = transition(before.state, { type: 'begin', mode: 'hold' })
    expect(state.kind).toBe('opening')
    expect(commands.map((command) => command.do)).toEqual(['close_ears', 'cut_voice', 'open_ears'])
  })

  it('CHAN-3 when hushed, it drops the rest of the reply and keeps listening', () => {
    const before = walk(...handsFree, said, { type: 'reply' })
    const { state, commands } = transition(before.state, { type: 'hushed' })
    expect(state).toMatchObject({ kind: 'listening' })
    expect(commands).toEqual([{ do: 'cut_voice' }])
  })

  it('CHAN-3 late news change nothing', () => {
    for (const event of [{ type: 'opened' }, { type: 'speech' }, said, { type: 'reply' }, { type: 'quiet' }] as const) {
      expect(transition(voiceOff, event)).toEqual({ state: voiceOff, commands: [] })
    }
    const hearing = walk(...handsFree, { type: 'speech' }).state
    expect(transition(hearing, { type: 'reply' }).state).toBe(hearing)
  })

  it('CHAN-3 a failure ends it and says why', () => {
    const { state } = walk(...handsFree, { type: 'failed', problem: { kind: 'refused', detail: '' } })
    expect(state).toEqual({ kind: 'off', problem: { kind: 'refused', detail: '' }, wanted: 'hands_free' })
  })
})
