import { describe, expect, it } from 'vitest'
import { listenForSignals } from './signals.ts'

function open() {
  const listeners = new Map<string, () => void>()
  const exits: number[] = []
  let time = 0
  const source = {
    on: (signal: string, listener: () => void) => listeners.set(signal, listener),
    exit: (code: number) => exits.push(code) as never,
  }
  const signals = listenForSignals(source, () => time)
  return { signals, exits, send: (signal: string) => listeners.get(signal)?.(), wait: (ms: number) => (time += ms) }
}

describe('DAEMON-1 signals', () => {
  it('DAEMON-1 a SIGTERM that comes again and again still ends cleanly', () => {
    const { signals, exits, send, wait } = open()
    send('SIGTERM')
    send('SIGTERM')
    wait(5_000)
    send('SIGTERM')
    expect(signals.signal.aborted).toBe(true)
    expect(exits).toEqual([])
  })

  it('DAEMON-1 a Ctrl-C passed on by a parent is no second one; a person’s second one ends at once', () => {
    const { exits, send, wait } = open()
    send('SIGINT')
    send('SIGINT')
    expect(exits).toEqual([])
    wait(1_000)
    send('SIGINT')
    expect(exits).toEqual([130])
  })

  it('DAEMON-1 the handler gets a hang-up if there is one', () => {
    const { signals, send } = open()
    let reloads = 0
    signals.onHangup(() => {
      reloads += 1
      return 'go on'
    })
    send('SIGHUP')
    expect(reloads).toBe(1)
    expect(signals.signal.aborted).toBe(false)
  })

  it('DAEMON-1 a hang-up ends the command where its terminal is gone', () => {
    const { signals, send } = open()
    signals.onHangup(() => 'end')
    send('SIGHUP')
    expect(signals.signal.aborted).toBe(true)
  })
})
