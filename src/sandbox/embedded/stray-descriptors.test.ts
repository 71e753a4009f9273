import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { hasBubblewrap } from '../../../test/support/embedded-sandbox.ts'

const here = (path: string) => new URL(path, import.meta.url)

describe.skipIf(!hasBubblewrap || !existsSync('/bin/bash'))('inherited descriptors of this program', () => {
  it('SEC-12 reach no sandbox, whatever their numbers', { timeout: 60_000 }, async () => {
    const directory = mkdtempSync(join(tmpdir(), 'familiar-strays-'))
    const program = `
      import { strayDescriptors } from '${here('./launcher.ts')}'
      import { createEmbeddedDriver } from '${here('./embedded-driver.ts')}'
      import { commandOf } from '${here('../../../test/contract/sandbox-support.ts')}'
      import { silentLogger } from '${here('../../base/logger.ts')}'
      const said = { inherited: strayDescriptors().includes(77) }
      for (const forkServer of ['off', 'eager']) {
        const driver = createEmbeddedDriver({ directory: '${directory}', logger: silentLogger, forkServer })
        const list = 'import os; print(end=" ".join(sorted(name for name in os.listdir("/proc/self/fd"))))'
        const { stdout } = await driver.run(commandOf(['python3', '-c', list]))
        // The fourth is the list itself.
        said[forkServer] = Buffer.from(stdout).toString()
        await driver.close()
      }
      console.log(JSON.stringify(said))`
    const start = 'exec 77</etc/passwd 200</; exec "$@"'
    const words = [process.execPath, '--input-type=module-typescript', '--eval', program]
    const child = spawn('/bin/bash', ['-c', start, 'bash', ...words], { stdio: ['ignore', 'pipe', 'inherit'] })
    expect(JSON.parse(await text(child.stdout))).toEqual({ inherited: true, off: '0 1 2 3 4', eager: '0 1 2 3 4' })
    rmSync(directory, { recursive: true, force: true })
  })
})
