import { join } from 'node:path'
import { afterAll, beforeAll, describe } from 'vitest'
import { createContainerDriver } from '../../../src/sandbox/container/container-driver.ts'
import { temporaryFolder } from '../../contract/sandbox-support.ts'
import { type RunningPodman, startPodman, whyNoPodman } from '../../support/start-podman.ts'
import { type ContainerSpec, startWeakenedEngine } from '../../support/weakened-engine.ts'
import { type DriverUnderProbe, describeEscapes, testWithout } from './describe-escapes.ts'

const missing = whyNoPodman()

describe.skipIf(missing)(missing ?? 'with Podman', () => {
  let podman: RunningPodman
  beforeAll(async () => {
    podman = await startPodman()
  }, 60_000)
  afterAll(() => podman.stop(), 60_000)

  async function open(weaken?: (spec: ContainerSpec) => void): Promise<DriverUnderProbe> {
    const folder = temporaryFolder()
    const target = podman.socketPath
    const socketPath = weaken ? join(folder.path, 'weakened.sock') : target
    const engine = weaken && (await startWeakenedEngine({ socketPath, target, weaken }))
    const driver = createContainerDriver({ socketPath, runtimeDirectory: null, directory: folder.path })
    return {
      driver,
      directory: folder.path,
      engineSockets: [socketPath, target],
      async close() {
        await driver.close()
        engine?.stop()
        folder.remove()
      },
    }
  }

  describeEscapes('a container engine', () => open())

  testWithout({
    control: 'the list of calls',
    open: () =>
      open(({ HostConfig }) => {
        HostConfig.SecurityOpt = HostConfig.SecurityOpt?.filter((option) => !option.startsWith('seccomp')) ?? []
      }),
    reds: ['unshare-user', 'clone-user', 'ptrace', 'process-memory', 'key-ring', 'vsock', 'netlink', '32-bit-calls'],
    isRefused: true,
  })
  testWithout({
    control: 'a user of its own',
    open: () =>
      open((spec) => {
        delete spec.User
        delete spec.HostConfig.CapDrop
      }),
    reds: ['root', 'capabilities', 'root-tables', 'kernel-files', 'first-process'],
    isRefused: true,
  })
  testWithout({
    control: 'no-new-privileges',
    open: () =>
      open(({ HostConfig }) => {
        HostConfig.SecurityOpt = HostConfig.SecurityOpt?.filter((option) => option !== 'no-new-privileges') ?? []
      }),
    reds: ['set-user-id'],
    isRefused: true,
  })
  testWithout({
    control: 'limits of memory and processes',
    open: () =>
      open(({ HostConfig }) => {
        delete HostConfig.Memory
        delete HostConfig.MemorySwap
        delete HostConfig.PidsLimit
      }),
    reds: ['fork-bomb', 'memory-by-one', 'memory-by-many'],
    isRefused: true,
  })
  testWithout({
    control: 'limits of what is written',
    open: () =>
      open(({ HostConfig }) => {
        HostConfig.Tmpfs = {}
      }),
    reds: ['disk-fill'],
    isRefused: true,
  })
  // Tests do not contact other machines: the result here is known without trying.
  testWithout({
    control: 'an empty network',
    open: () =>
      open(({ HostConfig }) => {
        HostConfig.NetworkMode = 'host'
      }),
    reds: [],
    isRefused: true,
  })
  // The user inside may write nowhere in it either: two controls hold the same thing.
  testWithout({
    control: 'a read-only root',
    open: () =>
      open(({ HostConfig }) => {
        HostConfig.ReadonlyRootfs = false
      }),
    reds: [],
    isRefused: true,
  })
})
