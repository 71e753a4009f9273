import { createContainerDriver } from '../../src/sandbox/container/container-driver.ts'
import { commandOf } from '../contract/sandbox-support.ts'

/** Runs something that never ends, to be killed meanwhile: `node container-child.ts SOCKET DIRECTORY`. */
const [socketPath = '', directory = ''] = process.argv.slice(2)
const driver = createContainerDriver({ socketPath, runtimeDirectory: null, directory })
await driver.run(commandOf(['sleep', '3600'], { limits: { wallMs: 3_600_000 } }))
