import { silentLogger } from '../../../src/base/logger.ts'
import { createEmbeddedDriver } from '../../../src/sandbox/embedded/embedded-driver.ts'
import { python, textOf } from '../../contract/sandbox-support.ts'

/** Prints what descriptors code in a sandbox has, when this process itself was started with one too many. */
const [directory = '', forkServer] = process.argv.slice(2)
const driver = createEmbeddedDriver({
  directory,
  logger: silentLogger,
  forkServer: forkServer === 'eager' ? 'eager' : 'off',
})
const outcome = await driver.run(
  python(`
import json, os
print(json.dumps([name for name in os.listdir("/proc/self/fd") if os.path.lexists(f"/proc/self/fd/{name}")]))
`),
)
process.stdout.write(textOf(outcome.stdout))
await driver.close()
