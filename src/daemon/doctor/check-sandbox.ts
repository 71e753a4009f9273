import type { Sandbox, SandboxTest } from '../../sandbox/sandbox.ts'
import type { Config } from '../config/config.ts'
import { type Finding, fail, ok, warn } from './finding.ts'

/** Which sandbox is in use here, what it has proved on this machine, and what would make it better. */
export async function checkSandbox(config: Config, sandbox: Pick<Sandbox, 'status'>): Promise<Finding[]> {
  if (config.sandbox.driver === 'off') {
    return [warn('sandbox', 'It is switched off, so no code runs (sandbox.driver, or FAMILIAR_SANDBOX).')]
  }
  const { driver, tried } = await sandbox.status()
  const passedOver = tried.filter(({ test }) => !test.ok)
  if (driver === null) return [fail('sandbox', `${passedOver.map(describe).join('; ')}. No code runs.`, fixOf(tried))]
  const used = tried.find((each) => each.driver === driver)
  if (!used?.test.ok) return []
  const proofs = used.test.proofs.map(({ name }) => name).join(', ')
  return [
    ok('sandbox', `${driver}; proved here: ${proofs}`),
    ...used.test.lacks.map(({ what, fix }) => warn('sandbox', what, fix ?? undefined)),
  ]
}

function describe({ driver, test }: { driver: string; test: SandboxTest }): string {
  return `${driver}: ${test.ok ? 'holds' : test.reason}`
}

function fixOf(tried: readonly { test: SandboxTest }[]): string | undefined {
  return tried.flatMap(({ test }) => (!test.ok && test.fix ? [test.fix] : []))[0]
}
