import { describe, expect, it } from 'vitest'
import { createMouth, splitOpening } from './mouth.ts'

/** A voice that speaks a sentence until the test ends it. */
function bench(options: { ready?: (text: string) => Promise<void> } = {}) {
  const prepared: string[] = []
  const held: string[] = []
  const playing: string[] = []
  const failures: unknown[] = []
  let finish: () => void = () => undefined
  const mouth = createMouth({
    voice: async () => ({
      async prepare(text) {
        prepared.push(text)
        if (text === 'broken') throw new Error('no voice')
        await options.ready?.(text)
        return {
          pause: () => held.push(text),
          resume: () => held.push(`on ${text}`),
          play: (signal, onSound) =>
            new Promise((resolve) => {
              playing.push(text)
              onSound()
              finish = resolve
              signal.addEventListener('abort', () => resolve(), { once: true })
            }),
        }
      },
    }),
    onFailure: (error) => failures.push(error),
  })
  return { mouth, prepared, playing, held, failures, finish: () => finish() }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('the speech queue', () => {
  it('CHAN-3 speaks one sentence after the other, and prepares the next one', async () => {
    const { mouth, prepared, playing, finish } = bench()
    for (const text of ['one', 'two', 'three']) mouth.say(text, 'reply')
    await settled()
    expect(playing).toEqual(['one'])
    expect(prepared).toEqual(['one', 'two'])
    finish()
    await settled()
    expect(playing).toEqual(['one', 'two'])
    finish()
    await settled()
    finish()
    await settled()
    expect(playing).toEqual(['one', 'two', 'three'])
    expect(mouth.owner()).toBeNull()
    expect(mouth.recent()).toContain('two three')
  })

  it('VOICE-1 asks for the second sentence when the first is ready, so that it is never made first', async () => {
    const first = Promise.withResolvers<void>()
    const { mouth, prepared, playing } = bench({
      ready: (text) => (text === 'one' ? first.promise : Promise.resolve()),
    })
    for (const text of ['one', 'two', 'three']) mouth.say(text, 'reply')
    await settled()
    expect(prepared).toEqual(['one'])
    expect(mouth.state()).toBe('preparing')
    first.resolve()
    await settled()
    expect(playing).toEqual(['one'])
    expect(prepared).toEqual(['one', 'two'])
  })

  it('VOICE-1 a long first sentence begins with a short piece, at a pause of the speaker', async () => {
    const long = 'It will stay dry until the evening, and after that there may be some rain in the north of the city.'
    const { mouth, prepared } = bench()
    mouth.say(long, 'reply')
    await settled()
    expect(prepared[0]).toBe('It will stay dry until the evening,')
    expect(splitOpening(long).join(' ')).toBe(long)
    for (const whole of [
      'Short, and sweet.',
      'x'.repeat(300),
      'No, it is a sentence with a comma only at its very beginning here.',
    ])
      expect(splitOpening(whole)).toEqual([whole])
  })

  it('VOICE-3 is held where it is, and continues there', async () => {
    const { mouth, playing, held, finish } = bench()
    mouth.say('one', 'reply')
    mouth.say('two', 'reply')
    await settled()
    mouth.hold()
    expect(mouth.state()).toBe('held')
    expect(mouth.owner()).toBe('reply')
    mouth.resume()
    expect(held).toEqual(['one', 'on one'])
    expect(mouth.state()).toBe('sounding')
    mouth.hold()
    finish()
    await settled()
    // The sentence had ended anyway; the next one waits.
    expect(playing).toEqual(['one'])
    mouth.resume()
    await settled()
    expect(playing).toEqual(['one', 'two'])
  })

  it('VOICE-7 it sounds only while sound plays, without a gap between sentences that are ready', async () => {
    const first = Promise.withResolvers<void>()
    const third = Promise.withResolvers<void>()
    const ready = (text: string) =>
      text === 'one' ? first.promise : text === 'three' ? third.promise : Promise.resolve()
    const { mouth, finish } = bench({ ready })
    const states: string[] = []
    mouth.subscribe(() => states.at(-1) !== mouth.state() && states.push(mouth.state()))
    for (const text of ['one', 'two', 'three']) mouth.say(text, 'reply')
    await settled()
    expect(states).toEqual(['preparing'])
    first.resolve()
    await settled()
    finish()
    await settled()
    expect(states).toEqual(['preparing', 'sounding'])
    finish()
    await settled()
    expect(states).toEqual(['preparing', 'sounding', 'preparing'])
    third.resolve()
    await settled()
    finish()
    await settled()
    expect(states).toEqual(['preparing', 'sounding', 'preparing', 'sounding', 'silent'])
  })

  it('CHAN-3 stops at once when it is interrupted, and can speak again', async () => {
    const { mouth, playing } = bench()
    mouth.say('one', 'reply')
    mouth.say('two', 'reply')
    await settled()
    mouth.cut()
    expect(mouth.owner()).toBeNull()
    mouth.say('three', 'other')
    await settled()
    expect(playing).toEqual(['one', 'three'])
    expect(mouth.owner()).toBe('other')
  })

  it('CHAN-3 a voice that fails is reported once, and the rest is dropped', async () => {
    const { mouth, playing, failures } = bench()
    for (const text of ['broken', 'two']) mouth.say(text, 'reply')
    await settled()
    mouth.say('three', 'reply')
    await settled()
    expect(failures).toEqual([new Error('no voice')])
    expect(playing).toEqual([])
    expect(mouth.owner()).toBeNull()
    mouth.cut()
    mouth.say('four', 'reply')
    await settled()
    expect(playing).toEqual(['four'])
  })
})
