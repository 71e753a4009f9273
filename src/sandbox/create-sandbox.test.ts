import { describe, expect, it } from 'vitest'
import {
  createSandbox,
  type SandboxCommand,
  type SandboxDriver,
  type SandboxTest,
  SandboxUnavailable,
} from './sandbox.ts'

const command: SandboxCommand = {
  argv: ['true'],
  environment: {},
  workingDirectory: '/',
  stdin: new Uint8Array(),
  mounts: [],
  isWritable: false,
  network: { kind: 'none' },
  limits: { memoryBytes: 1, processes: 1, wallMs: 1, outputBytes: 1, scratchBytes: 1 },
  signal: new AbortController().signal,
}

const holds: SandboxTest = { ok: true, proofs: [{ name: 'memory', ok: true, detail: '' }], lacks: [] }
const fails: SandboxTest = { ok: false, reason: 'the memory limit is ignored', proofs: [], fix: 'sudo mend-it' }

/** Records its calls. */
function driverOf(name: SandboxDriver['name'], test: SandboxTest | Error, asked: string[] = []): SandboxDriver {
  return {
    name,
    async test() {
      asked.push(`${name} test`)
      if (test instanceof Error) throw test
      return test
    },
    makeFolder: async (path) => ({ path, owner: null }),
    async run() {
      asked.push(`${name} run`)
      return {
        end: { kind: 'exited', code: 0 },
        stdout: new Uint8Array(),
        stderr: new Uint8Array(),
        result: new Uint8Array(),
        durationMs: 0,
        peakMemoryBytes: null,
        driver: name,
      }
    },
    missingPrograms: async () => [],
    async close() {
      asked.push(`${name} close`)
    },
  }
}

describe('createSandbox', () => {
  it('SEC-12 uses the first driver that passes its test, and tests each once', async () => {
    const asked: string[] = []
    const sandbox = createSandbox(async () => [driverOf('embedded', fails, asked), driverOf('container', holds, asked)])
    expect(asked).toEqual([])
    const [first, second] = await Promise.all([sandbox.run(command), sandbox.run(command)])
    expect([first.driver, second.driver]).toEqual(['container', 'container'])
    expect(await sandbox.status()).toEqual({
      driver: 'container',
      tried: [
        { driver: 'embedded', test: fails },
        { driver: 'container', test: holds },
      ],
    })
    await sandbox.close()
    expect(asked).toEqual([
      'embedded test',
      'container test',
      'container run',
      'container run',
      'embedded close',
      'container close',
    ])
  })

  it('SEC-12 runs nothing if no driver passes, and says why and what would help', async () => {
    const asked: string[] = []
    const drivers = [driverOf('embedded', fails, asked), driverOf('container', new Error('no engine answers'), asked)]
    const sandbox = createSandbox(async () => drivers)
    const refusal = await sandbox.run(command).catch((error: unknown) => error)
    expect(refusal).toBeInstanceOf(SandboxUnavailable)
    expect(refusal).toMatchObject({
      message:
        'Code cannot run here: no sandbox passed its test (embedded: the memory limit is ignored; container: no engine answers)',
      fix: 'sudo mend-it',
    })
    await expect(createSandbox(async () => []).run(command)).rejects.toThrow('none is configured')
    expect(asked.filter((line) => line.endsWith('run'))).toEqual([])
  })
})
