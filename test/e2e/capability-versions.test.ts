import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createIds } from '../../src/base/ids.ts'
import { createToolAudit } from '../../src/tools/registry.ts'
import { openCapabilities } from '../support/capabilities.ts'
import { openRealSandbox } from '../support/real-sandbox.ts'
import {
  greeterFiles,
  greeterManifest,
  openServedCapabilities,
  type ServedCapabilities,
} from '../support/served-capabilities.ts'

const real = openRealSandbox()

/** Its number is in two files: a call that saw half of one version and half of another would print two numbers. */
function counting(version: number): Record<string, string> {
  return greeterFiles({
    'main.py': `import number\n\ndef run(args):\n    return {"main": ${version}, "beside": number.value}\n`,
    'number.py': `value = ${version}\n`,
    'manifest.json': greeterManifest({ name: 'counting', input_schema: { type: 'object' } }),
    'examples.json': [{ input: {}, expect: { equals: { main: version, beside: version } } }],
  })
}

describe('versions under load', () => {
  let home: Awaited<ReturnType<typeof openCapabilities>>
  let served: ServedCapabilities
  beforeAll(async () => {
    home = await openCapabilities({ sandbox: real.sandbox })
    const { database, clock, redactor } = home
    const audit = createToolAudit({ database, clock, ids: createIds(clock), redact: redactor.redact })
    served = await openServedCapabilities({ ...home, audit })
  })
  afterAll(async () => {
    await served.close()
    await home.close()
    await real.close()
  })

  const signal = AbortSignal.timeout(120_000)
  const call = (version?: number) =>
    served.capabilities.runs.run({ userId: 'max', name: 'counting', version, input: {}, caller: 'user', signal })

  it('CAP-8 two run at once while a third is checked and published, and roll back and forth: every call is whole', async () => {
    const { catalog } = served.capabilities
    await served.publish('max', counting(1))
    await served.publish('max', counting(2))
    let isChanging = true
    const seen = new Map<string, number>()
    const callers = [undefined, undefined, 1, 2].map(async (version) => {
      while (isChanging) {
        const { ok, value, error } = await call(version)
        const told = ok ? JSON.stringify(value) : `failed: ${error}`
        seen.set(told, (seen.get(told) ?? 0) + 1)
      }
    })
    const files = new Map(Object.entries(counting(3)).map(([path, text]) => [path, new TextEncoder().encode(text)]))
    const third = await served.gate.register(files, { userId: 'max', origin: 'written', signal })
    expect(third).toMatchObject({ ok: true, version: 3 })
    for (const version of [1, 3, 2, undefined, 3]) {
      await catalog.rollback('max', 'counting', version)
      await call()
    }
    isChanging = false
    await Promise.all(callers)
    const whole = [1, 2, 3].map((version) => JSON.stringify({ main: version, beside: version }))
    expect([...seen.keys()].filter((told) => !whole.includes(told))).toEqual([])
    expect(whole.filter((told) => seen.has(told))).toEqual(whole)
    expect((await call()).value).toEqual({ main: 3, beside: 3 })
  })
})
