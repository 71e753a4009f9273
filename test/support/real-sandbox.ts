import { existsSync } from 'node:fs'
import { silentLogger } from '../../src/base/logger.ts'
import { createEmbeddedDriver } from '../../src/sandbox/embedded/embedded-driver.ts'
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts'
import { temporaryFolder } from '../contract/sandbox-support.ts'
import { createUnsandboxedDriver } from './unsandboxed-driver.ts'

/**
 * The embedded sandbox, for all the tests of a file: its self-test takes longer than most of them. Without bubblewrap,
 * code runs unsandboxed, and everything before and after the sandbox is still tested.
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
