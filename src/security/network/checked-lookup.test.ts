import { describe, expect, it } from 'vitest'
import { createCheckedLookup, type ResolvedAddress } from './destinations.ts'

const google: ResolvedAddress = { address: '8.8.8.8', family: 4 }
const cloudflare: ResolvedAddress = { address: '2606:4700:4700::1111', family: 6 }

function lookUp(answers: ResolvedAddress[], all: boolean): Promise<unknown[]> {
  let asked = 0
  const lookup = createCheckedLookup(async () => {
    asked += 1
    return answers
  })
  return new Promise((resolve) => {
    lookup('name.example', { all }, (...results) => resolve([...results, `asked ${asked}`]))
  })
}

describe('createCheckedLookup', () => {
  it('SEC-8 gives the socket exactly the addresses that it checked, from one lookup', async () => {
    expect(await lookUp([google, cloudflare], true)).toEqual([null, [google, cloudflare], 'asked 1'])
    expect(await lookUp([google, cloudflare], false)).toEqual([null, '8.8.8.8', 4, 'asked 1'])
  })

  it.each(['127.0.0.1', '10.0.0.1', '::1', '::ffff:8.8.8.8', 'not an address'])(
    'SEC-8 gives no address if %s is among them',
    async (address) => {
      const [error, addresses] = await lookUp([google, { address, family: 4 }], true)
      expect(error).toMatchObject({ code: 'blocked_address' })
      expect(addresses).toEqual([])
    },
  )

  it('SEC-8 gives no address if the name has none', async () => {
    expect((await lookUp([], false))[0]).toMatchObject({ code: 'blocked_address' })
  })

  it('passes on that the name is unknown', async () => {
    const lookup = createCheckedLookup(() => Promise.reject(Object.assign(new Error('unknown'), { code: 'ENOTFOUND' })))
    const error = await new Promise((resolve) => lookup('name.example', {}, resolve))
    expect(error).toMatchObject({ code: 'ENOTFOUND' })
  })
})
