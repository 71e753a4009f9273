import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { createContainerDriver } from '../../src/sandbox/container/container-driver.ts'
import { readDockerfile } from '../../src/sandbox/dockerfile.ts'
import { createEmbeddedDriver } from '../../src/sandbox/embedded/embedded-driver.ts'
import type { SandboxCommand, SandboxOutcome } from '../../src/sandbox/sandbox.ts'
import { makeLocalBaseImage } from '../support/local-base-image.ts'
import { startPodman, whyNoPodman } from '../support/start-podman.ts'
import { commandOf, megabyte, temporaryFolder, textOf } from './sandbox-support.ts'

const directory = join(import.meta.dirname, '../support/tool-example')
const request = {
  params: { name: 'Dylan' },
  settings: {},
  telemetry: { city: 'Valletta', country: 'Malta', time: '2026-02-20T17:00:00Z', lat: 35.8762, lon: 14.5366 },
}

/** The tool as its Dockerfile says: what is copied is mounted, and the image is named for who can build it. */
function command(): SandboxCommand {
  const plan = readDockerfile(readFileSync(join(directory, 'Dockerfile'), 'utf8'))
  expect(plan.problems).toEqual([])
  const payload = Buffer.from(JSON.stringify(request)).toString('base64')
  const [program = '', ...rest] = [...plan.entrypoint, payload]
  return commandOf([program, ...rest], {
    workingDirectory: plan.workdir,
    mounts: plan.copies.map(({ source, target }) => ({
      source: join(directory, source),
      target: join(target, source),
    })),
    image: { directory, hash: 'tool-example', name: 'tool_example' },
    limits: { memoryBytes: 64 * megabyte, wallMs: 10_000 },
  })
}

describe('the example of the tool contract', { timeout: 60_000 }, () => {
  const outcomes = new Map<string, SandboxOutcome>()
  const folder = temporaryFolder()
  afterAll(folder.remove)

  test.skipIf(!existsSync('/usr/bin/bwrap'))('TOOL-1 runs without a container engine', async () => {
    const driver = createEmbeddedDriver({ directory: join(folder.path, 'embedded'), logger: silentLogger })
    const outcome = await driver.run(command())
    await driver.close()
    expect([outcome.end, textOf(outcome.stderr)]).toEqual([{ kind: 'exited', code: 0 }, ''])
    const printed = JSON.parse(textOf(outcome.stdout))
    expect(printed.text).toBe("Hello, Dylan! You're in Valletta.")
    expect(printed.html).toMatch(/^<div style="[^"]+"><div style="[^"]+">Hello, Dylan!<\/div>.*Valletta.*<\/div>$/s)
    outcomes.set('embedded', outcome)
  })

  const missing = whyNoPodman()
  test.skipIf(missing)(`TOOL-5 gives the same bytes in a container${missing ? ` (${missing})` : ''}`, async () => {
    const podman = await startPodman()
    try {
      const programs = ['sh', 'bash', 'jq', 'base64', 'chmod', 'env']
      makeLocalBaseImage(podman, { tag: 'alpine:3.19', programs, installers: ['apk'] })
      const { socketPath } = podman
      const driver = createContainerDriver({ socketPath, runtimeDirectory: null, directory: folder.path })
      const outcome = await driver.run(command())
      await driver.close()
      expect([outcome.end, textOf(outcome.stderr)]).toEqual([{ kind: 'exited', code: 0 }, ''])
      expect(JSON.parse(textOf(outcome.stdout)).text).toBe("Hello, Dylan! You're in Valletta.")
      const embedded = outcomes.get('embedded')
      if (embedded) expect(Buffer.compare(Buffer.from(outcome.stdout), Buffer.from(embedded.stdout))).toBe(0)
    } finally {
      await podman.stop()
    }
  })
})
