import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { commandOf, temporaryFolder, textOf, until } from '../../../test/contract/sandbox-support.ts'
import { copyPrograms, makeLocalBaseImage } from '../../../test/support/local-base-image.ts'
import { type RunningPodman, startPodman, whyNoPodman } from '../../../test/support/start-podman.ts'
import { silentLogger } from '../../base/logger.ts'
import { type SandboxDriver, SandboxUnavailable } from '../sandbox.ts'
import { containerPlace, createContainerDriver } from './container-driver.ts'

describe('createContainerDriver', { timeout: 60_000 }, () => {
  test('SEC-12 without an engine it runs nothing, and says what to do', async () => {
    const folder = temporaryFolder()
    const socketPath = join(folder.path, 'nobody.sock')
    const driver = createContainerDriver({ socketPath, runtimeDirectory: null, directory: folder.path })
    const result = await driver.test(AbortSignal.timeout(10_000))
    expect(result).toMatchObject({ ok: false, proofs: [], fix: expect.stringContaining('podman.socket') })
    expect(result.ok || result.reason).toContain(socketPath)
    await expect(driver.run(commandOf(['true']))).rejects.toThrow(SandboxUnavailable)
    await driver.close()
    folder.remove()
  })

  const missing = whyNoPodman()
  describe.skipIf(missing)(missing ?? 'with Podman', () => {
    let podman: RunningPodman
    let driver: SandboxDriver
    let folder: ReturnType<typeof temporaryFolder>
    const built: string[] = []

    beforeAll(async () => {
      podman = await startPodman()
    }, 60_000)
    afterAll(() => podman.stop(), 60_000)
    beforeEach(() => {
      built.length = 0
      folder = temporaryFolder()
      driver = openIn(folder.path)
    })
    afterEach(async () => {
      await driver.close()
      folder.remove()
    })

    function openIn(directory: string): SandboxDriver {
      const info = (message: string) => void built.push(message)
      const logger = { ...silentLogger, info }
      return createContainerDriver({ socketPath: podman.socketPath, runtimeDirectory: null, directory, logger })
    }

    /** A tool whose image contains one program and no shell. */
    function makeTool(dockerfile: string, hash: string) {
      const directory = join(folder.path, `tool-${hash}`)
      mkdirSync(directory)
      copyPrograms(join(directory, 'root'), ['cat'])
      writeFileSync(join(directory, 'Dockerfile'), dockerfile)
      writeFileSync(join(directory, 'greeting'), `hello of ${hash}`)
      return { directory, hash, name: 'Tool_one' }
    }

    const plain = 'FROM scratch\nCOPY root /\nENV FROM_IMAGE=yes\nWORKDIR /tool\nCOPY greeting .\n'

    test('TOOL-5 builds an image once for concurrent callers, and runs it without a shell of its own', async () => {
      const command = commandOf(['/usr/bin/cat', 'greeting'], {
        image: makeTool(plain, 'a'),
        workingDirectory: '/tool',
      })
      const outcomes = await Promise.all([1, 2, 3].map(() => driver.run(command)))
      expect(outcomes.map(({ stdout, stderr }) => textOf(stdout) + textOf(stderr))).toEqual(Array(3).fill('hello of a'))
      await driver.run(command)
      expect(built).toEqual(['Building the image of a tool'])

      // A new version of the tool replaces the previous one.
      await driver.run(commandOf(['/usr/bin/cat', '/tool/greeting'], { image: makeTool(plain, 'b') }))
      expect(podman.podman('images', '--format', '{{.Repository}}:{{.Tag}}').split('\n')).toEqual(
        expect.arrayContaining(['docker.io/library/familiar-tool-tool-one:b']),
      )
      expect(podman.podman('images')).not.toMatch(/familiar-tool-tool-one\s+a\s/)
    })

    test('commands without their own image run in the configured base image', async () => {
      makeLocalBaseImage(podman, { tag: 'docker.io/library/familiar-test-base:1', programs: ['sh', 'cat'] })
      const { socketPath } = podman
      const places = { socketPath, runtimeDirectory: null, directory: folder.path }
      const named = createContainerDriver({ ...places, baseImage: 'familiar-test-base:1' })
      const outcome = await named.run(
        commandOf(['sh', '-c', '[ -e /usr/bin/env ] || cat'], { stdin: 'only what it has' }),
      )
      await named.close()
      expect(textOf(outcome.stdout)).toBe('only what it has')
    })

    test('TOOL-5 the environment of an image is combined with the command’s', async () => {
      const image = makeTool(plain, 'e')
      const environment = { FROM_COMMAND: 'yes' }
      const outcome = await driver.run(commandOf(['/usr/bin/cat', '/proc/self/environ'], { image, environment }))
      const pairs = textOf(outcome.stdout).split('\0')
      expect(pairs).toEqual(expect.arrayContaining(['FROM_IMAGE=yes', 'FROM_COMMAND=yes']))
    })

    test.each([
      ['a step that fails', 'FROM scratch\nCOPY root /\nRUN ["/usr/bin/cat", "/no-such-file"]\n', 'no-such-file'],
      ['a line that means nothing', 'FROM scratch\nNONSENSE\n', 'NONSENSE'],
      ['no Dockerfile text at all', '', ''],
    ])('TOOL-5 %s is reported with the last lines of the build', async (_what, dockerfile, told) => {
      const image = makeTool(dockerfile, `broken-${built.length}`)
      const running = driver.run(commandOf(['/usr/bin/cat'], { image }))
      await expect(running).rejects.toThrow(SandboxUnavailable)
      await expect(running).rejects.toThrow(told)
      expect(podman.containers()).toEqual([])
    })

    test('SEC-12 containers left by a killed process are removed by the next one', async () => {
      const script = join(import.meta.dirname, '../../../test/support/container-child.ts')
      const child = spawn(process.execPath, [script, podman.socketPath, folder.path], { stdio: 'ignore' })
      await until(() => podman.podman('ps', '--quiet').trim() !== '')
      child.kill('SIGKILL')
      await once(child, 'exit')
      expect(podman.containers()).toHaveLength(1)
      const left = () => readdirSync(containerPlace(folder.path)).filter((name) => name.startsWith('run-'))
      expect(left()).toHaveLength(1)

      await driver.run(commandOf(['true']))
      expect(podman.containers()).toEqual([])
      expect(left()).toEqual([])
    })

    test('another live process of the same home keeps its containers', async () => {
      const running = driver.run(commandOf(['sleep', '3600'], { limits: { wallMs: 3_600_000 } }))
      running.catch(() => undefined)
      await until(() => podman.podman('ps', '--quiet').trim() !== '')
      const second = openIn(folder.path)
      await second.run(commandOf(['true']))
      expect(podman.containers()).toHaveLength(1)
      await second.close()
      await driver.close()
      await expect(running).rejects.toThrow('closing')
    })

    test.skipIf(existsSync('/var/run/docker.sock') || existsSync('/run/podman/podman.sock'))(
      'finds a rootless engine at its default socket',
      async () => {
        mkdirSync(join(folder.path, 'run/podman'), { recursive: true })
        symlinkSync(podman.socketPath, join(folder.path, 'run/podman/podman.sock'))
        const runtimeDirectory = join(folder.path, 'run')
        const found = createContainerDriver({ socketPath: null, runtimeDirectory, directory: folder.path })
        expect((await found.run(commandOf(['echo', 'found']))).end).toEqual({ kind: 'exited', code: 0 })
        await found.close()
      },
    )
  })
})
