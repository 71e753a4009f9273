import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createContainerDriver } from '../../src/sandbox/container/container-driver.ts'
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts'
import { temporaryFolder } from '../contract/sandbox-support.ts'
import { type ContractToolsHome, openContractTools } from '../support/contract-tools.ts'
import { makeLocalBaseImage } from '../support/local-base-image.ts'
import { bashTool, toolExample } from '../support/published-tools.ts'
import { openRealSandbox } from '../support/real-sandbox.ts'
import { type RunningPodman, startPodman, whyNoPodman } from '../support/start-podman.ts'

const missing = whyNoPodman()

describe.skipIf(missing)(missing ?? 'a tool without a container engine and with one', () => {
  const embedded = openRealSandbox()
  const folder = temporaryFolder()
  let podman: RunningPodman
  let container: Sandbox
  let home: ContractToolsHome
  beforeAll(async () => {
    podman = await startPodman()
    const programs = ['sh', 'bash', 'jq', 'base64', 'chmod', 'env']
    makeLocalBaseImage(podman, { tag: 'alpine:3.19', programs, installers: ['apk'] })
    const driver = createContainerDriver({
      socketPath: podman.socketPath,
      runtimeDirectory: null,
      directory: folder.path,
    })
    container = createSandbox(async () => [driver])
  }, 120_000)
  afterEach(() => home.close())
  afterAll(async () => {
    await container.close()
    await embedded.close()
    await podman.stop()
    folder.remove()
  })

  async function runIn(sandbox: Sandbox, name: string, files: Record<string, string>, params = {}) {
    home = await openContractTools({ sandbox })
    home.writeTool(name, files)
    await home.start()
    const telemetry = { city: 'Valletta', country: 'Malta', time: '2026-02-20T17:00:00Z' }
    return await home.run(name, params, { telemetry })
  }

  it('TOOL-5 gives the same: the example of the contract, from its Dockerfile', { timeout: 120_000 }, async () => {
    const without = await runIn(embedded.sandbox, 'tool_example', toolExample, { name: 'Dylan' })
    await home.close()
    const withOne = await runIn(container, 'tool_example', toolExample, { name: 'Dylan' })
    expect([without.driver, withOne.driver]).toEqual(['embedded', 'container'])
    expect(without.text).toBe("Hello, Dylan! You're in Valletta.")
    expect(without.card?.html).toContain('Hello, Dylan!')
    const said = ({ durationMs: _duration, driver: _driver, ...rest }: typeof without) => rest
    expect(said(withOne)).toEqual(said(without))
  })

  it('TOOL-5 runs a tool without a Dockerfile in an engine with the programs of this machine', {
    timeout: 120_000,
  }, async () => {
    const runner = 'jq -n --arg where "$(pwd)" \'{text: $where}\''
    const run = await runIn(container, 'plain', bashTool('plain', runner))
    expect(run).toMatchObject({ ok: true, text: '/tool', driver: 'container' })
  })
})
