import { type Clock, systemClock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import { type SandboxDriver, type SandboxTest, SandboxUnavailable } from '../sandbox.ts'
import { hasProgram } from './inner-programs.ts'
import { namespaceFix } from './namespace-fix.ts'
import { type OpenDriver, openDriver, type SandboxControl } from './open-driver.ts'
import { proveDriver } from './proof/prove-driver.ts'
import type { ForkServerUse } from './worlds.ts'

export type { SandboxControl }

/**
 * Runs code in bubblewrap, without a container engine: fresh namespaces, an account of its own, a system call filter and
 * a cgroup for each call. Python that is only a script is forked from one that is awake, into the same.
 */
export function createEmbeddedDriver(options: {
  /** A folder of this program alone, for what the driver needs on the disk. */
  directory: string
  logger: Logger
  clock?: Clock
  /** Switches single controls off, so that a test can see its probes fail. Never set by the program. */
  without?: readonly SandboxControl[]
  /** How Python is started; anything but `lazy` is for tests and measurements. */
  forkServer?: ForkServerUse
}): SandboxDriver {
  const { directory, logger, clock = systemClock(), without = [], forkServer = 'lazy' } = options
  let opening: Promise<OpenDriver> | undefined
  let isClosed = false

  async function opened(): Promise<OpenDriver> {
    if (isClosed) throw new SandboxUnavailable('The sandbox is closed')
    opening ??= openDriver({ directory, logger, clock, without, forkServer }).catch((cause) => {
      // What was missing may be there the next time.
      opening = undefined
      throw cause
    })
    return opening
  }

  async function test(signal: AbortSignal): Promise<SandboxTest> {
    try {
      const driver = await opened()
      const proofs = await proveDriver({ ...driver, signal })
      const failed = proofs.filter(({ ok }) => !ok)
      if (failed.length === 0) return { ok: true, proofs, lacks: driver.lacks }
      const reason = failed.map(({ name, detail }) => `${name}: ${detail}`).join('; ')
      return { ok: false, reason, proofs, fix: null }
    } catch (cause) {
      signal.throwIfAborted()
      const reason = cause instanceof Error ? cause.message : String(cause)
      return { ok: false, reason, proofs: [], fix: cause instanceof SandboxUnavailable ? cause.fix : namespaceFix() }
    }
  }

  return {
    name: 'embedded',
    test,
    async run(command) {
      command.signal.throwIfAborted()
      return (await opened()).run(command)
    },
    missingPrograms: async (names) => names.filter((name) => !hasProgram(name)),
    async close() {
      isClosed = true
      const driver = await opening?.catch(() => undefined)
      await driver?.close()
    },
  }
}
