import { describe, expect, it } from 'vitest'
import { createMouth } from './mouth.ts'

/** A voice that speaks a sentence until the test ends it. */
function bench() {
  const prepared: string[] = []
  const playing: string[] = []
  const failures: unknown[] = []
  let finish: () => void = () => undefined
  const mouth = createMouth({
    voice: async () => ({
      async prepare(text) {
        prepared.push(text)
        if (text === 'broken') throw new Error('no voice')
        return {
          play: (signal) =>
            new Promise((resolve) => {
              playing.push(text)
              finish = resolve
              signal.addEventListener('abort', () => resolve(), { once: true })
            }),
        }
      },
    }),
    onFailure: (error) => failures.push(error),
  })
  return { mouth, prepared, playing, failures, finish: () => finish() }
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
