import { existsSync } from 'node:fs'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type CapabilitiesHome, openCapabilities } from '../../test/support/capabilities.ts'
import { openRealSandbox } from '../../test/support/real-sandbox.ts'
import type { Json } from '../protocol/messages.ts'

const hasSandbox = existsSync('/usr/bin/bwrap')

const counter = `
def run(args, context):
  storage = context.storage
  for key in args.get("delete", []): storage.delete(key)
  for key, value in args.get("set", {}).items(): storage.set(key, value)
  if args.get("fail"): raise ValueError("failed after it had stored")
  return {"keys": storage.keys(), "found": storage.get(args.get("get", ""), "nothing")}
`
const nodeCounter = `
export function run({ delete: gone = [], set = {}, get = '' }, { storage }) {
  for (const key of gone) storage.delete(key)
  for (const [key, value] of Object.entries(set)) storage.set(key, value)
  return { keys: storage.keys(), found: storage.get(get, 'nothing') }
}
`

describe.skipIf(!hasSandbox)(hasSandbox ? 'what a capability stores' : 'bubblewrap is not installed', () => {
  const real = openRealSandbox()
  let home: CapabilitiesHome
  beforeEach(async () => {
    home = await openCapabilities({ sandbox: real.sandbox })
    await home.addCapability('one', 'sample')
    await home.addCapability('two', 'another')
  })
  afterEach(() => home.close())
  afterAll(() => real.close())

  const calls = (code = counter, runtime: 'python' | 'node' = 'python') => {
    const runnable = home.runnable(code, { storage: true, runtime })
    return (input: Json, capabilityId = 'one') => home.run(runnable, input, { storage: { kind: 'kept', capabilityId } })
  }

  it.each([
    ['python', counter],
    ['node', nodeCounter],
  ] as const)('CAP-5 is there at the next call, for itself alone: %s', async (runtime, code) => {
    const call = calls(code, runtime)
    expect((await call({ set: { a: { n: [1] }, b: null, __proto__: 2 } })).ok).toBe(true)
    expect((await call({ get: 'a' })).value).toEqual({ keys: ['a', 'b'], found: { n: [1] } })
    expect((await call({ delete: ['a', 'c'], get: 'a' })).value).toEqual({ keys: ['b'], found: 'nothing' })
    expect((await call({})).value).toEqual({ keys: ['b'], found: 'nothing' })
    expect((await call({}, 'two')).value).toEqual({ keys: [], found: 'nothing' })
  })

  it('CAP-5 keeps every digit', async () => {
    const code =
      'def run(args, context):\n  if args: context.storage.set("n", 2 ** 80)\n  return str(context.storage.get("n"))'
    const call = calls(code)
    await call({ set: true })
    expect((await call({})).text).toBe('1208925819614629174706176')
  })

  it('CAP-5 is not kept where the call has failed, or is only tried', async () => {
    const call = calls()
    expect((await call({ set: { a: 1 }, fail: true })).ok).toBe(false)
    const scratch = home.runnable(counter, { storage: true })
    expect((await home.run(scratch, { set: { a: 1 } })).value).toEqual({ keys: ['a'], found: 'nothing' })
    expect((await call({})).value).toEqual({ keys: [], found: 'nothing' })
  })

  it('CAP-5 loses nothing of two calls at once but the same key', async () => {
    const call = calls()
    const keys = Array.from({ length: 6 }, (_, index) => `key ${index}`)
    const runs = await Promise.all(keys.map((key, index) => call({ set: { [key]: index, same: index } })))
    expect(runs.map(({ error }) => error)).toEqual(keys.map(() => null))
    expect((await call({})).value).toMatchObject({ keys: [...keys, 'same'] })
  })

  it('CAP-5 is not there where it is not declared', async () => {
    const python = home.runnable(
      'def run(args, context): return [list(context), context.get("storage"), context.storage]',
    )
    expect((await home.run(python)).error).toContain('storage is not there: manifest.json does not declare it')
    const node = home.runnable('export const run = (_, context) => Object.keys(context)', { runtime: 'node' })
    expect((await home.run(node)).value).toEqual(['secrets'])
  })

  it('CAP-5 is JSON and no more than 256 KB together', async () => {
    const call = calls()
    const large = 'x'.repeat(200 * 1024)
    expect((await call({ set: { a: large } })).ok).toBe(true)
    const problem = 'It stores more than 256 KB, so nothing of this call was stored.'
    expect(await call({ set: { b: large, c: 1 } })).toMatchObject({ ok: false, error: problem, outcome: 'failed' })
    expect((await call({})).value).toMatchObject({ keys: ['a'] })
    expect((await call({ set: { b: large }, delete: ['a'] })).ok).toBe(true)
    const scratch = home.runnable(counter, { storage: true })
    expect((await home.run(scratch, { set: { a: large, b: large } })).error).toBe(problem)
    const odd = calls('def run(args, context): context.storage.set("a", {1, 2})')
    expect((await odd({})).error).toContain('TypeError: Object of type set is not JSON serializable')
  })

  it('SEC-13 holds no secret', async () => {
    await home.setSecret('sample', 'TOKEN', 'Vq8-rX2z_Lm41Pd7Ks9T')
    const call = calls()
    expect(await call({ set: { login: { token: 'Vq8-rX2z_Lm41Pd7Ks9T' }, a: 1 } })).toMatchObject({
      ok: false,
      error: expect.stringMatching(/^It tries to store a secret\./),
    })
    expect((await call({})).value).toEqual({ keys: [], found: 'nothing' })
  })
})
