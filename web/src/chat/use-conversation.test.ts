import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { untilVisible, whileAttended } from './use-conversation.ts'

class FakeDocument extends EventTarget {
  visibilityState = 'visible'
  become(state: 'visible' | 'hidden'): void {
    this.visibilityState = state
    this.dispatchEvent(new Event('visibilitychange'))
  }
}

const minute = 60_000
let page: FakeDocument

beforeEach(() => {
  vi.useFakeTimers()
  page = new FakeDocument()
  vi.stubGlobal('document', page)
})

afterEach(() => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

describe('a hidden page', () => {
  it('PAGE-2 disconnects after a minute, not before, and never while it is visible', () => {
    const signal = whileAttended(new AbortController().signal, () => false)
    vi.advanceTimersByTime(10 * minute)
    page.become('hidden')
    vi.advanceTimersByTime(minute - 1)
    page.become('visible')
    vi.advanceTimersByTime(10 * minute)
    expect(signal.aborted).toBe(false)
    page.become('hidden')
    vi.advanceTimersByTime(minute)
    expect(signal.aborted).toBe(true)
  })

  it('CHAN-3 stays connected while the user talks to it, and disconnects after that', () => {
    let isTalkedTo = true
    const signal = whileAttended(new AbortController().signal, () => isTalkedTo)
    page.become('hidden')
    vi.advanceTimersByTime(30 * minute)
    expect(signal.aborted).toBe(false)
    isTalkedTo = false
    vi.advanceTimersByTime(2 * minute)
    expect(signal.aborted).toBe(true)
  })

  it('CHAN-3 a tab that is used by voice within the minute keeps its connection', () => {
    let isTalkedTo = false
    const signal = whileAttended(new AbortController().signal, () => isTalkedTo)
    page.become('hidden')
    vi.advanceTimersByTime(minute / 2)
    isTalkedTo = true
    vi.advanceTimersByTime(5 * minute)
    expect(signal.aborted).toBe(false)
  })

  it('PAGE-2 continues when it is visible again or closed', async () => {
    page.visibilityState = 'hidden'
    const ending = new AbortController()
    const seen: string[] = []
    const waits = [
      untilVisible(new AbortController().signal).then(() => seen.push('looked at')),
      untilVisible(ending.signal).then(() => seen.push('ended')),
    ]
    ending.abort()
    await waits[1]
    expect(seen).toEqual(['ended'])
    page.become('visible')
    await waits[0]
    expect(seen).toEqual(['ended', 'looked at'])
  })
})
