import {
  type Sandbox,
  type SandboxCommand,
  type SandboxDriver,
  type SandboxStatus,
  type SandboxTest,
  SandboxUnavailable,
} from './sandbox.ts'

/**
 * Tries the drivers in their order, once, and uses the first that holds what it claims on this machine. Fails closed:
 * with none, nothing runs. They are made when they are first asked for.
 */
export function createSandbox(makeDrivers: () => Promise<readonly SandboxDriver[]>): Sandbox {
  const ending = new AbortController()
  let made: readonly SandboxDriver[] = []
  let testing: Promise<{ driver: SandboxDriver | undefined; status: SandboxStatus }> | undefined

  function chosen() {
    testing ??= makeDrivers().then((drivers) => {
      made = drivers
      return choose(drivers, ending.signal)
    })
    return testing
  }

  async function driver(): Promise<SandboxDriver> {
    const { driver, status } = await chosen()
    if (driver) return driver
    throw new SandboxUnavailable(whyNot(status), fixOf(status))
  }

  return {
    run: async (command: SandboxCommand) => (await driver()).run(command),
    missingPrograms: async (names) => (await driver()).missingPrograms(names),
    status: async () => (await chosen()).status,
    async close() {
      ending.abort(new Error('The sandbox is closing'))
      await testing?.catch(() => undefined)
      await Promise.all(made.map((each) => each.close()))
    },
  }
}

async function choose(drivers: readonly SandboxDriver[], signal: AbortSignal) {
  const tried: { driver: SandboxDriver['name']; test: SandboxTest }[] = []
  for (const driver of drivers) {
    const test = await driver.test(signal).catch((cause): SandboxTest => {
      const reason = cause instanceof Error ? cause.message : String(cause)
      return { ok: false, reason, proofs: [], fix: null }
    })
    tried.push({ driver: driver.name, test })
    if (test.ok) return { driver, status: { driver: driver.name, tried } }
  }
  return { driver: undefined, status: { driver: null, tried } }
}

function whyNot({ tried }: SandboxStatus): string {
  const reasons = tried.map(({ driver, test }) => `${driver}: ${test.ok ? 'ready' : test.reason}`)
  return `Code does not run here: no sandbox holds (${reasons.join('; ') || 'none is configured'})`
}

function fixOf({ tried }: SandboxStatus): string | null {
  return tried.flatMap(({ test }) => (!test.ok && test.fix ? [test.fix] : []))[0] ?? null
}
