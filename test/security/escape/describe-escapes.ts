import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SandboxDriver } from '../../../src/sandbox/sandbox.ts'
import { exhaustionNames, runExhaustion } from './exhaustion-probes.ts'
import { type HostScene, setHostScene } from './host-scene.ts'
import { type ProbeReport, probeNames, runProbes } from './run-probes.ts'

export interface DriverUnderProbe {
  driver: SandboxDriver
  directory: string
  /** Sockets of this machine that the driver itself uses. */
  engineSockets: string[]
  close(): Promise<void>
}

const names = [...probeNames(), ...exhaustionNames]

/** Tries to get out of the driver's sandboxes in every way that there is a probe for. None may get through. */
export function describeEscapes(name: string, open: () => Promise<DriverUnderProbe>): void {
  describe(`escapes: ${name}`, { timeout: 180_000 }, () => {
    const reports = new Map<string, ProbeReport>()
    let probed: DriverUnderProbe
    let scene: HostScene

    beforeAll(async () => {
      probed = await open()
      scene = await setHostScene({ driverFolder: probed.directory, engineSockets: probed.engineSockets })
      const all = [...(await runProbes(probed.driver, scene)), ...(await runExhaustion(probed.driver))]
      for (const report of all) reports.set(report.name, report)
    }, 180_000)
    afterAll(async () => {
      scene?.dispose()
      await probed?.close()
    }, 60_000)

    test('SEC-12 there are enough of them, and no other reported itself', () => {
      expect(names.length).toBeGreaterThanOrEqual(40)
      expect([...reports.keys()].toSorted()).toEqual(names.toSorted())
    })

    test.each(names)('SEC-12 %s ran and was stopped', (name) => {
      const report = reports.get(name)
      expect(report?.attempt, 'it did not begin').toBeTruthy()
      expect(`${report?.end}: ${report?.detail}`).toMatch(/^stopped: /)
    })

    test('SEC-12 nothing has happened to the host', () => {
      expect(scene.effects()).toEqual([])
    })
  })
}

/**
 * The same with one control switched off: what that control stops gets through, and is seen. A suite that stays green
 * here would prove nothing.
 */
export function testWithout(options: {
  control: string
  open: () => Promise<DriverUnderProbe>
  /** The probes that get through. */
  reds: readonly string[]
  /** Whether the driver sees it by itself and is not used. */
  isRefused: boolean
}): void {
  const { control, open, reds, isRefused } = options
  const refuses = isRefused ? 'the driver refuses itself, and ' : ''
  test(`SEC-12 without ${control} ${refuses}these get through: ${reds.join(', ') || 'none'}`, {
    timeout: 120_000,
  }, async () => {
    const probed = await open()
    const scene = await setHostScene({ driverFolder: probed.directory, engineSockets: probed.engineSockets })
    try {
      const result = await probed.driver.test(AbortSignal.timeout(100_000))
      if (isRefused) expect(result.ok).toBe(false)
      else expect(result).toMatchObject({ ok: true, lacks: [{}] })
      const reports = [...(await runProbes(probed.driver, scene, reds)), ...(await runExhaustion(probed.driver, reds))]
      const through = reports.filter(({ end }) => end === 'escaped').map((report) => report.name)
      expect(through).toEqual(expect.arrayContaining([...reds]))
    } finally {
      scene.dispose()
      await probed.close()
    }
  })
}
