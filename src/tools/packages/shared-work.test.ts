import { describe, expect, it } from 'vitest'
import { createSharedWork } from './shared-work.ts'

describe('work that several wait for', () => {
  const open = () => {
    const share = createSharedWork<string>()
    const begun: { signal: AbortSignal; end: PromiseWithResolvers<string> }[] = []
    const ask = (signal: AbortSignal) =>
      share('numpy', signal, (own) => {
        const end = Promise.withResolvers<string>()
        own.addEventListener('abort', () => end.reject(own.reason))
        begun.push({ signal: own, end })
        return end.promise
      })
    return { ask, begun }
  }
  const never = new AbortController().signal

  it('is done once', async () => {
    const { ask, begun } = open()
    const both = [ask(never), ask(never)]
    begun[0]?.end.resolve('built')
    expect(await Promise.all(both)).toEqual(['built', 'built'])
    expect(begun).toHaveLength(1)
  })

  it('goes on for the others when the one who began it leaves', async () => {
    const { ask, begun } = open()
    const first = new AbortController()
    const leaving = ask(first.signal)
    const staying = ask(never)
    first.abort(new Error('left'))
    await expect(leaving).rejects.toThrow('left')
    begun[0]?.end.resolve('built')
    expect(await staying).toBe('built')
  })

  it('ends with the last one, and is begun anew for the next', async () => {
    const { ask, begun } = open()
    const only = new AbortController()
    const leaving = ask(only.signal)
    only.abort(new Error('left'))
    await expect(leaving).rejects.toThrow('left')
    expect(begun[0]?.signal.aborted).toBe(true)
    const next = ask(never)
    begun[1]?.end.resolve('built again')
    expect(await next).toBe('built again')
  })

  it('is not begun for one who has left already', async () => {
    const { ask, begun } = open()
    await expect(ask(AbortSignal.abort(new Error('left')))).rejects.toThrow('left')
    expect(begun).toEqual([])
  })
})
