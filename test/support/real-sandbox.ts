import { existsSync } from 'node:fs'
import { silentLogger } from '../../src/base/logger.ts'
import { createSandbox } from '../../src/sandbox/create-sandbox.ts'
import { createEmbeddedDriver } from '../../src/sandbox/embedded/create-embedded-driver.ts'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'
import { temporaryFolder } from '../contract/sandbox-support.ts'
import { createUnsandboxedDriver } from './unsandboxed-driver.ts'

/**
 * The embedded sandbox, for all the tests of a file: proving itself takes longer than most of them. Where bubblewrap is
 * not installed, code runs without a wall, and what is before and after the wall is still tested.
 */
export function openRealSandbox(): { sandbox: Sandbox; close(): Promise<void> } {
  const folder = temporaryFolder()
  const isThere = existsSync('/usr/bin/bwrap')
  if (!isThere) console.info('bubblewrap is not installed: these tools run without a sandbox')
  const driver = isThere
    ? createEmbeddedDriver({ directory: folder.path, logger: silentLogger })
    : createUnsandboxedDriver()
  const sandbox = createSandbox(async () => [driver])
  return {
    sandbox,
    async close() {
      await sandbox.close()
      folder.remove()
    },
  }
}
